"""What is one trouble and what are two, and when people hear of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.incident import (
    Incident,
    cause_of,
    kind_of,
    may_remind,
    paused_note,
    paused_reason,
    recovery,
    reminder,
    since_words,
    why_untold,
)
from horae.core.model import Ending
from horae.core.outcome import blocked, judge, lost
from horae.limits import INCIDENT_CHARS_MAX, REMINDERS_MAX
from tests.support.builders import DAY, HOUR, MINUTE, START, a_result, at


def cause(stderr: str = "", **given: Any) -> str:
    return cause_of(judge("Tides", a_result(**{"exit_code": 1, "stderr": stderr, **given})))


# ── the cause

SAME = [
    ("connection to 10.0.0.17:5432 refused", "connection to 10.0.0.9:5432 refused"),
    ("took 12.5 s", "took 7 s"),
    ("at 2026-03-02T08:00:00Z: no", "at 2026-03-03T09:30:11Z: no"),
    ("at 2026-03-02 08:00:00,123: no", "at 2026-03-03 19:31:01,4: no"),
    ("<Tide at 0x7f3a2b10>", "<Tide at 0x55d0>"),
    ("commit 3fa85f64ab12 is bad", "commit 00c0ffee99 is bad"),
    ("request 3fa85f64-5717-4562-b3fc-2c963f66afa6", "request 0b1e6d1c-0000-4562-b3fc-99963f66afa6"),
    ("file run_3fa85f64ab12.log", "file run_9a85f64abcd3.log"),
    ("/var/spool/1f2e3d4c5b6a/out", "/var/spool/9e8d7c6b5a40/out"),
    ("5 " + "of a very long line " * 20, "1234567 " + "of a very long line " * 20),
    ("first line\nthe same end", "another line\nthe same end"),
]
OTHER = [
    ("connection refused", "connection reset"),
    ("no file a.txt", "no file b.txt"),
    ("facade", "decade"),
    ("", "no file"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_differs_from_time_to_time_makes_no_other_cause(one: str, other: str) -> None:
    assert cause(one) == cause(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_other_words_are_another_cause(one: str, other: str) -> None:
    assert cause(one) != cause(other)


def test_how_the_program_ended_is_kept_exactly() -> None:
    assert cause("no", exit_code=1) == "exit status 1: no"
    assert cause("no", exit_code=2) == "exit status 2: no"
    assert cause("no", exit_code=None, signal=9) == "ended by signal 9: no"
    assert cause("no", exit_code=None, signal=15) == "ended by signal 15: no"
    assert (
        cause("", exit_code=None, signal=15, ended_by="wall limit of 20 minutes reached")
        == "wall limit of # minutes reached"
    )
    assert cause("", exit_code=None, refused="Exec format error") == "could not be started: Exec format error"


def test_what_is_said_about_processes_that_were_left_is_no_part_of_it() -> None:
    ending = judge("Tides", a_result(exit_code=1, stderr="no"))
    assert cause_of(replace(ending, reason=f"{ending.reason}; 3 processes outlived it")) == cause_of(ending)


def test_a_declared_failure_goes_by_its_own_words() -> None:
    assert cause("a trace", exit_code=0, stdout="[FAILED]\nDisk 98% full") != cause(
        "a trace", exit_code=0, stdout="[FAILED]\nno"
    )
    told = '{"horae": {"status": "failed", "message": "Disk %d%% full"}}'
    assert cause(exit_code=0, stdout=told % 98) == cause(exit_code=0, stdout=told % 99)
    assert "Disk #% full" in cause(exit_code=0, stdout=told % 98)


def test_what_never_was_a_program_goes_by_its_reason() -> None:
    assert cause_of(blocked("Tides", ("there is no script a.sh", "no target b"))) == "there is no script a.sh"
    assert cause_of(lost("Tides", "its shim 4711 is gone")) == "its shim # is gone"


@given(st.text(max_size=600))
def test_a_cause_is_one_short_line(text: str) -> None:
    found = cause(text)
    assert len(found) <= INCIDENT_CHARS_MAX
    assert "\n" not in found
    assert found.startswith("exit status 1")
    assert cause(text) == found


@given(st.lists(st.integers(0, 10**9), min_size=3, max_size=3), st.lists(st.integers(0, 10**9), min_size=3, max_size=3))
def test_numbers_never_make_two_causes_of_one(some: list[int], others: list[int]) -> None:
    line = "tide {} of harbour-{} is {} late: " + "words " * 60
    assert cause(line.format(*some)) == cause(line.format(*others))


def test_a_line_made_to_take_long_does_not() -> None:
    assert len(cause("a" * 100_000)) == INCIDENT_CHARS_MAX
    assert len(cause("0a" * 50_000)) <= INCIDENT_CHARS_MAX


@pytest.mark.parametrize(
    ("event", "kind"),
    [("fail", "failed"), ("block", "blocked"), ("lose", "unknown"), ("complete", None), ("cancel", None)],
)
def test_what_a_person_ended_is_no_incident(event: str, kind: str | None) -> None:
    assert kind_of(Ending(event, "", "", alert=True)) == kind


# ── whether people hear of it


def an_incident(**given: Any) -> Incident:
    values: dict[str, Any] = {
        "id": "1f2e3d4c", "kind": "failed", "cause": "exit status 1", "says": "exit status 1",
        "opened_at": START, "last_at": START, "count": 1,
        "told_at": START, "reminders": 0, "acked_by": None, "snoozed_until": None,
    }  # fmt: skip
    return Incident(**(values | given))


NOW = at("12:00")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "told 2026-03-02 08:00Z"),
        ({"told_at": None}, None),
        ({"told_at": None, "on_its_way": True}, "a message is on its way"),
        ({"acked_by": "ann"}, "acknowledged by ann"),
        ({"acked_by": "ann", "told_at": None}, "acknowledged by ann"),
        ({"acked_by": "ann", "snoozed_until": NOW + MINUTE}, "snoozed by ann until 2026-03-02 12:01Z"),
        ({"acked_by": "ann", "snoozed_until": NOW + MINUTE, "told_at": None}, "snoozed by ann"),
        ({"acked_by": "ann", "snoozed_until": NOW}, None),
        ({"acked_by": "ann", "snoozed_until": NOW - DAY}, None),
        ({"acked_by": "ann", "snoozed_until": NOW - DAY, "on_its_way": True}, None),
    ],
)
def test_one_more_of_the_same(given: dict[str, Any], why: str | None) -> None:
    found = why_untold(an_incident(**given), NOW)
    assert (found is None) == (why is None)
    if why is not None:
        assert found is not None
        assert found.startswith("it belongs to incident 1f2e3d4c, ")
        assert why in found


def test_a_new_cause_is_always_told() -> None:
    assert why_untold(None, NOW) is None


incidents = st.builds(
    an_incident,
    told_at=st.none() | st.just(START),
    acked_by=st.none() | st.just("ann"),
    snoozed_until=st.none() | st.sampled_from([NOW - HOUR, NOW, NOW + HOUR]),
    on_its_way=st.booleans(),
)


@given(incidents)
def test_no_failure_is_silent_of_which_nobody_knows(incident: Incident) -> None:
    """Rule 4: what is not sent was told, is about to be, or is somebody's own wish."""
    if why_untold(incident, NOW) is not None:
        assert (
            incident.told_at is not None
            or incident.on_its_way
            or incident.acked_by is not None
            or incident.snoozed_until
        )


