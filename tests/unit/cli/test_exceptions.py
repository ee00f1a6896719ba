"""Exact exceptions: what a person decides about one slot, a series that changes around it, and runs that nobody planned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from horae.core.identity import slot_key
from tests.support.builders import at
from tests.support.hand import Hand, by_hand
from tests.support.process import TestHome

DAY = "2026-03-02T"
OPTIONS = ("--script", "hi.sh", "--name", "Tides", "--timezone", "UTC")


@pytest.fixture
def hand(home: TestHome) -> Iterator[Hand]:
    """At 08:05 an hourly job whose 09:00 is skipped and whose 10:00 is moved to 10:20."""
    with by_hand(home, at("08:05")) as hand:
        home.json("add", "0 * * * *", *OPTIONS)
        home.json("skip", "tides", DAY + "09:00")
        home.json("move", "tides", DAY + "10:00", "--to", DAY + "10:20")
        yield hand


def told(home: TestHome, what: str, slot: str, to: str | None, reason: str | None = None) -> dict:
    job_id = home.jobs()["tides"]["id"]
    return {
        "slot": f"{DAY}{slot}:00+00:00",
        "slot_utc": f"{DAY}{slot}:00Z",
        "key": slot_key(job_id, at(slot)),
        "kind": what,
        "to": None if to is None else f"{DAY}{to}:00+00:00",
        "reason": reason,
    }


VOID = "the new schedule has no such slot"


@pytest.mark.parametrize(
    ("schedule", "kept", "void"),
    [
        ("0,30 * * * *", [("skip", "09:00", None), ("move", "10:00", "10:20")], []),
        ("0 10 * * *", [("move", "10:00", "10:20")], [("skip", "09:00", None)]),
        ("0 9 * * *", [("skip", "09:00", None)], [("move", "10:00", "10:20")]),
        ("30 * * * *", [], [("skip", "09:00", None), ("move", "10:00", "10:20")]),
    ],
)
def test_an_edit_of_the_series_says_which_exceptions_apply_and_which_are_void(
    hand: Hand, schedule: str, kept: list, void: list
) -> None:
    home = hand.home
    answer = home.json("edit", "tides", "--schedule", schedule)
    assert answer["exceptions"] == {
        "kept": [told(home, kind, slot, to) for kind, slot, to in kept],
        "void": [told(home, kind, slot, to, VOID) for kind, slot, to in void],
    }
    assert any("went with the old schedule" in words for words in answer["warnings"]) == bool(void)
    home.json("undo")
    said = home.horae("edit", "tides", "--schedule", schedule).out
    for words, items in (("still applies", kept), ("void now", void)):
        lines = [line.split(": ", 1)[1] for line in said.splitlines() if line.startswith(f"  {words}: ")]
        assert len(lines) == len(items)
        for line, (kind, slot, to) in zip(lines, items, strict=True):
            expected = f"{DAY}{slot}:00+00:00 " + ("skipped" if kind == "skip" else f"moved to {DAY}{to}:00+00:00")
            assert line.startswith(expected)
    ran = {
        claim.slot.strftime("%H:%M"): clock
        for clock in ("09:00", "10:00", "10:20")
        for claim in hand.carry_out(at(clock))
    }
    assert "09:00" not in ran if ("skip", "09:00", None) in kept else True
    assert (ran.get("10:00") == "10:20") == (("move", "10:00", "10:20") in kept)


def test_exceptions_that_were_void_come_back_with_the_schedule(hand: Hand) -> None:
    home = hand.home
    home.json("edit", "tides", "--schedule", "30 * * * *")
    home.json("undo")
    notes = {slot["slot"][11:16]: slot["note"] for slot in home.json("next", "tides")["slots"]}
    assert (notes["09:00"], notes["10:00"]) == ("skipped", "moved")


def test_an_edit_of_anything_else_keeps_them_and_one_without_any_says_nothing(hand: Hand) -> None:
    home = hand.home
    answer = home.json("edit", "tides", "--limit", "wall=5m")
    assert [item["slot"][11:16] for item in answer["exceptions"]["kept"]] == ["09:00", "10:00"]
    assert answer["exceptions"]["void"] == []
    home.json("add", "0 * * * *", "--script", "hi.sh", "--name", "Other")
    assert home.json("edit", "other", "--schedule", "30 * * * *")["exceptions"] == {"kept": [], "void": []}
    said = home.horae("edit", "other", "--schedule", "45 * * * *").out
    assert "applies" not in said
    assert "void" not in said


def test_what_had_its_turn_is_neither_kept_nor_void(hand: Hand) -> None:
    hand.carry_out(at("09:00"))
    answer = hand.home.json("edit", "tides", "--schedule", "30 * * * *")
    assert [item["slot"][11:16] for item in answer["exceptions"]["void"]] == ["10:00"]


def test_an_edit_that_is_refused_voids_nothing(hand: Hand) -> None:
    before = hand.home.sql("SELECT * FROM occurrence ORDER BY key")
    hand.home.error("edit", "tides", "--schedule", "every blue moon", status=2)
    assert hand.home.sql("SELECT * FROM occurrence ORDER BY key") == before


def test_a_moved_slot_keeps_its_key_and_runs_once_at_its_new_time(hand: Hand) -> None:
    home = hand.home
    key = slot_key(home.jobs()["tides"]["id"], at("10:00"))
    assert hand.carry_out(at("09:00")) == [], "skipped"
    assert hand.carry_out(at("10:00")) == [], "moved away"
    (claim,) = hand.carry_out(at("10:20"))
    assert (claim.key, claim.slot, claim.due) == (key, at("10:00"), at("10:20"))
    (run,) = home.runs("tides")
    assert (run["key"], run["slot"][11:16], run["due"][11:16], run["lateness_s"]) == (key, "10:00", "10:20", 0.0)
    outcomes = home.sql("SELECT outcome, reason FROM occurrence WHERE state = 'settled' ORDER BY slot_at")
    assert outcomes == [("skipped", "skipped by a person in advance"), ("ran", "exit status 0")]
    (item,) = home.json("why", "tides", key)["occurrences"]
    assert [decision["what"] for decision in item["decisions"]] == [
        "planned",
        "moved",
        "claimed",
        "started",
        "completed",
    ]


# ── runs that no slot asked for


def test_a_manual_run_neither_eats_nor_postpones_a_slot(hand: Hand) -> None:
    """Regression of row 12: daily 17:00, run by hand at 16:58 for four minutes."""
    home = hand.home
    home.json("add", "0 17 * * *", "--script", "hi.sh", "--name", "Daily", "--timezone", "America/New_York")
    home.json("pause", "tides")
    before = home.json("next", "daily")["slots"]
    hand.at(at("21:58"))  # 16:58 there
    run = home.json("run", "daily")["run_id"]
    assert home.json("next", "daily")["slots"] == before
    (manual,) = hand.claim()
    hand.start(manual)
    assert (manual.run_id, manual.trigger) == (run, "manual")
    hand.at(at("22:00"))
    assert hand.claim() == [], "it waits for the run that is live"
    hand.at(at("22:02"))
    hand.end(manual)
    (scheduled,) = hand.claim()
    assert (scheduled.trigger, scheduled.slot) == ("schedule", at("22:00"))
    hand.end(hand.start(scheduled))
    assert [run["trigger"] for run in home.runs("daily")] == ["schedule", "manual"]
    for trigger in ("schedule", "manual"):
        found = home.json("runs", "daily", "--trigger", trigger)["runs"]
        assert [run["trigger"] for run in found] == [trigger]
    first, last = (run["due"][:10] for run in reversed(home.runs("daily")))
    assert len(home.json("runs", "--since", first, "--until", last)["runs"]) >= 2
    assert home.json("runs", "--until", "2020-01-01")["runs"] == []
    assert home.horae("runs", "--until", "2020-01-01").out == "no such runs\n"
    assert "someday" in home.error("runs", "--since", "someday", status=2)["message"]
    assert [run["outcome"] for run in home.runs("daily")] == ["ran", "ran"]
    assert home.json("next", "daily")["slots"][0]["slot"] == "2026-03-03T17:00:00-05:00"
    assert manual.key != scheduled.key


def test_a_paused_job_is_run_by_hand_and_stays_paused(hand: Hand) -> None:
    home = hand.home
    home.json("pause", "tides", "--reason", "spring tide")
    run = home.json("run", "tides")["run_id"]
    (claim,) = hand.carry_out(at("08:06"))
    assert claim.run_id == run
    job = home.jobs()["tides"]
    assert (job["state"], job["paused"]["reason"], job["last_run_state"]) == ("paused", "spring tide", "completed")
    assert hand.carry_out(at("11:00")) == [], "its slots are skipped as before"
    assert (
        "spring tide" in home.sql("SELECT reason FROM occurrence WHERE outcome = 'skipped' ORDER BY slot_at DESC")[0][0]
    )
    home.json("resume", "tides")
    assert [claim.slot for claim in hand.carry_out(at("12:00"))] == [at("12:00")]


def test_a_counted_job_is_run_by_hand_without_being_counted(home: TestHome) -> None:
    with by_hand(home, at("08:05")) as hand:
        home.json("add", "0 * * * *", *OPTIONS, "--repeat", "1")
        home.json("run", "tides")
        assert len(hand.carry_out(at("08:06"))) == 1
        assert home.jobs()["tides"]["next_slot"] == DAY + "09:00:00+00:00"
        assert len(hand.carry_out(at("09:00"))) == 1
        assert home.jobs()["tides"]["state"] == "completed"
