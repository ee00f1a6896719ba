"""The grammar of days: "every day", "mondays and fridays", "the last friday of the month", "every 2 weeks on monday".

Only what has one reading is read. "monday" could be the next one or every one, "24 december" once or every year: these
have a shape here, and are refused with the spellings that say which. The value of `DAYS` is a list of `Days`, a union.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from horae.errors import Invalid
from horae.limits import RULE_INTERVAL_MAX
from horae.timing.daysets import EVERY_DAY, Days
from horae.timing.phrases.grammar import Place, Placed, Refused, Rule, choice, many, optional, reading, sequence
from horae.timing.phrases.periods import MONTHS_ONLY, OF_MONTH, OF_PERIOD, OF_YEAR, WEEKS, YEARDATES
from horae.timing.phrases.times import COUNT
from horae.timing.phrases.unclear import Unclear
from horae.timing.phrases.weekdays import ALL_WEEKDAYS, ANY_WEEKDAYS, WORKDAYS, Row
from horae.timing.rules import Freq


def _every_so_many(number: int, unit: Freq, found: list[Days]) -> list[Days]:
    if not 1 <= number <= RULE_INTERVAL_MAX:
        raise Invalid(f"every {number} periods is no pace", f"it goes from 1 to {RULE_INTERVAL_MAX}", value=str(number))
    return [replace(one, unit=unit, every=number) for one in found] if number > 1 else found


def _restricted(found: list[Days], weeks: Row | None, others: list[list[Days]] | None) -> list[Days]:
    """The days that lie in those weeks of the year, and are among each of the others too."""
    found = [replace(one, weeks=weeks) for one in found] if weeks else found
    for other in others or ():
        if len(found) > 1 or len(other) > 1:
            raise Invalid("`but only on` joins one kind of days with another", "write two schedules, joined with `;`")
        found = [_both(found[0], other[0])]
    return found


def _both(one: Days, other: Days) -> Days:
    twice = (
        (one.monthdays and other.monthdays) or (one.weekdays and other.weekdays) or (one.yeardays and other.yeardays)
    )
    if twice or one.positions or other.positions or one.nearest or other.nearest:
        raise Invalid("these days cannot be restricted by one another", "name the days that are meant")
    return replace(
        one,
        monthdays=one.monthdays or other.monthdays,
        weekdays=one.weekdays or other.weekdays,
        yeardays=one.yeardays or other.yeardays,
        in_year=one.in_year or other.in_year,
    )


def in_months(union: list[Days], months: Row | None) -> list[Days]:
    """The union, in those months only."""
    if months and any(one.months for one in union):
        raise Invalid("a date names its month already", "leave out `in …`")
    return [replace(one, months=months) for one in union] if months else union


def sayable(union: list[Days]) -> list[Days]:
    """The union, with all its months. Raises `Invalid` for what no rule can say."""
    if len(union) > 1 and any(one.every > 1 for one in union):
        message = "a counted period, such as every 2 weeks, stands alone: each has a start of its own"
        raise Invalid(message, "write two schedules, joined with `;`")
    for one in union:
        if why := _unsayable(one):
            raise Invalid(f"these days cannot be combined: {why}", "name the days that are meant")
    return union


def _unsayable(days: Days) -> str | None:
    """Why no rule has these days."""
    numbered = any(number for number, _ in days.weekdays)
    by_month = bool(numbered or days.positions) and not days.in_year
    by_one_month = by_month and (len(days.months) == 1 or (days.months and not days.positions))
    by_year = bool(days.yeardays or days.weeks or days.in_year)
    if by_year and days.unit not in (None, "YEARLY"):
        return "what is counted in years needs years that are counted"
    if days.unit in ("DAILY", "WEEKLY") and (by_month or (days.monthdays and days.unit == "WEEKLY")):
        return "days of the month do not fit into counted days or weeks"
    if by_month and (by_year or (days.unit == "YEARLY" and not by_one_month)):
        return "what is counted in each month does not fit into counted years, days or weeks of the year"
    if days.nearest and (days.weeks or days.every > 1):
        return "the weekday nearest to a day is that of every month"
    if days.in_year and days.months:
        return "what is counted in the year is not counted in some months of it"
    return None


def _which_weekday(place: Place) -> NoReturn:
    bare = place.source
    if bare in ("weekday", "weekend"):
        raise Unclear(f"{bare!r} alone could mean the next one or all", place, [f"every {bare}", f"{bare}s"])
    raise Unclear(f"{bare!r} could mean the next one or every one", place, [f"every {bare}"], "a date for one run")


def _once_or_yearly(place: Place) -> NoReturn:
    bare = place.source
    raise Unclear(f"{bare!r} could mean once or every year", place, [f"every {bare}"], "a date with its year")


def _every_other(place: Place) -> tuple[int, tuple[Freq, list[Days]]]:
    """Every other week on weekdays: "every other weekday" could be every second one of them too."""
    if place.value.weekdays == _WORKDAYS:
        message = f"`every {place.source}` could mean every other week, or every second one of these days"
        raise Unclear(message, place, ["2 weeks on weekdays", "monday, wednesday and friday"])
    return 2, ("WEEKLY", [place.value])


def _but(all_of: Days, without: Days | None) -> list[Days]:
    """Weekdays, or all days, without some weekdays."""
    if without is None:
        return [all_of]
    given = all_of.weekdays or _WEEK
    left = tuple(day for day in given if day not in without.weekdays)
    if not left or not set(without.weekdays) <= set(given):
        message = "`except` leaves nothing" if not left else "`except` names a day that is not among them"
        raise Invalid(message, "name the days that are meant, as in `mondays and thursdays at 9am`")
    return [replace(all_of, weekdays=left)]


_WORKDAYS, _WEEK = tuple((0, day) for day in WORKDAYS), tuple((0, day) for day in range(7))
_SOME_WEEKDAYS = reading(ANY_WEEKDAYS, lambda days: [days])
_EXCEPT = optional(optional(","), "except", optional("on"), ANY_WEEKDAYS)

_PERIODS = Rule(
    "counted periods",
    choice(
        reading(choice("day", "days"), lambda _: ("DAILY", [EVERY_DAY])),
        reading(sequence(choice("week", "weeks"), "on", _SOME_WEEKDAYS), lambda days: ("WEEKLY", days)),
        reading(
            sequence(choice("month", "months"), "on", choice(OF_MONTH, _SOME_WEEKDAYS)), lambda days: ("MONTHLY", days)
        ),
        reading(
            sequence(choice("year", "years"), "on", choice(YEARDATES, OF_PERIOD, _SOME_WEEKDAYS)),
            lambda days: ("YEARLY", days),
        ),
    ),
)
_EVERY_WHAT = choice(
    reading(sequence("day", _EXCEPT), lambda without: _but(EVERY_DAY, without)),
    reading(sequence(ANY_WEEKDAYS, _EXCEPT), _but),
    sequence("week on", _SOME_WEEKDAYS),
    sequence("month on", OF_MONTH),
    sequence("year on", choice(YEARDATES, OF_YEAR)),
    YEARDATES,
    OF_PERIOD,
    Rule(
        "counted days",
        choice(
            sequence(COUNT, _PERIODS),
            reading(sequence("other", _PERIODS), lambda days: (2, days)),
            reading(Placed(sequence("other", ANY_WEEKDAYS)), _every_other),
        ),
        lambda found: _every_so_many(found[0], *found[1]),
    ),
)
_SOME_DAYS = Rule(
    "some days",
    choice(
        sequence(optional("on"), choice("every", "each"), _EVERY_WHAT),
        reading(sequence(optional("on"), ALL_WEEKDAYS, _EXCEPT), _but),
        sequence(optional("on"), OF_PERIOD),
        reading(sequence(choice("daily", "everyday"), _EXCEPT), lambda without: _but(EVERY_DAY, without)),
        sequence("weekly on", _SOME_WEEKDAYS),
        sequence("monthly on", OF_MONTH),
        sequence(choice("yearly", "annually"), "on", choice(YEARDATES, OF_YEAR)),
        Refused("", sequence(optional("on"), Placed(ANY_WEEKDAYS)), _which_weekday),
        Refused("", sequence(optional("on"), Placed(YEARDATES)), _once_or_yearly),
    ),
)
_RESTRICTED = Rule(
    "some days only",
    sequence(
        _SOME_DAYS,
        optional(WEEKS),
        optional(
            optional(","),
            "but only on",
            many(choice(OF_PERIOD, _SOME_WEEKDAYS), sequence(optional(","), "and only on")),
        ),
    ),
    _restricted,
)
DAYS = Rule(
    "days",
    sequence(many(_RESTRICTED, sequence(optional(","), "and")), optional(MONTHS_ONLY)),
    lambda parts, months: in_months([one for part in parts for one in part], months),
)
