"""The stretches of a set: what runs from one bound to another, each of which is one clause of a sentence.

A rule has four bounds: a wall time and an instant where it begins, an instant and a number of times where it ends. At
most two of them matter, one at each end; here these are found, and a number that is cut short becomes an end.

One stretch follows another if one instant can be named that ends the first and begins the second: no slot of the first
may lie behind it and no slot of the second before it, had they not been cut there. For the same reason a bound can often
be moved to where a day ends; so nearly all bounds are said as dates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from horae.timing.clockchange import SECOND
from horae.timing.dates import begin_of, end_of
from horae.timing.days import plainly_fires
from horae.timing.recurrence import Grid, RecurrenceSet
from horae.timing.rules import Rule
from horae.timing.walls import DAY, HORIZON_S, layer_of, walls_of
from horae.timing.words.times import date_words, instant_words, wall_words
from horae.timing.zones import zone

_WALL_EPOCH = datetime(1970, 1, 1)
_FIRST = datetime(2, 1, 2, tzinfo=UTC)
_LAST = datetime(9998, 1, 1, tzinfo=UTC)  # no search goes further
_NEAR = timedelta(days=4)  # no clock change acts further
_COMPARED_MAX = 12_000  # slots around a bound: every minute of eight days


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words without bounds, and the slots that they stand for. All rules, or the one grid, have the same bounds.

    `spoken` are the rules that the words make, on any days: what is said of clock changes depends on them. `begun`: the
    words say where it begins.
    """

    words: str
    slots: RecurrenceSet
    spoken: tuple[Rule, ...] = ()
    begun: bool = False

    @property
    def until(self) -> datetime | None:
        """The last instant at which a slot may be; a number of times is no such bound."""
        return self.slots.rules[0].until if self.slots.rules else self.slots.grids[0].until

    @property
    def first(self) -> datetime | None:
        """The first slot, of what has one."""
        if self.slots.rules and not (self.slots.rules[0].start or self.slots.rules[0].since):
            return None
        return self.slots.next_after(_FIRST)

    @property
    def anchored(self) -> bool:
        """Whether it must be said where it begins, wherever a sentence begins."""
        return not self.slots.rules or any(rule.anchored for rule in self.slots.rules)

    def endless(self) -> RecurrenceSet:
        """The slots if it had not been ended at an instant."""
        return _with(self.slots, until=None)

    def always(self) -> RecurrenceSet:
        """The slots if it had been there always."""
        return self.slots if self.anchored else _with(self.slots, since=None, start=None)


def bare(rule: Rule, slots: RecurrenceSet) -> Rule | None:
    """The rule of the set without idle bounds; None when it has no slot."""
    if rule.until is not None and rule.until >= _LAST:
        rule = replace(rule, until=None)
    if not rule.bounded:
        return rule if plainly_fires(rule) or layer_of(rule).fires() else None
    whole = replace(slots, rules=(rule,), grids=(), dates=(), exdates=(), exceptions=())
    first, last = whole.next_after(_FIRST), None
    if first is None:
        return None
    if rule.count is not None and (rule.until is not None or rule.since is not None):
        last = _last(whole)
        free = _with(whole, since=None, until=None)
        if last != _last(free):
            return bare(replace(rule, count=None, until=last), slots)
        if first != free.next_after(_FIRST):  # counted from a start that is cut off
            return bare(replace(rule, count=None, until=last), slots)
        return replace(rule, since=None, until=None)
    if rule.since is not None and rule.start is not None:
        if _begin_alike(_with(whole, since=None), whole, first):
            return replace(rule, since=None)
        local = first.astimezone(zone(slots.zone)).replace(tzinfo=None)
        other = replace(rule, since=None, start=local) if rule.anchored else replace(rule, start=None)
        return other if _begin_alike(replace(whole, rules=(other,)), whole, first) else rule
    return rule


def bare_grid(grid: Grid) -> Grid | None:
    """The grid without an idle end; None when it has no slot."""
    if grid.until is not None and grid.until < grid.anchor:
        return None
    return replace(grid, until=None) if grid.until is not None and grid.until >= _LAST else grid


def begin_words(stretch: Stretch) -> str:
    """Such as " starting 7 December 2026", or nothing."""
    if not stretch.slots.rules:
        return ""
    rule = stretch.slots.rules[0]
    words = "" if rule.start is None or stretch.begun else f" starting {wall_words(_start(stretch.slots.rules))}"
    if rule.since is None:
        return words
    first = stretch.first
    assert first is not None, "a stretch has a slot"
    local = first.astimezone(zone(stretch.slots.zone)).replace(tzinfo=None)
    day = begin_of(local.date(), stretch.slots.zone)
    before = stretch.always().last_until(first - SECOND)
    wall = local if before is not None and before >= day else _midnight(local)
    if rule.start is None and _begin_alike(_with(stretch.slots, since=None, start=wall), stretch.slots, first):
        return f" starting {wall_words(wall)}"
    return f"{words}, none before {instant_words(rule.since, stretch.slots.zone)}"


