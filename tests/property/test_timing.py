"""Properties of recurrence sets, held against oracles that share no code with them.

Oracles: `cronsim` for the days and times of cron lines (in UTC, where it has no opinion on clock changes), the calendar
module for "nearest weekday", and a walk over every minute of the zone's own clock for clock changes. Larger sweeps
against more oracles are in test_oracle_*.py.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from horae.errors import Invalid
from horae.timing.cron.line import parse_cron
from horae.timing.policy import default_policy
from horae.timing.recurrence import Grid, RecurrenceSet
from horae.timing.schedule import parse_schedule
from horae.timing.zones import names
from tests.support.oracles import cron_matcher
from tests.support.oracles_clock import Walk, changes
from tests.support.oracles_questions import agree, edges_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
GAPS = ("shift", "after", "skip")
REPEATS = ("first", "both", "last")

# ---------------------------------------------------------------------------------------------------------------------
# Random schedules


def _field(low: int, high: int, symbols: tuple[str, ...] = ()) -> st.SearchStrategy[str]:
    number = st.integers(low, high).map(str)
    ranges = st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda p: f"{min(p)}-{max(p)}")
    # `5-5/2` is left out: cronsim reads it as `5/2`
    spans = st.tuples(st.integers(low, high), st.integers(low, high)).filter(lambda p: p[0] < p[1])
    stepped = st.tuples(spans.map(lambda p: f"{p[0]}-{p[1]}"), st.integers(1, 9)).map(lambda p: f"{p[0]}/{p[1]}")
    options = [number, ranges, stepped, *([st.sampled_from(symbols)] if symbols else [])]
    listed = st.lists(st.one_of(options), min_size=1, max_size=3).map(",".join)
    star = st.sampled_from(["*", "*", "*/2", "*/7", "*/15"])
    return st.one_of(star, number, listed)


DAY_SYMBOLS = ("L", "LW")
WEEKDAY_SYMBOLS = ("MON#2", "1#1", "5L", "0L", "7#5", "FRI", "sun")
LINES = st.builds(
    lambda *fields: " ".join(fields),
    _field(0, 59),
    _field(0, 23),
    _field(1, 31, DAY_SYMBOLS),
    _field(1, 12, ("jan", "DEC")),
    _field(0, 7, WEEKDAY_SYMBOLS),
)
INSTANTS = st.integers(0, 4_000_000_000).map(lambda second: EPOCH + timedelta(seconds=second))
ZONES = st.sampled_from(
    [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "America/Sao_Paulo",
        "Asia/Gaza",
    ]
)


@st.composite
def sets(draw: st.DrawFn) -> RecurrenceSet:
    """Mostly rules, sometimes with a grid and dates as well."""
    try:
        rules = parse_cron(draw(LINES)).rules
    except Invalid:
        assume(False)
        raise
    kind = draw(st.sampled_from(["rules", "rules", "rules", "grid", "dates", "all"]))
    grids = (Grid(draw(st.integers(1, 200_000)), draw(INSTANTS)),) if kind in ("grid", "all") else ()
    dates = tuple(draw(st.lists(INSTANTS, max_size=4))) if kind in ("dates", "all") else ()
    chosen = rules if kind in ("rules", "all") else ()
    return RecurrenceSet(
        draw(ZONES), chosen, grids, dates, gap=draw(st.sampled_from(GAPS)), repeat=draw(st.sampled_from(REPEATS))
    )


def _some(slots: RecurrenceSet, after: datetime, most: int = 40) -> list[datetime]:
    found: list[datetime] = []
    slot = slots.next_after(after)
    while slot is not None and len(found) < most:
        found.append(slot)
        slot = slots.next_after(slot)
    return found


@settings(max_examples=150, deadline=None)
@given(sets(), INSTANTS)
def test_P12_slots_ascend_strictly_and_are_whole_seconds_of_utc(slots: RecurrenceSet, after: datetime) -> None:
    found = _some(slots, after)
    assert all(earlier < later for earlier, later in pairwise([after, *found]))
    assert all(slot.tzinfo is UTC and slot.microsecond == 0 for slot in found)


@settings(max_examples=150, deadline=None)
@given(sets(), INSTANTS, st.integers(1, 200_000))
def test_P12_all_questions_agree(slots: RecurrenceSet, after: datetime, span_s: int) -> None:
    found = _some(slots, after)
    assert all(slots.contains(slot) for slot in found)
    assert all(slots.last_until(slot) == slot for slot in found)
    for earlier, later in pairwise(found):
        assert slots.last_until(later - timedelta(microseconds=1)) == earlier
        assert slots.next_after(later - timedelta(microseconds=1)) == later
        middle = earlier + (later - earlier) // 2
        assert slots.contains(middle) == (middle in (earlier, later))
    end = found[-1] if found else after + timedelta(seconds=span_s)
    assert list(slots.between(after, end)) == found
    assert slots.count(after, end) == len(found)
    assert slots.count(after, end, limit=3) == min(3, len(found))
    middle = after + (end - after) // 2
    assert list(slots.between(after, middle)) + list(slots.between(middle, end)) == found
    assert slots.count(after, middle) + slots.count(middle, end) == len(found)


# ---------------------------------------------------------------------------------------------------------------------
# Cron lines against cronsim


@settings(max_examples=250, deadline=None)
@given(LINES, INSTANTS)
def test_cron_lines_have_the_slots_of_cronsim(line: str, after: datetime) -> None:
    try:
        cron = parse_cron(line)
    except Invalid:  # never fires
        assume(False)
        raise
    slots = RecurrenceSet("UTC", cron.rules)
    try:
        oracle = CronSim(line, after)
    except CronSimError:  # it has no `L,LW` combinations of some kinds
        assume(False)
        raise
    expected = [found for _, found in zip(range(12), oracle, strict=False)]
    assert [
        slot for _, slot in zip(range(12), slots.between(after, EPOCH.replace(year=2200)), strict=False)
    ] == expected


@settings(max_examples=60, deadline=None)
@given(LINES)
def test_plain_lines_become_disjoint_rules(line: str) -> None:
    assume("L" not in line.upper().split()[2] and "#" not in line and "L" not in line.upper().split()[4])
    try:
        rules = parse_cron(line).rules
    except Invalid:
        return
    first, last = datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 12, 31, tzinfo=UTC)
    apart = sum(RecurrenceSet("UTC", (rule,)).count(first, last) for rule in rules)
    assert len(rules) <= 2
    assert apart == RecurrenceSet("UTC", rules).count(first, last)


def _nearest(year: int, month: int, number: int) -> date | None:
    length = calendar.monthrange(year, month)[1]
    if number > length:
        return None
    choices = [date(year, month, day) for day in range(1, length + 1)]
    workdays = [day for day in choices if day.weekday() < 5]
    return min(workdays, key=lambda day: abs(day.day - number))


@pytest.mark.parametrize("number", range(1, 32))
def test_nearest_weekday_against_the_calendar(number: int) -> None:
    first, last = datetime(2019, 12, 31, 23, tzinfo=UTC), datetime(2048, 12, 31, 23, tzinfo=UTC)
    days = [_nearest(year, month, number) for year in range(2020, 2049) for month in range(1, 13)]
    expected = [datetime(d.year, d.month, d.day, hour, tzinfo=UTC) for d in days if d for hour in (9, 17)]
    rules = parse_cron(f"0 9,17 {number}W * *").rules
    slots = RecurrenceSet("UTC", rules)
    assert list(slots.between(first, last)) == expected
    assert sum(RecurrenceSet("UTC", (rule,)).count(first, last) for rule in rules) == len(expected)  # disjoint


# ---------------------------------------------------------------------------------------------------------------------
# Clock changes against a walk over minutes: the strangest ones, and any since 1970. Those from 2015 on, all of them, are
# in test_oracle_clock.py


def _agree(line: str, name: str, walk: Walk, gap: str, repeat: str) -> None:
    slots = parse_schedule(line, name, anchor=EPOCH, gap=gap, repeat=repeat).set  # pyright: ignore[reportArgumentType]
    due = [EPOCH + slot * MINUTE for slot in walk.slots(walk.members(cron_matcher(line)), gap, repeat)]
    first, last = EPOCH + walk.first * MINUTE, EPOCH + walk.last * MINUTE
    agree(slots, due, edges_of(due, first, last), f"{line} in {name}, {gap}/{repeat}")
    backwards: list[datetime] = []
    slot = slots.last_until(last)
    while slot is not None and slot > first:
        backwards.append(slot)
        slot = slots.last_until(slot - timedelta(seconds=1))
    assert backwards == due[::-1]


CASES = [
    ("America/New_York", "2026-03-08"), ("America/New_York", "2026-11-01"), ("Europe/Berlin", "2027-03-28"),
    ("Europe/Berlin", "2026-10-25"), ("Europe/London", "2026-10-25"), ("Australia/Lord_Howe", "2026-10-04"),
    ("Australia/Lord_Howe", "2026-04-05"), ("America/Sao_Paulo", "2018-11-04"), ("America/Sao_Paulo", "2018-02-18"),
    ("Pacific/Apia", "2011-12-30"), ("America/St_Johns", "2006-10-29"), ("America/St_Johns", "2006-04-02"),
    ("Africa/Casablanca", "2026-02-15"), ("Africa/Casablanca", "2026-03-22"), ("America/Havana", "2026-03-08"),
    ("America/Havana", "2026-11-01"), ("Antarctica/Troll", "2026-03-29"), ("Antarctica/Troll", "2026-10-25"),
    ("Pacific/Chatham", "2026-04-05"), ("Asia/Tehran", "2022-03-22"), ("Pacific/Kwajalein", "1993-08-21"),
    ("Asia/Kathmandu", "1986-01-01"), ("Australia/Sydney", "2026-10-04"), ("Asia/Dhaka", "2009-12-31"),
]  # fmt: skip
SCHEDULES = ["* * * * *", "*/15 * * * *", "0 * * * *", "0 */2 * * *", "30 2 * * *", "0,30 1-2 * * *", "15 0 * * *"]
SCHEDULES += ["59 23 * * *", "0 0 * * 6,0,1", "30 23,0 L,30 * *"]


@pytest.mark.parametrize(("name", "day"), CASES)
def test_clock_changes_against_a_walk_over_minutes(name: str, day: str) -> None:
    midnight = (datetime.fromisoformat(day).replace(tzinfo=UTC) - EPOCH) // MINUTE
    walk = Walk(name, midnight - 30 * 60, midnight + 54 * 60)
    for number, line in enumerate(SCHEDULES):
        _agree(line, name, walk, *default_policy(parse_cron(line).rules))
        _agree(line, name, walk, GAPS[number % 3], REPEATS[(number // 3 + len(name)) % 3])


SINCE_1970 = {
    name: found
    for name in sorted(names())
    # the walk sees whole minutes only
    if (
        found := [change for change in changes(name) if change.at > 0 and not (change.before % 60 or change.after % 60)]
    )
}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_change_of_any_zone_against_a_walk_over_minutes(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(list(SINCE_1970)))
    at, before, after = data.draw(st.sampled_from(SINCE_1970[name]))
    wall = EPOCH + timedelta(seconds=at + data.draw(st.sampled_from([before, after])))
    hours = sorted({(wall.hour + data.draw(st.integers(-2, 2))) % 24, wall.hour})
    minutes = range(data.draw(st.integers(0, 6)), 60, data.draw(st.sampled_from([7, 13, 30, 60])))
    line = f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * *"
    gap, repeat = data.draw(st.sampled_from(GAPS)), data.draw(st.sampled_from(REPEATS))
    _agree(line, name, Walk(name, at // 60 - 26 * 60, at // 60 + 26 * 60), gap, repeat)


def test_no_zone_has_two_changes_closer_than_the_probe() -> None:
    gaps: Iterable[int] = (later.at - earlier.at for name in names() for earlier, later in pairwise(changes(name)))
    assert min(gaps) > 6 * 86400


# ---------------------------------------------------------------------------------------------------------------------
# Texts


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="0123456789*/-,#LW? @aemnortvy:", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    anchor = datetime(2026, 11, 30, 8, tzinfo=UTC)
    try:
        schedule = parse_schedule(text, "Europe/Berlin", anchor=anchor)
    except Invalid:
        return
    again = parse_schedule(schedule.written, "Europe/Berlin", anchor=anchor + timedelta(days=100, seconds=0.5))
    assert again.set == schedule.set
    assert again.meaning == schedule.meaning


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["in", "every"]), st.integers(1, 400), st.sampled_from("smhdw"), INSTANTS, ZONES)
def test_written_text_keeps_the_slots(word: str, amount: int, unit: str, anchor: datetime, name: str) -> None:
    schedule = parse_schedule(f"{word} {amount}{unit}", name, anchor=anchor + timedelta(milliseconds=300))
    again = parse_schedule(schedule.written, name, anchor=EPOCH)
    assert again.set == schedule.set
    assert again.written == schedule.written
