"""The wall times of some rules, as one ascending sequence of integers. No zone, no datetime.

A wall time is the count of seconds since 1970-01-01T00:00 as a clock without a zone shows it. What a rule selects in a
month depends only on the month, the weekday of its first day and its length: 91 cases at most. Each is worked out once
and kept, and a search walks months, never days or minutes; so a rule that almost never fires costs some hundred steps.

Invariants: `next` and `last` are inverse on members; `count` equals the number of members; overlapping rules give each
wall time once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from horae.timing.rules import Rule

DAY = 86400
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class _Month(NamedTuple):
    length: int
    days: tuple[int, ...]
    """Days of the month with slots, ascending."""
    times: tuple[tuple[int, ...], ...]
    """For each of `days`, its seconds after midnight, ascending, never empty."""
    position: tuple[int, ...]
    """For each day of the month (index 0 unused), the index of the first of `days` that is not before it."""
    before: tuple[int, ...]
    """For each index into `days`, the number of slots on earlier days; one more entry holds the total."""


class Walls:
    """The union of some rules. Make it with `walls_of`, which shares it."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._rules = tuple((rule, rule.times()) for rule in rules)
        self._months: dict[tuple[int, int, int], _Month] = {}

    def next(self, wall: int, limit: int) -> int | None:
        """The first member in [wall, limit]."""
        day, second = divmod(wall, DAY)
        today = date.fromordinal(day + _EPOCH_DAY)
        year, month = today.year, today.month
        first = day - today.day + 1
        plan = self._month(year, month, first)
        index = plan.position[today.day]
        if index < len(plan.days) and plan.days[index] == today.day:
            times = plan.times[index]
            if second <= times[-1]:
                found = day * DAY + times[bisect_left(times, second)]
                return found if found <= limit else None
            index += 1
        while index >= len(plan.days):
            first += plan.length
            if first * DAY > limit:
                return None
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
            plan = self._month(year, month, first)
            index = 0
        found = (first + plan.days[index] - 1) * DAY + plan.times[index][0]
        return found if found <= limit else None

    def last(self, wall: int, floor: int) -> int | None:
        """The last member in [floor, wall]."""
        day, second = divmod(wall, DAY)
        today = date.fromordinal(day + _EPOCH_DAY)
        year, month = today.year, today.month
        first = day - today.day + 1
        plan = self._month(year, month, first)
        index = plan.position[today.day]
        if index < len(plan.days) and plan.days[index] == today.day:
            times = plan.times[index]
            if second >= times[0]:
                found = day * DAY + times[bisect_right(times, second) - 1]
                return found if found >= floor else None
        index -= 1
        while index < 0:
            if first * DAY <= floor:
                return None
            year, month = (year, month - 1) if month > 1 else (year - 1, 12)
            first -= _length(year, month)
            plan = self._month(year, month, first)
            index = len(plan.days) - 1
        found = (first + plan.days[index] - 1) * DAY + plan.times[index][-1]
        return found if found >= floor else None

    def has(self, wall: int) -> bool:
        """Whether it is a member."""
        return self.next(wall, wall) is not None

    def count(self, start: int, stop: int) -> int:
        """The number of members in [start, stop)."""
        if stop <= start:
            return 0
        opening = date.fromordinal(start // DAY + _EPOCH_DAY)
        year, month = opening.year, opening.month
        first = start // DAY - opening.day + 1
        plan = self._month(year, month, first)
        total = -_earlier(plan, first, start)
        while (first + plan.length) * DAY < stop:
            total += plan.before[-1]
            first += plan.length
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
            plan = self._month(year, month, first)
        return total + _earlier(plan, first, stop)

    def empty(self) -> bool:
        """Whether no month of any kind has a member: the rules can never fire."""
        kinds = (
            (month, weekday, length) for month in range(1, 13) for length in _lengths(month) for weekday in range(7)
        )
        return not any(self._plan(*kind).days for kind in kinds)

    def _month(self, year: int, month: int, first: int) -> _Month:
        return self._plan(month, (first + 3) % 7, _length(year, month))  # 1970-01-01, day 0, was a Thursday

    def _plan(self, month: int, weekday: int, length: int) -> _Month:
        key = (month, weekday, length)
        plan = self._months.get(key)
        if plan is None:  # two threads may both work it out: they store equal values
            plan = self._months[key] = self._work_out(month, weekday, length)
        return plan

    def _work_out(self, month: int, weekday: int, length: int) -> _Month:
        found: dict[int, tuple[int, ...]] = {}
        for rule, times in self._rules:
            if rule.bymonth and month not in rule.bymonth:
                continue
            for day, chosen in _chosen(rule, times, weekday, length):
                known = found.get(day)
                found[day] = chosen if known is None or known == chosen else tuple(sorted({*known, *chosen}))
        days = tuple(sorted(found))
        before = [0]
        for day in days:
            before.append(before[-1] + len(found[day]))
        position = tuple(bisect_left(days, day) for day in range(length + 1))
        return _Month(length, days, tuple(found[day] for day in days), position, tuple(before))


@lru_cache(maxsize=4096)
def walls_of(rules: tuple[Rule, ...]) -> Walls:
    """The shared sequence of these rules."""
    return Walls(rules)


def _chosen(rule: Rule, times: tuple[int, ...], weekday: int, length: int) -> list[tuple[int, tuple[int, ...]]]:
    """Days and times that one rule selects in a month that has `length` days and begins on `weekday`."""
    days = [day for day in range(1, length + 1) if _matches(rule, day, weekday, length)]
    if not rule.bysetpos:
        return [(day, times) for day in days]
    listed = [(day, time) for day in days for time in times]
    kept: dict[int, list[int]] = {}
    for place, (day, time) in enumerate(listed):
        if place + 1 in rule.bysetpos or place - len(listed) in rule.bysetpos:
            kept.setdefault(day, []).append(time)
    return [(day, tuple(chosen)) for day, chosen in kept.items()]


def _matches(rule: Rule, day: int, first_weekday: int, length: int) -> bool:
    if rule.bymonthday and day not in rule.bymonthday and day - length - 1 not in rule.bymonthday:
        return False
    if not rule.byday:
        return True
    weekday = (first_weekday + day - 1) % 7
    forwards, backwards = (day - 1) // 7 + 1, -((length - day) // 7 + 1)
    return any((ordinal, weekday) in rule.byday for ordinal in (0, forwards, backwards))


def _earlier(plan: _Month, first: int, wall: int) -> int:
    """How many members of the month that begins on day `first` lie before `wall`."""
    day, second = divmod(wall, DAY)
    number = day - first + 1
    if number > plan.length:
        return plan.before[-1]
    index = plan.position[number]
    total = plan.before[index]
    if index < len(plan.days) and plan.days[index] == number:
        total += bisect_left(plan.times[index], second)
    return total


def _length(year: int, month: int) -> int:
    return 29 if month == 2 and year % 4 == 0 and (year % 100 or year % 400 == 0) else _LENGTHS[month]


def _lengths(month: int) -> tuple[int, ...]:
    return (28, 29) if month == 2 else (_LENGTHS[month],)