def end_words(stretch: Stretch) -> str:
    """Such as " until 31 January 2027", ", 10 times", or nothing."""
    count = stretch.slots.rules[0].count if stretch.slots.rules else None
    if count is not None:
        return f", {count} time{'' if count == 1 else 's'}"
    if stretch.until is None:
        return ""
    return f" until {_until(stretch, stretch.until)}"


def change_words(one: Stretch, other: Stretch) -> tuple[str, str] | None:
    """How the first ends where the second takes over, and how that begins; None if no instant is both."""
    if one.until is None:
        return None
    first = other.first
    if first is None:
        return None
    last = _last(one.slots)
    before = None if other.anchored else other.always().last_until(first - SECOND)
    after = one.endless().next_after(last)
    low = max(last, before or last)
    high = min(first, after or first) - SECOND
    if low > high:
        return None
    place = one.slots.zone
    day = high.astimezone(zone(place)).date()
    ends = (one.until, end_of(day, place), end_of(day - timedelta(days=1), place))
    until = next((end for end in ends if low <= end <= high and _ends_a_day(end, place)), low)
    ending = f" until {_date(until, place) if _ends_a_day(until, place) else instant_words(until, place)}"
    if other.anchored:
        return ending, begin_words(replace(other, slots=_with(other.slots, since=None)))
    same = _begin_alike(_with(other.slots, start=None, since=until + SECOND), other.slots, first)
    return (ending, "") if same else None


def _until(stretch: Stretch, until: datetime) -> str:
    """The last day, or the last slot where another would have followed on the same day."""
    place = stretch.slots.zone
    if _ends_a_day(until, place):
        return _date(until, place)
    last = _last(stretch.slots)
    after = stretch.endless().next_after(last)
    day = end_of(last.astimezone(zone(place)).date(), place)
    return _date(last, place) if after is None or after > day else instant_words(last, place)


def _start(rules: tuple[Rule, ...]) -> datetime:
    """The wall time from which these rules are said to start: mostly the date of their first slot alone."""
    start = rules[0].start
    assert start is not None, "they have one"
    if start == _midnight(start) and not any(rule.anchored for rule in rules):
        return start
    free = tuple(replace(rule, count=None, since=None, until=None) for rule in rules)
    low = (start - _WALL_EPOCH) // SECOND
    found = walls_of(free).next(low, low + HORIZON_S)
    assert found is not None, "a stretch has a slot"
    day, time = divmod(found, DAY)
    earliest = min(_earliest(rule, day) for rule in free)
    return _WALL_EPOCH + timedelta(seconds=found - time if earliest == time else found)


def _earliest(rule: Rule, day: int) -> int:
    """The first time of the rule on a day, in seconds, before its start too; beyond the day when it has none."""
    minutes = layer_of(rule).minutes(day)
    return (minutes & -minutes).bit_length() * 60 - 60 + rule.second if minutes else DAY


def _last(slots: RecurrenceSet) -> datetime:
    found = slots.last_until(_LAST)
    assert found is not None, "a stretch has a slot"
    return found


def _ends_a_day(instant: datetime, place: str) -> bool:
    day = instant.astimezone(zone(place)).date()
    return day.year < _LAST.year and instant == end_of(day, place)


def _date(instant: datetime, place: str) -> str:
    return date_words(instant.astimezone(zone(place)))


def _midnight(wall: datetime) -> datetime:
    return wall.replace(hour=0, minute=0, second=0)


def _begin_alike(one: RecurrenceSet, other: RecurrenceSet, at: datetime) -> bool:
    """Whether both begin with the same slot and go on alike around it: further away how they begin does not matter."""
    if one.next_after(_FIRST) != other.next_after(_FIRST):
        return False
    slots = (list(islice(each.between(at - _NEAR, at + _NEAR), _COMPARED_MAX)) for each in (one, other))
    return next(slots) == next(slots)


def _with(slots: RecurrenceSet, **bounds: Any) -> RecurrenceSet:
    """The set with other bounds for all its rules; a grid knows `until` only."""
    rules = tuple(replace(rule, **bounds) for rule in slots.rules)
    grids = slots.grids if "until" not in bounds else tuple(replace(grid, until=None) for grid in slots.grids)
    return replace(slots, rules=rules, grids=grids)
