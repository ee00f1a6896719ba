"""Exclusion calendars: holidays and quiet hours, at which jobs that name them have no run.

A calendar is a union: days, weekdays, hours of the day and events. Rules:
1. A slot is looked at by the wall time that a clock in the calendar's zone shows at its instant; without a zone of its
   own, in the job's. A time that the clock shows twice is excluded both times, one that it leaves out never comes.
2. A day is excluded whole. `12-25` means that day of every year; a range includes both of its ends, and one of every year
   may go over its end (`12-24..01-02`).
3. Hours begin with their first minute and end before their last: of `22:00-07:00`, 07:00 is free. A window whose end is
   not after its beginning goes over midnight, and belongs to both days.
4. An all-day event is like a day; any other one holds from its start up to, and not including, its end.
5. Of several calendars the first that a job names and that holds gives the reason. In a calendar, days are named before
   events, events before weekdays, and weekdays before hours: the rarest reason tells the most.
6. What a person decided holds: a slot that was moved is not looked at, neither by its old time nor by its new one; so is
   no manual run. Whoever moves a run to a holiday means it. A retry belongs to a run that was not excluded.
7. A calendar that is not known excludes nothing here. Preflight says so, and refuses to make such a job. So it is with the
   file of a calendar that cannot be read: what else the calendar lists is excluded, and preflight blocks all other slots.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from horae.timing.recurrence import RecurrenceSet
from horae.timing.vocabulary import WEEKDAYS
from horae.timing.zones import zone

LEAP = 2000  # a year that has every day: days of every year are kept in it


@dataclass(frozen=True, slots=True)
class Days:
    """Days from the first to the last, both included. `yearly`: of any year, in a year that has every day."""

    first: date
    last: date
    title: str
    yearly: bool = False

    def holds(self, day: date) -> bool:
        """Whether it is one of them."""
        if not self.yearly:
            return self.first <= day <= self.last
        same = day.replace(year=LEAP)
        if self.first <= self.last:
            return self.first <= same <= self.last
        return same >= self.first or same <= self.last


@dataclass(frozen=True, slots=True)
class Hours:
    """Minutes of the day, from the first up to the one before the last; over midnight if that is not after it."""

    first_m: int
    last_m: int
    title: str

    def holds(self, minute: int) -> bool:
        """Whether that minute of the day is among them."""
        if self.first_m < self.last_m:
            return self.first_m <= minute < self.last_m
        return minute >= self.first_m or minute < self.last_m


class Span(NamedTuple):
    """An event that comes once, at times of a day: it holds from the first instant up to the one before the last."""

    first: datetime
    last: datetime
    title: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens again and again, at each start for so long. An all-day event lasts whole days, in any zone."""

    starts: RecurrenceSet
    length: timedelta
    title: str
    all_day: bool = False
    """Then its starts are midnights in UTC, which stand for days."""

    def holds(self, instant: datetime) -> bool:
        """Whether it goes on then. Of one that overlaps itself the latest start decides, since all last equally long."""
        last = self.starts.last_until(instant)
        return last is not None and instant < last + self.length


@dataclass(frozen=True, slots=True)
class Calendar:
    """One exclusion calendar. `single` are days by date, `days` those of every year."""

    name: str
    timezone: str | None = None
    single: Mapping[date, str] = field(default_factory=dict[date, str])
    days: tuple[Days, ...] = ()
    weekdays: frozenset[int] = frozenset()
    hours: tuple[Hours, ...] = ()
    spans: tuple[Span, ...] = ()
    """Ascending."""
    longest: timedelta = timedelta(0)
    """Of the spans."""
    events: tuple[Event, ...] = ()
    unread: str | None = None
    """What is wrong with its file, of which nothing is known then; None when all of it was read."""
    remedy: str | None = None
    """What to do about that."""

    def reason(self, instant: datetime, place: str) -> str | None:
        """Why a slot at that instant has no run, for a job in that zone; None when it has one."""
        local = instant.astimezone(zone(self.timezone or place))
        day = local.date()
        found = self.single.get(day)
        if found is not None:
            return found
        for days in self.days:
            if days.holds(day):
                return days.title
        if self.spans and (title := self._within(instant)):
            return title
        if self.events:
            stands = local.replace(tzinfo=UTC)  # the wall time, as if it were one in UTC
            for event in self.events:
                if event.holds(stands if event.all_day else instant):
                    return event.title
        if day.weekday() in self.weekdays:
            return WEEKDAYS[day.weekday()]
        minute = local.hour * 60 + local.minute
        return next((hours.title for hours in self.hours if hours.holds(minute)), None)

    def _within(self, instant: datetime) -> str | None:
        low = bisect_left(self.spans, instant - self.longest, key=attrgetter("first"))
        high = bisect_right(self.spans, instant, key=attrgetter("first"))
        return next((span.title for span in self.spans[low:high] if instant < span.last), None)


def excluded(calendars: Mapping[str, Calendar], names: Iterable[str], slot: datetime, place: str) -> str | None:
    """Why the slot has no run, such as "holidays: Christmas Day"; None when it has one. `place` is the job's zone."""
    for name in names:
        calendar = calendars.get(name)
        reason = None if calendar is None else calendar.reason(slot, place)
        if reason is not None:
            return f"{name}: {reason}"
    return None


def unknown_calendars(calendars: Mapping[str, Calendar], names: Iterable[str]) -> tuple[str, ...]:
    """Those that a job names and nobody made."""
    return tuple(name for name in names if name not in calendars)
