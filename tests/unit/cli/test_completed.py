"""Completed jobs: every face shows them, what needs a live job explains itself, and only a new cadence revives one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.builders import at
from tests.support.hand import Hand, by_hand
from tests.support.process import TestHome

ONCE, TWICE = "it was to run once", "it ran 2 of 2 times"


@pytest.fixture
def hand(home: TestHome) -> Iterator[Hand]:
    """At 09:00 two jobs are completed: `once`, a one-shot of 08:10, and `twice`, a daily one that was to run twice."""
    with by_hand(home, at("08:00")) as hand:
        home.json("add", "2026-03-02T08:10", "--script", "hi.sh", "--name", "Once", "--timezone", "UTC")
        twice = ("--name", "Twice", "--timezone", "UTC", "--repeat", "2")
        home.json("add", "0,30 * * * *", "--script", "hi.sh", *twice)
        for clock in ("08:10", "08:30", "09:00"):
            hand.carry_out(at(clock))
        yield hand


CASES = pytest.mark.parametrize(("slug", "reason"), [("once", ONCE), ("twice", TWICE)])


@CASES
def test_O14_every_face_shows_a_completed_job_and_why(hand: Hand, slug: str, reason: str) -> None:
    home = hand.home
    assert home.json("list")["jobs"] == []
    for words in (("list", "--all"), ("list", "--state", "completed")):
        listed = {job["slug"]: job for job in home.json(*words)["jobs"]}[slug]
        assert (listed["state"], listed["completed_reason"], listed["next_slot"]) == ("completed", reason, None)
        assert reason in next(line for line in home.horae(*words).out.splitlines() if line.startswith(slug))
    shown = home.json("show", slug)
    assert (shown["state"]["state"], shown["state"]["completed_reason"], shown["slots"]) == ("completed", reason, [])
    assert f"completed ({reason})" in home.horae("show", slug).out
    why = home.json("why", slug)["job"]
    assert (why["state"], why["completed_reason"]) == ("completed", reason)
    assert f"{slug} is completed: {reason}" in home.horae("why", slug).out
    ahead = home.json("next", slug)
    assert (ahead["slots"], ahead["job"]["state"], ahead["job"]["completed_reason"]) == ([], "completed", reason)
    assert f"{slug} is completed ({reason})" in ahead["warnings"][0]
    assert "horae edit" in home.horae("next", slug).err
    assert reason in home.json("calendar", slug)["warnings"][0]
    assert [run["state"] for run in home.runs(slug)] == ["completed"] * (1 if slug == "once" else 2)


def test_O14_why_promises_no_slot_of_a_completed_job(hand: Hand) -> None:
    (item,) = hand.home.json("why", "twice", "2026-03-03T09:00")["occurrences"]
    assert f"will not run, since the job is completed ({TWICE})" in item["decisions"][0]["detail"]["note"]
    assert "will not run" in hand.home.horae("why", "twice", "2026-03-03T09:00").out


ACTIONS = {
    "run": "run",
    "run --dry": "run",
    "pause": "paused",
    "resume": "resumed",
    "skip": "skipped",
    "skip 2026-03-03T09:00": "skipped",
    "move next --to 2026-03-03T10:00": "moved",
}


@pytest.mark.parametrize("action", ACTIONS)
@CASES
def test_O14_what_needs_a_live_job_explains_itself(hand: Hand, slug: str, reason: str, action: str) -> None:
    home = hand.home
    verb, *more = action.split()
    before = home.sql("SELECT * FROM job"), home.sql("SELECT * FROM occurrence")
    error = home.error(verb, slug, *more, status=4)
    assert error["code"] == "refused"
    assert error["message"].startswith(f"{slug} is completed ({reason}), so it cannot be {ACTIONS[action]}")
    assert f"horae edit {slug} --" in error["hint"]
    assert ("--repeat N" in error["hint"]) == (slug == "twice"), "the way round is one that works"
    assert error["details"] == {"state": "completed", "completed_reason": reason}
    assert (home.sql("SELECT * FROM job"), home.sql("SELECT * FROM occurrence")) == before


def test_O14_all_that_is_live_leaves_out_what_is_completed(hand: Hand) -> None:
    hand.home.json("add", "every 1h", "--script", "hi.sh", "--name", "Live")
    assert [job["slug"] for job in hand.home.json("pause", "--all")["jobs"]] == ["live"]
    assert [job["slug"] for job in hand.home.json("resume", "--all")["jobs"]] == ["live"]
    assert [slot["job"] for slot in hand.home.json("next")["slots"]] == ["live"]


# ── revived


@CASES
@pytest.mark.parametrize("schedule", ["45 * * * *", "2026-03-02T10:15"])
def test_O14_a_new_schedule_revives_and_says_so(hand: Hand, slug: str, reason: str, schedule: str) -> None:
    home = hand.home
    hand.at(at("09:05"))
    answer = home.json("edit", slug, "--schedule", schedule)
    assert answer["revived"] is True
    assert answer["did"].startswith("revived ")
    assert answer["job"]["state"] == "active"
    first = "2026-03-02T09:45:00+00:00" if schedule.startswith("45") else "2026-03-02T10:15:00+00:00"
    assert answer["slots"][0]["slot"] == first, "planned from now, not from where it had stopped"
    job = home.jobs()[slug]
    assert (job["state"], job["completed_reason"], job["next_slot"]) == ("active", None, first)
    assert home.sql("SELECT counted FROM job WHERE slug = ?", slug) == [(0,)]
    assert home.sql("SELECT count(*) FROM journal WHERE what = 'revived'") == [(1,)]
    assert reason not in home.horae("show", slug).out


def test_O14_a_new_repeat_counts_from_nothing_and_no_run_is_beyond_it(hand: Hand) -> None:
    home = hand.home
    hand.at(at("12:05"))
    answer = home.json("edit", "twice", "--repeat", "3")
    assert answer["revived"] is True
    assert [slot["slot"][11:16] for slot in answer["slots"]] == ["12:30", "13:00", "13:30"]
    assert hand.carry_out(at("12:06")) == [], "what passed while it was completed is nobody's debt"
    ran = [len(hand.carry_out(at(clock))) for clock in ("12:30", "13:00", "13:30", "14:00", "14:30")]
    assert ran == [1, 1, 1, 0, 0]
    assert home.jobs()["twice"]["completed_reason"] == "it ran 3 of 3 times"
    assert home.sql("SELECT count(*) FROM occurrence WHERE outcome = 'missed'") == [(0,)]


def test_O14_revived_by_hand_in_its_file(hand: Hand) -> None:
    path = hand.home.file("twice")
    path.write_text(path.read_text().replace("repeat: 2", "repeat: 4"))
    assert hand.home.jobs()["twice"]["state"] == "active"
    assert hand.home.sql("SELECT count(*) FROM journal WHERE what = 'revived'") == [(1,)]


def test_O14_another_edit_is_kept_and_the_job_stays_completed_and_says_so(hand: Hand) -> None:
    home = hand.home
    for slug, reason, option in (("once", ONCE, "--schedule"), ("twice", TWICE, "--repeat")):
        answer = home.json("edit", slug, "--limit", "wall=5m")
        assert answer["revived"] is False
        assert answer["slots"] == []
        (says,) = [words for words in answer["warnings"] if "stays completed" in words]
        assert option in says
        assert "wall: 5m" in home.file(slug).read_text()
        assert home.jobs()[slug]["completed_reason"] == reason
    home.json("undo")
    assert home.jobs()["twice"]["completed_reason"] == TWICE


def test_a_revival_is_undone_and_the_job_is_completed_again(hand: Hand) -> None:
    home = hand.home
    text = home.file("twice").read_text()
    entry = home.json("edit", "twice", "--repeat", "5")["entry"]
    home.json("undo")
    job = home.jobs()["twice"]
    assert (job["state"], job["completed_reason"], job["next_slot"]) == ("completed", TWICE, None)
    assert home.file("twice").read_text() == text
    assert [hand.carry_out(at(clock)) for clock in ("09:30", "10:00")] == [[], []], "no run past the limit"
    assert "undone already" in home.error("undo", str(entry), status=4)["message"]
    home.json("edit", "once", "--schedule", "0 12 * * *")
    error = home.error("undo", status=4)
    assert "what was before cannot be any more" in error["message"], "its instant has passed"
    assert home.jobs()["once"]["state"] == "active"


@pytest.mark.parametrize("changes", [("--repeat", "3"), ("--disable",), ("--timezone", "Europe/Paris")])
def test_O18_a_change_that_cannot_revive_a_one_shot_says_that_a_new_schedule_is_needed(
    hand: Hand, changes: tuple[str, ...]
) -> None:
    home = hand.home
    before = home.digests(), home.sql("SELECT * FROM job"), home.sql("SELECT * FROM journal")
    error = home.error("edit", "once", *changes, status=4)
    assert error["code"] == "refused"
    assert error["message"].startswith(f"once is completed ({ONCE})")
    assert error["message"].endswith("a new schedule is needed")
    assert ("`repeat`" in error["message"]) == (changes[0] == "--repeat")
    assert "horae edit once --schedule" in error["hint"]
    assert (home.digests(), home.sql("SELECT * FROM job"), home.sql("SELECT * FROM journal")) == before
    both = home.json("edit", "once", "--repeat", "3", "--schedule", "0 * * * *")
    assert both["revived"] is True


def test_O18_just_after_its_turn_too(home: TestHome) -> None:
    """The minute's grace for an instant that passed while somebody typed it is not for one that has had its turn."""
    with by_hand(home, at("08:00")) as hand:
        home.json("add", "2026-03-02T08:10", "--script", "hi.sh", "--name", "Once", "--timezone", "UTC")
        hand.carry_out(at("08:10"))
        assert "a new schedule is needed" in home.error("edit", "once", "--repeat", "3", status=4)["message"]
        assert home.jobs()["once"]["completed_reason"] == ONCE


