"""The algebra of sets: equal whatever the words, cut and joined without a loss, exceptions laid over."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from horae.timing.recurrence import Grid, RecurrenceSet, SlotException
from horae.timing.rules import EVERY_WEEKDAY, WORKDAYS, Rule
from horae.timing.schedule import parse_schedule

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
START = datetime(2026, 11, 30, 12)
FAR = datetime(2060, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def of(*rules: Rule, zone: str = "Europe/Paris") -> RecurrenceSet:
    return RecurrenceSet(zone, rules)


def read(text: str, zone: str = "Europe/Paris") -> RecurrenceSet:
    return parse_schedule(text, zone, anchor=NOON).set


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of(Rule("DAILY", byday=WORKDAYS)), of(Rule("WEEKLY", byday=WORKDAYS))),
        (of(Rule("DAILY", byday=EVERY_WEEKDAY)), of(Rule("DAILY"))),
        (of(Rule("DAILY", byhour=(9, 17))), of(Rule("DAILY", byhour=(9,)), Rule("DAILY", byhour=(17,)))),
        (of(Rule("MONTHLY", bymonthday=(1,), bymonth=(1,))), of(Rule("YEARLY", bymonthday=(1,), bymonth=(1,)))),
        (of(Rule("MONTHLY", bymonthday=(-31,), bymonth=(1,))), of(Rule("YEARLY", bymonthday=(1,), bymonth=(1,)))),
        (of(Rule("MONTHLY", byday=WORKDAYS, bysetpos=(-1,), bymonth=(1,))), read("0 0 LW 1 *")),
        (of(Rule("DAILY", interval=14, start=START)), of(Rule("WEEKLY", byday=((0, 0),), interval=2, start=START))),
        (
            of(Rule("MONTHLY", bymonthday=(30,), interval=24, start=START)),
            of(Rule("YEARLY", bymonth=(11,), bymonthday=(30,), interval=2, start=START)),
        ),
        (
            of(Rule("HOURLY", interval=2, byhour=(), start=datetime(2026, 11, 30))),
            of(Rule("DAILY", byhour=tuple(range(0, 24, 2)), start=datetime(2026, 11, 30))),
        ),
        (
            of(Rule("DAILY", byhour=(12,), start=START, count=3)),
            of(Rule("DAILY", byhour=(12,), start=START, until=datetime(2026, 12, 2, 20, tzinfo=UTC))),
        ),
        (
            of(Rule("WEEKLY", byday=((0, 4),), byhour=(9,), start=START)),
            of(Rule("WEEKLY", byday=((0, 4),), byhour=(9,), start=START + timedelta(days=3))),
        ),
        (read("0 9 * * 1-5"), read("weekdays at 9am")),
        (
            of(Rule("YEARLY", bymonth=tuple(range(1, 13)), byday=((1, 0),), byhour=(9,))),
            of(Rule("MONTHLY", byday=((1, 0),), byhour=(9,))),
        ),
        (of(Rule("DAILY"), Rule("YEARLY", bymonth=(2,), bymonthday=(30,))), of(Rule("DAILY"))),
        (read("0 9 1 * 1"), read("0 9 1-1 * mon,1")),
        (RecurrenceSet("UTC", dates=(NOON,)), RecurrenceSet("Europe/Paris", dates=(NOON,), gap="skip")),
        (
            RecurrenceSet("UTC", grids=(Grid(3600, NOON),), dates=(NOON,), exdates=(NOON + SECOND,)),
            RecurrenceSet("Asia/Tokyo", grids=(Grid(3600, NOON),)),
        ),
        (
            RecurrenceSet("UTC", grids=(Grid(3600, NOON, NOON + timedelta(hours=2)),)),
            RecurrenceSet("UTC", grids=(Grid(3600, NOON, NOON + timedelta(hours=2, minutes=59)),)),
        ),
    ],
)
def test_the_same_slots_are_the_same_set(one: RecurrenceSet, other: RecurrenceSet) -> None:
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of(Rule("DAILY")), of(Rule("DAILY"), zone="Europe/Berlin")),
        (of(Rule("DAILY")), RecurrenceSet("Europe/Paris", (Rule("DAILY"),), gap="skip")),
        (of(Rule("DAILY")), of(Rule("DAILY", second=1))),
        (of(Rule("DAILY")), of(Rule("DAILY", start=START))),
        (of(Rule("DAILY", interval=2, start=START)), of(Rule("DAILY", interval=2, start=START + timedelta(days=1)))),
        (of(Rule("DAILY", start=START, count=3)), of(Rule("DAILY", start=START, count=4))),
        (of(Rule("DAILY", start=START, interval=2)), of(Rule("DAILY", start=START, interval=3))),
        (
            of(Rule("WEEKLY", byday=((0, 1), (0, 6)), interval=2, start=START, wkst=0)),
            of(Rule("WEEKLY", byday=((0, 1), (0, 6)), interval=2, start=START, wkst=6)),
        ),
        (of(Rule("DAILY")), RecurrenceSet("Europe/Paris", (Rule("DAILY"),), dates=(NOON,))),
        (read("0 9 1 * 1"), read("0 9 */31 * 1")),
        (of(Rule("DAILY")), "every day"),
        (
            of(Rule("YEARLY", bymonth=tuple(range(1, 13)), byday=((1, 0),), byhour=(9,))),
            of(Rule("YEARLY", byday=((1, 0),), byhour=(9,))),
        ),
    ],
)
def test_other_slots_are_another_set(one: RecurrenceSet, other: object) -> None:
    assert one != other


SETS = [
    read("weekdays at 9am"),
    read("*/15 * * * *"),
    read("30 2 * * *"),
    read("every 90 minutes"),
    of(Rule("WEEKLY", byday=((0, 0), (0, 5)), byhour=(2,), byminute=(30,), interval=3, start=START)),
    of(Rule("MONTHLY", byday=((-1, 4),), start=START, count=9)),
]
CUTS = [
    datetime(2027, 3, 28, 1, 0, tzinfo=UTC),  # the clock goes on
    datetime(2027, 3, 28, 1, 30, tzinfo=UTC),
    datetime(2027, 10, 31, 0, 30, tzinfo=UTC),  # 02:30, the first
    datetime(2027, 10, 31, 1, 15, tzinfo=UTC),  # 02:15, the second
    NOON + timedelta(hours=1, minutes=7),
]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("slots", SETS)
def test_cut_and_joined_nothing_is_lost_and_nothing_twice(slots: RecurrenceSet, cut: datetime) -> None:
    before, after = slots.ending(cut - SECOND), slots.beginning(cut)
    joined = before | after
    window = (NOON - timedelta(days=1), cut + timedelta(days=120))
    expected = list(slots.between(*window))
    assert list(before.between(*window)) == [slot for slot in expected if slot < cut]
    assert list(after.between(*window)) == [slot for slot in expected if slot >= cut]
    assert list(joined.between(*window)) == expected
    assert joined.count(*window) == len(expected)
    assert [slot for slot in expected if joined.contains(slot)] == expected
    assert joined.last_until(cut - SECOND) == slots.last_until(cut - SECOND)


def test_counting_by_arithmetic_over_segments_agrees_with_walking() -> None:
    cut = datetime(2040, 6, 1, tzinfo=UTC)
    old, new = read("* * * * *").ending(cut - SECOND), read("*/5 * * * *").beginning(cut)
    joined = old | new
    minutes = (cut - datetime(2039, 6, 1, tzinfo=UTC)) // timedelta(minutes=1)
    assert joined.count(datetime(2039, 6, 1, tzinfo=UTC) - SECOND, cut - SECOND) == minutes
    assert joined.count(cut - SECOND, cut + timedelta(hours=1) - SECOND) == 12


def test_only_sets_of_one_clock_can_be_joined() -> None:
    with pytest.raises(ValueError, match="one zone and one policy"):
        _ = of(Rule("DAILY")) | of(Rule("DAILY"), zone="UTC")


def test_what_one_part_leaves_out_the_other_may_have() -> None:
    daily = RecurrenceSet("UTC", (Rule("DAILY", byhour=(12,)),), exdates=(NOON,))
    assert not daily.contains(NOON)
    assert (daily | RecurrenceSet("UTC", dates=(NOON,))).contains(NOON)
    assert not (daily | RecurrenceSet("UTC", (Rule("DAILY", byhour=(13,)),))).contains(NOON)


def test_left_out_slots_are_no_slots_for_any_question() -> None:
    day = timedelta(days=1)
    slots = RecurrenceSet("UTC", (Rule("DAILY", byhour=(12,)),), exdates=(NOON, NOON + day, NOON + 3 * day + SECOND))
    assert slots.next_after(NOON - day) == NOON + 2 * day
    assert slots.last_until(NOON + day) == NOON - day
    assert slots.count(NOON - 2 * day, NOON + 3 * day) == 3
    assert list(slots.between(NOON - day, NOON + 2 * day)) == [NOON + 2 * day]


def test_exceptions_change_when_slots_are_due_and_nothing_else() -> None:
    daily = RecurrenceSet("UTC", (Rule("DAILY", byhour=(12,)),))
    skipped, moved, early = NOON, NOON + timedelta(days=1), NOON + timedelta(days=4)
    laid = RecurrenceSet(
        "UTC",
        daily.rules,
        exceptions=(
            SlotException(skipped, None),
            SlotException(moved, moved + timedelta(days=1, hours=3)),
            SlotException(early, early - timedelta(days=2, hours=1)),
            SlotException(NOON + SECOND, NOON),  # of no slot: it does nothing
        ),
    )
    window = (NOON - timedelta(days=1), NOON + timedelta(days=4))
    assert list(laid.between(*window)) == list(daily.between(*window))
    days = [(due.day, due.hour, slot.day) for due, slot in laid.due_between(*window)]
    assert days == [(2, 11, 4), (2, 12, 2), (2, 15, 1), (3, 12, 3)]


def test_a_rule_that_begins_long_after_the_question_is_found() -> None:
    slots = of(Rule("DAILY", start=datetime(2090, 1, 1), interval=7))
    assert slots.next_after(datetime(1980, 1, 1, tzinfo=UTC)) == datetime(2089, 12, 31, 23, tzinfo=UTC)
    ended = of(Rule("DAILY", start=datetime(1990, 1, 1), count=10))
    assert ended.last_until(FAR) == datetime(1990, 1, 9, 23, tzinfo=UTC)
    assert ended.next_after(NOON) is None


def test_weeks_of_the_year_at_its_ends() -> None:
    """1 January 2027 is a Friday of week 53; 31 December 2029 is a Monday of week 1."""
    first_weeks = of(Rule("YEARLY", byweekno=(1,), byday=((0, 0),)), zone="UTC")
    assert [f"{slot:%F}" for slot in islice(first_weeks.between(datetime(2029, 1, 2, tzinfo=UTC), FAR), 2)] == [
        "2029-12-31",
        "2030-12-30",
    ]
    last_weeks = of(Rule("YEARLY", byweekno=(-1,), byday=((0, 4),)), zone="UTC")
    assert [f"{slot:%F}" for slot in islice(last_weeks.between(datetime(2026, 12, 1, tzinfo=UTC), FAR), 2)] == [
        "2027-01-01",
        "2027-12-31",
    ]


def test_where_weeks_begin_decides_in_which_one_a_rule_starts() -> None:
    """7 January 2026 is a Wednesday: the Monday of its week has passed, or it is yet to come."""
    monday = [of(Rule("WEEKLY", byday=((0, 0),), interval=2, wkst=wkst, start=datetime(2026, 1, 7))) for wkst in (0, 1)]
    firsts = [next(slots.between(datetime(2026, 1, 1, tzinfo=UTC), FAR)).day for slots in monday]
    assert firsts == [18, 11]  # midnight in Paris
    assert monday[0] != monday[1]


def test_a_count_is_of_one_rule() -> None:
    parts = {"start": datetime(2026, 12, 1), "byhour": (9,)}
    three = of(Rule("DAILY", count=3, **parts), Rule("WEEKLY", byday=((0, 0),), count=3, **parts))
    until = datetime(2026, 12, 21, 8, tzinfo=UTC)
    ended = of(Rule("DAILY", until=until, **parts), Rule("WEEKLY", byday=((0, 0),), until=until, **parts))
    assert three.count(NOON, FAR) != ended.count(NOON, FAR)
    assert three != ended


def test_an_empty_grid_is_no_grid() -> None:
    endless = RecurrenceSet("UTC", grids=(Grid(3600, NOON),))
    empty = endless.ending(NOON - SECOND)
    assert empty == RecurrenceSet("UTC")
    assert empty != endless
    assert endless.beginning(datetime(9999, 1, 1, tzinfo=UTC)) == RecurrenceSet("UTC")


def test_a_rule_with_long_steps_is_found_again() -> None:
    slots = read("DTSTART:20260101T090000 RRULE:FREQ=YEARLY;INTERVAL=30;BYMONTH=2;BYMONTHDAY=29", "UTC")
    leap = slots.next_after(NOON)
    assert leap is not None
    assert f"{leap:%F}" == "2056-02-29"
    again = slots.next_after(leap)
    assert again is not None
    assert f"{again:%F}" == "2116-02-29"
    assert slots.last_until(again - SECOND) == leap


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("every 90 minutes by the clock", "DTSTART:20200101T000000 RRULE:FREQ=MINUTELY;INTERVAL=90"),
        (
            "*/20 0-22 * * *",
            f"DTSTART:20200101T000000 RRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR={','.join(map(str, range(23)))}",
        ),
        ("*/15 * * * *", "DTSTART:20200101T000000 RRULE:FREQ=MINUTELY;INTERVAL=15;BYMINUTE=0,15,30,45"),
    ],
)
def test_one_timetable_has_one_default_whatever_the_words(one: str, other: str) -> None:
    policies = {(slots.gap, slots.repeat) for slots in (read(one), read(other))}
    assert policies == {("skip", "both")}


def test_two_timetables_are_two() -> None:
    assert (read("hourly; mondays at 2:30").gap, read("0 9 1 * 1").gap) == ("shift", "shift")


def test_counting_where_parts_meet_walks_over_the_sparser() -> None:
    both = read("every minute; every day at 9am", "UTC")
    year = (NOON, NOON + timedelta(days=365))
    assert both.count(*year) == 365 * 1440
    slow = RecurrenceSet("UTC", grids=(Grid(60, NOON), Grid(90, NOON), Grid(3600, NOON + SECOND)))
    hour = (NOON, NOON + timedelta(hours=1))
    assert slow.count(*hour) == len(list(slow.between(*hour)))


def test_cut_and_joined_exceptions_come_back_once() -> None:
    daily = RecurrenceSet("UTC", (Rule("DAILY", byhour=(12,)),), exdates=(NOON + timedelta(days=3),))
    laid = replace(daily, exceptions=(SlotException(NOON, None), SlotException(NOON + timedelta(days=2), NOON)))
    cut = NOON + timedelta(days=1)
    assert laid.ending(cut).exceptions == laid.exceptions[:1]
    assert laid.beginning(cut + SECOND).exceptions == laid.exceptions[1:]
    joined = laid.ending(cut) | laid.beginning(cut + SECOND)
    assert joined.exceptions == laid.exceptions
    assert joined.exdates == laid.exdates
    twice = replace(laid, exceptions=(SlotException(NOON, None), SlotException(NOON, NOON)))
    assert twice != laid
