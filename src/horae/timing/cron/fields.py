"""One field of a cron line: text to a set of values, in the dialect of Debian's cron.

    part  = * | value | value-value | */step | value-value/step          field = part,part,...
    day of month also: L (last day), L-2 (two before it), LW (last weekday), 15W (weekday nearest to the 15th)
    day of week also: 1#2 (second Monday), 5L (last Friday); Sunday is 0 or 7

A field that begins with a star is a *star field*, `*/2` too: that decides how the two day fields combine. `?` is read
as `*`. What other dialects read differently is refused with the spelling that all of them agree on: ranges that wrap
(`22-2`) and a step on a single value (`5/15`). Every refusal is `Invalid` with `details` field and value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from horae.errors import Invalid


@dataclass(frozen=True, slots=True, eq=False)  # five of them, told apart by identity: a look-up hashes them
class Field:
    """What may stand in one of the five places."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    """Their values count from `low`."""
    last_star: int = 0
    """The highest value of a star: differs from `high` where Sunday has two numbers."""


MINUTE = Field("minute", 0, 59, last_star=59)
HOUR = Field("hour", 0, 23, last_star=23)
DAY = Field("day of month", 1, 31, last_star=31)
MONTH = Field(
    "month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), last_star=12
)
WEEKDAY = Field("day of week", 0, 7, ("sun", "mon", "tue", "wed", "thu", "fri", "sat"), last_star=6)
FIELDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)


class FieldSet(NamedTuple):
    """A parsed field. Weekdays count from Monday = 0 here; negative month days count from the end (-1 = the last)."""

    text: str
    star: bool
    numbers: tuple[int, ...]
    full: bool
    """Whether `numbers` holds every value."""
    listed: tuple[int, ...] = ()
    """`numbers`, or nothing when they restrict nothing."""
    warnings: tuple[str, ...] = ()
    last_weekday: bool = False
    nearest: tuple[int, ...] = ()
    ordinals: tuple[tuple[int, int], ...] = ()
    weekdays: tuple[tuple[int, int], ...] = ()
    """In the day of week: every such day and the numbered ones as (ordinal, day); nothing when they restrict nothing."""


_PLURALS = {"minute": "minutes", "hour": "hours", "day of month": "days", "month": "months", "day of week": "days"}
_WHOLES = {"minute": "hour", "hour": "day", "day of month": "month", "month": "year", "day of week": "week"}
_RATES = {"minute": "hourly", "hour": "daily", "day of month": "monthly", "month": "yearly", "day of week": "weekly"}

_NUMBER = re.compile(r"[0-9]{1,4}")
_STEPPED_STAR = re.compile(r"[*?]/([0-9]{1,4})")
_FROM_END = re.compile(r"l-([0-9]{1,4})")
_NEAREST = re.compile(r"([0-9]{1,4})w|w([0-9]{1,4})")
_NTH = re.compile(r"([0-9a-z]{1,4})#([0-9]{1,4})")
_LAST = re.compile(r"([0-9a-z]{1,4})l")


class _Extended:
    """What the extended parts of a day field add to its numbers."""

    def __init__(self, numbers: set[int]) -> None:
        self.numbers = numbers
        self.nearest: set[int] = set()
        self.ordinals: set[tuple[int, int]] = set()
        self.last_weekday = False

    def added(self, found: FieldSet) -> FieldSet:
        """The field with them."""
        ordinals = tuple(sorted(self.ordinals))
        return found._replace(
            last_weekday=self.last_weekday,
            nearest=tuple(sorted(self.nearest)),
            ordinals=ordinals,
            weekdays=() if found.full else (*found.weekdays, *ordinals),
        )


@lru_cache(maxsize=4096)  # lines differ, their fields are the same few
def parse_field(field: Field, text: str) -> FieldSet:
    """The values of `text` in this place. Raises `Invalid`."""
    lowered = text.lower()
    numbers: set[int] = set()
    extended: _Extended | None = None
    for part in lowered.split(","):
        if part.isdecimal() and part.isascii() and len(part) <= 4 and field.low <= int(part) <= field.high:
            numbers.add(int(part))  # nearly always
            continue
        if not part:
            raise _bad(field, text, "has an empty entry", "write the values with single commas, such as 1,15")
        if field is DAY or field is WEEKDAY:
            extended = extended or _Extended(numbers)
            if _special_day(part, extended) if field is DAY else _special_weekday(part, extended):
                continue
        numbers.update(_plain(field, part))
    ordered = tuple(sorted(numbers if field is not WEEKDAY else {_weekday(number) for number in numbers}))
    size = field.last_star - field.low + 1
    full = len(ordered) >= size and sum(number >= 0 for number in ordered) == size
    listed = () if full else ordered
    warnings = _step_warnings(field, text, lowered) if "/" in lowered else ()
    found = FieldSet(text, lowered[0] in "*?", ordered, full, listed, warnings)
    if field is WEEKDAY and not full:
        found = found._replace(weekdays=tuple((0, number) for number in listed))
    return found if extended is None else extended.added(found)


def _special_day(part: str, found: _Extended) -> bool:
    if part == "l":
        found.numbers.add(-1)
    elif part == "lw":
        found.last_weekday = True
    elif before := _FROM_END.fullmatch(part):
        if not 1 <= int(before[1]) <= 30:
            raise _bad(DAY, part.upper(), "counts back by more days than a month has", "use L-1 to L-30")
        found.numbers.add(-1 - int(before[1]))
    elif near := _NEAREST.fullmatch(part):
        if near[1] is None:
            raise _bad(DAY, part.upper(), "has the W in front", f"write {near[2]}W")
        found.nearest.add(_value(DAY, near[1]))
    else:
        return False
    return True


def _special_weekday(part: str, found: _Extended) -> bool:
    if part in ("l", "w", "lw"):
        raise _bad(
            WEEKDAY, part.upper(), "does not say which day", "write, for example, 5L or FRIL for the last Friday"
        )
    if nth := _NTH.fullmatch(part):
        ordinal = int(nth[2])
        if not 1 <= ordinal <= 5:
            raise _bad(WEEKDAY, part, "must count from #1 to #5", "a month has at most five of each day")
        found.ordinals.add((ordinal, _weekday(_value(WEEKDAY, nth[1]))))
    elif last := _LAST.fullmatch(part):
        found.ordinals.add((-1, _weekday(_value(WEEKDAY, last[1]))))
    elif re.fullmatch(r"l[0-7]", part):
        raise _bad(WEEKDAY, part.upper(), "has the L in front", f"write {part[1]}L")
    else:
        return False
    return True


def _plain(field: Field, part: str) -> range:
    base, slash, step_text = part.partition("/")
    step = _step(field, part, step_text) if slash else 1
    if base in ("*", "?"):
        return range(field.low, field.last_star + 1, step)
    start_text, dash, end_text = base.partition("-")
    start = _value(field, start_text)
    if not dash:
        if slash:
            hint = f"write {base}-{field.last_star}/{step} for that, or */{step}"
            raise _bad(field, part, "has a step on a single value, which not every cron reads alike", hint)
        return range(start, start + 1)
    end = _value(field, end_text)
    if end < start:
        raise _bad(field, part, "is a range that runs backwards", f"write {_unwrapped(field, start, end, step)}")
    return range(start, end + 1, step)


def _unwrapped(field: Field, start: int, end: int, step: int) -> str:
    """The list of values that a wrapping range was meant to be."""
    size = field.last_star - field.low + 1
    values = sorted({field.low + (value - field.low) % size for value in range(start, end + size + 1, step)})
    if len(values) == size:
        return "*"
    if step == 1 and field.names:
        return ",".join(field.names[value - field.low] for value in values)
    if step == 1:
        return f"{start}-{field.last_star},{field.low}-{end}"
    return ",".join(map(str, values))


def _step_warnings(kind: Field, text: str, lowered: str) -> tuple[str, ...]:
    """What `*/n` really does where n is not a divisor: cron counts anew in every hour, day, month or year."""
    stepped = _STEPPED_STAR.fullmatch(lowered)
    if stepped is None or int(stepped[1]) == 1:
        return ()
    step, size = int(stepped[1]), kind.last_star - kind.low + 1
    whole, plural = _WHOLES[kind.name], _PLURALS[kind.name]
    if step >= size:
        meant = f"`every {step} {plural}`" if kind in (MINUTE, HOUR, DAY) else f"every {step} {plural}"
        true = f"fires {_RATES[kind.name]}, at {kind.name} {kind.low} only; did you mean {meant}?"
        return (f"`{text}`: a step of {step} is not less than the {whole} has {plural}, so it {true}",)
    if size % step or kind is DAY:
        return (f"`{text}` is uneven: {_uneven(kind, step, size)}",)
    return ()


def _uneven(kind: Field, step: int, size: int) -> str:
    plural, whole = _PLURALS[kind.name], _WHOLES[kind.name]
    values = list(range(kind.low, kind.last_star + 1, step))
    if kind is DAY:
        return f"it counts from day 1 in every month anew, so after day {values[-1]} comes day 1 of the next month"
    shown = ", ".join(map(str, values)) if kind is not WEEKDAY else ", ".join(kind.names[value] for value in values)
    pause = size - values[-1] + kind.low
    unit = plural if pause != 1 else plural[:-1]
    hint = f"; for a steady pace write `every {step} {plural}`" if kind in (MINUTE, HOUR) else ""
    return f"it fires at {shown} of every {whole}, and then after {pause} {unit}, not {step}{hint}"


def _step(field: Field, part: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise _bad(field, part, "has a step that is not a number", "write, for example, */15 or 9-17/2")
    if int(text) == 0:
        raise _bad(field, part, "has a step of 0", "a step counts from 1")
    return int(text)


def _value(field: Field, text: str) -> int:
    if text in field.names:
        return field.low + field.names.index(text)
    span = f"{field.low} to {field.high}" + (f" or {field.names[0]} to {field.names[-1]}" if field.names else "")
    if re.fullmatch(r"[0-9]+", text):
        if len(text) <= 4 and field.low <= int(text) <= field.high:
            return int(text)
        raise _bad(field, text, f"is out of range: it goes from {span}", None)
    if not text:
        raise _bad(field, text, "lacks a value", f"it goes from {span}")
    raise _bad(field, text, "cannot be read", f"it takes {span}, lists, ranges such as 1-5 and steps such as */15")


def _weekday(number: int) -> int:
    return (number + 6) % 7


def _bad(field: Field, value: str, what: str, hint: str | None) -> Invalid:
    shown = value if len(value) <= 40 else f"{value[:40]}…"
    return Invalid(f"{field.name} {shown!r} {what}", hint, field=field.name, value=value)
