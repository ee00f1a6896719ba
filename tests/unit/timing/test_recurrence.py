"""Sets of slots: the cases by name. The laws are in tests/property/test_timing.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from horae.errors import Invalid
from horae.limits import MISSED_COUNT_MAX
from horae.timing.cron.line import parse_cron
from horae.timing.policy import default_policy
from horae.timing.recurrence import Gap, Grid, RecurrenceSet, Repeat, Rule
from horae.timing.schedule import parse_schedule
from horae.timing.zones import zone

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def _set(line: str, name: str) -> RecurrenceSet:
    return parse_schedule(line, name, anchor=NOON).set


def _slots(line: str, name: str, after: str, until: str) -> list[str]:
    """Slots of the default policy between two local (naive) or absolute times, as the zone's clock shows them."""
    bounds = [datetime.fromisoformat(text) for text in (after, until)]
    low, high = (bound.replace(tzinfo=zone(name)) for bound in bounds)
    return [f"{slot.astimezone(zone(name)):%d %H:%M %z}" for slot in _set(line, name).between(low, high)]


@pytest.mark.parametrize(
    ("line", "last", "following"),
    [
        ("0 9 * * 1-5", "2026-10-23T09:00+02:00", "2026-10-26T09:00+01:00"),
        ("0 9 * * 1-5", "2027-03-26T09:00+01:00", "2027-03-29T09:00+02:00"),
        ("0 9 * * *", "2026-10-24T09:00+02:00", "2026-10-25T09:00+01:00"),
        ("0 9 * * *", "2027-03-27T09:00+01:00", "2027-03-28T09:00+02:00"),
        ("30 2 * * *", "2027-03-27T02:30+01:00", "2027-03-28T03:30+02:00"),
        ("30 2 * * *", "2026-10-24T02:30+02:00", "2026-10-25T02:30+02:00"),
        ("30 2 * * *", "2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"),
    ],
)
def test_next_slot_over_the_clock_changes_of_berlin(line: str, last: str, following: str) -> None:
    slot = _set(line, "Europe/Berlin").next_after(datetime.fromisoformat(last))
    assert slot == datetime.fromisoformat(following)


