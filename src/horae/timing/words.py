"""Schedules and instants in plain English, exact: two schedules with different slots never get the same words.

Nothing is rounded off or called "about". Long lists become ranges (`9 to 17`) or steps only if these say the same.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

from horae.timing.cron import Cron
from horae.timing.cronfields import FieldSet
from horae.timing.days import ones
from horae.timing.durations import period_words
from horae.timing.recurrence import Grid
from horae.timing.rules import Day, Rule
from horae.timing.walls import minutes_of_day
from horae.timing.zones import offset_s, zone

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
_LISTED_MAX = 6  # times of day that are still listed one by one


def cron_words(cron: Cron) -> str:
    """The meaning of a cron line: "at 18:30 on weekdays"."""
    times = _time_words(tuple(hour * 60 + minute for hour in cron.hour.numbers for minute in cron.minute.numbers))
    day, weekday = cron.day, cron.weekday
    months = () if cron.month.full else cron.month.numbers
    weekdays = () if weekday.full else tuple((0, number) for number in weekday.numbers) + weekday.ordinals
    if cron.either:
        days = f"on {_and(_cron_days(day))}, and on every {_weekday_words(weekdays, 'and every ')}"
        return _joined(times, days + (f", in {_and(_month_names(months))} only" if months else ""))
    if not (day.star or weekday.star):  # one of the two is full, and one is enough
        return _joined(times, _days((), (), months))
    if weekdays and not day.full:
        days = _days((), weekdays, ())
        return _joined(times, f"{days}, but only on {_and(_cron_days(day))}{_in(months)}")
    if not day.nearest and not day.last_weekday and not day.full:
        return _joined(times, _days(day.numbers, (), months))
    days = _days((), weekdays, months) if day.full else f"on {_and(_cron_days(day))}{_in(months)}"
    return _joined(times, days)


def rules_words(rules: tuple[Rule, ...]) -> str:
    """The meaning of rules that share their days, as phrases make them."""
    times = tuple(sorted({time for rule in rules for time in ones(minutes_of_day(rule))}))
    rule = rules[0]
    return _joined(_time_words(times), _days(rule.bymonthday, rule.byday, rule.bymonth))


def grid_words(grid: Grid, zone_name: str) -> str:
    """The meaning of an interval: "every 90 minutes from 09:00 on 30 November 2026"."""
    local = grid.anchor.astimezone(zone(zone_name))
    return f"every {period_words(grid.period_s)} from {_clock(local)} on {_date(local)}"


def once_words(instant: datetime, zone_name: str) -> str:
    """The meaning of a one-shot: "once, at 18:00 on Thursday 24 December 2026"."""
    local = instant.astimezone(zone(zone_name))
    return f"once, at {_clock(local)} on {WEEKDAYS[local.weekday()]} {_date(local)}"


def slot_words(instant: datetime, zone_name: str) -> str:
    """One slot for people: "Mon 2026-10-26 09:00 +01:00"."""
    local = instant.astimezone(zone(zone_name))
    day = WEEKDAYS[local.weekday()][:3]
    return f"{day} {local.date().isoformat()} {_clock(local)} {_offset(offset_s(instant, zone_name))}"


def rfc3339(instant: datetime, offset: int) -> str:
    """One instant for programs, at an offset in seconds: "2026-10-26T09:00:00+01:00"."""
    return instant.astimezone(timezone(timedelta(seconds=offset))).isoformat()


def utc(instant: datetime) -> str:
    """One instant in UTC: "2026-10-26T08:00:00Z"."""
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _joined(times: str, days: str) -> str:
    if days == "every day" and times.startswith("every"):
        return times if " from " not in times else f"{times}, every day"
    return f"{times} {days}" if not times.startswith("every") else f"{times}, {days}"


def _time_words(times: tuple[int, ...]) -> str:
    """Minutes after midnight, ascending, in words."""
    hours = sorted({time // 60 for time in times})
    minutes = sorted({time % 60 for time in times})
    product = len(times) == len(hours) * len(minutes)
    if product and len(hours) == 24:
        return _every_hour(minutes)
    if len(times) <= _LISTED_MAX:
        return f"at {_and([_hhmm(time) for time in times])}"
    steps = {later - earlier for earlier, later in pairwise(times)}
    if len(steps) == 1:
        return f"every {period_words(steps.pop() * 60)} from {_hhmm(times[0])} to {_hhmm(times[-1])}"
    if product:
        return f"at {_numbered('minute', minutes)} of {_numbered('hour', hours)}"
    return f"at {_and([_hhmm(time) for time in times])}"


def _every_hour(minutes: list[int]) -> str:
    step = minutes[1] - minutes[0] if len(minutes) > 1 else 60
    steady = minutes == list(range(0, 60, step)) and 60 % step == 0
    if steady and len(minutes) > _LISTED_MAX:
        return f"every {period_words(step * 60)}"
    return f"every hour at {_numbered('minute', minutes)}"


def _days(monthdays: tuple[int, ...], weekdays: tuple[Day, ...], months: tuple[int, ...]) -> str:
    """Days of the month, or weekdays, or every day."""
    if len(monthdays) == 1 == len(months) and monthdays[0] > 0:
        return f"every year on {monthdays[0]} {MONTHS[months[0] - 1]}"
    if monthdays:
        return f"on {_and(_monthday_words(monthdays))}{_in(months)}"
    if not weekdays:
        return f"every day{_in(months)}"
    if weekdays == tuple((0, day) for day in range(5)):
        return f"on weekdays{_in(months)}"
    if weekdays == ((0, 5), (0, 6)):
        return f"on weekends{_in(months)}"
    return f"on {_weekday_words(weekdays)}{_in(months)}"


def _weekday_words(weekdays: tuple[Day, ...], joint: str = "and ") -> str:
    names = [
        WEEKDAYS[number] if ordinal == 0 else f"{_the(ordinal)} {WEEKDAYS[number]} of the month"
        for ordinal, number in sorted(weekdays, key=lambda pair: (pair[0] != 0, pair[0] < 0, pair))
    ]
    return _and(names, joint)


def _cron_days(day: FieldSet) -> list[str]:
    parts = _monthday_words(day.numbers)
    if day.last_weekday:
        parts.append("the last weekday (Monday to Friday) of the month")
    return parts + [f"the weekday (Monday to Friday) nearest to day {number} of the month" for number in day.nearest]


def _monthday_words(monthdays: tuple[int, ...]) -> list[str]:
    counted = [number for number in monthdays if number > 0]
    from_end = sorted((-number - 1 for number in monthdays if number < 0), reverse=True)
    parts = [f"{_numbered('day', counted)} of the month"] if counted else []
    for before in from_end:
        days = "1 day" if before == 1 else f"{before} days"
        parts.append("the last day of the month" if before == 0 else f"the day {days} before the last of the month")
    return parts


def _the(ordinal: int) -> str:
    return f"the {_ORDINALS[ordinal]}" if ordinal in _ORDINALS else f"the {_ORDINALS[-ordinal]} last"


def _in(months: tuple[int, ...]) -> str:
    return f" in {_and(_month_names(months))}" if months else ""


def _month_names(months: tuple[int, ...]) -> list[str]:
    return [MONTHS[number - 1] for number in months]


def _numbered(noun: str, values: list[int]) -> str:
    """Such as minute 5; minutes 0, 15 and 30; hours 9 to 17."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(value) for value in run]
    return f"{noun}{'' if len(values) == 1 else 's'} {_and(parts)}"


def _and(parts: list[str], joint: str = "and ") -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {joint}{parts[-1]}"


def _hhmm(time: int) -> str:
    return f"{time // 60:02d}:{time % 60:02d}"


def _clock(local: datetime) -> str:
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def _date(local: datetime) -> str:
    return f"{local.day} {MONTHS[local.month - 1]} {local.year}"


def _offset(seconds: int) -> str:
    sign, rest = ("-", -seconds) if seconds < 0 else ("+", seconds)
    minutes, odd = divmod(rest, 60)
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}" + (f":{odd:02d}" if odd else "")