def test_O18_the_same_in_its_file(hand: Hand) -> None:
    home = hand.home
    path = home.file("once")
    text = path.read_text()
    path.write_text(text.replace("agent:", "repeat: 3\nagent:"))
    job = home.jobs()["once"]
    assert job["state"] == "quarantined"
    assert "a change of `repeat` does not revive it, a new schedule is needed" in job["problem"]["message"]
    path.write_text(text)
    job = home.jobs()["once"]
    assert (job["state"], job["completed_reason"]) == ("completed", ONCE)


# ── the last run


def test_O17_the_last_run_promises_nothing_behind_it(home: TestHome) -> None:
    with by_hand(home, at("08:00")) as hand:
        home.json("add", "0,30 * * * *", "--script", "hi.sh", "--name", "T", "--timezone", "UTC", "--repeat", "2")
        hand.carry_out(at("08:30"))
        hand.at(at("09:00"))
        (claim,) = hand.claim()
        hand.start(claim)
        for _ in range(2):
            job = home.jobs()["t"]
            assert job["next_slot"] is None
            shown = home.json("show", "t")
            assert (shown["slots"], shown["state"]["next_slot"]) == ([], None)
            assert home.json("next", "t")["slots"] == []
            assert home.json("next")["slots"] == []
            assert [day["runs"] + day["summaries"] for day in home.json("calendar", "t")["days"]] == [[]] * 14
            if job["state"] == "completed":
                break
            assert job["state"] == "active", "it is running for the last time"
            hand.end(claim)
        assert job["state"] == "completed"
        assert job["completed_reason"] == TWICE
        last = home.runs("t")[0]
        assert (last["state"], last["outcome"], last["slot"][11:16]) == ("completed", "ran", "09:00")
        assert home.sql("SELECT count(*) FROM occurrence WHERE state = 'planned'") == [(0,)]
        assert hand.carry_out(at("10:00")) == []


