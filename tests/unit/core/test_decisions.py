"""Admission, catch-up, outcome, preflight, clocks, keys, lateness: values in, values out."""

from __future__ import annotations

import itertools
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from horae.core.admission import Candidate, early
from horae.core.catchup import Backlog, Span, backlog
from horae.core.clockwatch import Reading, compare
from horae.core.identity import NAMESPACE, manual_key, provisional_id, run_id, slot_key
from horae.core.lateness import summary
from horae.core.outcome import blocked, judge, lost
from horae.core.preflight import Facts, preflight
from horae.limits import MESSAGE_CHARS_MAX, MISSED_COUNT_MAX, MISSED_ROWS_MAX, STEP_NOTICED_S
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule
from tests.support.builders import MINUTE, MINUTELY, SECOND, START, a_job, a_result, at

# ── admission


def candidate(**given: Any) -> Candidate:
    values = {"trigger": "schedule", "exception": None, "removed": False, "problem": None, "paused": None}
    return Candidate(**(values | given))


@pytest.mark.parametrize(
    ("given", "outcome", "says"),
    [
        ({}, None, ""),
        ({"exception": "move"}, None, ""),
        ({"removed": True, "problem": "x", "paused": "p"}, "void", "removed"),
        ({"problem": "line 3", "paused": "p", "exception": "skip"}, "blocked", "line 3"),
        ({"exception": "skip", "paused": "p"}, "skipped", "in advance"),
        ({"exception": "skip", "closed": "it had its turn"}, "skipped", "it had its turn"),
        ({"trigger": "manual", "paused": "p"}, None, ""),
        ({"trigger": "manual", "spent": 3}, None, ""),
        ({"spent": 3, "paused": "p"}, "void", "3 times"),
        ({"paused": "paused by me"}, "skipped", "paused by me"),
    ],
)
def test_the_first_rule_that_matches_wins(given: dict[str, Any], outcome: str | None, says: str) -> None:
    found = early(candidate(**given))
    assert (found and found.outcome) == outcome
    assert found is None or says in found.reason


def test_every_end_has_a_reason() -> None:
    for trigger, exception, removed, problem, paused in itertools.product(
        ("schedule", "manual"), (None, "skip", "move"), (True, False), (None, "x"), (None, "p")
    ):
        found = early(Candidate(trigger, exception, removed, problem, paused))
        assert found is None or (found.outcome in ("void", "blocked", "skipped") and found.reason)


# ── catch-up


def slots(text: str = MINUTELY) -> RecurrenceSet:
    return parse_schedule(text, "UTC", anchor=START).set


def test_a_slot_on_time_has_no_backlog() -> None:
    for now in (at("08:01"), at("08:01:59")):
        assert backlog(slots(), at("08:01"), now, set()) == Backlog(at("08:01"), ())


def test_the_latest_runs_and_each_earlier_one_is_told() -> None:
    found = backlog(slots(), at("08:01"), at("08:03:30"), set())
    assert found == Backlog(at("08:03"), tuple(Span(at(m), at(m), 1) for m in ("08:01", "08:02")))
    assert found.count == 2


def test_slots_that_are_spoken_for_are_left_out() -> None:
    found = backlog(slots(), at("08:01"), at("08:04"), {at("08:02"), at("08:04")})
    assert (found.latest, [span.first for span in found.passed]) == (at("08:03"), [at("08:01")])


def test_when_all_later_ones_are_spoken_for_the_planned_one_runs() -> None:
    assert backlog(slots(), at("08:01"), at("08:03"), {at("08:02"), at("08:03")}) == Backlog(at("08:01"), ())


@pytest.mark.parametrize("spoken", [set(), {3}, {1, 2}, {150, 151}, {199, 200}, {1, 100, 200}])
@pytest.mark.parametrize("passed", [99, 100, 101, 102, 200])
def test_run_missed_and_spoken_for_are_all_slots(passed: int, spoken: set[int]) -> None:
    """On both sides of the limit of rows, the count is exact."""
    planned = at("08:01")
    taken = {planned + n * MINUTE for n in spoken if n <= passed}
    found = backlog(slots(), planned, planned + passed * MINUTE, taken)
    assert found.count + 1 + len(taken) == passed + 1
    assert found.latest not in taken
    assert found.latest == max({planned + n * MINUTE for n in range(passed + 1)} - taken)
    if passed <= MISSED_ROWS_MAX:
        assert all(span.count == 1 for span in found.passed)
    else:
        assert len(found.passed) == 1


def test_counting_has_an_end() -> None:
    every_second = slots("every 1 second from 2026-03-02T08:00:00+00:00")
    found = backlog(every_second, at("08:00:01"), START + timedelta(days=30), set())
    assert MISSED_COUNT_MAX <= found.count <= MISSED_COUNT_MAX + 1


# ── outcome: work without an agent


def test_the_trimmed_output_is_the_message() -> None:
    ending = judge("Tides", a_result(stdout="\n  high at six \n\n"))
    assert (ending.event, ending.message, ending.alert, ending.reason) == (
        "complete",
        "high at six",
        False,
        "exit status 0",
    )


@pytest.mark.parametrize("printed", ["", "\n", " \t\r\n "])
def test_nothing_printed_is_a_silent_success(printed: str) -> None:
    ending = judge("Tides", a_result(stdout=printed, stderr="warnings do not count"))
    assert (ending.event, ending.message, ending.alert) == ("complete", "", False)


