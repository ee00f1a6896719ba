"""What a job says about clock changes decides about its slots everywhere: planned, claimed, caught up with, replanned."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from horae.core.identity import slot_key
from horae.core.model import ClockChange, Job
from tests.support.builders import a_job, us
from tests.support.stores import SqliteUnderTest as UnderTest

NIGHTLY = "every day at 2:30"  # at 2:30 clocks are set forward in Paris on 29 March 2026, and back on 25 October


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def nightly(**given: Any) -> Job:
    return a_job(schedule=NIGHTLY, timezone="Europe/Paris", **given)


def planned(s: UnderTest, job: Job) -> list[datetime]:
    rows = s.rows("SELECT slot_at FROM occurrence WHERE job_id = ? AND state = 'planned' ORDER BY slot_at", job.id)
    return [datetime.fromtimestamp(row["slot_at"] / 1e6, tz=UTC) for row in rows]


@pytest.mark.parametrize(
    ("asked", "slot"),
    [
        (ClockChange(), "2026-03-29T01:30"),
        (ClockChange("after"), "2026-03-29T01:00"),
        (ClockChange("skip"), "2026-03-30T00:30"),
    ],
)
def test_the_slot_in_a_gap_is_planned_as_the_job_says(s: UnderTest, asked: ClockChange, slot: str) -> None:
    s.clock.time = utc("2026-03-28T12:00")
    assert planned(s, s.put(nightly(clock_change=asked))) == [utc(slot)]


def test_both_slots_of_a_repeated_hour_run(s: UnderTest) -> None:
    s.clock.time = utc("2026-10-24T12:00")
    job, owner = s.put(nightly(clock_change=ClockChange(repeat="both"))), s.sign_on()
    ran: list[datetime] = []
    for moment in ("2026-10-25T00:30", "2026-10-25T01:30", "2026-10-26T01:30"):
        s.clock.time = utc(moment)
        for claim in s.claim(owner):
            ran.append(claim.slot)
            s.carry_out(claim)
    assert ran == [utc("2026-10-25T00:30"), utc("2026-10-25T01:30"), utc("2026-10-26T01:30")]
    assert planned(s, job) == [utc("2026-10-27T01:30")]


def test_catching_up_counts_the_slots_that_there_were(s: UnderTest) -> None:
    s.clock.time = utc("2026-10-23T12:00")
    s.put(nightly(clock_change=ClockChange(repeat="both")))
    owner = s.sign_on()
    s.clock.time = utc("2026-10-26T12:00")
    (claim,) = s.claim(owner)
    assert (claim.slot, claim.missed) == (utc("2026-10-26T01:30"), 3)


def test_a_changed_policy_plans_anew_and_keeps_exceptions_of_slots_that_still_are(s: UnderTest) -> None:
    s.clock.time = utc("2026-03-28T12:00")
    job = s.put(nightly())
    in_the_gap, day_after = utc("2026-03-29T01:30"), utc("2026-03-30T00:30")
    for slot in (in_the_gap, day_after):
        s.do(lambda tx, slot=slot: tx.jobs.set_exception(job.id, slot, "skip", due=None, actor="person"))
    s.put(nightly(clock_change=ClockChange("skip")))
    rows = s.rows("SELECT slot_at, exception FROM occurrence WHERE job_id = ? ORDER BY slot_at", job.id)
    assert [(row["slot_at"], row["exception"]) for row in rows] == [
        (us(day_after), "skip"),
        (us(utc("2026-03-31T00:30")), None),
    ]
    (dropped,) = s.journal("unplanned")[-1:]
    assert "the schedule was changed" in dropped["detail"]
    assert s.job(job)["cursor_at"] == us(utc("2026-03-31T00:30"))


def test_taking_the_policy_away_plans_by_the_default_again(s: UnderTest) -> None:
    s.clock.time = utc("2026-03-28T12:00")
    s.put(nightly(clock_change=ClockChange("skip")))
    job = s.put(nightly())
    assert planned(s, job) == [utc("2026-03-29T01:30")]
    assert [s.job(job)[name] for name in ("clock_gap", "clock_repeat")] == [None, None]


def test_a_row_whose_policy_was_lost_is_mended_by_its_file(s: UnderTest) -> None:
    s.clock.time = utc("2026-03-28T12:00")
    job = s.put(nightly(clock_change=ClockChange("skip", "both")))
    s.damage("UPDATE job SET clock_gap = NULL, clock_repeat = NULL WHERE id = ?", job.id)
    s.put(job)
    assert [s.job(job)[name] for name in ("clock_gap", "clock_repeat")] == ["skip", "both"]


def test_a_far_slot_has_the_key_of_its_instant_whatever_the_policy(s: UnderTest) -> None:
    s.clock.time = utc("2026-03-01T12:00")
    job = s.put(nightly(clock_change=ClockChange("after")))
    slot = utc("2026-03-29T01:00")
    s.do(lambda tx: tx.jobs.set_exception(job.id, slot, "skip", due=None, actor="person"))
    assert s.occurrence(slot_key(job.id, slot))["offset_s"] == 7200
