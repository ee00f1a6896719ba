"""BYSETPOS: the instances that positions pick from the weeks, months or years of a rule.

Positions count instances, days times times of day, as the RFC says. A week may lie in two months: each is looked at from
the month that is asked for. What was picked is kept, for a bounded number of months.
"""

from __future__ import annotations

from datetime import date

from horae.timing.days import EPOCH_DAY, RuleDays, month_length, ones
from horae.timing.rules import Rule

_PICKS_KEPT = 600  # months


class Picked:
    """The instances that BYSETPOS picks from weeks, months or years."""

    __slots__ = ("_days", "_known", "_positions", "_rule", "_times", "_year")

    def __init__(self, days: RuleDays, rule: Rule, times: int) -> None:
        self._days = days
        self._rule = rule
        self._times = ones(times)
        self._positions = rule.bysetpos
        self._known: dict[int, dict[int, int]] = {}
        self._year: tuple[int, dict[int, int]] = (0, {})

    def days(self, year: int, month: int, first: int) -> int:
        """The days of the month that have an instance, as bits."""
        known = self._known.get(first)
        if known is None:
            if len(self._known) >= _PICKS_KEPT:
                self._known.clear()
            known = self._known[first] = self._pick(year, month, first)
        return sum(1 << day - first + 1 for day in known)

    def times(self, day: int) -> int:
        """The minutes of that day, as bits."""
        today = date.fromordinal(day + EPOCH_DAY)
        first = day - today.day + 1
        self.days(today.year, today.month, first)
        return self._known[first].get(day, 0)

    def _pick(self, year: int, month: int, first: int) -> dict[int, int]:
        """The picked minutes of each day of the month that has some."""
        if self._rule.freq == "MONTHLY":
            return self._from([self._numbers(year, month, first)])
        length = month_length(year, month)
        if self._rule.freq == "YEARLY":
            if self._year[0] != year:
                self._year = year, self._from([self._days_of_year(year)])
            picked = self._year[1]
        else:
            picked = self._from(self._weeks(year, month, first, length))
        return {day: minutes for day, minutes in picked.items() if first <= day < first + length}

    def _from(self, periods: list[list[int]]) -> dict[int, int]:
        """The picked minutes of the days of some periods."""
        found: dict[int, int] = {}
        times = self._times
        for days in periods:
            for position in self._positions:
                place = position - 1 if position > 0 else len(days) * len(times) + position
                if 0 <= place < len(days) * len(times):
                    day = days[place // len(times)]
                    found[day] = found.get(day, 0) | 1 << times[place % len(times)]
        return found

    def _days_of_year(self, year: int) -> list[int]:
        first = date(year, 1, 1).toordinal() - EPOCH_DAY
        days: list[int] = []
        for month in range(1, 13):
            days += self._numbers(year, month, first)
            first += month_length(year, month)
        return days

    def _weeks(self, year: int, month: int, first: int, length: int) -> list[list[int]]:
        """The days of every week that has a day in the month."""
        before = (year, month - 1) if month > 1 else (year - 1, 12)
        after = (year, month + 1) if month < 12 else (year + 1, 1)
        around = self._numbers(year, month, first) + self._numbers(*after, first + length)
        if before[0] > 0:
            around = self._numbers(*before, first - month_length(*before)) + around
        weeks: dict[int, list[int]] = {}
        for day in around:
            weeks.setdefault((day + 3 - self._rule.wkst) // 7, []).append(day)
        return list(weeks.values())

    def _numbers(self, year: int, month: int, first: int) -> list[int]:
        return [first + number - 1 for number in ones(self._days.of_month(year, month, first))]