@pytest.mark.parametrize(
    ("given", "may"),
    [
        ({}, True),
        ({"reminders": REMINDERS_MAX - 1}, True),
        ({"reminders": REMINDERS_MAX}, False),
        ({"acked_by": "ann"}, False),
        ({"acked_by": "ann", "snoozed_until": NOW + MINUTE}, False),
        ({"acked_by": "ann", "snoozed_until": NOW}, True),
    ],
)
def test_reminders_have_an_end(given: dict[str, Any], may: bool) -> None:
    assert may_remind(an_incident(**given), NOW) is may


# ── words


@pytest.mark.parametrize(
    ("count", "now", "words"),
    [
        (1, START + HOUR, "once since 2026-03-02 08:00Z (1 hour ago)"),
        (3, START + 2 * DAY, "3 times since 2026-03-02 08:00Z (2 days ago)"),
        (2, START, "2 times since 2026-03-02 08:00Z (1 second ago)"),
    ],
)
def test_how_long_and_how_often(count: int, now: datetime, words: str) -> None:
    assert since_words(an_incident(count=count), now) == words


def test_a_reminder_says_what_it_is_about_and_how_to_end_it() -> None:
    text = reminder("Tides", an_incident(count=4, last_at=at("11:00")), NOW)
    assert text.startswith("Tides still has trouble: it failed 4 times since 2026-03-02 08:00Z (4 hours ago), last at ")
    assert "2026-03-02 11:00Z" in text
    assert "exit status 1" in text
    assert "`horae ack 1f2e3d4c`" in text


@pytest.mark.parametrize("kind", ["failed", "blocked", "unknown", "overdue", "quiet", "undelivered"])
def test_each_kind_has_words(kind: str) -> None:
    assert reminder("Tides", an_incident(kind=kind), NOW)
    assert recovery("Tides", [an_incident(kind=kind)], NOW)


def test_a_recovery_names_all_that_is_over() -> None:
    over = [an_incident(count=3), an_incident(kind="overdue", cause="no run had completed by 09:30")]
    text = recovery("Tides", over, NOW)
    assert text.startswith("Tides works again. Before that it failed 3 times since ")
    assert "exit status 1; it was overdue once since " in text


def test_a_pause_says_how_it_ends() -> None:
    note = paused_note("tides", 5)
    assert "failed 5 times in a row" in note
    assert "`horae resume tides`" in note
    assert paused_reason(5, "exit status 1") == "5 failures in a row; the last one: exit status 1"
