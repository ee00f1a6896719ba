"""What went wrong elsewhere and must not here: black-box cases through the command line and real gateways.

The numbers are those of the list of regression cases; hours there are seconds here. Each case counts what really
happened by lines that the programs append to a file, not by what is said about it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from tests.support.process import Gateway, TestHome, finish, running, start, until
from tests.support.shims import shims

INSIDE = True
PARIS, NEW_YORK = "Europe/Paris", "America/New_York"
MARK = 'echo "$HORAE_JOB_NAME $HORAE_OCCURRENCE_KEY $HORAE_LATENESS_S $HORAE_MISSED" >> "$HORAE_HOME/marks"\n'
HOLD = MARK + 'while [ ! -e "$HORAE_HOME/go" ]; do sleep 0.05; done\n'


@pytest.fixture
def home(home: TestHome) -> TestHome:
    home.script("mark.sh", MARK)
    home.script("hold.sh", HOLD)
    return home


def marks(home: TestHome, job: str) -> list[list[str]]:
    """What a job's program has written, a line each time it ran: key, lateness, missed."""
    path = home.path / "marks"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line.rsplit(" ", 3)[1:] for line in lines if line.startswith(f"{job} ")]


def in_s(seconds: float, zone: str = PARIS) -> datetime:
    """A whole second that is at least so far ahead."""
    return datetime.fromtimestamp(int(time.time() + seconds) + 1, ZoneInfo(zone))


def daily(at: datetime) -> str:
    """Every day at that second, from that day on."""
    return f"DTSTART;TZID={at.tzinfo}:{at:%Y%m%dT%H%M%S} RRULE:FREQ=DAILY"


def passes(at: datetime, by_s: float = 0.0) -> None:
    until(lambda: time.time() > at.timestamp() + by_s, f"{at} passes")


def tomorrow(at: datetime) -> str:
    return (at + timedelta(days=1)).isoformat()


def outcomes(home: TestHome, job: str) -> list[tuple[str, str]]:
    """(outcome, reason) of all that is accounted for, oldest first."""
    listed = home.json("why", job, "--limit", "50")["occurrences"]
    return [(item["outcome"], item["reason"]) for item in reversed(listed) if item["outcome"] is not None]


# ── 2: the scheduler was down


def add(home: TestHome, name: str, schedule: str, *more: str, script: str = "mark.sh", zone: str = PARIS) -> None:
    home.json("add", schedule, "--script", script, "--name", name, "--timezone", zone, *more)


def edited(home: TestHome, slug: str, line: str) -> None:
    """A key into a job's file, by hand."""
    path = home.file(slug)
    path.write_text(path.read_text().replace("agent:", f"{line}\nagent:", 1))


def down_over(at: datetime, by_s: float) -> None:
    """The slot passes while no gateway runs. The last one must have been stopped before it."""
    assert time.time() < at.timestamp() - 0.2, "stopped in time"
    passes(at, by_s)


@pytest.mark.parametrize("policy", ["", "catch_up: once"], ids=["default", "once"])
def test_case_2_a_downtime_with_once_is_one_late_run_and_tomorrow(home: TestHome, policy: str) -> None:
    with running(home):
        at = in_s(5)
        add(home, "Daily", daily(at))
        if policy:
            edited(home, "daily", policy)
    down_over(at, 1.5)
    with running(home):
        until(lambda: home.runs("daily", "--state", "completed"), "it is caught up with")
        assert home.jobs()["daily"]["next_slot"] == tomorrow(at)
    (run,) = home.runs("daily")
    assert (run["state"], run["outcome"], run["slot"]) == ("completed", "ran", at.isoformat())
    assert 1.5 <= run["lateness_s"] < 15
    ((key, late, missed),) = marks(home, "Daily")
    assert (key, missed) == (run["key"], "0")
    assert 1.5 <= float(late) < 15, "the run is told how late it is"
    assert outcomes(home, "daily") == [("ran", "exit status 0")]


