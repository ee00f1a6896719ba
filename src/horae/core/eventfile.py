"""The events of an iCalendar file, as what an exclusion calendar needs of them: days with titles, and spans of time.

`icalendar` takes the text apart; what the recurrences mean is read by `timing`, as everywhere. All-day events that come
once become days; those that recur are sets of midnights in UTC, which stand for days in whatever zone is asked. A time
without a zone is one of the calendar's. An instance that was moved or cancelled replaces the one of its RECURRENCE-ID.
Cancelled events are none; whether an event is shown as free or busy does not matter, since holidays are mostly free.

Failure: `Invalid` that names the event. A file of which a part cannot be read is refused whole, since a holiday that is
silently not one would let a job run; the jobs of that calendar are blocked (`preflight.py`). Loaded only for a calendar
that names a file: the library takes 50 ms.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple, cast

import icalendar

from horae.core.cadence import DAMAGE
from horae.core.exclusion import Event, Span
from horae.core.text import clean_name, clip
from horae.errors import Invalid
from horae.limits import CALENDAR_DAYS_MAX, CALENDAR_EVENTS_MAX
from horae.timing.clockchange import instants_of
from horae.timing.ical.text import read_rfc5545
from horae.timing.recurrence import RecurrenceSet
from horae.timing.zones import zone

TITLE_CELLS_MAX = 60
DAY = timedelta(days=1)
_NEEDED = ("DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID")
_HINT = "export the calendar again as iCalendar (.ics), or list its days in config.toml"


@dataclass(slots=True)
class Events:
    """What a file holds."""

    days: dict[date, str] = field(default_factory=dict[date, str])
    spans: list[Span] = field(default_factory=list[Span])
    events: list[Event] = field(default_factory=list[Event])


class _Start(NamedTuple):
    """Where an event starts: a wall time and its zone; of an all-day event its midnight in UTC."""

    wall: datetime
    place: str
    all_day: bool

    @property
    def instant(self) -> datetime:
        return instants_of(self.wall, self.place)[0]


def read_events(text: str, timezone: str) -> Events:
    """All events of the file. `timezone` is that of times that name none. Raises Invalid."""
    try:
        calendars: list[Any] = icalendar.Calendar.from_ical(text, multiple=True)
    except (ValueError, IndexError, KeyError) as error:
        raise Invalid(f"it is no iCalendar file: {clip(str(error), 120)}", _HINT) from error
    if not any(calendar.name == "VCALENDAR" for calendar in calendars):
        raise Invalid("it is no iCalendar file: it holds no VCALENDAR", _HINT)
    parts = [event for calendar in calendars for event in calendar.walk("VEVENT")]
    replaced: dict[str, list[datetime]] = {}
    found = Events()
    for event in parts:
        with _named(event):
            if event.get("RECURRENCE-ID") is not None:
                moved = _start(event, "RECURRENCE-ID", timezone)
                replaced.setdefault(str(event.get("UID", "")), []).append(moved.instant)
    for event in parts:
        with _named(event):
            if str(event.get("STATUS", "")).upper() != "CANCELLED":
                alone = event.get("RECURRENCE-ID") is not None
                _add(found, event, timezone, () if alone else tuple(replaced.get(str(event.get("UID", "")), ())))
    found.spans.sort()
    return found


@contextmanager
def _named(event: Mapping[str, Any]) -> Generator[None]:
    """What is wrong inside is told of this event."""
    try:
        yield
    except Invalid as error:
        raise Invalid(f"its event {title_of(event)!r}: {error.message}", error.hint) from error
    except DAMAGE as error:  # a fault of ours, or of the library, that this event brings out
        says = f"its event {title_of(event)!r} cannot be understood: {type(error).__name__}: {clip(str(error), 120)}"
        raise Invalid(says, f"{_HINT}; please report what it holds") from error


def title_of(event: Mapping[str, Any]) -> str:
    """What an event is called, on one line."""
    return clip(clean_name(str(event.get("SUMMARY", ""))), TITLE_CELLS_MAX) or "an event without a title"


def _add(found: Events, event: Any, timezone: str, left_out: tuple[datetime, ...]) -> None:
    start = _start(event, "DTSTART", timezone)
    length = _length(event, start, timezone)
    title = title_of(event)
    if length <= timedelta(0):
        return  # it marks an instant, and lasts no time
    if "RRULE" in event or "RDATE" in event:
        starts = _recurring(event, start, timezone, left_out)
        found.events.append(Event(starts, length, title, start.all_day))
        if len(found.events) > CALENDAR_EVENTS_MAX:
            raise Invalid(f"the calendar has more than {CALENDAR_EVENTS_MAX} events that recur", "leave out some")
        return
    if not start.all_day:
        found.spans.append(Span(start.instant, start.instant + length, title))
        return
    for number in range(length // DAY):
        found.days.setdefault(start.wall.date() + number * DAY, title)
        if len(found.days) > CALENDAR_DAYS_MAX:
            raise Invalid(f"the calendar has more than {CALENDAR_DAYS_MAX} days", "leave out what is long past")


def _recurring(event: Any, start: _Start, timezone: str, left_out: tuple[datetime, ...]) -> RecurrenceSet:
    """All starts of an event that recurs. Its own start is one, whether its rule has it or not."""
    digits = f"{start.wall:%Y%m%dT%H%M%S}"
    lines = [f"DTSTART:{digits}", *(f"RRULE:{rule.to_ical().decode()}" for rule in _several(event.get("RRULE")))]
    starts = read_rfc5545("\n".join(lines), start.place, anchor=start.instant).set
    dates = {start.instant, *(_of_list(event, "RDATE", start, timezone))}
    without = {*left_out, *(_of_list(event, "EXDATE", start, timezone))}
    more = tuple(at for at in (*starts.dates, *dates) if at not in without)
    return RecurrenceSet(
        starts.zone, starts.rules, starts.grids, more, tuple(without), gap=starts.gap, repeat=starts.repeat
    )


def _of_list(event: Any, name: str, start: _Start, timezone: str) -> Iterator[datetime]:
    for some in _several(event.get(name)):
        for item in some.dts:
            yield _moment(item.dt, name, timezone, start.all_day).instant


def _several(value: Any) -> list[Any]:
    return [] if value is None else [*cast("list[Any]", value)] if isinstance(value, list) else [value]


def _start(event: Any, name: str, timezone: str) -> _Start:
    wrong = next((f"{key} is wrong: {says}" for key, says in event.errors if key in _NEEDED), None)
    if wrong is not None:
        raise Invalid(wrong, _HINT)
    value = event.get(name)
    if value is None:
        raise Invalid(f"{name} is missing", _HINT)
    named = value.params.get("TZID")
    if isinstance(value.dt, datetime) and value.dt.tzinfo is None and named is not None:
        zone(str(named))  # no such zone: says so, with the nearest names
    return _moment(value.dt, name, timezone)


def _moment(value: object, name: str, timezone: str, all_day: bool = False) -> _Start:
    if not isinstance(value, date):
        raise Invalid(f"{name} is a period; only days and date-times are understood", _HINT)
    if not 1900 <= value.year <= 9000:
        raise Invalid(f"{name} is in the year {value.year}", _HINT)
    if not isinstance(value, datetime) or all_day:
        day = value.date() if isinstance(value, datetime) else value
        return _Start(datetime.combine(day, time()), "UTC", all_day=True)
    if value.microsecond:
        value = value.replace(microsecond=0)
    key = getattr(value.tzinfo, "key", None)
    if value.tzinfo is None or key is not None:
        place = timezone if key is None else str(key)
        zone(place)
        return _Start(value.replace(tzinfo=None), place, all_day=False)
    return _Start(value.astimezone(UTC).replace(tzinfo=None), "UTC", all_day=False)


def _length(event: Any, start: _Start, timezone: str) -> timedelta:
    """How long it lasts; without an end an all-day event is one day, and another one an instant."""
    if event.get("DTEND") is not None:
        return _start(event, "DTEND", timezone).instant - start.instant
    if event.get("DURATION") is not None:
        return event.get("DURATION").dt
    return DAY if start.all_day else timedelta(0)
