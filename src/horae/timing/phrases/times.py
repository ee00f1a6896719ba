"""The grammar of times, dates, durations and numbers.

Times of day are seconds after midnight. A moment is a day of the calendar, mostly with a time, as a clock on a wall
shows it: which instant that is depends on the zone and is found in `dates`. A time that could be morning or evening and
a date that does not exist have a shape here, and are refused when they are read.
"""

from __future__ import annotations

import re
from datetime import date

from horae.errors import Invalid
from horae.timing.dates import Moment
from horae.timing.durations import UNITS, parse_duration, period_words
from horae.timing.phrases.grammar import Leaf, Name, Place, Placed, Rule, choice, many, optional, reading, sequence
from horae.timing.phrases.unclear import Unclear
from horae.timing.vocabulary import MONTH_OF, MONTHS, NUMBER_OF, ORDINAL_OF, WEEKDAY_OF, WEEKDAYS
from horae.timing.words.times import clock

DAY_S = 86400

# --- numbers and lists

JOINT = Rule("comma or and", choice(sequence(",", optional("and")), "and"))
COUNT = choice(Leaf("a number", "[0-9]{1,7}", ["2", "3", "10"], int), Name("a number in words", NUMBER_OF))
_NUMBER = Leaf("a number", "[0-9]{1,3}", ["1", "15"], int)


def _range(first: int, last: int | None) -> list[int]:
    if last is not None and last < first:
        raise Invalid(f"`{first} to {last}` runs backwards", f"write `{last} to {first}`")
    return list(range(first, (first if last is None else last) + 1))


NUMBERS = Rule(
    "numbers",
    many(
        choice(
            reading(sequence(_NUMBER, optional("to", _NUMBER)), _range),
            Leaf("numbers in a row", "[0-9]{1,3}-[0-9]{1,3}", ["1-5"], lambda text: _range(*map(int, text.split("-")))),
        ),
        JOINT,
    ),
    lambda rows: tuple(sorted({number for row in rows for number in row})),
)

_LAST = Name("`last`", {"last": -1})
ORDINAL = Rule(
    "ordinal",
    choice(
        _LAST,
        reading(
            sequence(
                choice(
                    Name("an ordinal", ORDINAL_OF),
                    Leaf("an ordinal", "[0-9]{1,3}(?:st|nd|rd|th)", ["1st", "15th"], lambda text: int(text[:-2])),
                ),
                optional(optional(choice("to", "- to -")), _LAST),
            ),
            lambda number, last: -number if last else number,
        ),
    ),
)

# --- times of day

_HALF = Name("am or pm", {"am": "am", "pm": "pm"})
_CLOCK = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))?(?::([0-9]{2}))?(am|pm)?")


def read_time(text: str, half: str | None = None) -> int:
    """Seconds after midnight of "9am", "18:30", "7:15:30pm". Raises `Invalid`."""
    match = _CLOCK.fullmatch(text)
    assert match is not None, "the shape was matched before"
    hour, minute, second, half = int(match[1]), match[2], int(match[3] or 0), match[4] or half
    shown = f"{text} {half}" if half and not match[4] else text
    if int(minute or 0) > 59 or second > 59 or (half and not 1 <= hour <= 12) or hour > 23:
        hint = "times go from 0:00 to 23:59, or from 1am to 12pm"
        if hour == 24 and not int(minute or 0) + second:
            hint = "a day begins at 0:00 (`midnight`) and its last minute is 23:59"
        raise Invalid(f"there is no time {shown!r}", hint, value=text)
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour * 3600 + int(minute or 0) * 60 + second


def _time(place: Place) -> int:
    """The time of a number, mostly with minutes or with its half of the day. Raises `Unclear` for an hour alone."""
    text, half = place.value
    if half is None and ":" not in text and int(text) <= 23:
        hour = int(text)
        minutes = f"{hour:02d}:00"
        if 1 <= hour <= 12:
            raise Unclear(f"{text!r} could be morning or evening", place, [f"{hour}am", f"{hour}pm", minutes])
        raise Unclear(f"{text!r} names an hour and no minutes", place, [minutes])
    return read_time(text, half)


TIME = Rule(
    "time",
    choice(
        Leaf("a time of day", r"[0-9]{1,2}(?::[0-9]{2}){0,2}(?:am|pm)", ["9am", "7:15pm"], read_time),
        reading(
            Placed(
                sequence(Leaf("a time of day", r"[0-9]{1,2}(?::[0-9]{2}){0,2}", ["9:00", "18:30"]), optional(_HALF))
            ),
            _time,
        ),
        Name("a time of day", {"noon": 43200, "midnight": 0}),
    ),
)
TIMES = Rule("times", many(TIME, sequence(JOINT, optional("at"))), lambda times: tuple(sorted(set(times))))

