"""The day half and the time half of phrases such as "every monday and thursday" + "9am and 18:30".

Only what has one reading is read. "monday at 9am" could be once or weekly, "24 december" once or yearly, "at 9" morning
or evening: these are refused with the spellings that say which. Texts are lower case with single spaces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from horae.errors import Invalid
from horae.timing.rules import Day

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY_OF = {
    **{name: number for number, name in enumerate(_WEEKDAYS)},
    **{name[:3]: number for number, name in enumerate(_WEEKDAYS)},
    "tues": 1, "weds": 2, "thur": 3, "thurs": 3,
}  # fmt: skip
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH_OF = {
    **{name: number for number, name in enumerate(_MONTHS, 1)},
    **{name[:3]: number for number, name in enumerate(_MONTHS, 1)},
    "sept": 9,
}
_MONTH_LENGTHS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_ORDINAL_OF = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}

TIME = r"(?:[0-9]{1,2}:[0-9]{2} ?(?:am|pm)?|[0-9]{1,2} ?(?:am|pm)|noon|midnight)(?![0-9a-z:])"
"""A time of day that has one reading only."""
JOINT = r"(?: ?, ?and |, ?| and )"
_CLOCK = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))? ?(am|pm)?")
_JOINT = re.compile(JOINT)
_RANGE = re.compile(r"([a-z]+)(?: ?- ?| to | through )([a-z]+)")
_NUMBERED = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)")
_OF_MONTH = re.compile(r"(?:the )?(.+) of (?:the|every|each) month")
_MONTH_ON = re.compile(r"(?:every month|monthly) on (?:the )?(.+)")
_YEARLY = re.compile(r"(?:every year on |yearly on |every )(?:the )?(.+)")
_DATE = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)? (?:of )?([a-z]+)|([a-z]+) (?:the )?([0-9]{1,2})(?:st|nd|rd|th)?")


@dataclass(frozen=True, slots=True)
class Days:
    """Which days, in the words of a rule."""

    bymonth: tuple[int, ...] = ()
    bymonthday: tuple[int, ...] = ()
    byday: tuple[Day, ...] = ()


def read_time(text: str) -> int:
    """Minutes after midnight of "9am", "18:30", "noon", ... Raises `Invalid`."""
    if text in ("noon", "midnight"):
        return 720 if text == "noon" else 0
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise Invalid(f"cannot read the time {text!r}", "write, for example, 9am, 7:15pm, 18:30, noon or midnight")
    hour, minute, half = int(match[1]), int(match[2] or 0), match[3]
    if half is None and match[2] is None:
        raise Invalid(f"{text!r} could be morning or evening", f"write {hour}am, {hour}pm or {hour:02d}:00", value=text)
    if minute > 59 or (half and not 1 <= hour <= 12) or hour > 23:
        raise Invalid(f"there is no time {text!r}", "times go from 0:00 to 23:59, or from 1am to 12pm", value=text)
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour * 60 + minute


def read_times(text: str) -> tuple[int, ...]:
    """Minutes after midnight of one or several times, ascending."""
    return tuple(sorted({read_time(part.strip()) for part in _JOINT.split(text)}))


def read_days(text: str) -> Days | None:
    """The days of "every day", "weekends", "every mon, wed", "last day of the month", "every 24 december", ...

    None if it is none of them; raises `Invalid` if it is one that has two readings, or that never comes.
    """
    if text in ("daily", "every day", "each day"):
        return Days()
    bare = text.removeprefix("on ")
    monthly = _OF_MONTH.fullmatch(bare.removeprefix("every ")) or _MONTH_ON.fullmatch(bare)
    if monthly:
        return _in_month(monthly[1])
    every = bare.startswith(("every ", "each "))
    return _on_weekdays(bare.removeprefix("every ").removeprefix("each "), every) or _yearly(bare)


def _on_weekdays(text: str, every: bool) -> Days | None:
    if text in ("weekday", "weekdays", "weekend", "weekends"):
        if text in ("weekday", "weekend") and not every:
            raise Invalid(f"{text!r} alone could mean the next one or all", f"write `every {text}` or `{text}s`")
        return Days(byday=tuple((0, day) for day in (range(5) if "day" in text else (5, 6))))
    numbers: set[int] = set()
    single = False
    for part in _JOINT.split(text):
        found = _weekday_part(part)
        if found is None:
            return None
        numbers.update(found)
        single = single or not (part.endswith("days") or len(found) > 1)
    if single and not every:
        message = f"{text!r} could mean the next one or every one"
        raise Invalid(message, f"write `every {text}`, or a date for one run", value=text)
    return Days(byday=tuple((0, number) for number in sorted(numbers)))


def _weekday_part(part: str) -> list[int] | None:
    """Weekdays of "monday", "mondays", "mon-fri" or "friday to monday"."""
    between = _RANGE.fullmatch(part)
    if between:
        first, last = _WEEKDAY_OF.get(between[1]), _WEEKDAY_OF.get(between[2])
        if first is None or last is None:
            return None
        return [(first + step) % 7 for step in range((last - first) % 7 + 1)]
    name = part.removesuffix("s") if part.endswith("days") else part
    return [_WEEKDAY_OF[name]] if name in _WEEKDAY_OF else None


def _in_month(text: str) -> Days | None:
    """Days of "1st and 15th", "last day", "first monday", "first and third monday"."""
    parts = [part.removeprefix("the ") for part in _JOINT.split(text)]
    *heads, tail = [part.split(" ") for part in parts]
    weekday = _WEEKDAY_OF.get(tail[-1]) if len(tail) == 2 else None
    monthdays: set[int] = set()
    weekdays: set[Day] = set()
    for words in (*heads, tail):
        ordinal = _ordinal(words[0])
        if ordinal is None or len(words) > 2:
            return None
        own = _WEEKDAY_OF.get(words[-1]) if len(words) == 2 else weekday
        if own is not None:
            if ordinal > 5:
                raise Invalid(f"no month has a {words[0]} {_WEEKDAYS[own]}", "they go from first to fifth, and last")
            weekdays.add((ordinal, own))
        elif len(words) == 1 or words[1] == "day":
            monthdays.add(ordinal)
        else:
            return None
    if monthdays and weekdays:  # "the last day and first monday": two schedules
        return None
    return Days(bymonthday=tuple(sorted(monthdays)), byday=tuple(sorted(weekdays)))


def _ordinal(word: str) -> int | None:
    if word in _ORDINAL_OF:
        return _ORDINAL_OF[word]
    numbered = _NUMBERED.fullmatch(word)
    if numbered is None:
        return None
    if not 1 <= int(numbered[1]) <= 31:
        raise Invalid(f"no month has a {word} day", "days go from 1st to 31st, and last", value=word)
    return int(numbered[1])


def _yearly(text: str) -> Days | None:
    given = _YEARLY.fullmatch(text)
    match = _DATE.fullmatch(given[1] if given else text)
    month = _MONTH_OF.get(match[2] or match[3]) if match else None
    if match is None or month is None:
        return None
    day = int(match[1] or match[4])
    if given is None:
        date = f"{day} {_MONTHS[month - 1]}"
        raise Invalid(
            f"{text!r} could mean once or every year", f"write `every {date} at 9:00`, or a date with its year"
        )
    if not 1 <= day <= _MONTH_LENGTHS[month]:
        raise Invalid(f"{_MONTHS[month - 1].title()} has no day {day}: that never fires", value=text)
    return Days(bymonth=(month,), bymonthday=(day,))
