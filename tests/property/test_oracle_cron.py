"""10,000 random cron lines against a brute-force matcher and against cronsim (`make test` takes a part of them).

The matcher (`tests/support/oracles.py`) asks every day; cronsim is asked as well, in UTC, for the lines that it can
read. Windows near and decades away; long ones are held by their counts, since a dense line has millions of slots.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from random import Random

import pytest
from cronsim import CronSim, CronSimError

from horae.errors import Invalid
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule
from tests.support.oracles import cron_days, cron_slots, cron_times
from tests.support.oracles_questions import agree, edges_of
from tests.support.oracles_random import cron_line

ANCHOR = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)
PART, WHOLE, EACH = 1500, 10_000, 100
MOST = 20

# What cronsim cannot say, or says with another meaning.
BEYOND_CRONSIM = {
    r"\dw": "it has no nearest weekday",
    r"l-": "it has no day counted from the end",
    r"\?": "it has no ? for a star",
    r"(sun|mon|tue|wed|thu|fri|sat)l": "it has the last weekday by number only",
}


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _first_day(random: Random) -> date:
    """Near, or decades away, on either side of 2100, which is no leap year."""
    year = random.choice([2016, 2020, 2026, 2027, 2028, 2050, 2071, 2099, 2103])
    return date(year, random.randint(1, 12), random.randint(1, 28))


def _window(line: str, first: date) -> tuple[list[datetime], datetime]:
    """All that is due from the first day on to an end: that of the day with the twentieth slot, or of five years."""
    due: list[datetime] = []
    for day in cron_days(line, first, first + 1826 * DAY):
        due += [wall.replace(tzinfo=UTC) for wall in cron_slots(line, day, day)]
        if len(due) >= MOST:
            return due, due[-1]
    return due, _midnight(first + 1827 * DAY) - timedelta(seconds=1)


def _check(line: str, random: Random) -> None:
    try:
        slots = parse_schedule(line, "UTC", anchor=ANCHOR).set
    except Invalid as refusal:
        years = range(2016, 2056)  # 29 February on each weekday comes within 28 years
        due = (next(cron_days(line, date(year, 1, 1), date(year, 12, 31)), None) for year in years)
        if any(due):
            pytest.fail(f"{line}: {refusal}")
        return
    first = _first_day(random)
    due, last = _window(line, first)
    before = _midnight(first) - timedelta(seconds=1)
    agree(slots, due, edges_of(due, before, last), line)
    _ask_cronsim(line, due[:MOST], before)
    _count_decades(line, slots, random)


def _ask_cronsim(line: str, due: list[datetime], before: datetime) -> None:
    if any(re.search(shape, line.lower()) for shape in BEYOND_CRONSIM):
        with pytest.raises(CronSimError):
            CronSim(line, before)
        return
    assert list(islice(CronSim(line, before), len(due))) == due, line
    if due:
        after = due[-1] + timedelta(seconds=1)
        assert list(islice(CronSim(line, after, reverse=True), len(due))) == due[::-1], line


def _count_decades(line: str, slots: RecurrenceSet, random: Random) -> None:
    """The number of slots in a year that is decades away, and the last one of it."""
    year = random.randint(2040, 2120)
    days = list(cron_days(line, date(year, 1, 1), date(year, 12, 31)))
    opening, closing = datetime(year, 1, 1, tzinfo=UTC), datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
    times = cron_times(line)
    assert slots.count(opening - timedelta(seconds=1), closing) == len(days) * len(times), f"{line} in {year}"
    if days:
        latest = _midnight(days[-1]) + timedelta(minutes=times[-1])
        earliest = _midnight(days[0]) + timedelta(minutes=times[0])
        assert slots.last_until(closing) == latest, f"{line} in {year}"
        assert slots.next_after(opening - timedelta(seconds=1)) == earliest, f"{line} in {year}"


def _some_lines(block: int) -> None:
    random = Random(50_000 + block)
    for number in range(EACH):
        _check(cron_line(random, extended=number % 3 == 0), random)


@pytest.mark.parametrize("block", range(PART // EACH))
def test_P12_random_lines(block: int) -> None:
    _some_lines(block)


@pytest.mark.long
@pytest.mark.parametrize("block", range(PART // EACH, WHOLE // EACH))
def test_P12_many_random_lines(block: int) -> None:
    _some_lines(block)