@pytest.mark.parametrize(
    ("line", "name", "day", "slots"),
    [
        ("30 2 * * *", "America/New_York", "2026-03-08", ["03:30 -0400"]),
        ("30 1 * * *", "America/New_York", "2026-11-01", ["01:30 -0400"]),
        ("0,30 1 * * *", "America/New_York", "2026-11-01", ["01:00 -0400", "01:30 -0400"]),
        ("0,30 2-3 * * *", "America/New_York", "2026-03-08", ["03:00 -0400", "03:30 -0400"]),
        ("0,30 2 * * *", "America/New_York", "2026-03-08", ["03:00 -0400", "03:30 -0400"]),
        ("30 2 * * *", "Australia/Sydney", "2026-10-04", ["03:30 +1100"]),
        ("30 2 * * *", "Australia/Sydney", "2026-04-05", ["02:30 +1100"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-04", ["02:45 +1100"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-05", ["01:45 +1100"]),
        ("30 2 * * *", "Africa/Casablanca", "2026-02-15", ["02:30 +0100"]),
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-04", ["01:00 -0200"]),
        ("30 23 * * *", "America/Sao_Paulo", "2018-02-17", ["23:30 -0200"]),
        ("0 9 * * *", "Pacific/Apia", "2011-12-31", ["09:00 +1400"]),
    ],
)
def test_times_of_day_are_shifted_and_not_repeated(line: str, name: str, day: str, slots: list[str]) -> None:
    eve = datetime.fromisoformat(day) - timedelta(days=2)
    found = [slot for slot in _slots(line, name, eve.isoformat(), f"{day}T23:59") if slot.startswith(day[-2:])]
    assert [slot[3:] for slot in found] == slots


GAPS: tuple[Gap, ...] = ("shift", "after", "skip")
REPEATS: tuple[Repeat, ...] = ("first", "last", "both")


@pytest.mark.parametrize(
    ("line", "name", "between", "shift", "after", "skip"),
    [
        ("30 2 * * *", "America/New_York", "2026-03-08T00:00/24", "03:30", "03:00", ""),
        ("0 * * * *", "America/New_York", "2026-03-08T01:00/2", "01:00 03:00", "01:00 03:00", "01:00 03:00"),
        ("0 */2 * * *", "America/New_York", "2026-03-08T00:00/5", "00:00 03:00 04:00", "00:00 03:00 04:00", "00:00 04:00"),
        ("0,30 2-3 * * *", "America/New_York", "2026-03-08T00:00/24", "03:00 03:30", "03:00 03:30", "03:00 03:30"),
        ("10,40 2 * * *", "America/New_York", "2026-03-08T00:00/24", "03:10 03:40", "03:00", ""),
        ("30 2 * * *", "Australia/Sydney", "2026-10-04T00:00/24", "03:30", "03:00", ""),
        ("30 1 * * *", "Europe/London", "2026-03-29T00:00/24", "02:30", "02:00", ""),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-04T00:00/24", "02:45", "02:30", ""),
        ("0 * * * *", "Australia/Lord_Howe", "2026-10-04T01:00/2", "01:00 02:30 03:00", "01:00 02:30 03:00", "01:00 03:00"),
        ("*/15 * * * *", "Australia/Lord_Howe", "2026-10-04T01:45/1", *["01:45 02:30 02:45 03:00"] * 3),
        ("30 2 * * *", "Africa/Casablanca", "2026-03-22T00:00/24", "03:30", "03:00", ""),
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-04T01:00/22", "01:00", "01:00", ""),
        ("0 0 * * *", "America/Sao_Paulo", "2019-11-03T00:00/23", "00:00", "00:00", "00:00"),  # no summer time any more
        ("0 9 * * *", "Pacific/Apia", "2011-12-31T00:00/24", "09:00", "00:00 09:00", "09:00"),  # after a day left out
    ],
)  # fmt: skip
def test_gaps_by_policy(line: str, name: str, between: str, shift: str, after: str, skip: str) -> None:
    for gap, expected in zip(GAPS, (shift, after, skip), strict=True):
        assert " ".join(f"{slot:%H:%M}" for slot in _by_policy(line, name, between, gap, "both")) == expected


@pytest.mark.parametrize(
    ("line", "name", "between", "first", "last", "both"),
    [
        ("30 1 * * *", "America/New_York", "2026-11-01T00:00/25", "01:30-04", "01:30-05", "01:30-04 01:30-05"),
        (
            "0 * * * *", "America/New_York", "2026-11-01T00:00/4",
            "00:00-04 01:00-04 02:00-05", "00:00-04 01:00-05 02:00-05", "00:00-04 01:00-04 01:00-05 02:00-05",
        ),
        (
            "0,30 1 * * *", "America/New_York", "2026-11-01T00:00/25",
            "01:00-04 01:30-04", "01:00-05 01:30-05", "01:00-04 01:30-04 01:00-05 01:30-05",
        ),
        ("30 2 * * *", "Australia/Sydney", "2026-04-05T00:00/25", "02:30+11", "02:30+10", "02:30+11 02:30+10"),
        ("30 1 * * *", "Europe/London", "2026-10-25T00:00/25", "01:30+01", "01:30+00", "01:30+01 01:30+00"),
        (
            "45 1 * * *", "Australia/Lord_Howe", "2026-04-05T00:00/24",
            "01:45+11", "01:45+1030", "01:45+11 01:45+1030",
        ),
        ("30 2 * * *", "Africa/Casablanca", "2026-02-15T00:00/25", "02:30+01", "02:30+00", "02:30+01 02:30+00"),
        ("30 23 * * *", "America/Sao_Paulo", "2018-02-17T00:00/25", "23:30-02", "23:30-03", "23:30-02 23:30-03"),
    ],
)  # fmt: skip
def test_repeated_times_by_policy(line: str, name: str, between: str, first: str, last: str, both: str) -> None:
    for repeat, expected in zip(REPEATS, (first, last, both), strict=True):
        found = [f"{slot:%H:%M%z}".removesuffix("00") for slot in _by_policy(line, name, between, "skip", repeat)]
        assert " ".join(found) == expected


def _by_policy(line: str, name: str, between: str, gap: Gap, repeat: Repeat) -> list[datetime]:
    """Slots from a local time on, that included, for so many real hours."""
    start, _, hours = between.partition("/")
    opening = datetime.fromisoformat(start).replace(tzinfo=zone(name)).astimezone(UTC) - timedelta(seconds=1)
    slots = parse_schedule(line, name, anchor=NOON, gap=gap, repeat=repeat).set
    return [slot.astimezone(zone(name)) for slot in slots.between(opening, opening + timedelta(hours=int(hours)))]


def test_frequent_schedules_follow_the_clock() -> None:
    gap = _slots("0 * * * *", "America/New_York", "2026-03-08T00:30", "2026-03-08T04:30")
    assert gap == ["08 01:00 -0500", "08 03:00 -0400", "08 04:00 -0400"]
    fold = _slots("*/30 * * * *", "America/New_York", "2026-11-01T00:45", "2026-11-01T02:15")
    assert fold == [
        "01 01:00 -0400", "01 01:30 -0400", "01 01:00 -0500", "01 01:30 -0500", "01 02:00 -0500",
    ]  # fmt: skip
    quarter = _slots("*/15 * * * *", "Australia/Lord_Howe", "2026-10-04T01:40", "2026-10-04T02:50")
    assert [slot[3:8] for slot in quarter] == ["01:45", "02:30", "02:45"]


def test_intervals_are_elapsed_time() -> None:
    slots = RecurrenceSet("America/Toronto", grids=(Grid(7200, datetime.fromisoformat("2026-03-08T01:30-05:00")),))
    assert slots.next_after(datetime.fromisoformat("2026-03-08T01:30-05:00")) == datetime.fromisoformat(
        "2026-03-08T04:30-04:00"
    )
    hourly = RecurrenceSet("Europe/Berlin", grids=(Grid(3600, datetime.fromisoformat("2026-10-25T00:00+02:00")),))
    day = list(hourly.between(datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 25, 23, tzinfo=UTC)))
    assert len(day) == 25


