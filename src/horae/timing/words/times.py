"""Times of day and moments in words, in the spellings that the grammar reads back."""

from __future__ import annotations

from datetime import date, datetime
from itertools import pairwise

from horae.timing.clockchange import instants_of
from horae.timing.durations import period_words
from horae.timing.vocabulary import MONTHS, WEEKDAYS, listed, numbered
from horae.timing.zones import offset_s, zone

_DAY_S = 86400
_LISTED_MAX = 6  # times of day that are still listed one by one


def times_words(times: tuple[int, ...]) -> str:
    """Seconds after midnight, ascending: "at 09:00 and 17:00", "every 15 minutes from 09:00 to 17:00"."""
    hours = sorted({time // 3600 for time in times})
    minutes = sorted({time // 60 % 60 for time in times})
    whole = all(time % 60 == 0 for time in times)
    product = whole and len(times) == len(hours) * len(minutes)
    steps = {later - earlier for earlier, later in pairwise(times)}
    step = steps.pop() if len(steps) == 1 else 0
    round_the_clock = whole and step and not times[0] and times[-1] + step == _DAY_S
    if round_the_clock and step < 3600:
        return f"every {period_words(step)} by the clock"
    if product and len(hours) == 24:
        return f"every hour at {numbered('minute', minutes)}"
    if len(times) <= _LISTED_MAX:
        return f"at {listed(map(clock, times))}"
    if round_the_clock:
        return f"every {period_words(step)} by the clock"
    if step and step % 60 == 0:
        return f"every {period_words(step)} from {clock(times[0])} to {clock(times[-1])}"
    if product:
        return f"at {numbered('minute', minutes)} of {numbered('hour', hours)}"
    return f"at {listed(map(clock, times))}"


def clock(time: int) -> str:
    """Such as 09:00, or 09:00:30."""
    return f"{time // 3600:02d}:{time // 60 % 60:02d}" + (f":{time % 60:02d}" if time % 60 else "")


def instant_words(instant: datetime, zone_name: str, *, weekday: bool = False, exact: bool = False) -> str:
    """Such as "09:30 on 30 November 2026"; where a clock shows that twice, the second has its offset, or both (`exact`)."""
    local = instant.astimezone(zone(zone_name)).replace(tzinfo=None)
    again = instants_of(local, zone_name)[0] != instant
    offset = f" {offset_words(offset_s(instant, zone_name))}" if again or exact else ""
    day = f"{WEEKDAYS[local.weekday()]} {date_words(local)}" if weekday else date_words(local)
    return f"{clock(seconds_of(local))}{offset} on {day}"


def wall_words(wall: datetime) -> str:
    """Of a naive wall time: "09:30 on 30 November 2026", or only the date at midnight."""
    return f"{clock(seconds_of(wall))} on {date_words(wall)}" if seconds_of(wall) else date_words(wall)


def date_words(day: date) -> str:
    """Such as 30 November 2026."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year:04d}"


def seconds_of(wall: datetime) -> int:
    """After midnight."""
    return wall.hour * 3600 + wall.minute * 60 + wall.second


def offset_words(seconds: int) -> str:
    """Such as +01:00."""
    sign, rest = ("-", -seconds) if seconds < 0 else ("+", seconds)
    minutes, odd = divmod(rest, 60)
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}" + (f":{odd:02d}" if odd else "")
