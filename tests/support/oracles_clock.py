"""An oracle for clock changes that shares nothing with the code: zone files read byte by byte, minutes walked one by one.

`changes` reads RFC 8536 data: the transitions that a file lists, and those that its footer (a POSIX TZ rule) goes on
with up to the end of 2037. A `Walk` steps through the real minutes around a change and notes what the zone's clock
shows at each; `slots` decides by policy. No arithmetic on spans, no search: slow, and easy to believe.

Everything is whole minutes since 1970, as instants or as what a clock shows; no zone has changed by parts of a minute
since 1972. Raises ValueError for a footer of a kind that no zone has today.
"""

from __future__ import annotations

import calendar
import re
import struct
from bisect import bisect_right
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import tzdata

from horae.timing.zones import names

FIRST_YEAR, LAST_YEAR = 2015, 2037
_FOLDER = Path(tzdata.__path__[0]) / "zoneinfo"


class Change(NamedTuple):
    """At the instant `at` the offset goes from `before` to `after`. All in seconds."""

    at: int
    before: int
    after: int


def midnight(year: int, month: int = 1, day: int = 1) -> int:
    """Seconds since 1970 of that day's midnight in UTC."""
    return calendar.timegm((year, month, day, 0, 0, 0))


@cache
def data(name: str) -> bytes:
    """The zone's file."""
    return (_FOLDER / name).read_bytes()


def families() -> list[list[str]]:
    """All zones; those whose files are equal, byte by byte, stand together."""
    found: dict[bytes, list[str]] = {}
    for name in sorted(names()):
        found.setdefault(data(name), []).append(name)
    return list(found.values())


def changes(name: str) -> tuple[Change, ...]:
    """All changes of the zone's offset, ascending, to the end of `LAST_YEAR`."""
    return _changes(data(name))


def modern(name: str) -> list[Change]:
    """The changes from `FIRST_YEAR` to `LAST_YEAR`."""
    return [change for change in changes(name) if change.at >= midnight(FIRST_YEAR)]


def offset_at(name: str, second: int) -> int:
    """The offset in force at an instant, in seconds."""
    known = changes(name)
    index = bisect_right(known, second, key=lambda change: change.at)
    if index:
        return known[index - 1].after
    return known[0].before if known else _constant(data(name))


# --- the file


@cache
def _changes(content: bytes) -> tuple[Change, ...]:
    times, offsets, footer = _body(content)
    before, found = offsets[0], []
    for at, after in zip(times, offsets[1:], strict=True):
        if after != before:
            found.append(Change(at, before, after))
            before = after
    return (*found, *_going_on(footer, times[-1] if times else None, before))


def _constant(content: bytes) -> int:
    return _body(content)[1][0]


def _body(content: bytes) -> tuple[list[int], list[int], str]:
    """When the second, 64-bit block has transitions, the offset before the first and after each, and the footer."""
    isutc, isstd, leap, count, kinds, chars = struct.unpack(">6l", content[20:44])
    head = 44 + count * 5 + kinds * 6 + chars + leap * 8 + isstd + isutc  # the 32-bit block is passed over
    isutc, isstd, leap, count, kinds, chars = struct.unpack(">6l", content[head + 20 : head + 44])
    begin = head + 44
    table = begin + 9 * count
    times = list(struct.unpack(f">{count}q", content[begin : begin + 8 * count]))
    offset_of = [struct.unpack(">l", content[table + 6 * kind : table + 6 * kind + 4])[0] for kind in range(kinds)]
    offsets = [offset_of[0], *(offset_of[kind] for kind in content[begin + 8 * count : table])]
    rest = content[table + 6 * kinds + chars + leap * 12 + isstd + isutc :]
    return times, offsets, rest.strip(b"\n").decode("ascii")


_NAME = r"(?:<[^>]+>|[A-Za-z]+)"
_TIME = r"[+-]?\d+(?::\d+){0,2}"
_DATE = rf"M(\d+)\.(\d)\.(\d)(?:/({_TIME}))?"
_FOOTER = re.compile(rf"{_NAME}({_TIME})(?:{_NAME}({_TIME})?,{_DATE},{_DATE})?")


