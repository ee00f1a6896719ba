"""Single instants in text: ISO 8601 dates with a time, and wall times of a zone.

A date-time with an offset is that instant. Without one it is a wall time of the job's zone; where clocks change it is
read as calendars do (a time that is left out moves past the gap, of two equal ones the first counts) and a warning
says so. A date alone is refused: it names a day, not a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from horae.errors import Invalid
from horae.timing.clockchange import SECOND, instants_of
from horae.timing.zones import zone

_ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:(?:[Tt]|\s)([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(\.[0-9]+)?\s?([Zz]|[+-][0-9]{2}:?[0-9]{2}(?::?[0-9]{2})?)?)?"
)
_GOES_ON = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt][^ ;,]+)?[ ;,]")
_HINT = "write it as 2026-12-24 18:00, or with an offset as 2026-12-24T18:00:00+01:00"


class Moment(NamedTuple):
    """A day as a clock on a wall shows it, mostly with a time (seconds after midnight), rarely with an offset (s)."""

    day: date
    time: int | None = None
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """An instant (UTC, whole seconds) and what there is to warn about."""

    instant: datetime
    warnings: tuple[str, ...] = ()


def read_instant(text: str, timezone: str) -> Reading | None:
    """The instant of an ISO date-time; None for what is none, or goes on in words. Raises `Invalid`."""
    if not re.match(r"[0-9]{4}-[0-9]", text):
        return None
    match = _ISO.fullmatch(text)
    if match is None:
        if _GOES_ON.match(text):
            return None
        raise Invalid(f"cannot read the date {_short(text)!r}", _HINT, value=text)
    date, time, fraction, offset = match.groups()
    if time is None:
        _parsed(date, text)
        raise Invalid(f"{text} names a day but no time", f"write `{text} 09:00`, or at which time it shall run")
    if fraction and fraction.strip(".0"):
        raise Invalid(f"{text!r} has a part of a second; slots are whole seconds", _HINT, value=text)
    if offset is None:
        return on_wall(_parsed(f"{date}T{time}", text), timezone)
    if offset[0] in "+-" and int(offset[1:3]) > 23:
        raise Invalid(f"there is no offset {offset!r}", "offsets are written as +01:00", value=offset)
    instant = _parsed(f"{date}T{time}{offset.upper()}", text)
    if not 2 <= instant.year <= 9997:  # in every zone, and not only in its own
        raise Invalid(f"{text!r} is outside of the calendar", _HINT, value=text)
    return Reading(instant.astimezone(UTC))


def on_wall(wall: datetime, timezone: str) -> Reading:
    """The instant of a naive wall time in the zone."""
    _inside(wall)
    (instant,) = instants_of(wall, timezone)
    shown = instant.astimezone(zone(timezone)).replace(tzinfo=None)
    if shown != wall:
        moved = f"{wall:%H:%M} is left out on {wall:%Y-%m-%d} in {timezone} (clock change): it runs at {shown:%H:%M}"
        return Reading(instant, (moved,))
    if len(instants_of(wall, timezone, repeat="both")) == 2:
        return Reading(instant, (f"{wall:%H:%M} comes twice on {wall:%Y-%m-%d} in {timezone}: it runs at the first",))
    return Reading(instant)


def instant_of(moment: Moment, timezone: str) -> Reading:
    """The instant of a moment in the zone; without a time, where its day begins. Raises `Invalid`."""
    if moment.time is None:
        return Reading(begin_of(moment.day, timezone))
    wall = wall_of(moment)
    if moment.offset is None:
        return on_wall(wall, timezone)
    return Reading(wall.replace(tzinfo=UTC) - timedelta(seconds=moment.offset))


def wall_of(moment: Moment) -> datetime:
    """What a clock on the wall shows then, naive. Raises `Invalid`."""
    wall = datetime.combine(moment.day, time()) + timedelta(seconds=moment.time or 0)
    _inside(wall)
    return wall


def begin_of(day: date, timezone: str) -> datetime:
    """The first instant of a day in the zone; where its midnight is left out, the end of the gap. Raises `Invalid`."""
    midnight = datetime.combine(day, time())
    _inside(midnight)
    return instants_of(midnight, timezone, gap="after")[0]


def end_of(day: date, timezone: str) -> datetime:
    """The last second of a day in the zone. Raises `Invalid`."""
    _inside(datetime.combine(day, time()))
    midnight = datetime.combine(day, time()) + timedelta(days=1)
    # Clocks that go back over midnight show it twice, and the day goes on until the second; those that go back to
    # midnight show it twice on the next day.
    ends = [end - SECOND for end in instants_of(midnight, timezone, gap="after", repeat="both")]
    return next((end for end in reversed(ends) if end.astimezone(zone(timezone)).date() == day), ends[0])


def _inside(wall: datetime) -> None:
    if not 2 <= wall.year <= 9997:
        raise Invalid(f"the year {wall.year} is outside of the calendar", _HINT, value=wall.isoformat())


def _parsed(iso: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(iso)
    except ValueError as error:
        raise Invalid(f"{_short(text)!r} is no date of the calendar: {error}", _HINT, value=text) from None


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
