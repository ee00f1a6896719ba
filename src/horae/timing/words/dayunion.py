"""A union of days in fewer and simpler words, with the very same days.

Rules for "day 1 or Mondays" are disjoint (day 1, and the Mondays among the others), and the weekday nearest to the 15th
is three rules. Here such pieces become again what was meant. The proof is a table with a cell for each weekday on each
day of the month, counted from the front and from the back: what is said in the end covers every cell of the pieces and
has none that they lack. The test is sufficient, not necessary: what it does not see through stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from horae.timing.cron.line import parse_cron
from horae.timing.daysets import Days
from horae.timing.rules import WORKDAYS
from horae.timing.words.ruledays import said_of

_ROWS = (*range(1, 32), *range(-31, 0))
_FRONT = tuple(range(1, 32))  # these are all days too: what needs every day of the month needs these cells only
_WEEK, _WORKDAYS, _MONDAY, _FRIDAY = tuple(range(7)), (0, 1, 2, 3, 4), (0,), (4,)


def simplified(union: list[Days]) -> list[Days]:
    """The same days, in the order in which they came."""
    union = _merged(union)
    nearest = _nearest_late(union)
    if nearest is not None:
        return [nearest]
    found: list[Days] = []
    for months in dict.fromkeys(days.months for days in union):
        group = [days for days in union if days.months == months and _has_cells(days)]
        found += _simpler(group) if len(group) > 1 else group
    return [days for days in union if not _has_cells(days) and days not in found] + found


def _merged(union: list[Days]) -> list[Days]:
    """Those that are nothing but weekdays of one kind, or days of the month, become one of each."""
    found: dict[object, Days] = {}
    for days in union:
        key = _kind(days)
        known = found.get(key, days)
        monthdays, weekdays = {*known.monthdays, *days.monthdays}, {*known.weekdays, *days.weekdays}
        found[key] = replace(days, monthdays=tuple(sorted(monthdays)), weekdays=tuple(sorted(weekdays)))
    return list(found.values())


def _kind(days: Days) -> object:
    """Equal for those whose lists can be joined."""
    if days.monthdays and days == Days(days.months, days.monthdays):
        return "monthdays", days.months
    numbered = any(number for number, _ in days.weekdays)
    if days.weekdays and days == Days(days.months, weekdays=days.weekdays, in_year=days.in_year):
        return "weekdays", days.months, numbered, days.in_year
    return days


def _simpler(group: list[Days]) -> list[Days]:
    given = _covered(group)
    chosen = [days for days in _candidates(group) if not _needed(days) & ~given]
    for days in reversed(list(chosen)):
        others = [other for other in chosen if other is not days]
        if not any(_needed(piece) & ~_covered(others) for piece in group):
            chosen = others
    return chosen


def _candidates(group: list[Days]) -> list[Days]:
    """What the pieces may have been, the simplest first, and the pieces themselves."""
    first = group[0]
    found: dict[Days, None] = {}
    for days in group:
        if days.monthdays:
            found[replace(days, weekdays=())] = None
    for days in group:
        if days.weekdays and not days.positions:
            found[replace(days, monthdays=())] = None
    if any(-1 in days.monthdays for days in group):
        found[Days(first.months, weekdays=WORKDAYS, positions=(-1,))] = None
    for number in sorted({day for days in group for day in days.monthdays if 1 <= day <= 27}):
        found[Days(first.months, nearest=number)] = None
    return [*found, *(days for days in group if days not in found)]


def _has_cells(days: Days) -> bool:
    last_workday = days.positions == (-1,) and days.weekdays == WORKDAYS
    known = (
        days.nearest < 28 and (not days.positions or last_workday) and not any(number for number, _ in days.weekdays)
    )
    return known and not (days.yeardays or days.weeks or days.in_year) and days.every == 1


def _covered(group: list[Days]) -> int:
    found = 0
    for days in group:
        found |= _cells(days, _ROWS)
    return found


def _needed(days: Days) -> int:
    return _cells(days, _FRONT)


@lru_cache(maxsize=4096)
def _cells(days: Days, every_day: tuple[int, ...]) -> int:
    """A bit for each weekday on each day of the month."""
    if days.nearest == 1:
        return _bits((1,), _WORKDAYS) | _bits((2, 3), _MONDAY)
    if days.nearest:
        around = _bits((days.nearest - 1,), _FRIDAY) | _bits((days.nearest + 1,), _MONDAY)
        return _bits((days.nearest,), _WORKDAYS) | around
    if days.positions:  # the last weekday: no later than two days before the end
        return _bits((-1,), _WORKDAYS) | _bits((-3, -2), _FRIDAY)
    return _bits(days.monthdays or every_day, tuple(weekday for _, weekday in days.weekdays) or _WEEK)


def _bits(rows: tuple[int, ...], weekdays: tuple[int, ...]) -> int:
    return sum(1 << 7 * (row + 31) + weekday for row in rows for weekday in weekdays)


def _nearest_late(union: list[Days]) -> Days | None:
    """The weekday nearest to a late day, which is said month by month: recognised as a whole."""
    late = max((day for days in union for day in days.monthdays), default=0)
    if len(union) < 2 or late < 28:
        return None
    return next((Days(nearest=number) for number in range(28, 32) if frozenset(union) == _pieces(number)), None)


@lru_cache(maxsize=4)
def _pieces(number: int) -> frozenset[Days]:
    return frozenset(days for rule in parse_cron(f"0 0 {number}W * *").rules for days in said_of(rule).days)
