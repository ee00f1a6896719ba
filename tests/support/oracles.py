"""Oracles for days and times, in UTC: cron lines and RFC 5545 rules, matched day by day from their definitions.

Nothing is compiled, jumped over or counted by arithmetic: every day is asked whether it fulfils every part. That is the
whole idea of a brute-force oracle, and why `instances` is bounded by days and not by years.

What the RFC leaves open is decided as dateutil does: INTERVAL of a yearly rule with BYWEEKNO counts calendar years.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cache
from itertools import groupby, islice

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
DAY_NAMES = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)


# --- cron


def cron_days(line: str, first: date, last: date) -> Iterator[date]:
    """The days from `first` to `last` on which a line of the Debian dialect, with the extended forms, is due."""
    _, _, days, months, weekdays = line.lower().split()
    wanted = _numbers(months, 1, 12, MONTHS)
    both = days[0] in "*?" or weekdays[0] in "*?"
    day = first
    while day <= last:
        if day.month in wanted:
            found = [_is_day(days, day), _is_weekday(weekdays, day)]
            if all(found) if both else any(found):
                yield day
        day += _DAY


def cron_times(line: str) -> list[int]:
    """The minutes of such a day."""
    minutes, hours, *_ = line.lower().split()
    return sorted(hour * 60 + minute for hour in _numbers(hours, 0, 23) for minute in _numbers(minutes, 0, 59))


def cron_slots(line: str, first: date, last: date) -> list[datetime]:
    """The naive wall times from the first day to the last one, ascending."""
    times = cron_times(line)
    return [_midnight(day) + time * _MINUTE for day in cron_days(line, first, last) for time in times]


def cron_matcher(line: str) -> Callable[[int], bool]:
    """Whether a wall time, in minutes since 1970, is due."""
    times = set(cron_times(line))

    @cache
    def has_day(number: int) -> bool:
        day = date(1970, 1, 1) + number * _DAY
        return any(cron_days(line, day, day))

    return lambda wall: wall % 1440 in times and has_day(wall // 1440)


def _numbers(field: str, low: int, high: int, symbols: list[str] | None = None) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        base, _, step = part.partition("/")
        start, _, end = base.partition("-")
        if base in {"*", "?"}:
            span = (low, high)
        else:
            begin = _number(start, low, symbols)
            span = (begin, _number(end, low, symbols) if end else begin)
        found.update(range(span[0], span[1] + 1, int(step or 1)))
    return found


def _number(text: str, low: int, symbols: list[str] | None) -> int:
    return low + symbols.index(text) if symbols and text in symbols else int(text)


def _is_day(field: str, day: date) -> bool:
    length = calendar.monthrange(day.year, day.month)[1]
    workdays = [n for n in range(1, length + 1) if date(day.year, day.month, n).weekday() < 5]
    for part in field.split(","):
        if part == "lw":
            wanted = {workdays[-1]}
        elif part[0] == "l":
            wanted = {length - int(part[2:] or 0)}
        elif part[-1] == "w":
            number = int(part[:-1])
            wanted = {min(workdays, key=lambda n: abs(n - number))} if number <= length else set()
        else:
            wanted = _numbers(part, 1, 31)
        if day.day in wanted:
            return True
    return False


def _is_weekday(field: str, day: date) -> bool:
    length = calendar.monthrange(day.year, day.month)[1]
    for part in field.split(","):
        name, sharp, ordinal = part.partition("#")
        last = part[-1] == "l"
        if last:
            name = part[:-1]
        wanted = {number % 7 for number in _numbers(name, 0, 7 if name[0] not in "*?" else 6, WEEKDAYS)}
        if day.isoweekday() % 7 not in wanted:
            continue
        if (not sharp or (day.day + 6) // 7 == int(ordinal)) and (not last or day.day + 7 > length):
            return True
    return False


# --- RFC 5545


@dataclass(frozen=True)
class Recurrence:
    """A rule as its text says it: what is not given is empty. `byday` holds (ordinal or 0, weekday from Monday = 0)."""

    freq: str
    start: datetime
    interval: int = 1
    wkst: int = 0
    bymonth: tuple[int, ...] = ()
    byweekno: tuple[int, ...] = ()
    byyearday: tuple[int, ...] = ()
    bymonthday: tuple[int, ...] = ()
    byday: tuple[tuple[int, int], ...] = ()
    byhour: tuple[int, ...] = ()
    byminute: tuple[int, ...] = ()
    bysetpos: tuple[int, ...] = ()
    count: int | None = None
    until: datetime | None = None

    def rrule(self, zulu: str = "Z") -> str:
        """The value of the RRULE property. dateutil wants an UNTIL without the Z when the start has none."""
        words = [f"FREQ={self.freq}"]
        words += [f"INTERVAL={self.interval}"] if self.interval != 1 else []
        words += [f"WKST={DAY_NAMES[self.wkst]}"] if self.wkst else []
        for name in ("bymonth", "byweekno", "byyearday", "bymonthday"):
            words += [f"{name.upper()}={','.join(map(str, values))}"] if (values := getattr(self, name)) else []
        days = ",".join(f"{ordinal or ''}{DAY_NAMES[weekday]}" for ordinal, weekday in self.byday)
        words += [f"BYDAY={days}"] if days else []
        for name in ("byhour", "byminute", "bysetpos"):
            words += [f"{name.upper()}={','.join(map(str, values))}"] if (values := getattr(self, name)) else []
        words += [f"COUNT={self.count}"] if self.count else []
        words += [f"UNTIL={self.until:%Y%m%dT%H%M%S}{zulu}"] if self.until else []
        return ";".join(words)

    def text(self, zone: str = "UTC") -> str:
        """Both properties on one line."""
        return f"DTSTART;TZID={zone}:{self.start:%Y%m%dT%H%M%S} RRULE:{self.rrule()}"

    def derived(self) -> Recurrence:
        """The same, with what the RFC takes from DTSTART in its lists."""
        start, changed = self.start, {}
        if not self.byminute and self.freq != "MINUTELY":
            changed["byminute"] = (start.minute,)
        if not self.byhour and self.freq not in {"HOURLY", "MINUTELY"}:
            changed["byhour"] = (start.hour,)
        weekly = self.freq == "WEEKLY" or self.byweekno
        if weekly and not (self.byday or self.byyearday or self.bymonthday):
            changed["byday"] = ((0, start.weekday()),)
        elif self.freq in {"MONTHLY", "YEARLY"} and not (self.byday or self.byyearday or self.bymonthday or weekly):
            changed["bymonthday"] = (start.day,)
            if self.freq == "YEARLY" and not self.bymonth:
                changed["bymonth"] = (start.month,)
        return replace(self, **changed)

    def begun_later(self, day: date) -> Recurrence:
        """The same, without COUNT and UNTIL, begun a whole number of intervals later: not far from that day."""
        start, n = self.start, self.interval
        if self.freq == "YEARLY":
            later = start.replace(year=start.year + -((start.year - day.year) // n) * n, day=1)
        elif self.freq == "MONTHLY":
            months = start.year * 12 + start.month - 1
            months += -((months - day.year * 12 - day.month + 1) // n) * n
            later = start.replace(year=months // 12, month=months % 12 + 1, day=1)
        else:
            units = {"WEEKLY": 7 * _DAY, "DAILY": _DAY, "HOURLY": timedelta(hours=1), "MINUTELY": _MINUTE}
            period = units[self.freq] * n
            later = start + -((start - _midnight(day)) // period) * period
        return replace(self.derived(), start=later, count=None, until=None)

    def instances(self, days: int) -> Iterator[datetime]:
        """The naive wall times, ascending, of so many days from the start on."""
        rule = self.derived()
        found = rule._ascending(days)
        if rule.until is not None:
            found = (wall for wall in found if wall <= rule.until)
        return islice(found, rule.count)

    def _ascending(self, days: int) -> Iterator[datetime]:
        walls = (wall for day in self._days(days) for wall in self._walls(day))
        picked = self._picked(walls) if self.bysetpos else walls
        end = self.start + days * _DAY
        return (wall for wall in picked if self.start <= wall <= end)

    def _days(self, days: int) -> Iterator[date]:
        """Those that fulfil all parts, from the first day of the period that holds the start."""
        whole = {"YEARLY": 366, "MONTHLY": 31, "WEEKLY": 7}.get(self.freq, 1)  # BYSETPOS needs the whole last period
        day, last = self._opening(), self.start.date() + (days + whole) * _DAY
        while day <= last:
            if self._counts(day) and self.has_day(day):
                yield day
            day += _DAY

    def _opening(self) -> date:
        day = self.start.date()
        if self.freq == "YEARLY":
            return day.replace(month=1, day=1)
        if self.freq == "MONTHLY":
            return day.replace(day=1)
        return self._week(day) if self.freq == "WEEKLY" else day

    def _counts(self, day: date) -> bool:
        """Whether INTERVAL leaves the period of this day in."""
        start, passed = self.start.date(), 0
        if self.freq == "YEARLY":
            passed = day.year - start.year
        elif self.freq == "MONTHLY":
            passed = (day.year - start.year) * 12 + day.month - start.month
        elif self.freq == "WEEKLY":
            passed = (self._week(day) - self._week(start)).days // 7
        elif self.freq == "DAILY":
            passed = (day - start).days
        return passed % self.interval == 0

    def has_day(self, day: date) -> bool:
        """Whether the day fulfils every part about days."""
        if self.bymonth and day.month not in self.bymonth:
            return False
        length = calendar.monthrange(day.year, day.month)[1]
        if self.bymonthday and not {day.day, day.day - length - 1} & set(self.bymonthday):
            return False
        number = (day - date(day.year, 1, 1)).days + 1
        whole = 366 if calendar.isleap(day.year) else 365
        if self.byyearday and not {number, number - whole - 1} & set(self.byyearday):
            return False
        if self.byweekno and not self._week_numbers(day) & set(self.byweekno):
            return False
        if not self.byday:
            return True
        if self.freq == "MONTHLY" or self.bymonth:
            number, whole = day.day, length
        ordinals = (0, (number + 6) // 7, -((whole - number) // 7 + 1))
        return any((ordinal, day.weekday()) in self.byday for ordinal in ordinals)

    def _week(self, day: date) -> date:
        return day - (day.weekday() - self.wkst) % 7 * _DAY

    def _week_numbers(self, day: date) -> set[int]:
        """From the front and from the back. A week belongs to the year that has four of its days, its fourth among them."""
        fourth = self._week(day) + 3 * _DAY
        last = self._week(date(fourth.year, 12, 31)) + 3 * _DAY
        if last.year != fourth.year:
            last -= 7 * _DAY
        number = (fourth.timetuple().tm_yday + 6) // 7
        return {number, number - (last.timetuple().tm_yday + 6) // 7 - 1}

    def _walls(self, day: date) -> Iterator[datetime]:
        midnight = _midnight(day)
        for hour in self.byhour or range(24):
            passed = (midnight + hour * 60 * _MINUTE - self.start.replace(minute=0, second=0)) // timedelta(hours=1)
            if self.freq == "HOURLY" and passed % self.interval:
                continue
            for minute in self.byminute or range(60):
                if self.freq == "MINUTELY" and (passed * 60 + minute - self.start.minute) % self.interval:
                    continue
                yield midnight + timedelta(hours=hour, minutes=minute, seconds=self.start.second)

    def _picked(self, walls: Iterator[datetime]) -> Iterator[datetime]:
        for _, members in groupby(walls, self._period):
            period = list(members)
            places = {place - 1 if place > 0 else len(period) + place for place in self.bysetpos}
            yield from (period[place] for place in sorted(places) if 0 <= place < len(period))

    def _period(self, wall: datetime) -> object:
        if self.freq == "YEARLY":
            return wall.year
        if self.freq == "MONTHLY":
            return wall.year, wall.month
        if self.freq == "WEEKLY":
            return self._week(wall.date())
        if self.freq == "DAILY":
            return wall.date()
        return wall.replace(minute=0) if self.freq == "HOURLY" else wall


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)
