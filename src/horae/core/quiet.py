"""Quiet hours and digests: from when on a message may go out.

                        high        normal                              low
    a result            at once     after quiet hours, in the digest    at the next digest
    an alert            at once     at once                             after quiet hours, by itself

Without a time for digests, low is like normal for results. A digest that falls into quiet hours waits for their end.

It is quiet at an instant if the wall time that a clock of the zone shows then lies in one of the hours; their first minute
belongs to them, their last one does not. So a time that the clock shows twice is quiet both times. The end of quiet hours
is the first instant at which it is not quiet: between two clock changes that is plain arithmetic on wall times, and behind a
change it is looked at anew.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from functools import lru_cache

from horae.core.delivery import Quiet
from horae.core.model import Urgency
from horae.timing.clockchange import EPOCH, SECOND, instants_of, span_at
from horae.timing.zones import zone

MINUTES = 1440
WHOLE_DAY = (1 << MINUTES) - 1
_ONE = timedelta(days=1)


def hold(quiet: Quiet | None, urgency: Urgency, alert: bool, now: datetime) -> tuple[datetime | None, bool]:
    """When a message may go out (None: at once), and whether it belongs to a digest."""
    if quiet is None or urgency == "high" or (alert and urgency == "normal"):
        return None, False
    if alert:
        return quiet_until(quiet, now), False
    if urgency == "low" and quiet.digest is not None:
        due = _next_digest(quiet.digest, quiet.timezone, now)
        return quiet_until(quiet, due) or due, True
    until = quiet_until(quiet, now)
    return until, until is not None


def quiet_until(quiet: Quiet, now: datetime) -> datetime | None:
    """The first instant from now on at which it is not quiet; None if that is now."""
    minutes = minutes_of(quiet.hours)
    at = start = (now.astimezone(UTC) - EPOCH) // SECOND
    while True:
        span = span_at(quiet.timezone, at)
        minute = (at + span.offset) // 60
        left = _left(minutes, minute % MINUTES)
        if left == 0:
            break
        free = (minute + left) * 60 - span.offset
        if free < span.end:
            at = free
            break
        at = span.end  # the clock changes first
    return None if at == start else EPOCH + timedelta(seconds=at)


@lru_cache(maxsize=16)
def minutes_of(hours: tuple[tuple[int, int], ...]) -> int:
    """The quiet minutes of a day, as bits; what overlaps is one."""
    found = 0
    for first, last in hours:
        here = (1 << last) - (1 << first) if first < last else WHOLE_DAY - ((1 << first) - (1 << last))
        found |= here
    return found


def _left(minutes: int, minute: int) -> int:
    """For how many minutes from that one of the day on it is quiet."""
    free = ~((minutes | minutes << MINUTES) >> minute)
    return (free & -free).bit_length() - 1


def _next_digest(minute: int, place: str, now: datetime) -> datetime:
    """The first time of the digest from now on. One that the clock leaves out comes as much later as the clock is put on."""
    today = now.astimezone(zone(place)).date()
    at = time(minute // 60, minute % 60)
    days = (today + number * _ONE for number in range(-1, 4))  # a time left out may belong to the day before
    return next(due for day in days for due in instants_of(datetime.combine(day, at), place) if due >= now)
