"""The English names of what calendars count, for reading and for writing: weekdays, months, ordinals, lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
MONTH_LENGTHS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""The longest that each gets."""

WEEKDAY_OF = {
    **{name.lower(): number for number, name in enumerate(WEEKDAYS)},
    **{name[:3].lower(): number for number, name in enumerate(WEEKDAYS)},
    "tues": 1, "weds": 2, "thur": 3, "thurs": 3,
}  # fmt: skip
MONTH_OF = {
    **{name.lower(): number for number, name in enumerate(MONTHS, 1)},
    **{name[:3].lower(): number for number, name in enumerate(MONTHS, 1)},
    "sept": 9,
}
ORDINAL_OF = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}

NUMBER_OF = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip

PARTS_OF_DAY = ("morning", "afternoon", "evening", "night")

_LISTED_MAX = 3  # names in a row that are said one by one
_WORDS = {number: word for word, number in ORDINAL_OF.items()}


def ordinal(number: int) -> str:
    """Such as first, 12th, 23rd, last, second to last (-2)."""
    if number == -1:
        return "last"
    if number < 0:
        return f"{ordinal(-number)} to last"
    if number in _WORDS:
        return _WORDS[number]
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def listed(parts: Iterable[str], joint: str = "and") -> str:
    """Such as "a", "a and b", "a, b and c"."""
    *heads, last = parts
    return f"{', '.join(heads)} {joint} {last}" if heads else last


def named(numbers: Iterable[int], names: Sequence[str], ending: str = "") -> str:
    """The names of ascending numbers, from 0 on: "Mondays to Thursdays and Saturdays", "May, June and July"."""
    parts: list[str] = []
    for run in runs_of(numbers):
        shown = [f"{names[number]}{ending}" for number in run]
        parts += [f"{shown[0]} to {shown[-1]}"] if len(run) > _LISTED_MAX else shown
    return listed(parts)


def runs_of(values: Iterable[int]) -> list[list[int]]:
    """Ascending numbers, those that follow one another together."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return runs


def numbered(noun: str, values: Iterable[int]) -> str:
    """Such as "minute 5", "minutes 0, 15 and 30", "hours 9 to 17"; the values ascend."""
    runs = runs_of(values)
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(value) for value in run]
    single = len(runs) == 1 and len(runs[0]) == 1
    return f"{noun}{'' if single else 's'} {listed(parts)}"
