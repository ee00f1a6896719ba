"""Durations: text to whole seconds and back.

A number without a unit is refused, since readers disagree on what it counts. Units run from large to small and none
comes twice, so that a slip (`30m1h`) is noticed. Months and years are not durations: they have no fixed length.
"""

from __future__ import annotations

import re

from horae.errors import Invalid

_SECONDS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
_SPELLINGS = {
    "w": ("w", "wk", "wks", "week", "weeks"),
    "d": ("d", "day", "days"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "s": ("s", "sec", "secs", "second", "seconds"),
}
UNITS = {spelling: _SECONDS[unit] for unit, spellings in _SPELLINGS.items() for spelling in spellings}
"""Every accepted unit and its seconds."""

_PART = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,6}))?\s*([a-z]+)")
_JOIN = re.compile(r"\s*(?:,|\band\b)?\s*")
_HINT = "write it with units, for example 45s, 20m, 1h30m, 1.5h, 90 minutes, 2 hours, 1d or 1w"
_NAMES = ((604800, "week"), (86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def parse_duration(text: str) -> int:
    """Whole seconds of "20m", "1h30m", "90 minutes", "1.5h", "1d", ... Raises `Invalid`."""
    given = text.strip().lower()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", given):
        raise Invalid(f"{_short(given)!r} has no unit", _HINT, value=text)
    total, position, smallest = 0, 0, 1 << 60
    while position < len(given):
        part = _PART.match(given, position)
        if part is None and re.match(r"[0-9]{13,}", given[position:]):
            raise Invalid(
                f"the duration {_short(text)!r} is too long", "a number in it has at most 12 digits", value=text
            )
        if part is None or part[3] not in UNITS:
            raise Invalid(f"cannot read the duration {_short(text)!r}", _HINT, value=text)
        unit = UNITS[part[3]]
        if unit >= smallest:
            raise Invalid(f"the units of {_short(text)!r} must go from large to small, each once", _HINT, value=text)
        total += _amount(part[1], part[2] or "", unit, text)
        smallest, position = unit, part.end()
        if position < len(given):
            position = _joined(given, position)
    if smallest == 1 << 60:
        raise Invalid("an empty duration", _HINT, value=text)
    return total


def duration_words(seconds: int) -> str:
    """In full: "1 hour 30 minutes", "5 minutes", "0 seconds"."""
    parts: list[str] = []
    rest = seconds
    for size, name in _NAMES[1:]:  # no weeks: "14 days" reads better than "2 weeks" in a limit
        amount, rest = divmod(rest, size)
        if amount:
            parts.append(f"{amount} {name}{'' if amount == 1 else 's'}")
    return " ".join(parts) or "0 seconds"


def period_words(seconds: int) -> str:
    """As a count of the largest unit that fits exactly, to follow "every": "90 minutes", "hour", "2 weeks"."""
    size, name = next(pair for pair in _NAMES if seconds % pair[0] == 0)
    amount = seconds // size
    return name if amount == 1 else f"{amount} {name}s"


def short_duration(seconds: float) -> str:
    """For tables: "350 ms", "1.2 s", "4 min 5 s", "5 h 0 min", "3 d 4 h"."""
    if seconds < 0:
        return f"-{short_duration(-seconds)}"
    if round(seconds * 1000) < 1000:
        return f"{round(seconds * 1000)} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = whole // 60
    if minutes < 1440:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def _amount(whole: str, fraction: str, unit: int, text: str) -> int:
    # Exact: 1.1h is 3960 s, which binary fractions miss.
    seconds, rest = divmod(int(whole + fraction) * unit, 10 ** len(fraction))
    if rest:
        raise Invalid(f"{_short(text)!r} is not a whole number of seconds", _HINT, value=text)
    return seconds


def _joined(given: str, position: int) -> int:
    join = _JOIN.match(given, position)
    after = join.end() if join else position
    if after == len(given):  # a trailing comma or "and"
        raise Invalid(f"cannot read the duration {_short(given)!r}", _HINT, value=given)
    return after


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