def test_O17_a_run_of_the_cadence_before_leaves_the_new_one_its_number(home: TestHome) -> None:
    with by_hand(home, at("08:00")) as hand:
        home.json("add", "0 * * * *", "--script", "hi.sh", "--name", "T", "--timezone", "UTC", "--repeat", "2")
        hand.at(at("09:00"))
        hand.start(hand.claim()[0])
        hand.at(at("09:01"))
        answer = home.json("edit", "t", "--schedule", "30 * * * *")
        assert [slot["slot"][11:16] for slot in answer["slots"]] == ["09:30", "10:30"]


# ── names


def test_O15_a_live_job_wins_a_name_everywhere(hand: Hand) -> None:
    home = hand.home
    live = home.json("add", "every day at 10:00", "--script", "hi.sh", "--name", "Twice", "--timezone", "UTC")["job"]
    assert live["slug"] == "twice-2"
    for words in (
        ("show", "Twice"),
        ("next", "Twice"),
        ("why", "Twice"),
        ("edit", "Twice", "--limit", "wall=5m"),
        ("skip", "Twice"),
        ("undo",),
        ("move", "Twice", "next", "--to", "in 2h"),
        ("run", "Twice"),
    ):
        answer = home.json(*words)
        assert answer.get("job", {"id": live["id"]})["id"] == live["id"], words
    assert home.json("calendar", "Twice")["job"]["id"] == live["id"]
    assert home.json("check", "Twice")["checks"][0]["what"].startswith("twice-2 ")
    assert home.json("runs", "Twice")["runs"] == []
    assert "has not run yet" in home.error("log", "Twice", status=3)["message"]
    assert home.json("pause", "Twice")["jobs"][0]["id"] == live["id"]
    assert home.json("resume", "Twice")["jobs"][0]["id"] == live["id"]
    assert home.json("remove", "Twice")["job"]["id"] == live["id"]
    assert home.json("remove", "Twice")["job"]["slug"] == "twice", (
        "with no live one left, the completed one has its name"
    )
    assert "twice" not in home.jobs()


