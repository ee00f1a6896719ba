"""The grammar of days in a month or a year ("1st and last day", "third monday"), of yearly dates, of months and weeks.

Numbers that no month or year has (the 32nd, a seventh Monday, 30 February) have a shape here, and are refused when they
are read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from horae.errors import Invalid
from horae.timing.daysets import Days
from horae.timing.phrases.grammar import Name, Rule, Words, choice, many, optional, reading, sequence
from horae.timing.phrases.times import DAY_OF_MONTH, JOINT, MONTH, NUMBERS, ORDINAL
from horae.timing.phrases.weekdays import ONE_WEEKDAY, WORKDAYS, Row
from horae.timing.rules import Day
from horae.timing.vocabulary import MONTH_LENGTHS, MONTHS, WEEKDAYS, ordinal

# --- days of a month or a year


class _Numbered(NamedTuple):
    """Such as "the second" of something; None takes the weekdays of the next one in the list. No weekdays: of days."""

    number: int
    weekdays: Row | None


class _Nearest(NamedTuple):
    number: int


def _month_days(items: list[_Numbered | _Nearest | Row]) -> list[Days]:
    """What a list such as "1st and 15th" or "first and third monday" selects; numbers are not checked yet."""
    counted: set[int] = set()
    numbered: set[Day] = set()
    positions: dict[Row, set[int]] = {}
    nearest: list[Days] = []
    weekdays: Row = ()
    for item in reversed(items):
        if isinstance(item, _Nearest):
            nearest.insert(0, Days(nearest=item.number))
        elif isinstance(item, _Numbered):
            weekdays = weekdays if item.weekdays is None else item.weekdays
            if not weekdays:
                counted.add(item.number)
            elif len(weekdays) == 1:
                numbered.add((item.number, weekdays[0]))
            else:
                positions.setdefault(weekdays, set()).add(item.number)
        else:
            counted.update(item)
    found = [Days(monthdays=tuple(sorted(counted)))] if counted else []
    found += [Days(weekdays=tuple(sorted(numbered)))] if numbered else []
    for row, places in positions.items():
        found.append(Days(weekdays=tuple((0, day) for day in row), positions=tuple(sorted(places))))
    return found + nearest


def _nearest(number: int) -> _Nearest:
    if not 1 <= number <= 31:
        raise Invalid(f"no month has a {ordinal(number)} day", "days go from 1 to 31", value=str(number))
    return _Nearest(number)


def _of_period(found: list[Days], period: str = "month") -> list[Days]:
    """The same as days of the month or of the year. Raises `Invalid` for numbers that none has."""
    days, weeks = (31, 5) if period == "month" else (366, 53)
    for one in found:
        for number in (*one.monthdays, *one.positions):
            if not 1 <= abs(number) <= days:
                message = f"no {period} has a {ordinal(number)} day"
                raise Invalid(message, f"days go from 1st to {ordinal(days)}, and last", value=str(number))
        for number, weekday in one.weekdays:
            if abs(number) > weeks:
                message = f"no {period} has a {ordinal(number)} {WEEKDAYS[weekday].lower()}"
                raise Invalid(message, f"they go from first to {ordinal(weeks)}, and last", value=str(number))
    if period == "month":
        return found
    if any(one.nearest for one in found):
        raise Invalid("the weekday nearest to a day is one of a month, not of a year", "write `of the month`")
    return [replace(one, monthdays=(), yeardays=one.monthdays, in_year=bool(one.weekdays)) for one in found]


_OF_WHAT = choice(
    Name("`day` or `weekday`", {"day": (), "days": (), "weekday": WORKDAYS, "weekdays": WORKDAYS}, ["day", "weekday"]),
    reading(many(ONE_WEEKDAY, Words("or")), lambda rows: tuple(sorted({row[0] for row in rows}))),
)
NUMBERED_DAYS = Rule(
    "numbered days",
    many(
        choice(
            reading(sequence(optional("the"), ORDINAL, optional(_OF_WHAT)), _Numbered),
            sequence(optional("the"), choice("day", "days"), NUMBERS),
            reading(
                sequence(
                    optional("the"), "weekday nearest", optional("to"), optional("the"), optional("day"), DAY_OF_MONTH
                ),
                _nearest,
            ),
        ),
        JOINT,
    ),
    _month_days,
)
_WHICH = optional(choice("the", "every", "each"))
_PERIOD = Name("`month` or `year`", {"month": "month", "year": "year"})

# --- dates of every year


def _year_dates(dates: list[tuple[int, int]]) -> list[Days]:
    """Of (month, day). Raises `Invalid` for what never comes."""
    months: dict[int, list[int]] = {}
    for month, day in dates:
        if not 1 <= day <= MONTH_LENGTHS[month]:
            raise Invalid(f"{MONTHS[month - 1]} has no day {day}: that never fires", value=str(day))
        months.setdefault(month, []).append(day)
    return [Days(months=(month,), monthdays=tuple(sorted(days))) for month, days in sorted(months.items())]


YEARDATES = Rule(
    "dates of every year",
    many(
        choice(
            reading(sequence(optional("the"), DAY_OF_MONTH, optional("of"), MONTH), lambda day, month: (month, day)),
            sequence(optional("the"), MONTH, optional("the"), DAY_OF_MONTH),
        ),
        JOINT,
    ),
    _year_dates,
)

# --- months and weeks


def _weeks(rows: list[Row]) -> Row:
    weeks = tuple(sorted({number for row in rows for number in row}))
    for number in weeks:
        if not 1 <= abs(number) <= 53:
            raise Invalid(f"no year has a {ordinal(number)} week", "weeks go from 1 to 53, and last", value=str(number))
    return weeks


MONTHS_ONLY = Rule(
    "months",
    sequence(
        optional(","),
        "in",
        many(
            choice(
                reading(
                    sequence(MONTH, choice("-", "to", "through"), MONTH),
                    lambda first, last: tuple((first - 1 + step) % 12 + 1 for step in range((last - first) % 12 + 1)),
                ),
                reading(MONTH, lambda month: (month,)),
            ),
            JOINT,
        ),
        optional("only"),
    ),
    lambda rows: tuple(sorted({month for row in rows for month in row})),
)
WEEKS = Rule(
    "weeks",
    sequence(
        "in",
        many(
            choice(
                sequence(choice("week", "weeks"), NUMBERS),
                reading(sequence("the", ORDINAL, "week"), lambda number: (number,)),
            ),
            JOINT,
        ),
        "of the year",
    ),
    _weeks,
)
OF_PERIOD = Rule("days of the month or year", sequence(NUMBERED_DAYS, "of", _WHICH, _PERIOD), _of_period)
OF_MONTH = Rule("days of the month", sequence(NUMBERED_DAYS, optional("of", _WHICH, "month")), _of_period)
OF_YEAR = reading(sequence(NUMBERED_DAYS, "of", _WHICH, "year"), lambda found: _of_period(found, "year"))