def test_case_2_a_downtime_with_skip_is_one_missed_entry_and_no_run(home: TestHome) -> None:
    with running(home):
        at = in_s(5)
        add(home, "Daily", daily(at), "--catch-up", "skip", "--not-later-than", "1s")
    down_over(at, 2.0)
    with running(home):
        until(lambda: outcomes(home, "daily"), "it is accounted for")
        assert home.jobs()["daily"]["next_slot"] == tomorrow(at)
        assert home.jobs()["daily"]["last_outcome"] == "missed"
    ((outcome, reason),) = outcomes(home, "daily")
    assert outcome == "missed"
    assert reason
    assert home.runs("daily") == []
    assert marks(home, "Daily") == []


def test_case_2_a_long_downtime_accounts_for_every_slot_by_policy(home: TestHome) -> None:
    """Many slots pass: `once` runs the last of them, `all` each of them, `skip` none; no slot is without an entry."""
    home.config('parallel = 8\ntimezone = "Europe/Paris"\n')
    policies = {"once": (), "all": (), "skip": ("--not-later-than", "1s")}
    with running(home):
        begin = in_s(8)
        end = begin + timedelta(seconds=8)
        for name, more in policies.items():
            words = ("--catch-up", name, *more, "--ends", end.isoformat())
            add(home, name, f"every 1s from {begin.isoformat()}", *words)
        slots = len(home.look("next", "all", "-n", "50")["slots"])
    down_over(begin, 0)
    passes(end, 2.0)
    with running(home):
        until(lambda: all(job["state"] == "completed" for job in home.jobs().values()), "all are accounted for", 40)
    ran = {name: Counter(outcome for outcome, _ in outcomes(home, name)) for name in policies}
    assert ran == {"once": {"ran": 1, "missed": slots - 1}, "all": {"ran": slots}, "skip": {"missed": slots}}
    assert {name: len(marks(home, name)) for name in policies} == {"once": 1, "all": slots, "skip": 0}
    assert len({key for key, *_ in marks(home, "all")}) == slots >= 7
    assert [missed for *_, missed in marks(home, "once")] == [str(slots - 1)], "the run is told for how many it stands"
    assert all(reason for name in policies for _, reason in outcomes(home, name))


# ── 3: killed between two steps


def killed(home: TestHome, gateway: Gateway) -> None:
    """The gateway and its shims end without a chance to say anything."""
    gateway.kill()
    for pid in shims(home.path).values():
        os.kill(pid, signal.SIGKILL)


def test_case_3_a_killed_after_the_slot_was_consumed_and_before_the_start_runs_once(home: TestHome) -> None:
    home.config('parallel = 1\ntimezone = "Europe/Paris"\n')
    at = in_s(4)
    add(home, "Holding", at.isoformat(), script="hold.sh")
    gateway = start(home)
    try:
        (holder,) = until(lambda: [run for run in home.runs("holding", "--state", "running") if run["pid"]], "it holds")
        once, repeating = in_s(1), in_s(2)
        add(home, "Once", once.isoformat())
        add(home, "Daily", daily(repeating))
        until(
            lambda: len(home.runs("--state", "claimed")) == 2, "both slots are consumed, and nothing of them has begun"
        )
        killed(home, gateway)
    finally:
        finish(gateway)
    assert {run["slug"]: run["state"] for run in home.runs()} == {
        "once": "claimed",
        "daily": "claimed",
        "holding": "running",
    }
    with running(home):
        until(
            lambda: home.runs("once", "--state", "completed") and home.runs("daily", "--state", "completed"), "they run"
        )
        assert home.jobs()["daily"]["next_slot"] == tomorrow(repeating)
        assert home.ended(holder["id"])["state"] == "unknown"
    with running(home):
        pass
    for name, slug, slot in (("Once", "once", once), ("Daily", "daily", repeating)):
        assert len(marks(home, name)) == 1, name
        assert outcomes(home, slug) == [("ran", "exit status 0")]
        assert [(run["state"], run["attempt"]) for run in home.runs(slug)] == [("completed", 2), ("released", 1)]
        assert {run["slot"] for run in home.runs(slug)} == {slot.isoformat()}
    assert home.jobs()["once"]["state"] == "completed"


def both_live(home: TestHome) -> list[dict]:
    """The live runs with their processes, once there are two."""
    found = [run for run in home.runs("--state", "running") if run["pid"]]
    return found if len(found) == 2 else []