def test_two_day_fields_are_two_disjoint_rules_and_one_run_where_both_match() -> None:
    rules = parse_cron("0 9 1 * 1").rules
    day = datetime(2027, 2, 1, tzinfo=UTC), datetime(2027, 2, 2, tzinfo=UTC)  # a Monday, and the first
    assert [RecurrenceSet("UTC", (rule,)).count(*day) for rule in rules] == [1, 0]
    assert list(RecurrenceSet("UTC", rules).between(*day)) == [datetime(2027, 2, 1, 9, tzinfo=UTC)]


def test_one_run_in_the_night_of_a_clock_change_in_new_york() -> None:
    spring = _slots("30 2 * * *", "America/New_York", "2027-03-14T00:00", "2027-03-14T23:59")
    assert spring == ["14 03:30 -0400"]
    autumn = _slots("30 1 * * *", "America/New_York", "2026-11-01T00:00", "2026-11-01T23:59")
    assert autumn == ["01 01:30 -0400"]


def test_the_wheel_s_zone_rules_decide_what_a_wall_time_is() -> None:
    """British Columbia keeps summer time from 2026 on; older copies of the zone data say 09:00 is 17:00Z."""
    morning = _set("0 9 * * *", "America/Vancouver").next_after(datetime(2026, 12, 1, tzinfo=UTC))
    assert morning == datetime(2026, 12, 1, 16, tzinfo=UTC)


def test_two_hours_are_two_hours_over_a_gap_in_toronto() -> None:
    slots = _set("every 2h from 2026-03-08T01:30-05:00", "America/Toronto")
    start = datetime.fromisoformat("2026-03-08T01:30-05:00")
    assert slots.next_after(start) == datetime.fromisoformat("2026-03-08T04:30-04:00")


def test_policies_can_be_chosen() -> None:
    rules = parse_cron("30 2 * * *").rules
    day = (datetime(2027, 3, 27, 12, tzinfo=UTC), datetime(2027, 3, 28, 12, tzinfo=UTC))
    assert list(RecurrenceSet("Europe/Berlin", rules, gap="skip").between(*day)) == []
    assert list(RecurrenceSet("Europe/Berlin", rules, gap="after").between(*day)) == [
        datetime(2027, 3, 28, 1, tzinfo=UTC)
    ]


@pytest.mark.parametrize(
    ("line", "policy"),
    [
        ("0 9 * * *", ("shift", "first")),
        ("0 9,17 * * *", ("shift", "first")),
        ("0,30 2 * * *", ("shift", "first")),
        ("*/15 9-17 * * 1-5", ("shift", "first")),
        ("0 */3 * * *", ("shift", "first")),
        ("0 */2 * * *", ("skip", "both")),
        ("0 1-23/2 * * *", ("skip", "both")),
        ("*/15 * * * 0", ("skip", "both")),
        ("0 * 1 * 1", ("skip", "both")),
    ],
)
def test_default_policy(line: str, policy: tuple[str, str]) -> None:
    assert default_policy(parse_cron(line).rules) == policy