def _going_on(footer: str, last: int | None, before: int) -> list[Change]:
    """The changes after the last listed one. A zone without a rule keeps its offset."""
    match = _FOOTER.fullmatch(footer)
    if match is None:
        raise ValueError(f"a footer of a new kind: {footer!r}")
    if match[3] is None:
        return []
    standard = -_seconds(match[1])
    summer = -_seconds(match[2]) if match[2] else standard + 3600
    first_year = 1970 if last is None else datetime.fromtimestamp(last, UTC).year
    dated: list[tuple[int, int]] = []
    for year in range(first_year, LAST_YEAR + 1):
        dated.append((_on(year, match.groups()[2:6]) - standard, summer))
        dated.append((_on(year, match.groups()[6:10]) - summer, standard))
    found: list[Change] = []
    for at, after in sorted(dated):
        if (last is None or at > last) and after != before:
            found.append(Change(at, before, after))
            before = after
    return found


def _on(year: int, date: tuple[str | None, ...]) -> int:
    """Seconds since 1970 of what a rule such as M3.5.0/1 names in that year, as a clock shows it."""
    month, week, weekday = (int(part or 0) for part in date[:3])
    days = [day for day, number in _month(year, month) if number == (weekday - 1) % 7]  # the footer counts from Sunday
    day = days[week - 1] if week <= len(days) else days[-1]  # week 5 is the last one
    return midnight(year, month, day) + _seconds(date[3] or "2")


def _month(year: int, month: int) -> list[tuple[int, int]]:
    return [(day, calendar.weekday(year, month, day)) for day in range(1, calendar.monthrange(year, month)[1] + 1)]


def _seconds(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    parts = [*map(int, text.lstrip("+-").split(":")), 0, 0]
    return sign * (parts[0] * 3600 + parts[1] * 60 + parts[2])


# --- the walk


class Members(NamedTuple):
    """What a schedule has in the walked minutes: the instants of each wall time, and what the gaps leave out."""

    shown: dict[int, list[int]]
    left_out: list[tuple[int, int]]
    """For each wall time of a gap: the instant that it has when read with the offset from before, and the gap's end."""


class Walk:
    """What the clock of a zone shows at each real minute from `first` to `last`, and a day or more around."""

    MARGIN_M = 26 * 60  # no gap or repeat of the years that are walked reaches further

    def __init__(self, name: str, first: int, last: int) -> None:
        self.first, self.last = first, last
        self._minutes = range(first - self.MARGIN_M, last + self.MARGIN_M)
        self._walls = [minute + offset_at(name, minute * 60) // 60 for minute in self._minutes]
        self._jumps = [place for place in range(1, len(self._walls)) if self._walls[place] > self._walls[place - 1] + 1]

    def members(self, matches: Callable[[int], bool]) -> Members:
        """Of the schedule that has exactly the wall times for which `matches` is true."""
        shown: dict[int, list[int]] = {}
        for minute, wall in zip(self._minutes, self._walls, strict=True):
            if matches(wall):
                shown.setdefault(wall, []).append(minute)
        left_out: list[tuple[int, int]] = []
        for place in self._jumps:
            before = self._minutes[place - 1] - self._walls[place - 1]
            gap = range(self._walls[place - 1] + 1, self._walls[place])
            left_out += [(wall + before, self._minutes[place]) for wall in gap if matches(wall)]
        return Members(shown, left_out)

    def slots(self, members: Members, gap: str, repeat: str) -> list[int]:
        """The instants in (first, last] at which it is due, ascending, by policy."""
        found: set[int] = set()
        for instants in members.shown.values():
            found.update({"first": instants[:1], "last": instants[-1:], "both": instants}[repeat])
        if gap != "skip":
            found.update(moved if gap == "shift" else end for moved, end in members.left_out)
        return sorted(slot for slot in found if self.first < slot <= self.last)
