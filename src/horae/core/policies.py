"""What is odd about a job's policies, for whoever makes or changes it. Nothing here refuses.

Each is a pair of things that are fine by themselves: a spread and a dense schedule, a calendar and the slots that it leaves,
a label and the machine that somebody sits at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice, pairwise

from horae.core.exclusion import Calendar, excluded
from horae.core.model import Job
from horae.timing.durations import duration_words
from horae.timing.recurrence import RecurrenceSet
from horae.timing.vocabulary import listed

LOOKED_AT = 60  # slots ahead: an hour of minutes, three weeks of an ordinary job
WITHIN = timedelta(days=3 * 366)


def warnings(
    job: Job,
    slots: RecurrenceSet,
    now: datetime,
    *,
    calendars: Mapping[str, Calendar],
    groups: Mapping[str, int],
    labels: tuple[str, ...],
    shared: bool,
) -> Iterator[str]:
    """In sentences. `shared`: other machines work on the same store, and may have other labels."""
    ahead = list(islice(slots.between(now, now + WITHIN), LOOKED_AT)) if job.spread_s or job.exclude else []
    spacing = min((int((later - slot).total_seconds()) for slot, later in pairwise(ahead)), default=job.spread_s)
    if job.spread_s > spacing:
        yield (
            f"a spread of {duration_words(job.spread_s)} is longer than the {duration_words(spacing)} between its slots: "
            "a slot may be due after the one that follows it"
        )
    known = [name for name in job.exclude if name in calendars]
    if known and ahead and all(excluded(calendars, known, slot, job.timezone) for slot in ahead):
        all_of_them = f"all of its next {len(ahead)} slots are" if len(ahead) > 1 else "its next slot is"
        yield f"{all_of_them} excluded by {listed(known)}"
    if job.catch_up == "all" and job.overlap == "cancel_running":
        yield "catch_up: all has little effect with overlap: cancel_running: of several slots only the newest runs"
    if job.catch_up == "all" and job.overlap == "queue_one":
        yield "catch_up: all has little effect with overlap: queue_one: only the oldest and the newest slot run"
    if job.group is not None and job.group not in groups:
        yield f"config.toml has no limit for group {job.group}: one run of it at a time"
    missing = [label for label in job.runs_on if label not in labels]
    if missing and not shared:
        yield f"it would wait for ever: this machine does not have the label {listed(missing)} (labels in config.toml)"