def test_case_3_b_killed_with_its_shim_in_the_middle_of_a_run_is_unknown_until_a_person_says_how_it_ended(
    home: TestHome,
) -> None:
    at = in_s(4)
    for name, schedule in (("Once", at.isoformat()), ("Daily", daily(at))):
        add(home, name, schedule, script="hold.sh")
    gateway = start(home)
    try:
        live = until(lambda: both_live(home), "both run")
        killed(home, gateway)
    finally:
        finish(gateway)
    assert home.jobs()["once"]["next_slot"] is None, "it does not linger as if it were still to come"
    assert home.jobs()["daily"]["next_slot"] == tomorrow(at)
    with running(home):
        for run in live:
            ended = home.ended(run["id"])
            assert (ended["state"], ended["outcome"]) == ("unknown", "ran")
        assert home.jobs()["once"]["state"] == "completed"
        assert home.jobs()["daily"]["next_slot"] == tomorrow(at), "the next slot stays"
        assert {item["job"] for item in home.json("status")["waiting"] if item["kind"] == "unknown"} == {
            "once",
            "daily",
        }
        assert f"horae resolve {live[0]['id']} --as" in home.horae("status").out
    (home.path / "go").touch()
    with running(home):
        assert [run["state"] for run in home.runs()] == ["unknown", "unknown"], "neither is run again by itself"
        assert (len(marks(home, "Once")), len(marks(home, "Daily"))) == (1, 1)
        by_slug = {run["slug"]: run["id"] for run in home.runs()}
        answer = home.json("resolve", by_slug["daily"], "--as", "completed", "--reason", "the mail is there")
        assert answer["run"]["reason"] == "resolved as completed by ann: the mail is there"
        again = home.json("resolve", by_slug["once"], "--as", "rerun")["run_id"]
        assert home.ended(again)["state"] == "completed"
        assert [item for item in home.json("status")["waiting"] if item["kind"] == "unknown"] == []
        assert "unknown" not in home.horae("doctor", status=None).out
    assert (len(marks(home, "Once")), len(marks(home, "Daily"))) == (2, 1)
    said = json.dumps(home.json("why", "once", "--limit", "5")["occurrences"])
    for word in ('"unknown"', '"resolved"', '"ordered"', again):
        assert word in said


# ── 4: two schedulers on one store


def test_case_4_a_second_gateway_is_refused_with_who_holds_the_home_and_nothing_runs_twice(home: TestHome) -> None:
    """A one-shot, an interval, and a run that lasts longer than any of it."""
    add(home, "Long", in_s(3).isoformat(), script="hold.sh")
    add(home, "Once", in_s(4).isoformat())
    add(home, "Often", "every 1s")
    with running(home) as gateway:
        for _ in range(3):
            error = home.error("up", status=6)
            assert error["code"] == "conflict"
            assert f"pid {gateway.pid}" in error["message"]
            assert error["details"]["holder"]["pid"] == gateway.pid
            assert "--home" in error["hint"]
        until(lambda: marks(home, "Once") and len(marks(home, "Often")) >= 6, "they run")
        assert home.json("status")["gateway"]["pid"] == gateway.pid
        assert [run["state"] for run in home.runs("long")] == ["running"]
        (home.path / "go").touch()
        until(lambda: home.runs("long", "--state", "completed"), "the long one ends")
    for name in ("Long", "Once", "Often"):
        keys = [key for key, *_ in marks(home, name)]
        assert len(keys) == len(set(keys)), f"{name} ran twice for one slot"
    assert (len(marks(home, "Long")), len(marks(home, "Once"))) == (1, 1)
    slots = [run["slot"] for run in home.runs("often")]
    assert len(slots) == len(set(slots))