# --- durations

_SHOWN_UNITS = ["seconds", "minutes", "hours", "days", "weeks"]
DURATION = Rule(
    "duration",
    many(
        choice(
            reading(
                sequence(
                    choice(
                        Leaf("a number", r"[0-9]{1,12}(?:\.[0-9]{1,6})?", ["2", "90", "1.5"]),
                        Name("a number in words", NUMBER_OF),
                    ),
                    Name("a unit of time", {unit: unit for unit in UNITS}, _SHOWN_UNITS),
                ),
                lambda number, unit: f"{number} {unit}",
            ),
            Leaf("a duration", rf"(?:[0-9]{{1,12}}(?:\.[0-9]{{1,6}})?(?:{'|'.join(UNITS)}))+", ["30m", "1h30m"]),
        ),
        optional(choice(",", "and")),
    ),
    lambda parts: parse_duration(" ".join(parts)),
)
_SINGLE = {unit: seconds for unit, seconds in UNITS.items() if len(unit) > 1 and unit[-1] != "s"}
UNIT = Name("a unit of time", _SINGLE, ["second", "minute", "hour", "day", "week"])
PERIOD = choice(DURATION, UNIT)
BARE_PERIOD = choice(  # "every day" and "every week" want a time of day
    DURATION,
    Name("a unit of time", {unit: s for unit, s in _SINGLE.items() if s < DAY_S}, ["second", "minute", "hour"]),
)

# --- dates and moments

WEEKDAY = Name("a day of the week", WEEKDAY_OF, [name.lower() for name in WEEKDAYS])
MONTH = Name("a month", MONTH_OF, [name.lower() for name in MONTHS])
DAY_OF_MONTH = Leaf("a day", "[0-9]{1,2}(?:st|nd|rd|th)?", ["1", "24", "15th"], lambda text: int(text.rstrip("stndrh")))
_YEAR = Leaf("a year", "[0-9]{4}", ["2027"], int)
_ISO_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ISO_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+)?"
_ISO_OFFSET = r"[+-][0-9]{2}:?[0-9]{2}(?::?[0-9]{2})?"


def _day(year: int, month: int, day: int, shown: str) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        message = f"{shown!r} is no date of the calendar: {error}"
        raise Invalid(message, "write it as 2026-12-24", value=shown) from None


def _iso_day(text: str) -> date:
    return _day(int(text[:4]), int(text[5:7]), int(text[8:]), text)


def _in_words(day: int, month: int, year: int) -> date:
    return _day(year, month, day, f"{day} {MONTHS[month - 1]} {year}")


def _on_weekday(weekday: int | None, day: date) -> date:
    if weekday is not None and day.weekday() != weekday:
        true = f"{day.day} {MONTHS[day.month - 1]} {day.year} is a {WEEKDAYS[day.weekday()]}"
        raise Invalid(f"{true}, not a {WEEKDAYS[weekday]}", "correct the weekday or the date", value=day.isoformat())
    return day


