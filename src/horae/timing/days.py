"""Which days of a month a rule is about, as bits: bit d stands for day d. No zone, no times, no datetime.

What a rule selects in a month mostly depends on the month, the weekday of its first day and its length; then it is a
few operations on one integer. What the RFC counts in years (day 100, week 20, the 20th Monday) depends on the kind of
the year as well: worked out once per kind, as 366 bits. INTERVAL leaves out whole periods, by arithmetic from the start.

A day number counts from 1970-01-01. `first` is always the number of a month's first day.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from itertools import pairwise

from horae.timing.rules import Day, Rule

EPOCH_DAY = date(1970, 1, 1).toordinal()
_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_ALL = tuple((2 << length) - 2 for length in range(32))  # bits 1 to length
_FIVE_WEEKS = sum(1 << 7 * week for week in range(5))
_ALL_MONTHS = (2 << 12) - 2
_BIT = (1).__lshift__

Filter = Callable[[int, int, int, int], int]
"""(year, month, first, length) to the bits of days that it lets through."""


def month_length(year: int, month: int) -> int:
    """Days of the month."""
    return 29 if month == 2 and year % 4 == 0 and (year % 100 or year % 400 == 0) else _LENGTHS[month]


def day_number(wall: datetime) -> int:
    """The number of the day of a naive wall time."""
    return wall.toordinal() - EPOCH_DAY


def ones(mask: int) -> list[int]:
    """The positions of the bits, ascending."""
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


class RuleDays:
    """The days of one rule, before BYSETPOS."""

    __slots__ = ("_filters", "_negative", "_ordinals", "_weekdays", "_year", "months", "positive")

    def __init__(self, rule: Rule) -> None:
        in_year = rule.freq == "YEARLY" and not rule.bymonth
        self.months, self.positive, self._negative, self._weekdays, self._ordinals = _masks(
            rule.bymonth, rule.bymonthday, rule.byday
        )
        self._year: _Year | None = None
        if rule.byyearday or rule.byweekno or (in_year and self._ordinals):
            self._year = _Year(rule, self._ordinals if in_year else ())
            if in_year and self._ordinals:  # then it has looked at the plain weekdays too
                self._weekdays, self._ordinals = 0, ()
        self._filters = _interval(rule)

    def of_month(self, year: int, month: int, first: int) -> int:
        """The bits of the days in this month."""
        if not self.months >> month & 1:
            return 0
        length = month_length(year, month)
        mask = _ALL[length]
        if self.positive or self._negative:
            chosen = self.positive
            for back in self._negative:
                if back <= length:
                    chosen |= 1 << (length + 1 - back)
            mask &= chosen
        weekday = (first + 3) % 7  # 1970-01-01 was a Thursday
        if self._weekdays or self._ordinals:
            turned = self._weekdays >> weekday | self._weekdays << 7 - weekday
            chosen = (turned & 127) * _FIVE_WEEKS << 1
            for ordinal, wanted in self._ordinals:
                chosen |= _nth(ordinal, wanted, weekday, length)
            mask &= chosen
        if self._year is not None:
            mask &= self._year.of_month(year, month, first)
        if self._filters is not None:
            mask &= self._filters(year, month, first, length)
        return mask


def plainly_fires(rule: Rule) -> bool:
    """A quick look: True when some day is selected again and again. False says nothing."""
    if rule.byyearday or rule.byweekno or rule.bysetpos or rule.interval != 1 or rule.bounded:
        return False
    if rule.bymonthday and (rule.byday or not 1 <= rule.bymonthday[0] <= 28):
        return False
    return all(ordinal in {0, 1, -1} for ordinal, _ in rule.byday)


def _masks(
    bymonth: tuple[int, ...], bymonthday: tuple[int, ...], byday: tuple[Day, ...]
) -> tuple[int, int, tuple[int, ...], int, tuple[Day, ...]]:
    """Months as bits, positive month days as bits, how far from the end, whole weekdays as bits, numbered weekdays."""
    months = sum(map(_BIT, bymonth)) if bymonth else _ALL_MONTHS
    positive, negative, weekdays = 0, (), 0
    numbered: tuple[Day, ...] = ()
    if bymonthday:
        positive = sum(1 << day for day in bymonthday if day > 0)
        negative = tuple(-day for day in bymonthday if day < 0)
    if byday:
        weekdays = sum(1 << weekday for ordinal, weekday in byday if ordinal == 0)
        numbered = tuple(pair for pair in byday if pair[0])
    return months, positive, negative, weekdays, numbered


def _nth(ordinal: int, wanted: int, weekday: int, length: int) -> int:
    if ordinal > 0:
        day = 1 + (wanted - weekday) % 7 + 7 * (ordinal - 1)
    else:
        last = (weekday + length - 1) % 7
        day = length - (last - wanted) % 7 + 7 * (ordinal + 1)
    return 1 << day if 1 <= day <= length else 0


class _Year:
    """What a yearly (or hourly) rule selects by day of the year, week of the year, or numbered weekday of the year."""

    __slots__ = ("_kinds", "_ordinals", "_rule")

    def __init__(self, rule: Rule, ordinals: tuple[Day, ...]) -> None:
        self._rule = rule
        self._ordinals = ordinals
        self._kinds: dict[tuple[int, int, int, int], int] = {}

    def of_month(self, year: int, month: int, first: int) -> int:
        opening = date(year, 1, 1).toordinal() - EPOCH_DAY
        kind = ((opening + 3) % 7, _year_length(year), _year_length(year - 1), _year_length(year + 1))
        mask = self._kinds.get(kind)
        if mask is None:
            mask = self._kinds[kind] = self._of_year(*kind)
        return (mask >> (first - opening)) << 1  # the caller cuts it to the month

    def _of_year(self, weekday: int, length: int, before: int, after: int) -> int:
        mask = (1 << length) - 1
        rule = self._rule
        if rule.byyearday:
            days = {day - 1 if day > 0 else length + day for day in rule.byyearday}
            mask &= sum(1 << day for day in days if 0 <= day < length)
        if rule.byweekno:
            numbers = _week_numbers(weekday, length, before, after, rule.wkst)
            wanted = set(rule.byweekno)
            mask &= sum(1 << day for day, pair in enumerate(numbers) if wanted & set(pair))
        if self._ordinals:
            plain = {wanted for ordinal, wanted in rule.byday if ordinal == 0}
            chosen = sum(1 << day for day in range(length) if (weekday + day) % 7 in plain)
            for ordinal, wanted in self._ordinals:
                days = range((wanted - weekday) % 7, length, 7)
                place = ordinal - 1 if ordinal > 0 else len(days) + ordinal
                if 0 <= place < len(days):
                    chosen |= 1 << days[place]
            mask &= chosen
        return mask


def _year_length(year: int) -> int:
    return 337 + month_length(year, 2)


def _week_numbers(weekday: int, length: int, before: int, after: int, wkst: int) -> list[tuple[int, int]]:
    """For each day of a year the number of its week, from the front and from the back; week 1 has four days or more.

    The lengths are those of the year, of the one before and of the one after it: its first days may belong to the last
    week of the former, its last ones to week 1 of the latter.
    """

    def opening(first_weekday: int) -> int:  # index of the day that begins week 1
        ahead = (first_weekday - wkst) % 7
        return -ahead if ahead <= 3 else 7 - ahead

    starts = (
        opening((weekday - before) % 7) - before,
        opening(weekday),
        length + opening((weekday + length) % 7),
        length + after + opening((weekday + length + after) % 7),
    )
    found: list[tuple[int, int]] = []
    for day in range(length):
        start, end = next((low, high) for low, high in pairwise(starts) if low <= day < high)
        number = (day - start) // 7 + 1
        found.append((number, number - (end - start) // 7 - 1))
    return found


def _interval(rule: Rule) -> Filter | None:
    """The days that INTERVAL leaves. Hours and minutes are counted elsewhere."""
    if rule.interval == 1 or rule.freq in {"HOURLY", "MINUTELY"}:
        return None
    assert rule.start is not None, "a rule with INTERVAL has a start"
    start, every = rule.start, rule.interval
    day = day_number(start)
    if rule.freq == "YEARLY":
        return lambda year, _month, _first, _length: -1 if (year - start.year) % every == 0 else 0
    if rule.freq == "MONTHLY":
        number = start.year * 12 + start.month
        return lambda year, month, _first, _length: -1 if (year * 12 + month - number) % every == 0 else 0
    span = 1 if rule.freq == "DAILY" else 7
    opening = day if span == 1 else day - (start.weekday() - rule.wkst) % 7

    def stepping(_year: int, _month: int, first: int, length: int) -> int:
        mask, period = 0, span * every
        begin = opening + (first - opening) // period * period - first + 1  # a day of the month, or of the one before
        while begin <= length:
            mask |= ((1 << span) - 1) << begin if begin >= 0 else ((1 << span) - 1) >> -begin
            begin += period
        return mask & ~1

    return stepping
