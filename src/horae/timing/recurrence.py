"""The recurrence set: the one internal form of every schedule.

A set is the union of rules (wall times in a zone, mapped to instants by a policy for clock changes), grids (elapsed
time from an anchor) and single dates, less the `exdates`. Rules and grids carry their own beginning and end, so a
schedule that changes at a date is two of them side by side: `ending` and `beginning` cut, `|` joins. Cron lines,
intervals, one-shots, phrases and RFC 5545 text are only syntax for it.

`exceptions` are laid over the slots: a skipped slot is still a slot, and a moved one keeps its identity; only when it
is due changes. `due_between` sees them, everything else speaks of slots.

Invariants, each held by a property test: `next_after` ascends strictly and never repeats an instant; `last_until`,
`between`, `count` and `contains` agree with it; sets with equal slots that are said in different ways compare equal
(`normal` says how far that goes). Instants in and out are aware datetimes, those going out are in UTC and whole
seconds. Failure cases: None when nothing is left or nothing comes within `limits.HORIZON_YEARS`; a search walks months
from where it is asked, never from an anchor, so no rule can make it hang.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice, pairwise, takewhile
from typing import NamedTuple

from horae.errors import Invalid
from horae.limits import INTERVAL_MIN_S, MISSED_COUNT_MAX
from horae.timing.clockchange import EPOCH, SECOND, Gap, Repeat
from horae.timing.normal import normal_rules
from horae.timing.rules import Rule
from horae.timing.ruleslots import EARLIEST, LATEST, RuleSlots
from horae.timing.walls import walls_of

__all__ = ["Gap", "Grid", "RecurrenceSet", "Repeat", "Rule", "SlotException"]

_NOTHING: frozenset[int] = frozenset()


class SlotException(NamedTuple):
    """What was decided about one slot: when it is due instead, or that it is skipped (`due` is None)."""

    slot: datetime
    due: datetime | None


@dataclass(frozen=True, slots=True)
class Grid:
    """The slots `anchor + k * period_s` for k = 0, 1, 2, ... up to `until`, in elapsed time.

    It never drifts, whatever runs late.
    """

    period_s: int
    anchor: datetime
    until: datetime | None = None

    def __post_init__(self) -> None:
        if self.period_s < INTERVAL_MIN_S:
            raise Invalid(f"an interval of {self.period_s} s is too short", f"the least is {INTERVAL_MIN_S} s")
        object.__setattr__(self, "anchor", _whole(self.anchor))
        if self.until is not None:
            object.__setattr__(self, "until", _whole(self.until))


@dataclass(frozen=True, eq=False)
class RecurrenceSet:
    """See the module. `dates` and `exdates` are single instants."""

    zone: str
    rules: tuple[Rule, ...] = ()
    grids: tuple[Grid, ...] = ()
    dates: tuple[datetime, ...] = ()
    exdates: tuple[datetime, ...] = ()
    gap: Gap = "shift"
    repeat: Repeat = "first"
    exceptions: tuple[SlotException, ...] = ()

    def __post_init__(self) -> None:
        if self.dates:
            object.__setattr__(self, "dates", tuple(sorted({_whole(date) for date in self.dates})))
        if self.exdates:
            object.__setattr__(self, "exdates", tuple(sorted({_whole(date) for date in self.exdates})))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecurrenceSet):
            return NotImplemented
        return self.normal == other.normal

    def __hash__(self) -> int:
        return hash(self.normal)

    @property
    def recurs(self) -> bool:
        """Whether it is more than single dates."""
        return bool(self.rules or self.grids)

    def next_after(self, instant: datetime) -> datetime | None:
        """The first slot strictly after the instant."""
        found = self._next((instant - EPOCH) // SECOND + 1)
        return None if found is None else EPOCH + timedelta(seconds=found)

    def last_until(self, instant: datetime) -> datetime | None:
        """The last slot that is not after the instant."""
        at = min((instant - EPOCH) // SECOND, LATEST)
        left_out = self._left_out
        while True:
            known = [slot for part in self._parts if (slot := part.last(at)) is not None]
            if not known:
                return None
            found = max(known)
            if found not in left_out:
                return EPOCH + timedelta(seconds=found)
            at = found - 1

    def between(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """The slots in (after, until], ascending."""
        at, end = (after - EPOCH) // SECOND + 1, (until - EPOCH) // SECOND
        for slot in self._walk(at):
            if slot > end:
                return
            yield EPOCH + timedelta(seconds=slot)

    def due_between(self, after: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
        """(due, slot) of what is due in (after, until], ascending: moved slots when they are due, skipped ones not."""
        moved = {slot: due for slot, due in self.exceptions if self.contains(slot)}
        plain = ((slot, slot) for slot in self.between(after, until) if slot not in moved)
        dues = sorted((due, slot) for slot, due in moved.items() if due is not None and after < due <= until)
        return heapq.merge(plain, dues)

    def count(self, after: datetime, until: datetime, limit: int = MISSED_COUNT_MAX) -> int:
        """How many slots are in (after, until]; `limit` when there are more. Arithmetic, but where parts meet."""
        start = max((after - EPOCH) // SECOND + 1, EARLIEST)
        end = min((until - EPOCH) // SECOND, LATEST)
        if end < start:
            return 0
        steady = [part for part in self._parts if not isinstance(part, _Dates)]
        total = 0
        for index, part in enumerate(steady):
            total += part.count(start, end, limit + len(self._left_out))
            total -= _shared(part, steady[:index], start, end, limit)
        single = (date for date in _seconds(self.dates) if start <= date <= end)
        total += sum(not any(part.has(date) for part in steady) for date in single)
        total -= sum(start <= date <= end and any(part.has(date) for part in self._parts) for date in self._left_out)
        return min(total, limit)

    def contains(self, instant: datetime) -> bool:
        """Whether the instant is a slot."""
        at, rest = divmod(instant - EPOCH, SECOND)
        return not rest and at not in self._left_out and any(part.has(at) for part in self._parts)

    def ending(self, until: datetime) -> RecurrenceSet:
        """The slots up to the instant, which may be one."""
        return replace(
            self,
            rules=tuple(replace(rule, until=_least(rule.until, until)) for rule in self.rules),
            grids=tuple(replace(grid, until=_least(grid.until, until)) for grid in self.grids),
            dates=tuple(date for date in self.dates if date <= until),
            exdates=tuple(date for date in self.exdates if date <= until),
            exceptions=tuple(item for item in self.exceptions if item.slot <= until),
        )

    def beginning(self, since: datetime) -> RecurrenceSet:
        """The slots from the instant on, which may be one."""
        grids: list[Grid] = []
        for grid in self.grids:
            passed = max(0, -((grid.anchor - since) // timedelta(seconds=grid.period_s)))
            begin = (grid.anchor - EPOCH) // SECOND + passed * grid.period_s
            if begin <= LATEST:  # else nothing of it is left
                grids.append(replace(grid, anchor=EPOCH + timedelta(seconds=begin)))
        return replace(
            self,
            rules=tuple(replace(rule, since=max(rule.since or since, since)) for rule in self.rules),
            grids=tuple(grids),
            dates=tuple(date for date in self.dates if date >= since),
            exdates=tuple(date for date in self.exdates if date >= since),
            exceptions=tuple(item for item in self.exceptions if item.slot >= since),
        )

    def __or__(self, other: RecurrenceSet) -> RecurrenceSet:
        """The union. What only one of them leaves out stays in if the other has it: say so before, not after."""
        if (self.zone, self.gap, self.repeat) != (other.zone, other.gap, other.repeat):
            raise ValueError("sets of one zone and one policy can be joined")
        left_out = {date for date in self.exdates if not other.contains(date)}
        left_out |= {date for date in other.exdates if not self.contains(date)}
        return replace(
            self,
            rules=self.rules + other.rules,
            grids=self.grids + other.grids,
            dates=self.dates + other.dates,
            exdates=tuple(left_out),
            exceptions=tuple(dict.fromkeys(self.exceptions + other.exceptions)),
        )

    @cached_property
    def normal(self) -> tuple[object, ...]:
        """A value that is equal for equal sets: what is said in several ways, in one of them."""
        rules = normal_rules(self.rules, self.zone, self.gap, self.repeat)
        lasts = [(grid, grid.until and _GridSlots(grid).last(LATEST)) for grid in self.grids]
        shown = sorted(
            (grid.period_s, grid.anchor, str(last)) for grid, last in lasts if grid.until is None or last is not None
        )
        bare = replace(self, dates=(), exdates=(), exceptions=()) if self.dates or self.exdates else self
        dates = tuple(date for date in self.dates if date not in self.exdates and not bare.contains(date))
        left_out = tuple(date for date in self.exdates if bare.contains(date))
        zone = self.zone if self.rules else "UTC"
        policy = (self.gap, self.repeat) if self.rules else ()
        moved = tuple(sorted(self.exceptions, key=str))
        return (zone, policy, rules, tuple(shown), dates, left_out, moved)

    @property
    def _parts(self) -> tuple[RuleSlots | _GridSlots | _Dates, ...]:
        """What is searched, side by side."""
        # Kept on the instance by hand: functools.cached_property locks, which costs as much as the search
        parts = self.__dict__.get("_searched")
        if parts is None:
            parts = self.__dict__["_searched"] = tuple(self._compiled())
        return parts

    def _compiled(self) -> list[RuleSlots | _GridSlots | _Dates]:
        parts: list[RuleSlots | _GridSlots | _Dates] = [
            RuleSlots(walls_of(rules), self.zone, self.gap, self.repeat, since, until)
            for since, until, rules in _stretches(self.rules)
        ]
        parts += [_GridSlots(grid) for grid in self.grids]
        if self.dates:
            parts.append(_Dates(_seconds(self.dates)))
        return parts

    @property
    def _left_out(self) -> frozenset[int]:
        if not self.exdates:
            return _NOTHING
        left_out = self.__dict__.get("_excluded")
        if left_out is None:
            left_out = self.__dict__["_excluded"] = frozenset(_seconds(self.exdates))
        return left_out

    def _next(self, at: int) -> int | None:
        """The first slot from `at` on."""
        parts = self._parts
        if len(parts) == 1 and not self.exdates:  # nearly always
            return parts[0].next(at)
        left_out = self._left_out
        while True:
            best: int | None = None
            for part in parts:
                found = part.next(at)
                if found is not None and (best is None or found < best):
                    best = found
            if best is None or best not in left_out:
                return best
            at = best + 1

    def _walk(self, at: int) -> Iterator[int]:
        """The slots from `at` on."""
        if len(self._parts) == 1 and not isinstance(part := self._parts[0], _Dates):
            left_out = self._left_out
            yield from (slot for slot in part.walk(at) if slot not in left_out) if left_out else part.walk(at)
            return
        found = self._next(at)
        while found is not None:
            yield found
            found = self._next(found + 1)


class _GridSlots:
    """The slots of one grid, in the form of `RuleSlots`."""

    def __init__(self, grid: Grid) -> None:
        self._period = grid.period_s
        self.low = (grid.anchor - EPOCH) // SECOND
        self.high = LATEST if grid.until is None else min(LATEST, (grid.until - EPOCH) // SECOND)

    def next(self, at: int) -> int | None:
        slot = self.low if at <= self.low else at + (self.low - at) % self._period
        return slot if slot <= self.high else None

    def walk(self, at: int) -> Iterator[int]:
        first = self.next(at)
        return iter(()) if first is None else iter(range(first, self.high + 1, self._period))

    def last(self, at: int) -> int | None:
        at = min(at, self.high)
        return None if at < self.low else at - (at - self.low) % self._period

    def has(self, at: int) -> bool:
        return self.low <= at <= self.high and (at - self.low) % self._period == 0

    def count(self, start: int, end: int, limit: int) -> int:
        start, end = max(start, self.low), min(end, self.high)
        if end < start:
            return 0
        return min(limit, (end - self.low) // self._period - (start - 1 - self.low) // self._period)


class _Dates:
    """Single instants, in the form of `RuleSlots`."""

    def __init__(self, dates: tuple[int, ...]) -> None:
        self._dates = dates
        self.low, self.high = dates[0], dates[-1]

    def next(self, at: int) -> int | None:
        return next((date for date in self._dates if date >= at), None)

    def last(self, at: int) -> int | None:
        return next((date for date in reversed(self._dates) if date <= at), None)

    def has(self, at: int) -> bool:
        return at in self._dates

    def count(self, start: int, end: int, limit: int) -> int:
        return min(limit, sum(start <= date <= end for date in self._dates))


_Steady = RuleSlots | _GridSlots


def _shared(part: _Steady, others: list[_Steady], start: int, end: int, limit: int) -> int:
    """How many slots of the part in [start, end] some of the others have too. Walks over whichever is sparser."""
    others = [other for other in others if other.low <= part.high and part.low <= other.high]
    if not others:
        return 0
    if part.count(start, end, limit) <= sum(other.count(start, end, limit) for other in others):
        own = takewhile(lambda slot: slot <= end, part.walk(start))
        return sum(any(other.has(slot) for other in others) for slot in islice(own, limit))
    both: set[int] = set()
    for other in others:
        theirs = takewhile(lambda slot: slot <= end, other.walk(start))
        both |= {slot for slot in islice(theirs, limit) if part.has(slot)}
    return len(both)


def _stretches(rules: tuple[Rule, ...]) -> Iterator[tuple[int | None, int | None, list[Rule]]]:
    """The time line cut where rules begin and end: first and last second, and who is there in between.

    So parts never meet, however the bounds of rules overlap, and counting stays arithmetic.
    """
    if all(rule.since is None and rule.until is None for rule in rules):  # nearly always
        if rules:
            yield None, None, list(rules)
        return
    bounds = [(_second(rule.since), _second(rule.until)) for rule in rules]
    edges = {low for low, _ in bounds if low is not None} | {high + 1 for _, high in bounds if high is not None}
    for start, stop in pairwise([None, *sorted(edges), None]):
        there = [
            rule
            for rule, (low, high) in zip(rules, bounds, strict=True)
            if (low is None or (start is not None and low <= start))
            and (high is None or (stop is not None and stop - 1 <= high))
        ]
        if there:
            yield start, None if stop is None else stop - 1, there


def _whole(instant: datetime) -> datetime:
    if instant.tzinfo is None or instant.microsecond:
        raise Invalid(f"{instant.isoformat()} is not a whole second with an offset", value=instant.isoformat())
    return instant.astimezone(UTC)


def _second(instant: datetime | None) -> int | None:
    return None if instant is None else (instant - EPOCH) // SECOND


def _seconds(instants: tuple[datetime, ...]) -> tuple[int, ...]:
    return tuple((instant - EPOCH) // SECOND for instant in instants)


def _least(one: datetime | None, other: datetime) -> datetime:
    return other if one is None or other < one else one
