"""When a job runs: the set of its slots, made of its row in the same way wherever slots are looked at.

Planning, claiming and previews must see the same slots, or a slot that is shown would not be run. What decides about
them stands in the row: schedule, zone, anchor, and what its `clock_change` says.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, Protocol

from horae.core.instants import from_us, readable, to_us
from horae.core.model import ClockChange, Job
from horae.errors import Invalid, Problem
from horae.limits import ONE_SHOT_GRACE_S
from horae.timing.clockchange import EPOCH, SECOND, Gap, Repeat, span_at
from horae.timing.dates import begin_of, end_of, read_instant
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import Schedule, parse_schedule

_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
SLOTS_CACHED = 4096  # parsed schedules kept, some kilobytes each: 100,000 jobs must not fill the memory
# What reading may raise where something is damaged, or brings out a fault of ours: no JSON, JSON of another kind, an instant
# that no datetime holds, a bad schedule. Whoever reads one record of many names this, so that it harms only itself
DAMAGE = (Problem, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, AssertionError)
AHEAD = timedelta(days=2 * 366)  # a clock that will not change in two years is not known to change at all


class Row(Protocol):
    """A job's row: values by column name."""

    def __getitem__(self, key: str, /) -> Any: ...


def slots_of(row: Row) -> RecurrenceSet:
    """The slots of a job. What was valid when it was stored may have been damaged since: then whatever reading raises."""
    window = row["starts_at"], row["ends_at"]
    return parsed(row["schedule"], row["timezone"], row["anchor_at"], row["clock_gap"], row["clock_repeat"], *window)


@lru_cache(maxsize=SLOTS_CACHED)
def parsed(
    schedule: str,
    timezone: str,
    anchor_us: int,
    gap: Gap | None,
    repeat: Repeat | None,
    starts_us: int | None = None,
    ends_us: int | None = None,
) -> RecurrenceSet:
    """The same of its columns."""
    slots = parse_schedule(schedule, timezone, anchor=from_us(anchor_us), gap=gap, repeat=repeat).set
    return _within(
        slots, None if starts_us is None else from_us(starts_us), None if ends_us is None else from_us(ends_us)
    )


def schedule_of(job: Job, anchor: datetime) -> Schedule:
    """A job's schedule from its anchor, cut to its beginning and end. Raises Invalid."""
    asked = job.clock_change
    found = parse_schedule(job.schedule, job.timezone, anchor=anchor, gap=asked.gap, repeat=asked.repeat)
    starts, ends = window_of(job)
    return found if starts is None and ends is None else replace(found, set=_within(found.set, starts, ends))


def window_of(job: Job) -> tuple[datetime | None, datetime | None]:
    """The instants of the first and the last moment at which the job may have a slot. Raises Invalid."""
    return (
        None if job.starts is None else bound_of(job.starts, job.timezone, last=False),
        None if job.ends is None else bound_of(job.ends, job.timezone, last=True),
    )


def bound_of(text: str, timezone: str, *, last: bool) -> datetime:
    """The instant of `starts` or `ends`: of a day its beginning or, for an end, its last second. Raises Invalid."""
    if _DAY.fullmatch(text):
        try:
            day = date.fromisoformat(text)
        except ValueError:
            raise Invalid(f"{text!r} is no day of the calendar", "write it as 2026-12-24", value=text) from None
        return end_of(day, timezone) if last else begin_of(day, timezone)
    reading = read_instant(text, timezone)
    if reading is None:
        raise Invalid(f"cannot read the instant {text!r}", "write it as 2026-12-24 18:00", value=text)
    return reading.instant


def columns_of(job: Job) -> dict[str, object]:
    """What the engine filters and orders by, as columns of the job's row."""
    starts, ends = window_of(job)
    return {
        "starts_at": None if starts is None else to_us(starts),
        "ends_at": None if ends is None else to_us(ends),
        "spread_s": job.spread_s,
        "runs_on": " ".join(sorted(job.runs_on)) or None,
        "concurrency_group": job.group,
        "priority": job.priority,
    }


def _within(slots: RecurrenceSet, starts: datetime | None, ends: datetime | None) -> RecurrenceSet:
    """Cut by instants: what a COUNT counts, and what a step counts from, stays the rule's own."""
    if starts is not None:
        slots = slots.beginning(starts)
    return slots if ends is None else slots.ending(ends)


def anchor_of(job: Job, row: Row | None, now: datetime) -> datetime:
    """What a schedule that names no beginning counts from: the moment at which the job was taken in with this text."""
    kept = row is not None and row["schedule"] == job.schedule  # of a job that was removed and comes back too
    if row is not None and kept and readable(row["anchor_at"]):
        return from_us(row["anchor_at"])
    return now


def grace_of(slots: RecurrenceSet) -> timedelta:
    """How long ago an instant may have passed and is still meant: somebody typed it. Only for single instants."""
    return timedelta(seconds=0 if slots.recurs else ONE_SHOT_GRACE_S)


def without_effect(asked: ClockChange, slots: RecurrenceSet, now: datetime) -> str | None:
    """The warning about a `clock_change` that can never matter, or None."""
    if asked == ClockChange():
        return None
    if slots.grids and not slots.rules:
        return "clock_change has no effect on an interval: it counts elapsed time"
    if not slots.rules:
        return "clock_change has no effect on single instants: they are what they are"
    if not _changes(slots.zone, now):
        return f"clock_change has no effect in {slots.zone}: no change of its clock is planned"
    return None


def _changes(zone: str, now: datetime) -> bool:
    """Whether the zone's offset from UTC will change, as far as is known."""
    at, end = (now - EPOCH) // SECOND, (now + AHEAD - EPOCH) // SECOND
    while at < end:
        span = span_at(zone, at)
        if span.after != span.offset:
            return True
        at = span.end
    return False
