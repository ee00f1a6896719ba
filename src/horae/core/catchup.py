"""What becomes of the slots that passed while nothing could start them.

The policy is *once*: the latest passed slot is run now, late, and told how many it stands for; each earlier one ends as
`missed`. The same slots end as `skipped` or `blocked` instead when the job could not have run anyway. Up to
`MISSED_ROWS_MAX` of them get a row each; beyond that one span row says from, to and how many, so that a month of
downtime of a minute job is one row and not forty thousand. Counting stops at `MISSED_COUNT_MAX`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from horae.limits import MISSED_COUNT_MAX, MISSED_ROWS_MAX
from horae.timing.recurrence import RecurrenceSet


@dataclass(frozen=True, slots=True)
class Span:
    """Passed slots that one row stands for: the first and the last of them, and how many there are."""

    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """All slots up to now that follow the planned one."""

    latest: datetime
    """The slot to run: the planned one itself when none has passed since."""
    passed: tuple[Span, ...]
    """Those before `latest`, oldest first; spans of one are ordinary rows."""

    @property
    def count(self) -> int:
        """How many slots `latest` stands for besides itself."""
        return sum(span.count for span in self.passed)


def backlog(slots: RecurrenceSet, planned: datetime, now: datetime, spoken_for: AbstractSet[datetime]) -> Backlog:
    """Look from a due planned slot to now. `spoken_for` are later slots that have rows of their own already."""
    following = slots.next_after(planned)
    if following is None or following > now:
        return Backlog(planned, ())
    if slots.count(planned, now, MISSED_ROWS_MAX + 1) <= MISSED_ROWS_MAX:
        free = [planned, *(slot for slot in slots.between(planned, now) if slot not in spoken_for)]
        return Backlog(free[-1], tuple(Span(slot, slot, 1) for slot in free[:-1]))
    latest = slots.last_until(now)
    while latest is not None and latest in spoken_for:
        latest = slots.last_until(_just_before(latest))
    if latest is None or latest <= planned:
        return Backlog(planned, ())
    last_passed = slots.last_until(_just_before(latest)) or planned
    taken = sum(1 for slot in islice(sorted(spoken_for), MISSED_COUNT_MAX) if planned < slot < latest)
    count = 1 + slots.count(planned, last_passed, MISSED_COUNT_MAX) - taken
    return Backlog(latest, (Span(planned, last_passed, count),))


def _just_before(slot: datetime) -> datetime:
    return slot.replace(microsecond=0) - _TICK


_TICK = datetime.resolution