def test_O15_a_live_job_is_found_behind_any_number_of_completed_ones(home: TestHome) -> None:
    for number in range(25):
        home.write(f"a-{number:02}", name="Same", script="hi.sh")
    home.write("z", name="Same", script="hi.sh")
    home.json("list")
    home.sql_write("UPDATE job SET completed_at = 1, completed_reason = 'over' WHERE slug <> 'z'")
    assert home.json("show", "Same")["job"]["slug"] == "z"


@pytest.mark.parametrize("words", [("show",), ("run",), ("pause",), ("remove",), ("edit", "--name", "X"), ("log",)])
def test_O15_what_could_mean_several_lists_them_with_their_states(hand: Hand, words: tuple[str, ...]) -> None:
    home = hand.home
    for name in ("once", "twice"):
        home.json("edit", name, "--name", "Same")
    verb, *more = words
    error = home.error(verb, "Same", *more, status=3)
    assert error["code"] == "ambiguous"
    assert {(item["slug"], item["state"]) for item in error["details"]["candidates"]} == {
        ("once", "completed"),
        ("twice", "completed"),
    }
    assert "(once, completed)" in error["message"]
    for name in ("one", "two"):
        home.json(
            "add", "every 1h", "--script", "hi.sh", "--name", "Same", "--paused" if name == "two" else "--no-agent"
        )
    error = home.error(verb, "Same", *more, status=3)
    assert sorted(item["state"] for item in error["details"]["candidates"]) == ["active", "paused"]


@CASES
def test_O14_a_completed_job_is_removed_like_any_and_comes_back_as_it_was(hand: Hand, slug: str, reason: str) -> None:
    home = hand.home
    job_id = home.jobs()[slug]["id"]
    home.json("remove", job_id if slug == "once" else "Twice")
    assert slug not in home.jobs()
    home.json("undo")
    job = home.jobs()[slug]
    assert (job["id"], job["state"], job["completed_reason"]) == (job_id, "completed", reason)
