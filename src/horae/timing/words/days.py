"""Days in words, in the spellings that the grammar reads back to the same days.

What the grammar cannot say (weeks that begin on another day than Monday, "Mondays or the first Friday" every two months)
has words that it does not read at all, rather than words that it reads as something else.
"""

from __future__ import annotations

from horae.timing.daysets import Days
from horae.timing.rules import Day
from horae.timing.vocabulary import MONTHS, WEEKDAYS, listed, named, numbered, ordinal

_WORKDAYS, _WEEKEND = tuple((0, day) for day in range(5)), ((0, 5), (0, 6))
_UNITS = {"DAILY": "days", "WEEKLY": "weeks", "MONTHLY": "months", "YEARLY": "years"}


def union_words(union: list[Days]) -> str:
    """Such as "on day 1 of the month and on Mondays, in March only". All have the same months, or are yearly dates."""
    if all(map(is_date, union)):
        prefix = f"every {union[0].every} years" if union[0].every > 1 else "every year"
        return f"{prefix} on {listed(_date(days) for days in union)}"
    parts = [_some_days(days) for days in union]
    joint = ", and " if any("only on" in part for part in parts) else " and "
    return joint.join(parts)


def months_words(union: list[Days]) -> str:
    """Such as " in March", behind days with these months; nothing behind yearly dates."""
    months = union[0].months
    if not months or all(map(is_date, union)):
        return ""
    names = named((number - 1 for number in months), MONTHS)
    return f", in {names} only" if len(union) > 1 else f" in {names}"


def is_date(days: Days) -> bool:
    """Whether it is one day of every (second, third ...) year."""
    day_of_month = len(days.months) == 1 == len(days.monthdays) and days.monthdays[0] > 0
    rest = days.weekdays or days.yeardays or days.weeks or days.positions
    return day_of_month and not rest and days.unit in (None, "YEARLY")


def _date(days: Days) -> str:
    return f"{days.monthdays[0]} {MONTHS[days.months[0] - 1]}"


def _some_days(days: Days) -> str:
    lists = [
        _weekdays(days) if days.weekdays else "",
        f"{_numbers(days.monthdays)} of the month" if days.monthdays else "",
        f"{_numbers(days.yeardays)} of the year" if days.yeardays else "",
        f"the weekday nearest to day {days.nearest} of the month" if days.nearest else "",
    ]
    lists = [words for words in lists if words]
    if days.every == 1:
        first = f"on {lists.pop(0)}" if lists else "every day"
    else:
        first = f"every {days.every} {_UNITS[days.unit or 'DAILY']}"
        if lists and days.unit != "DAILY":
            only = lists.pop(0)
            first += f" on {only.removesuffix(' of the month') if days.unit == 'MONTHLY' else only}"
    if days.weeks:
        first += f" in {_weeks(days.weeks)} of the year"
    if days.wkst:
        first += f" (weeks begin on {WEEKDAYS[days.wkst]})"
    if lists:
        first += f", but only on {', and only on '.join(lists)}"
    return first


def _weekdays(days: Days) -> str:
    period = "year" if days.in_year else "month"
    if days.positions:
        names = (
            "weekday" if days.weekdays == _WORKDAYS else " or ".join(WEEKDAYS[number] for _, number in days.weekdays)
        )
        return f"the {_ordinals(days.positions)} {names} of the {period}"
    plain = tuple(pair for pair in days.weekdays if not pair[0])
    counted = [pair for pair in days.weekdays if pair[0]]
    if not counted:
        return _plain(plain, "" if days.every > 1 and days.unit == "WEEKLY" else "s")
    names = listed(_numbered_weekday(number, counted) for number in sorted({number for _, number in counted}))
    return f"{_plain(plain, 's')} or {names} of the {period}" if plain else f"{names} of the {period}"


def _plain(weekdays: tuple[Day, ...], ending: str) -> str:
    if weekdays in (_WORKDAYS, _WEEKEND):
        return "weekdays" if weekdays == _WORKDAYS else "weekends"
    return named((number for _, number in weekdays), WEEKDAYS, ending)


def _numbered_weekday(weekday: int, counted: list[Day]) -> str:
    return f"the {_ordinals(tuple(place for place, number in counted if number == weekday))} {WEEKDAYS[weekday]}"


def _ordinals(numbers: tuple[int, ...]) -> str:
    mixed = numbers and max(numbers) > 0  # "third and second to last" would be -3 and -2
    return listed(
        f"the {ordinal(number)}" if mixed and number < -1 else ordinal(number) for number in in_order(numbers)
    )


def in_order(numbers: tuple[int, ...]) -> list[int]:
    """From the first to the last, those that count from the end behind the others."""
    return sorted(numbers, key=lambda number: (number < 0, number))


def _numbers(days: tuple[int, ...]) -> str:
    """Such as "day 1", "days 1 to 5 and the last day"."""
    counted = [day for day in days if day > 0]
    from_end = tuple(day for day in days if day < 0)
    parts = [numbered("day", counted)] if counted else []
    return listed(parts + ([f"the {_ordinals(from_end)} day"] if from_end else []))


def _weeks(weeks: tuple[int, ...]) -> str:
    counted = [week for week in weeks if week > 0]
    parts = [numbered("week", counted)] if counted else []
    return listed([*parts, *(f"the {ordinal(week)} week" for week in in_order(weeks) if week < 0)])