def test_grid_before_its_anchor_and_exhausted_dates() -> None:
    slots = RecurrenceSet("UTC", grids=(Grid(5400, NOON),))
    assert slots.next_after(NOON - timedelta(days=9)) == NOON
    assert slots.next_after(NOON) == NOON + timedelta(minutes=90)
    assert slots.last_until(NOON - timedelta(seconds=1)) is None
    assert slots.count(NOON - timedelta(days=1), NOON + timedelta(days=1)) == 17
    once = RecurrenceSet("UTC", dates=(NOON, NOON))
    assert once.next_after(NOON - timedelta(microseconds=1)) == NOON
    assert once.next_after(NOON) is None
    assert once.last_until(NOON) == NOON
    assert RecurrenceSet("UTC").next_after(NOON) is None
    assert RecurrenceSet("UTC").last_until(NOON) is None


def test_a_set_is_the_union_of_its_parts_without_duplicates() -> None:
    slots = RecurrenceSet(
        "UTC", parse_cron("0 12 * * *").rules, (Grid(43200, NOON),), (NOON, NOON + timedelta(hours=1))
    )
    found = list(slots.between(NOON - timedelta(hours=1), NOON + timedelta(hours=24)))
    assert found == [NOON + timedelta(hours=hour) for hour in (0, 1, 12, 24)]
    assert slots.count(NOON - timedelta(hours=1), NOON + timedelta(hours=24)) == 4


def test_counting_stops_at_its_limit() -> None:
    slots = _set("* * * * *", "Europe/Berlin")
    assert slots.count(NOON, NOON.replace(year=2056)) == MISSED_COUNT_MAX
    assert slots.count(NOON, NOON + timedelta(days=365)) == 365 * 1440
    assert slots.count(NOON, NOON - timedelta(days=1)) == 0


def test_rare_rules_come_within_the_horizon_and_impossible_ones_end() -> None:
    monday = RecurrenceSet("UTC", (Rule("DAILY", bymonth=(2,), bymonthday=(29,), byday=((0, 0),)),))
    slot = monday.next_after(datetime(2072, 3, 1, tzinfo=UTC))
    assert slot is not None
    assert slot == datetime(2112, 2, 29, tzinfo=UTC)
    assert monday.last_until(slot - timedelta(days=1)) == datetime(2072, 2, 29, tzinfo=UTC)
    never = RecurrenceSet("Europe/Berlin", (Rule("YEARLY", bymonth=(2,), bymonthday=(30,)),))
    assert never.next_after(NOON) is None
    assert never.last_until(NOON) is None
    assert never.count(NOON, NOON.replace(year=2060)) == 0


def test_the_ends_of_the_calendar_do_not_break() -> None:
    daily = _set("0 9 * * *", "Pacific/Apia")
    assert daily.next_after(datetime(1, 1, 1, tzinfo=UTC)) is not None
    assert daily.next_after(datetime(9999, 12, 31, tzinfo=UTC)) is None
    assert daily.last_until(datetime(9999, 12, 31, tzinfo=UTC)) is not None
    assert daily.last_until(datetime(1, 1, 1, tzinfo=UTC)) is None
    assert not daily.contains(datetime(9999, 12, 31, tzinfo=UTC))


def test_equal_sets_are_equal() -> None:
    berlin = datetime.fromisoformat("2026-11-30T13:00+01:00")
    assert RecurrenceSet("UTC", dates=(NOON,)) == RecurrenceSet("UTC", dates=(berlin,))
    assert Grid(60, NOON) == Grid(60, berlin)
    assert Rule("DAILY", byhour=(17, 9, 9)) == Rule("DAILY", byhour=(9, 17))
    assert hash(_set("0 9 * * *", "UTC")) == hash(_set("0 9 * * *", "UTC"))


def test_values_that_cannot_be_are_refused() -> None:
    with pytest.raises(Invalid, match="too short"):
        Grid(0, NOON)
    with pytest.raises(Invalid, match="not a whole second with an offset"):
        Grid(60, NOON.replace(tzinfo=None))
    with pytest.raises(Invalid, match="not a whole second with an offset"):
        RecurrenceSet("UTC", dates=(NOON.replace(microsecond=1),))