@pytest.mark.parametrize(
    ("result", "event", "reason"),
    [
        (a_result(exit_code=3), "fail", "exit status 3"),
        (a_result(exit_code=None, signal=9), "fail", "ended by signal 9"),
        (
            a_result(exit_code=None, signal=15, ended_by="wall limit of 20 m reached"),
            "fail",
            "wall limit of 20 m reached",
        ),
        (a_result(exit_code=0, ended_by="wall limit of 20 m reached"), "fail", "wall limit of 20 m reached"),
        (a_result(exit_code=None, signal=15, ended_by="the gateway was stopped"), "cancel", "the gateway was stopped"),
        (a_result(exit_code=None, refused="Exec format error"), "fail", "could not be started: Exec format error"),
    ],
)
@pytest.mark.parametrize("printed", ["", "[SILENT]", "all is well"])
def test_trouble_is_an_alert_and_never_silent(result: Any, event: str, reason: str, printed: str) -> None:
    ending = judge("Tides", replace(result, stdout=printed, stderr="why"))
    assert (ending.event, ending.reason, ending.alert) == (event, reason, True)
    assert reason in ending.message
    assert "stderr:\nwhy" in ending.message
    assert ("stdout:" in ending.message) == bool(printed)


def test_evidence_is_the_end_of_what_was_printed() -> None:
    ending = judge("Tides", a_result(exit_code=1, stderr="x" * MESSAGE_CHARS_MAX + "the end"))
    assert ending.message.endswith("the end")
    assert len(ending.message) < MESSAGE_CHARS_MAX + 200


def test_blocked_and_lost_say_all_their_reasons() -> None:
    ending = blocked("Tides", ("no script", "no target"))
    assert (ending.event, ending.reason, ending.alert) == ("block", "no script; no target", True)
    assert "no target" in ending.message
    ending = lost("Tides", "the gateway ended first")
    assert (ending.event, ending.alert) == ("lose", True)
    assert "nobody can say" in ending.message


def test_preflight_names_every_reason() -> None:
    job = a_job(deliver=("local", "desk", "pager"))
    unreachable = {"local": None, "desk": "no such target", "pager": "no token"}
    assert preflight(job, Facts(problems=("no script",)), unreachable.get) == (
        "no script",
        "target desk: no such target",
        "target pager: no token",
    )
    assert preflight(a_job(), Facts(("x",), "/"), lambda target: None) == ()


# ── clocks


@pytest.mark.parametrize(
    ("wall", "steady", "awake", "stepped", "slept"),
    [
        (60, 60, 60, 0, 0),
        (61.5, 60, 60, 0, 0),
        (58.5, 60, 60, 0, 0),
        (3660, 60, 60, 3600, 0),
        (-3540, 60, 60, -3600, 0),
        (3600, 3600, 60, 0, 3540),
        (7200, 3600, 60, 3600, 3540),
        (60 + STEP_NOTICED_S, 60, 60, 0, 0),
        (60, 60, 61, 0, 0),
    ],
)
def test_a_step_and_a_sleep_are_told_apart(
    wall: float, steady: float, awake: float, stepped: float, slept: float
) -> None:
    before = Reading(1_000_000.0, 500.0, 300.0)
    noticed = compare(before, Reading(before.wall_s + wall, before.steady_s + steady, before.awake_s + awake))
    assert (noticed.stepped_s, noticed.slept_s) == (stepped, slept)
    assert bool(noticed) == bool(stepped or slept)


# ── keys


def test_the_key_of_the_design() -> None:
    slot = datetime(2026, 10, 26, 8, tzinfo=UTC)
    assert slot_key("0c1d2e3f4a5b", slot) == "d3adde3841705388b4e208cf8b864e99"


@pytest.mark.parametrize("hours", [-12, -3.5, 1, 5.75, 14])
def test_a_key_does_not_depend_on_the_offset_in_which_the_slot_is_written(hours: float) -> None:
    slot = datetime(2026, 10, 26, 8, tzinfo=UTC)
    assert slot_key("j", slot.astimezone(timezone(timedelta(hours=hours)))) == slot_key("j", slot)


def test_keys_are_uuid5_and_differ() -> None:
    space = uuid.UUID(bytes=NAMESPACE)
    assert str(space) == "3ac1ead0-9909-5599-8d64-da65c43647dc"
    assert slot_key("j", START) == uuid.uuid5(space, "j@2026-03-02T08:00:00+00:00").hex
    assert manual_key("j", "abc") == uuid.uuid5(space, "j@abc").hex
    keys = {slot_key("j", START + n * SECOND) for n in range(1000)} | {slot_key("k", START), manual_key("j", "r")}
    assert len(keys) == 1002


def test_run_ids_follow_from_key_and_attempt() -> None:
    ids = {run_id("k" * 32, n) for n in range(1, 100)}
    assert len(ids) == 99
    assert all(len(found) == 20 for found in ids)
    assert len(provisional_id("tides")) == 12


# ── lateness


def test_lateness_of_nothing() -> None:
    assert summary([]) == {"p50": None, "p99": None, "max": None, "count": 0}


@pytest.mark.parametrize(
    ("values", "p50", "p99", "most"),
    [
        ([5.0], 5.0, 5.0, 5.0),
        ([1.0, 2.0], 1.0, 2.0, 2.0),
        ([3.0, 1.0, 2.0], 2.0, 3.0, 3.0),
        ([float(n) for n in range(1, 101)], 50.0, 99.0, 100.0),
        ([float(n) for n in range(1, 1001)], 500.0, 990.0, 1000.0),
    ],
)
def test_percentiles_are_of_the_nearest_rank(values: list[float], p50: float, p99: float, most: float) -> None:
    assert summary(values) == {"p50": p50, "p99": p99, "max": most, "count": len(values)}
