"""When a job runs: the set of its slots, made of its row in the same way wherever slots are looked at.

Planning, claiming and previews must see the same slots, or a slot that is shown would not be run. What decides about
them stands in the row: schedule, zone, anchor, and what its `clock_change` says.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Protocol

from horae.core.instants import from_us
from horae.core.model import ClockChange, Job
from horae.errors import Problem
from horae.limits import ONE_SHOT_GRACE_S
from horae.timing.clockchange import EPOCH, SECOND, Gap, Repeat, span_at
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule

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
    return parsed(row["schedule"], row["timezone"], row["anchor_at"], row["clock_gap"], row["clock_repeat"])


@lru_cache(maxsize=SLOTS_CACHED)
def parsed(schedule: str, timezone: str, anchor_us: int, gap: Gap | None, repeat: Repeat | None) -> RecurrenceSet:
    """The same of its columns."""
    return parse_schedule(schedule, timezone, anchor=from_us(anchor_us), gap=gap, repeat=repeat).set


def anchor_of(job: Job, row: Row | None, now: datetime) -> datetime:
    """What a schedule that names no beginning counts from: the moment at which the job was taken in with this text."""
    kept = row is not None and row["removed_at"] is None and row["schedule"] == job.schedule
    return from_us(row["anchor_at"]) if row is not None and kept else now


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
