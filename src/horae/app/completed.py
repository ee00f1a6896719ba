"""Completed jobs: what they refuse, and why; what revives one, and what cannot.

A one-shot that has had its turn, and a job that has run as often as its `repeat` says, are completed: kept, listed, and
without slots ahead. Only an edit of its cadence revives one. It then plans from now and counts from nothing; a schedule
that has no slot left cannot be revived by counting anew, so such a job needs another schedule.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from horae.core.cadence import DAMAGE, Row, slots_of
from horae.core.definition import cadence_digest
from horae.core.model import Job
from horae.errors import Refused
from horae.timing.recurrence import RecurrenceSet


def refuse_completed(row: Row, verb: str, now: datetime) -> None:
    """Raise for what only a live job takes: which job, what it is, why, and the way round."""
    if row["state"] == "completed":
        says = f"{row['slug']} is completed ({row['completed_reason']}), so it cannot be {verb}"
        raise Refused(says, way_round(row, now), state="completed", completed_reason=row["completed_reason"])


def way_round(row: Row, now: datetime) -> str:
    """How this completed job is revived."""
    slug = row["slug"]
    with suppress(*DAMAGE):
        if row["repeat_max"] is not None and _lasts(slots_of(row), now):
            return f"`horae edit {slug} --repeat N` lets it run N times more, `--schedule …` by another schedule"
    return f"`horae edit {slug} --schedule …` gives it a new schedule and revives it"


def nothing_ahead(row: Row, now: datetime) -> str:
    """The same for whoever only looks."""
    return f"{row['slug']} is completed ({row['completed_reason']}): it has no slots ahead; {way_round(row, now)}"


def wants_schedule(job: Job, row: Row | None, slots: RecurrenceSet, now: datetime) -> str | None:
    """Why a completed job is not revived by this edit: its cadence is another one, but its schedule is as over as before.

    None for every other edit. `slots` are those of `job`.
    """
    if row is None or row["completed_at"] is None or row["removed_at"] is not None or row["schedule"] != job.schedule:
        return None
    if row["cadence"] == cadence_digest(job) or _lasts(slots, now):
        return None
    changed = "repeat" if row["repeat_max"] != job.repeat else "enabled" if row["enabled"] != job.enabled else "this"
    says = f"{job.slug} is completed ({row['completed_reason']}): a change of `{changed}` does not revive it"
    return says.replace("a change of `this`", "this change") + ", a new schedule is needed"


def _lasts(slots: RecurrenceSet, now: datetime) -> bool:
    """Whether there are more. The grace for an instant that has just passed is not for one that has had its turn."""
    return slots.next_after(now) is not None