def test_case_4_of_gateways_that_start_at_once_one_holds_the_home(home: TestHome) -> None:
    add(home, "Often", "every 1s")
    command = home.words("--json", "up")
    started = [
        subprocess.Popen(command, env=home.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    try:
        until(lambda: sum(one.poll() is None for one in started) == 1, "one is left")
        (holder,) = [one for one in started if one.poll() is None]
        until(lambda: len(marks(home, "Often")) >= 3, "it runs what is due")
        for one in started:
            if one is not holder:
                assert one.returncode == 6
                error = json.loads(one.stdout.read())["error"] if one.stdout else {}
                assert error["details"]["holder"]["pid"] == holder.pid
        holder.terminate()
        assert holder.wait(20) == 0
    finally:
        for one in started:
            if one.poll() is None:
                one.kill()
            one.communicate()
    keys = [key for key, *_ in marks(home, "Often")]
    assert len(keys) == len(set(keys))


# ── 7: words


def test_case_7_words_that_cannot_be_meant_are_refused_and_others_say_what_they_mean(home: TestHome) -> None:
    options = ("--script", "mark.sh", "--timezone", PARIS)
    refused = {
        "every 0m": "too short",
        "0 0 31 2 *": "never fires",
        (datetime.now(ZoneInfo(PARIS)) - timedelta(minutes=5)).isoformat(timespec="seconds"): "is in the past",
    }
    for schedule, why in refused.items():
        error = home.error("add", schedule, *options, status=2)
        assert why in error["message"], error
    assert home.jobs() == {}
    assert home.digests() == {}
    answer = home.json("add", "*/90 * * * *", *options, "--name", "Ninety")
    assert any("hour" in warning for warning in answer["warnings"]), answer["warnings"]
    first, second = (datetime.fromisoformat(slot["slot"]) for slot in answer["slots"][:2])
    assert second - first == timedelta(hours=1), "it fires as the warning says"


def test_case_7_a_one_shot_that_is_made_an_interval_repeats_for_ever(home: TestHome) -> None:
    made = home.json("add", "in 15m", "--script", "mark.sh", "--name", "Job", "--timezone", PARIS)
    assert len(made["slots"]) == 1
    answer = home.json("edit", "job", "--schedule", "every 15m")
    assert len(answer["slots"]) == 3
    assert (answer["job"]["repeat"], answer["job"]["state"]) == (None, "active")
    slots = [datetime.fromisoformat(slot["slot"]) for slot in home.json("next", "job", "-n", "500")["slots"]]
    assert len(slots) == 500
    assert {later - earlier for earlier, later in pairwise(slots)} == {timedelta(minutes=15)}
    home.json("edit", "job", "--schedule", "every 1s")
    with running(home):
        until(lambda: len(marks(home, "Job")) >= 3, "it repeats")
        assert home.jobs()["job"]["state"] == "active"


# ── 8: bad neighbours

BAD_FILES = {
    "empty": "",
    "null": "---\nnull\n---\n",
    "words": "---\njust words\n---\n",
    "list": "---\n- a\n- b\n---\n",
    "no-front": "schedule: every 1s\nscript: mark.sh\n",
    "soon": "---\nschedule: soon\nagent: false\nscript: mark.sh\n---\n",
    "number": "---\nschedule: 1790000000\nagent: false\nscript: mark.sh\n---\n",
    "impossible": "---\nschedule: 0 0 31 2 *\nagent: false\nscript: mark.sh\n---\n",
    "off-as-text": '---\nschedule: every 1s\nagent: false\nscript: mark.sh\nenabled: "false"\n---\n',
    "counted-in-words": "---\nschedule: every 1s\nagent: false\nscript: mark.sh\nrepeat: thrice\n---\n",
}
BAD_ROWS = {  # what is written over the row of a job that was well
    "row-null": "definition = 'null'",
    "row-text": "definition = '\"text\"'",
    "row-number": "definition = '17'",
    "row-cut": "definition = '{\"id\": '",
    "row-soon": "schedule = 'soon'",
    "row-zone": "timezone = 'Nowhere/Else'",
    "row-far": "anchor_at = 9000000000000000000",
    "row-cursor": "cursor_at = 9000000000000000000",
}


def test_case_8_bad_neighbours_are_reported_once_and_the_healthy_run_on(home: TestHome) -> None:
    for slug in BAD_ROWS:
        home.write(slug, name=slug, schedule="every 1s", script="mark.sh")
    home.json("list")
    for slug, damage in BAD_ROWS.items():
        home.sql_write(f"UPDATE job SET {damage} WHERE slug = '{slug}'")
    for slug, text in BAD_FILES.items():
        home.file(slug).write_text(text)
    (home.path / "jobs" / "bytes.md").write_bytes(b"---\nschedule: \xff\xfe\n---\n")
    home.write("good", name="Good", schedule="every 1s", script="mark.sh")
    with running(home) as gateway:
        began = time.monotonic()
        until(lambda: len(marks(home, "Good")) >= 2, "the healthy job runs")
        assert time.monotonic() - began < 5, "and at once"
        bad_files = {*BAD_FILES, "bytes"}
        until(
            lambda: {job["slug"] for job in home.jobs().values() if job["state"] == "quarantined"} >= bad_files,
            "reported",
        )
        seen = len(marks(home, "Good"))
        until(lambda: len(marks(home, "Good")) >= seen + 3, "it goes on")
        assert gateway.process.poll() is None
        for words in (
            ("list",),
            ("status",),
            ("doctor",),
            ("next",),
            ("runs",),
            ("check",),
            ("calendar", "--days", "2"),
        ):
            home.horae(*words, status=None)
        checks = [item["what"].split(":")[0] for item in home.json("doctor", status=1)["checks"] if not item["ok"]]
        named = Counter(checks)
        assert {slug: named[slug] for slug in bad_files} == dict.fromkeys(bad_files, 1), "each once"
        until(
            lambda: {slug for slug, job in home.jobs().items() if job["state"] == "active"} >= {"good", *BAD_ROWS},
            "what is damaged in the store is mended from its file",
        )
        for slug in bad_files:
            problem = home.jobs()[slug]["problem"]
            assert f"{slug}.md" in problem["message"]
    told = home.sql(
        "SELECT j.slug, count(*) FROM journal e JOIN job j ON j.id = e.job_id WHERE e.what = 'quarantined' GROUP BY 1"
    )
    assert {slug: count for slug, count in told if slug in bad_files} == dict.fromkeys(bad_files, 1)
    assert dict(told) == dict.fromkeys(dict(told), 1)
    assert not [name for name in ("off-as-text", "counted-in-words", "number") if marks(home, name)], (
        "what is bad never runs"
    )
    assert "Traceback" not in gateway.said()


# ── 10: runs by hand


@pytest.mark.parametrize("host", ["UTC", "Asia/Tokyo"])
def test_case_10_a_manual_run_over_a_slot_leaves_it_its_turn(home: TestHome, host: str) -> None:
    """Daily, run by hand just before its time for longer than that; the host's zone is not the job's."""
    with running(home, env={"TZ": host}):
        at = in_s(6, NEW_YORK)
        add(home, "Daily", daily(at), script="hold.sh", zone=NEW_YORK)
        before = home.look("next", "daily")["slots"]
        assert before[0]["slot"] == at.isoformat()
        manual = home.json("run", "daily", TZ=host)["run_id"]
        until(lambda: home.runs("daily", "--state", "running"), "it runs by hand")
        assert time.time() < at.timestamp(), "before its time"
        assert home.look("next", "daily")["slots"] == before
        passes(at, 0.5)
        assert [run["state"] for run in home.runs("daily")] == ["running"], "the slot waits for the run by hand"
        (home.path / "go").touch()
        until(lambda: len(home.runs("daily", "--state", "completed")) == 2, "both have run")
        assert home.jobs()["daily"]["next_slot"] == tomorrow(at)
    scheduled, by_hand = home.runs("daily")
    assert (by_hand["id"], by_hand["trigger"]) == (manual, "manual")
    assert (scheduled["trigger"], scheduled["slot"], scheduled["outcome"]) == ("schedule", at.isoformat(), "ran")
    assert scheduled["started_at"] >= by_hand["finished_at"], "not at the same time"
    assert [key for key, *_ in marks(home, "Daily")] == [by_hand["key"], scheduled["key"]]


def test_case_10_a_paused_job_is_run_by_hand_and_stays_paused(home: TestHome) -> None:
    add(home, "Often", "every 1s", "--paused")
    with running(home):
        assert home.json("run", "often", "--wait")["run"]["state"] == "completed"
        until(
            lambda: ("skipped", "paused by ann") in {(o, r[:13]) for o, r in outcomes(home, "often")},
            "slots are skipped",
        )
        assert home.jobs()["often"]["state"] == "paused"
    assert len(marks(home, "Often")) == 1