def _offset(text: str) -> int:
    digits = text[1:].replace(":", "")
    hours, minutes, seconds = int(digits[:2] or 0), int(digits[2:4] or 0), int(digits[4:] or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        raise Invalid(f"there is no offset {text!r}", "offsets are written as +01:00", value=text)
    return (hours * 3600 + minutes * 60 + seconds) * (-1 if text[0] == "-" else 1)


def _iso_moment(day: str, clock: str) -> Moment:
    match = re.fullmatch(r"([0-9:]+)(?:\.([0-9]+))?(.*)", clock)
    assert match is not None, "the shape was matched before"
    if (match[2] or "").strip("0"):
        raise Invalid(f"{day} {clock} has a part of a second; slots are whole seconds", "leave it out", value=clock)
    return Moment(_iso_day(day), read_time(match[1]), _offset(match[3]) if match[3] else None)


_OFFSET = Leaf("an offset", _ISO_OFFSET, ["+01:00", "-05:00"], _offset)
DATE = Rule(
    "date",
    sequence(
        optional(WEEKDAY, optional(",")),
        choice(
            Leaf("a date", _ISO_DAY, ["2026-12-24", "2027-01-31"], _iso_day),
            reading(sequence(DAY_OF_MONTH, optional("of"), MONTH, optional(","), _YEAR), _in_words),
            reading(
                sequence(MONTH, DAY_OF_MONTH, optional(","), _YEAR),
                lambda month, day, year: _in_words(day, month, year),
            ),
        ),
    ),
    _on_weekday,
)
MOMENT = Rule(
    "moment",
    choice(
        reading(
            sequence(DATE, optional(optional("at"), TIME, optional(_OFFSET))),
            lambda day, clock: Moment(day, *(clock or ())),
        ),
        reading(
            sequence(optional("at"), TIME, optional(_OFFSET), "on", DATE),
            lambda time, offset, day: Moment(day, time, offset),
        ),
        Leaf(
            "a date with a time",
            f"{_ISO_DAY}t{_ISO_CLOCK}(?:z|{_ISO_OFFSET})?",
            ["2026-12-24t18:00:00+01:00"],
            lambda text: _iso_moment(text[:10], text[11:]),
        ),
        reading(
            sequence(
                Leaf("a date", _ISO_DAY, ["2026-12-24"]),
                Leaf("a time with an offset", f"{_ISO_CLOCK}(?:z|{_ISO_OFFSET})?", ["18:00z"]),
            ),
            _iso_moment,
        ),
    ),
)

# --- times that come round


def _window(period: int, first: int, last: int) -> tuple[int, ...]:
    every, begin, end = f"every {period_words(period)}", clock(first), clock(last)
    if last <= first:
        raise Invalid(f"{end} is not after {begin} on the same day", _over_midnight(period, first, last))
    if period > last - first:
        hint = f"write `every day at {begin}`, or `{every} from {begin}`, which counts elapsed time"
        if period == DAY_S:
            hint = f"write how often, as in `every hour from {begin} to {end}`, or `every day at {begin}`"
        raise Invalid(f"{every} comes once only from {begin} to {end}", hint)
    minutes = period if period % 60 == 0 else 0
    if not minutes or (3600 % minutes and minutes % 3600 and (last - first) % minutes):
        message = f"{every} does not come out at the same minutes of each hour"
        hint = f"write `{every} from {begin}`, which runs day and night"
        if 0 < minutes < last - first:
            hint = f"write `{every} from {begin} to {clock(last - (last - first) % minutes)}`, or {hint[6:]}"
        raise Invalid(message, hint)
    return tuple(range(first, last + 1, minutes))


def _over_midnight(period: int, first: int, last: int) -> str:
    """What to write for a stretch that goes on behind midnight."""
    every = f"every {period_words(period)}"
    steps = (DAY_S - 1 - first) // period if period else 0
    if not steps or period % 60:
        return "write two schedules, joined with `;`: one until midnight and one from it on"
    before = f"{every} from {clock(first)} to {clock(first + steps * period)}"
    again = first + (steps + 1) * period - DAY_S
    if last - again < period:
        at = f"; every day at {clock(again)}" if again <= last else ""
        return f"write `{before}{at}`"
    return f"write `{before}; {every} from {clock(again)} to {clock(last - (last - again) % period)}`"


def _by_the_clock(period: int) -> tuple[int, ...]:
    every = f"every {period_words(period)}"
    if period == DAY_S:
        raise Invalid("every day by the clock does not say at which time", "write, for example, `every day at 9am`")
    if not period or DAY_S % period or period % 60:
        message = f"{every} by the clock is no number of minutes that comes out even in a day"
        hint = f"write `{every}`, which counts elapsed time, or name the times of day"
        raise Invalid(message, hint if period < DAY_S else "name the time of day, as in `every day at 9am`")
    return tuple(range(0, DAY_S, period))


def _of_hours(minutes: tuple[int, ...], hours: tuple[int, ...] = tuple(range(24))) -> tuple[int, ...]:
    wrong = [f"minute {minute}" for minute in minutes if minute > 59] + [f"hour {hour}" for hour in hours if hour > 23]
    if wrong:
        raise Invalid(f"there is no {wrong[0]}", "minutes go from 0 to 59, hours from 0 to 23")
    return tuple(hour * 3600 + minute * 60 for hour in hours for minute in minutes)


_MINUTES = sequence(choice("minute", "minutes"), NUMBERS)
_ENDS = choice(sequence("from", TIME, "to", TIME), sequence("between", TIME, "and", TIME))
ROUNDS = Rule(
    "times by the clock",
    choice(
        reading(sequence("hourly"), lambda: _by_the_clock(3600)),
        reading(sequence("every", PERIOD, "by the clock"), _by_the_clock),
        reading(sequence("every", PERIOD, _ENDS), lambda period, ends: _window(period, *ends)),
        reading(sequence("hourly", _ENDS), lambda ends: _window(3600, *ends)),
        reading(sequence(choice("every hour at", "hourly at"), _MINUTES), _of_hours),
        reading(sequence("at", _MINUTES, "of", choice("hour", "hours"), NUMBERS), _of_hours),
    ),
)
