"""What people expect to hear of a job, and when to look whether they have. Pure.

- `expect_by: 09:30`: on each day whose window has a slot of the job, a run must have completed in it. The window reaches
  from that time of the day before to that time: a job of 18:00 has until the next morning.
- `expect_every: 26h`: so long after a run completed, or after it was first expected, another one must have.

What a person skipped is not expected, and nothing is of a paused job. When a look comes late, since nothing was running,
it is made as soon as something does: whoever expected a result has not got it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from horae.core.model import Job
from horae.timing.durations import duration_words
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule

BY, EVERY = "by", "every"
_ANCHOR = datetime.fromisoformat(
    "1971-01-01T00:00:00+00:00"
)  # before any time that a clock without a battery begins with
_BACK = timedelta(days=3)  # holds two such times of day, whatever the clock does meanwhile


def first_looks(job: Job, now: datetime) -> dict[str, datetime]:
    """When to look first, by what is expected. It counts from now."""
    looks: dict[str, datetime] = {}
    if job.expect_by is not None:
        looks[BY] = next_by(job.expect_by, job.timezone, now)
    if job.expect_every_s is not None:
        looks[EVERY] = now + timedelta(seconds=job.expect_every_s)
    return looks


def next_by(clock: str, timezone: str, now: datetime) -> datetime:
    """The next such time of day in that zone, after `now`."""
    found = _days(clock, timezone).next_after(now)
    assert found is not None, "a daily rule has no end"
    return found


def window_of(clock: str, timezone: str, now: datetime) -> tuple[datetime, datetime]:
    """The last window that is over: from behind the first instant to the second one."""
    passed = [*_days(clock, timezone).between(now - _BACK, now + timedelta(seconds=1))]
    passed = [at for at in passed if at <= now]
    return passed[-2], passed[-1]


def _days(clock: str, timezone: str) -> RecurrenceSet:
    return parse_schedule(f"every day at {clock}", timezone, anchor=_ANCHOR).set


def overdue_by(name: str, slug: str, clock: str, timezone: str) -> tuple[str, str]:
    """The cause, and the text of the alert."""
    cause = f"no run had completed by {clock} ({timezone})"
    return cause, f"{name} is overdue: {cause}. `horae why {slug}` says what became of its slots."


def overdue_every(name: str, slug: str, every_s: int, last: datetime | None) -> tuple[str, str]:
    """The same of an interval."""
    cause = f"no run completed within {duration_words(every_s)}"
    when = "none has completed yet" if last is None else f"the last one did at {last:%Y-%m-%d %H:%M}Z"
    return cause, f"{name} is overdue: {cause}; {when}. `horae why {slug}` says what became of its slots."


def said_nothing(name: str, count: int) -> tuple[str, str]:
    """The same of runs that completed and said nothing."""
    often = "" if count == 1 else f", {count} runs in a row"
    cause = "it completes and says nothing"
    return cause, f"{name} completed and said nothing{often}. Something was expected (`expect_output`)."
