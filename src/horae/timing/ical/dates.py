"""Dates of RFC 5545 text: 20261224T180000, with Z for UTC, with TZID for a zone, or a day alone.

Failure: `Invalid` that names the property and what to write; a time outside of the calendar, a zone that the wheel does
not know, and VALUE types other than a date or date-time are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from horae.errors import Invalid
from horae.timing.clockchange import instants_of
from horae.timing.zones import zone

_MOMENT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z)?)?")
_PARAM = re.compile(r';[^;="]*=?(?:"[^"]*"|[^;"]*)')
_ONE_S = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class TextDate:
    """A date or date-time as it stands there. `place` is the zone that it names, or None when it floats."""

    text: str
    wall: datetime
    place: str | None
    day: bool
    utc: bool = False
    """Whether a Z says so, and not a TZID: then a plain step is elapsed time."""


def params_of(name: str, text: str) -> dict[str, str]:
    """The parameters of a property, from ";TZID=Europe/Paris;VALUE=DATE-TIME"."""
    params: dict[str, str] = {}
    for item in _PARAM.findall(text):
        key, _, value = item[1:].partition("=")
        if key.upper() not in {"TZID", "VALUE"} or not value:
            raise refused(f"{name};{key}", "is not understood", "the parameters are TZID and VALUE")
        params[key.upper()] = value.strip('"')
    if params.get("VALUE", "DATE-TIME").upper() not in {"DATE-TIME", "DATE"}:
        raise refused(f"{name};VALUE={params['VALUE']}", "is not supported", "give single date-times")
    return params


def moment_of(name: str, params: dict[str, str], text: str) -> TextDate:
    """One date or date-time of the property `name`."""
    match = _MOMENT.fullmatch(text)
    hint = "write it as 20261224T180000, or with Z at its end for UTC"
    if match is None:
        raise Invalid(f"{name}: cannot read the date {short(text)!r}", hint, field=name, value=text)
    year, month, day, hour, minute, second, utc = match.groups()
    try:
        wall = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    except ValueError as error:
        says = f"{name}: {text!r} is no date of the calendar: {error}"
        raise Invalid(says, hint, field=name, value=text) from None
    if not 2 <= wall.year <= 9997:
        raise Invalid(f"{name}: the year {wall.year} is outside of the calendar", hint, field=name, value=text)
    place = params.get("TZID")
    if utc and place:
        raise refused(f"{name};TZID", "contradicts the Z, which means UTC", "leave one of the two out")
    if place is not None and (" " in place or not place.isascii()):
        hint = "name a place of the IANA list, for example Europe/Berlin"
        raise refused(f"TZID={short(place)}", "is no IANA zone (Windows has names of its own)", hint)
    if place is not None:
        zone(place)
    return TextDate(text, wall, "UTC" if utc else place, day=hour is None, utc=utc is not None)


def instants(moment: TextDate, place: str) -> list[datetime]:
    """The instant of a date-time; a day alone is its midnight."""
    return list(instants_of(moment.wall, moment.place or place))


def until(text: str, place: str) -> datetime:
    """The last instant that an UNTIL includes: of a day, its end; of a time that comes twice, the second."""
    moment = moment_of("UNTIL", {}, text)
    if moment.day:  # the whole day, in the zone
        return instants_of(moment.wall + timedelta(days=1), place, repeat="last")[-1] - _ONE_S
    return instants_of(moment.wall, moment.place or place, repeat="last")[-1]


def stamp(instant: datetime) -> str:
    """An instant: "20261224T170000Z"."""
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat().replace("-", "").replace(":", "") + "Z"


def stamped(start: datetime, place: str) -> str:
    """What follows the name of a property: ";TZID=Europe/Paris:20261224T180000"."""
    digits = start.isoformat().replace("-", "").replace(":", "")
    return f";TZID={place}:{digits}"


def refused(what: str, why: str, hint: str | None) -> Invalid:
    """The refusal of a property or part by its name."""
    return Invalid(f"{what} {why}", hint, field=what.partition("=")[0].partition(";")[0], value=what)


def short(text: str) -> str:
    """For messages."""
    return text if len(text) <= 40 else f"{text[:40]}…"
