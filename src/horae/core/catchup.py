"""What becomes of the slots that passed while nothing could start them.

`catch_up` says which of a job's due slots keep their turn. Rules, in this order:
1. A slot that a calendar excludes is `skipped`, and stands for nothing: it is not the latest one that runs for others.
2. A slot that is later than `not_later_than` is `missed`, whatever else is said. Lateness counts from when it was due,
   which for a moved slot is its new time, and for one with a spread that much after the slot.
3. What is *held* keeps its turn: a gateway saw it in time and put it behind a run (see `admission`). So does a retry. What
   was begun and goes on later keeps it whatever `not_later_than` says: it has started in time.
4. `skip`: a slot that is later than `CATCH_UP_GRACE_S` (or than `not_later_than`, where that is said) is `missed`. Of
   several that are not, the latest runs, late by less than a restart takes.
5. `once`, which is the default: the latest slot runs, late, and is told how many it stands for; the others are `missed`.
6. `all`: each slot keeps its turn, the oldest first, up to `CATCH_UP_ALL_MAX`; those before them are `missed`.

Moved slots, and slots that were given back, are slots like the others here. Whatever a slot's answer, it is one: `passed`
gives each slot up to now to exactly one `Open`, and `catch_up` puts each `Open` either among the kept or the settled.

Up to `MISSED_ROWS_MAX` slots get a row each; beyond that one span row says from, to and how many, so that a month of
downtime of a minute job is one row and not forty thousand. Counting stops at `MISSED_COUNT_MAX`. Excluded slots inside a
span that is `missed` are not told apart from the others; those behind the latest slot that runs are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from horae.core.model import Job
from horae.limits import CATCH_UP_ALL_MAX, CATCH_UP_GRACE_S, EXCLUDED_LOOK_MAX, MISSED_COUNT_MAX, MISSED_ROWS_MAX
from horae.timing.durations import duration_words
from horae.timing.recurrence import RecurrenceSet

NOT_IN_TIME = "nothing was running to start it in time"
Excluded = Callable[[datetime], str | None]
"""Why a slot has no run, or None."""


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


@dataclass(frozen=True, slots=True)
class Open:
    """One open slot of a job, or many that one row will stand for."""

    slot: datetime
    """Of many, the last of them."""
    due: datetime
    first: datetime | None = None
    """Of many, the first of them."""
    count: int = 1
    missed: int = 0
    """How many others it stands for already."""
    excluded: str | None = None
    """Why a calendar takes its run away."""
    held: bool = False
    """Whether a gateway saw it in time and let it wait for a run."""
    ended: str | None = None
    """Of a slot that was run and failed, and waits for its retry: the reason of its last run. So of one that goes on later."""
    later: bool = False
    """Whether it was begun and goes on from where it is: it waits for a person's word, or for its provider."""

    @property
    def begin(self) -> datetime:
        """The first slot of it: that is the one whose row it is."""
        return self.first or self.slot

    @property
    def turn(self) -> tuple[datetime, datetime]:
        """Who is first: by when it is due; of two that are due at once, the earlier slot."""
        return self.due, self.slot


@dataclass(frozen=True, slots=True)
class Settled:
    """What ends without a run, or without another one, and why."""

    open: Open
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Which slots keep their turn, in that order, and which end."""

    kept: tuple[Open, ...]
    settled: tuple[Settled, ...]


def catch_up(job: Job, due: Sequence[Open], now: datetime) -> CaughtUp:
    """The choice among a job's open slots, which are due; a retry may be due later."""
    kept: list[Open] = []
    fresh: list[Open] = []
    settled: list[Settled] = []
    limit, grace = job.not_later_than_s, job.not_later_than_s or CATCH_UP_GRACE_S
    for each in sorted(due, key=_turn):
        late = (now - each.due).total_seconds()
        too_late = limit is not None and late > limit
        if each.ended is not None:
            if too_late and not each.later:
                settled.append(Settled(each, "ran", f"{each.ended}; {_too_late('its retry', limit)}"))
            else:
                kept.append(each)
        elif each.excluded is not None:
            settled.append(Settled(each, "skipped", each.excluded))
        elif each.count > 1:
            settled.append(Settled(each, "missed", NOT_IN_TIME))
        elif too_late:
            settled.append(Settled(each, "missed", _too_late("it", limit)))
        elif each.held:
            kept.append(each)
        elif job.catch_up == "skip" and late > grace:
            settled.append(Settled(each, "missed", f"{NOT_IN_TIME}, and catch_up is skip"))
        else:
            fresh.append(each)
    most = CATCH_UP_ALL_MAX if job.catch_up == "all" else 1
    reason = f"more than {most} slots had passed: catch_up runs the latest ones" if most > 1 else NOT_IN_TIME
    settled += [Settled(each, "missed", reason) for each in fresh[:-most]]
    return CaughtUp(tuple(sorted((*kept, *fresh[-most:]), key=_turn)), tuple(settled))


