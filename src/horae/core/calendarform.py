"""An exclusion calendar from its table in config.toml: what each key takes, and what is said otherwise.

Errors name the key alone (`dates`, `hours`, …); whoever reads the file puts the file and the table before it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, cast

from horae.core.exclusion import LEAP, Calendar, Days, Hours, Span
from horae.errors import Invalid
from horae.limits import CALENDAR_DAYS_MAX
from horae.timing.vocabulary import WEEKDAY_OF, WEEKDAYS
from horae.timing.zones import zone

KEYS: dict[str, tuple[type, str]] = {
    "dates": (list, "a list of days such as 2026-12-25, 12-25, or 2026-12-24..2027-01-02"),
    "weekdays": (list, 'a list of weekdays such as "sat"'),
    "hours": (list, 'a list of times of day such as "22:00-07:00"'),
    "file": (str, "the name of an iCalendar file below the home"),
    "timezone": (str, "an IANA zone such as Europe/Paris"),
}
_DATE = re.compile(r"(?:([0-9]{4})-)?([0-9]{2})-([0-9]{2})")
_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{2})\s*(?:-|–|to)\s*([0-9]{1,2}):([0-9]{2})")
_ONE = timedelta(days=1)


class Unread(Invalid):
    """A calendar's file cannot be read, or not all of it."""


def calendar_of(name: str, table: object, read_events: Callable[[str, str | None], Any]) -> Calendar:
    """The calendar. `read_events(file, timezone)` gives the events of an iCalendar file. Raises Invalid with `key`.

    What is wrong in the table is raised. What is wrong in the file (`Unread`) is kept beside what the table says by itself:
    files come from elsewhere, and a bad one harms only the jobs that name its calendar.
    """
    if not isinstance(table, Mapping):
        raise _wrong("", f"must be a table, not {table!r}", f'write [calendars.{name}] and below it dates = ["12-25"]')
    values = cast("Mapping[str, Any]", table)
    for key, value in values.items():
        _check(key, value)
    if not any(values.get(key) for key in ("dates", "weekdays", "hours", "file")):
        raise _wrong("", "excludes nothing", "give it dates, weekdays, hours or a file")
    place = values.get("timezone")
    if place is not None:
        try:
            zone(place)
        except Invalid as error:
            raise _wrong("timezone", error.message, error.hint) from error
    single: dict[date, str] = {}
    yearly: list[Days] = []
    for given in values.get("dates", ()):
        _add_days(str(given).strip(), single, yearly)
    if len(single) > CALENDAR_DAYS_MAX:
        raise _wrong("dates", f"has more than {CALENDAR_DAYS_MAX} days", "a range of every year is one: 12-24..01-02")
    events, unread = None, None
    try:
        events = read_events(values["file"], place) if "file" in values else None
    except Unread as error:
        unread = error
    if events is not None:
        single = {**events.days, **single}
    spans: tuple[Span, ...] = () if events is None else tuple(events.spans)
    return Calendar(
        name,
        place,
        single=single,
        days=tuple(yearly),
        weekdays=frozenset(_weekday(text) for text in values.get("weekdays", ())),
        hours=tuple(_hours(text.strip()) for text in values.get("hours", ())),
        spans=spans,
        longest=max((span.last - span.first for span in spans), default=timedelta(0)),
        events=() if events is None else tuple(events.events),
        unread=None if unread is None else unread.message,
        remedy=None if unread is None else unread.hint,
    )


def _check(key: str, value: object) -> None:
    if key not in KEYS:
        near = difflib.get_close_matches(key[:60], KEYS, 1)
        hint = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(KEYS)}"
        raise _wrong(key, "is not a key of a calendar", hint)
    kind, expected = KEYS[key]
    fine = isinstance(value, kind)
    if fine and kind is list:
        fine = all(type(item) in ({str, date} if key == "dates" else {str}) for item in cast("list[object]", value))
    if not fine:
        hint = f"write {key} = [{value!r}]".replace("'", '"') if kind is list and isinstance(value, str) else None
        raise _wrong(key, f"must be {expected}, not {value!r}", hint)


def _add_days(text: str, single: dict[date, str], yearly: list[Days]) -> None:
    """One entry of `dates`."""
    first, to, last = text.partition("..")
    begin, every = _date(first.strip(), text)
    end, every_too = _date(last.strip(), text) if to else (begin, every)
    if every != every_too:
        raise _wrong("dates", f"{text!r} has a year at one end only", "write it at both, or at none")
    if every:
        yearly.append(Days(begin, end, text, yearly=True))
        return
    if end < begin:
        raise _wrong("dates", f"{text!r} ends before it begins", "write the earlier day first")
    if (end - begin).days > CALENDAR_DAYS_MAX:
        hint = "let the job end with `ends`, or pause it"
        raise _wrong("dates", f"{text!r} has more than {CALENDAR_DAYS_MAX} days", hint)
    for number in range((end - begin).days + 1):
        single.setdefault(begin + number * _ONE, text)


def _date(text: str, whole: str) -> tuple[date, bool]:
    """A day, and whether it is one of every year (then in a year that has all)."""
    hint = "write it as 2026-12-25, or as 12-25 for every year, or 2026-12-24..2027-01-02 for a range"
    found = _DATE.fullmatch(text)
    if found is None:
        raise _wrong("dates", f"cannot read {whole!r}", hint)
    try:
        day = date(int(found[1] or LEAP), int(found[2]), int(found[3]))
    except ValueError:
        raise _wrong("dates", f"{whole!r} is no day of the calendar", hint) from None
    return day, found[1] is None


def _weekday(text: str) -> int:
    known = WEEKDAY_OF.get(text.strip().lower())
    if known is None:
        near = difflib.get_close_matches(text.strip().lower()[:60], WEEKDAY_OF, 1)
        hint = f"did you mean {WEEKDAYS[WEEKDAY_OF[near[0]]].lower()}?" if near else 'write "sat", or "saturday"'
        raise _wrong("weekdays", f"{text!r} is no weekday", hint)
    return known


def _hours(text: str) -> Hours:
    found = _HOURS.fullmatch(text)
    hint = "write it as 22:00-07:00; the end is free again, and 24:00 is the end of the day"
    if found is None:
        raise _wrong("hours", f"cannot read {text!r}", hint)
    first, last = int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])
    if int(found[2]) > 59 or int(found[4]) > 59 or first >= 1440 or last > 1440:
        raise _wrong("hours", f"{text!r} is no time of day", hint)
    if first == last or (first, last) == (0, 1440):
        raise _wrong("hours", f"{text!r} is the whole day", "exclude days with dates or weekdays, or pause the job")
    return Hours(first, last, text)


def _wrong(key: str, says: str, hint: str | None) -> Invalid:
    return Invalid(says, hint, key=key)