def passed(
    job: Job,
    slots: RecurrenceSet,
    planned: Open,
    now: datetime,
    spoken_for: AbstractSet[datetime] = frozenset(),
    excluded: Excluded | None = None,
) -> tuple[Open, ...]:
    """The planned slot at a job's cursor, which is due, and all that have come due since, oldest first.

    `spoken_for` are later slots that have rows of their own already.
    """
    offset = planned.due - planned.slot
    until = now - offset
    why = excluded or _never
    following = slots.next_after(planned.slot)
    if following is None or following > until:
        return (replace(planned, excluded=why(planned.slot)),)
    most = CATCH_UP_ALL_MAX if job.catch_up == "all" else MISSED_ROWS_MAX
    if slots.count(planned.slot, until, most + 1) <= most:
        free = [slot for slot in slots.between(planned.slot, until) if slot not in spoken_for]
        later = (Open(slot, slot + offset, excluded=why(slot)) for slot in free)
        return (replace(planned, excluded=why(planned.slot)), *later)
    floor = planned.slot
    if job.not_later_than_s is not None:
        floor = max(floor, until - timedelta(seconds=job.not_later_than_s) - _TICK)
    back = _Back(slots, floor, offset, spoken_for, why)
    newest = back.collect(until, most if job.catch_up == "all" else 1)
    before = newest[0].begin if newest else None
    last = slots.last_until(until if before is None else _just_before(before))
    while last is not None and last in spoken_for:
        last = slots.last_until(_just_before(last))
    if last is None or last <= planned.slot:
        return (replace(planned, excluded=why(planned.slot)), *newest)
    taken = sum(planned.slot < slot <= last for slot in islice(sorted(spoken_for), MISSED_COUNT_MAX))
    count = 1 + slots.count(planned.slot, last, MISSED_COUNT_MAX) - taken
    return (Open(last, last + offset, planned.slot, count, missed=planned.missed), *newest)


class _Back:
    """Looks from now back to a floor, for the newest slots that could run, and what is excluded among them."""

    def __init__(
        self, slots: RecurrenceSet, floor: datetime, offset: timedelta, spoken_for: AbstractSet[datetime], why: Excluded
    ) -> None:
        self._slots = slots
        self._floor = floor
        self._offset = offset
        self._spoken_for = spoken_for
        self._why = why

    def collect(self, until: datetime, most: int) -> list[Open]:
        """At most so many that could run, oldest first. What is excluded for the same reason in a row is one span."""
        found: list[Open] = []
        runs = looked = 0
        slot = self._slots.last_until(until)
        while slot is not None and slot > self._floor and runs < most and looked < EXCLUDED_LOOK_MAX:
            if slot not in self._spoken_for:
                reason = self._why(slot)
                looked += reason is not None
                runs += reason is None
                if reason is not None and found and found[-1].excluded == reason:
                    found[-1] = replace(found[-1], first=slot, count=found[-1].count + 1)
                else:
                    found.append(Open(slot, slot + self._offset, excluded=reason))
            slot = self._slots.last_until(_just_before(slot))
        found.reverse()
        return found


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


def _too_late(what: str, limit: int | None) -> str:
    return f"{what} could not start within {duration_words(limit or 0)} of when it was due (not_later_than)"


def _turn(each: Open) -> tuple[datetime, datetime]:
    return each.turn


def _never(_slot: datetime) -> None:
    return None


def _just_before(slot: datetime) -> datetime:
    return slot.replace(microsecond=0) - _TICK


_TICK = datetime.resolution
