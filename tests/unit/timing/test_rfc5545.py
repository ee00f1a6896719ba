"""RFC 5545 text: what it means here, what is refused by name, and the way back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest

from horae.errors import Invalid
from horae.timing.ical.text import read_rfc5545, write_rfc5545
from horae.timing.recurrence import Grid, RecurrenceSet, SlotException
from horae.timing.rules import Rule
from horae.timing.schedule import parse_schedule
from horae.timing.zones import zone

MONDAY = datetime(2026, 11, 30, 8, 30, 42, 5, tzinfo=UTC)  # 09:30:42 in Paris
PARIS = "Europe/Paris"
FAR = MONDAY + timedelta(days=366 * 50)


def first(text: str, count: int = 3, zone: str = PARIS, after: datetime = MONDAY) -> list[str]:
    slots = parse_schedule(text, zone, anchor=MONDAY).set
    return [f"{slot:%Y-%m-%d %H:%M:%S}" for slot in islice(slots.between(after, FAR), count)]


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("RRULE:FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0", ["2026-12-07 08:00:00", "2026-12-14 08:00:00"]),
        ("FREQ=DAILY;BYHOUR=9;BYMINUTE=0", ["2026-12-01 08:00:00", "2026-12-02 08:00:00"]),
        ("RRULE:FREQ=DAILY", ["2026-11-30 08:31:00", "2026-12-01 08:31:00"]),
        ("rrule:freq=weekly;interval=2", ["2026-11-30 08:31:00", "2026-12-14 08:31:00"]),
        (
            "DTSTART;TZID=Europe/Paris:20261201T090000 RRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=2",
            ["2026-12-25 08:00:00", "2027-01-29 08:00:00"],
        ),
        ("DTSTART;TZID=Europe/Paris:20260615T070000\nRRULE:FREQ=YEARLY", ["2027-06-15 05:00:00", "2028-06-15 05:00:00"]),
        (
            "DTSTART:20261201T090000\r\nRRULE:FREQ=DAILY;BYDAY=MO,TU,\r\n WE;BYHOUR=7",
            ["2026-12-01 06:00:00", "2026-12-02 06:00:00", "2026-12-07 06:00:00"][1:],
        ),
        ("DTSTART:20261201T090015 RRULE:FREQ=HOURLY;INTERVAL=5", ["2026-12-01 08:00:15", "2026-12-01 13:00:15"]),
        ("DTSTART;VALUE=DATE:20261201 RRULE:FREQ=DAILY", ["2026-11-30 23:00:00", "2026-12-01 23:00:00"]),
        ("RDATE;TZID=Europe/Paris:20261224T180000,20261231T180000", ["2026-12-24 17:00:00", "2026-12-31 17:00:00"]),
        ("DTSTART:20261224T170000Z RDATE:20270101T000000Z", ["2026-12-24 17:00:00", "2027-01-01 00:00:00"]),
        ("DTSTART:20261224T170000Z", ["2026-12-24 17:00:00"]),
        ("RRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;BYHOUR=9;BYMINUTE=0", ["2027-05-17 07:00:00", "2028-05-15 07:00:00"]),
        ("RRULE:FREQ=YEARLY;BYYEARDAY=-1;BYHOUR=0;BYMINUTE=0", ["2026-12-30 23:00:00", "2027-12-30 23:00:00"]),
        ("RRULE:FREQ=YEARLY;BYDAY=20MO;BYHOUR=9;BYMINUTE=0", ["2027-05-17 07:00:00", "2028-05-15 07:00:00"]),
        (
            "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=9;BYMINUTE=0",
            ["2026-12-31 08:00:00", "2027-01-29 08:00:00"],
        ),
    ],
)  # fmt: skip
def test_meaning(text: str, slots: list[str]) -> None:
    assert first(text, len(slots)) == slots


def test_examples_of_week_starts_that_the_rfc_gives() -> None:
    """WKST changes which weeks count: the RFC's pair of rules that differ in nothing else."""
    rule = "DTSTART:19970805T090000 RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST="
    after = datetime(1997, 8, 1, tzinfo=UTC)
    days = {day: [slot[5:10] for slot in first(rule + day, 9, "America/New_York", after)] for day in ("MO", "SU")}
    assert days["MO"] == ["08-05", "08-10", "08-19", "08-24"]
    assert days["SU"] == ["08-05", "08-17", "08-19", "08-31"]


def test_a_day_as_until_includes_that_day_and_a_floating_one_is_local() -> None:
    rule = "DTSTART;TZID=Europe/Paris:20261129T230000 RRULE:FREQ=DAILY;UNTIL="
    after = MONDAY - timedelta(days=3)
    assert len(first(rule + "20261202", 9, after=after)) == 4
    assert len(first(rule + "20261202T225959", 9, after=after)) == 3
    assert len(first(rule + "20261202T220000Z", 9, after=after)) == 4
    assert len(first(rule + "20261202T215959Z", 9, after=after)) == 3


def test_count_includes_what_is_left_out() -> None:
    text = "DTSTART;TZID=Europe/Paris:20261201T090000 RRULE:FREQ=DAILY;COUNT=3 EXDATE;TZID=Europe/Paris:20261202T090000"
    assert first(text, 9) == ["2026-12-01 08:00:00", "2026-12-03 08:00:00"]


def test_count_counts_from_the_first_slot_that_can_still_run() -> None:
    """The rule is written at 09:30:42: its minute has passed."""
    assert first("RRULE:FREQ=MINUTELY;COUNT=3", 9) == [f"2026-11-30 08:{minute}:00" for minute in (31, 32, 33)]
    assert first("RRULE:FREQ=DAILY;COUNT=1", 9) == ["2026-11-30 08:31:00"]
    whole = parse_schedule("RRULE:FREQ=DAILY;COUNT=1", PARIS, anchor=MONDAY.replace(second=0, microsecond=0)).set
    assert whole.contains(MONDAY.replace(second=0, microsecond=0))


def test_blocks_are_segments() -> None:
    text = (
        "DTSTART;TZID=Europe/Paris:20261201T090000 RRULE:FREQ=DAILY;UNTIL=20261202"
        " DTSTART;TZID=Europe/Paris:20261205T110000 RRULE:FREQ=DAILY"
    )
    assert first(text, 4) == [
        "2026-12-01 08:00:00",
        "2026-12-02 08:00:00",
        "2026-12-05 10:00:00",
        "2026-12-06 10:00:00",
    ]


def test_a_step_from_an_instant_in_utc_is_elapsed_time() -> None:
    read = parse_schedule("DTSTART:20260308T063000Z RRULE:FREQ=HOURLY;INTERVAL=2", "America/Toronto", anchor=MONDAY)
    assert read.set == RecurrenceSet("UTC", grids=(Grid(7200, datetime(2026, 3, 8, 6, 30, tzinfo=UTC)),))
    counted = parse_schedule("DTSTART:20260308T063000Z RRULE:FREQ=MINUTELY;INTERVAL=90;COUNT=3", PARIS, anchor=MONDAY)
    assert counted.set.count(datetime(2026, 1, 1, tzinfo=UTC), FAR) == 3


def test_a_zone_in_the_text_wins_and_is_said() -> None:
    read = parse_schedule("DTSTART;TZID=America/New_York:20261201T090000 RRULE:FREQ=DAILY", PARIS, anchor=MONDAY)
    assert next(read.set.between(MONDAY, FAR)) == datetime(2026, 12, 1, 14, tzinfo=UTC)
    assert read.warnings == (
        "it follows the clock of America/New_York, as its DTSTART says, and not that of Europe/Paris",
    )


@pytest.mark.parametrize(
    "text", ["RRULE:FREQ=DAILY", "FREQ=WEEKLY;INTERVAL=2;BYHOUR=9;BYMINUTE=0", "RRULE:FREQ=DAILY;COUNT=4"]
)
def test_written_fixes_the_start(text: str) -> None:
    read = parse_schedule(text, PARIS, anchor=MONDAY)
    assert (
        f"DTSTART;TZID=Europe/Paris:{next(read.set.between(MONDAY, FAR)).astimezone(zone(PARIS)):%Y%m%dT%H%M%S} RRULE:"
        in (read.written)
    )
    assert not any("DTSTART" in said for said in parse_schedule(read.written, PARIS, anchor=MONDAY).warnings)
    assert parse_schedule(read.written, PARIS, anchor=MONDAY + timedelta(days=400)).set == read.set


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("RRULE:FREQ=DAILY", "the rule has no BYHOUR and no BYMINUTE: it takes 09:31"),
        ("RRULE:FREQ=DAILY;BYHOUR=7", "the rule has no BYMINUTE: it takes minute 31"),
        ("RRULE:FREQ=HOURLY", "the rule has no BYMINUTE: it takes minute 31"),
        ("DTSTART;VALUE=DATE:20261201 RRULE:FREQ=DAILY", "names a day"),
        ("DTSTART:20261201T090000 RRULE:FREQ=WEEKLY;BYDAY=MO", "does not fit its own rule"),
        ("DTSTART:20261201T090000 RRULE:FREQ=DAILY EXDATE:20261202T100000", "it leaves nothing out"),
    ],
)
def test_warned_about(text: str, warning: str) -> None:
    assert any(warning in said for said in parse_schedule(text, PARIS, anchor=MONDAY).warnings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("EXRULE:FREQ=DAILY", "EXRULE is deprecated"),
        ("RRULE:FREQ=DAILY EXRULE:FREQ=WEEKLY", "EXRULE is deprecated"),
        ("RRULE:FREQ=SECONDLY", "FREQ=SECONDLY runs more than once a minute"),
        ("RRULE:FREQ=MINUTELY;BYSECOND=0,30", "BYSECOND with several values"),
        ("RRULE:FREQ=DAILY;BYSECOND=60", "bysecond 60 is out of range"),
        ("RRULE:FREQ=FORTNIGHTLY", "FREQ=FORTNIGHTLY is unknown"),
        ("RRULE:INTERVAL=2", "RRULE has no FREQ"),
        ("RRULE:FREQ=DAILY;FREQ=DAILY", "FREQ comes twice"),
        ("RRULE:FREQ=DAILY;COUNT=2;UNTIL=20270101", "COUNT and UNTIL exclude each other"),
        ("RRULE:FREQ=DAILY;INTERVAL=0", "INTERVAL=0 is not a whole number from 1 on"),
        ("RRULE:FREQ=DAILY;INTERVAL=1000000000000000000", "is not a whole number from 1 on"),
        ("RRULE:FREQ=DAILY;INTERVAL=999999999", "interval 999999999 is out of range"),
        ("RRULE:FREQ=MINUTELY;COUNT=1000000000", "COUNT=1000000000 is not a whole number"),
        ("RRULE:FREQ=YEARLY;COUNT=999", "COUNT=999 is not used up within 100 years"),
        ("RRULE:FREQ=DAILY;BYHOUR=24", "byhour 24 is out of range"),
        ("RRULE:FREQ=DAILY;BYHOUR=", "BYHOUR has no value"),
        ("RRULE:FREQ=DAILY;BYHOUR=a", "holds 'A', which is no number"),
        ("RRULE:FREQ=DAILY;BYHOUR=９", "which is no number"),
        ("RRULE:FREQ=MONTHLY;BYDAY=0MO", "BYDAY=0MO holds '0MO'"),
        ("RRULE:FREQ=WEEKLY;BYDAY=2MO", "a numbered weekday"),
        ("RRULE:FREQ=MONTHLY;BYDAY=6MO", "no month has more than five of a weekday"),
        ("RRULE:FREQ=DAILY;BYSETPOS=1", "BYSETPOS has nothing to pick from"),
        ("RRULE:FREQ=DAILY;WKST=XX", "WKST=XX is no weekday"),
        ("RRULE:FREQ=DAILY;RSCALE=HEBREW", "RSCALE counts in another calendar"),
        ("RRULE:FREQ=DAILY;BYEASTER=0", "BYEASTER is no part of an RRULE"),
        ("RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "the schedule never fires"),
        ("DTSTART:20261201T090000 RRULE:FREQ=DAILY;UNTIL=20261130", "the schedule never fires"),
        ("DTSTART:20261201T090000 RRULE:FREQ=DAILY;COUNT=2 RRULE:FREQ=WEEKLY", "COUNT counts the runs of one rule"),
        ("DTSTART:20261301T090000 RRULE:FREQ=DAILY", "is no date of the calendar"),
        ("DTSTART:2026-12-01T09:00 RRULE:FREQ=DAILY", "cannot read the date"),
        ("DTSTART;TZID=Europe/Paris:20261201T090000Z RRULE:FREQ=DAILY", "contradicts the Z"),
        ("DTSTART;TZID=Mars/Base:20261201T090000 RRULE:FREQ=DAILY", "unknown time zone 'Mars/Base'"),
        ("DTSTART;X-A=1:20261201T090000 RRULE:FREQ=DAILY", "DTSTART;X-A is not understood"),
        ("RDATE;VALUE=PERIOD:20261201T090000Z/PT1H", "RDATE;VALUE=PERIOD is not supported"),
        ("DTSTART:20261201T090000 DTEND:20261201T100000", "DTEND says how long an event is drawn"),
        ("BEGIN:VEVENT DTSTART:20261201T090000", "BEGIN opens a whole calendar"),
        ("RRULE:FREQ=DAILY SUMMARY:x", "SUMMARY is no part of a recurrence"),
        ("RRULE:FREQ=DAILY and more", "cannot read 'and'"),
        ("EXDATE:20261201T090000Z", "there is nothing to run"),
        (
            ("DTSTART;TZID=Europe/Paris:20261201T090000 RRULE:FREQ=DAILY"
            " DTSTART;TZID=Asia/Tokyo:20261201T090000 RRULE:FREQ=DAILY"),
            "the rules follow different clocks: Asia/Tokyo and Europe/Paris",
        ),
        ("DTSTART:20261201T090000 RRULE:FREQ=DAILY RECURRENCE-ID:20261202T090000", "names a slot and not what becomes of it"),
        (
            "DTSTART:20261201T090000 RRULE:FREQ=DAILY RECURRENCE-ID:20261202T090000 STATUS:CANCELLED",
            "RECURRENCE-ID skips or moves one slot",
        ),
    ],
)  # fmt: skip
def test_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_schedule(text, PARIS, anchor=MONDAY)
    assert message in refusal.value.message


def test_too_many_values_are_refused_before_they_cost_anything() -> None:
    with pytest.raises(Invalid, match="more than 2000 values"):
        read_rfc5545(f"RRULE:FREQ=DAILY;BYHOUR={','.join(['1'] * 2500)}", PARIS, anchor=MONDAY)
    with pytest.raises(Invalid, match="more than 2000 single dates"):
        read_rfc5545(f"RDATE:{','.join(['20261224T180000Z'] * 2500)}", PARIS, anchor=MONDAY)


def test_too_many_rules_are_refused() -> None:
    with pytest.raises(Invalid, match="more than 40 rules in one schedule"):
        parse_schedule("RRULE:FREQ=DAILY " * 41, PARIS, anchor=MONDAY)


NINE = datetime(2026, 12, 1, 9)
WEEKDAYS_AT_NINE = Rule("WEEKLY", byday=((0, 0), (0, 4)), byhour=(9,), start=NINE)


@pytest.mark.parametrize(
    ("slots", "text"),
    [
        (RecurrenceSet(PARIS, (Rule("DAILY", byhour=(9, 17)),)), "RRULE:FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0"),
        (
            RecurrenceSet(PARIS, (WEEKDAYS_AT_NINE,)),
            "DTSTART;TZID=Europe/Paris:20261204T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO,FR",
        ),
        (
            RecurrenceSet(PARIS, (Rule("MONTHLY", byday=((-1, 4),), byhour=(9,), interval=2, count=5, start=NINE),)),
            "DTSTART;TZID=Europe/Paris:20261225T090000\nRRULE:FREQ=MONTHLY;INTERVAL=2;COUNT=5;BYDAY=-1FR",
        ),
        (
            RecurrenceSet("UTC", grids=(Grid(5400, MONDAY.replace(microsecond=0)),)),
            "DTSTART:20261130T083042Z\nRRULE:FREQ=MINUTELY;INTERVAL=90",
        ),
        (RecurrenceSet("UTC", dates=(MONDAY.replace(microsecond=0),)), "DTSTART:20261130T083042Z"),
    ],
)
def test_written_text(slots: RecurrenceSet, text: str) -> None:
    assert write_rfc5545(slots) == text
    assert read_rfc5545(text, slots.zone, anchor=MONDAY).set == slots or "DTSTART" not in text


def test_cut_and_joined_sets_survive_the_way_through_text() -> None:
    mondays = RecurrenceSet(PARIS, (Rule("WEEKLY", byday=((0, 0),), byhour=(9,)),)).beginning(
        MONDAY.replace(microsecond=0)
    )
    cut = datetime(2027, 1, 1, tzinfo=UTC)
    later = RecurrenceSet(PARIS, (Rule("WEEKLY", byday=((0, 0),), byhour=(11,)),)).beginning(cut)
    both = mondays.ending(cut - timedelta(seconds=1)) | later
    text = write_rfc5545(both)
    assert text == (
        "DTSTART;TZID=Europe/Paris:20261207T090000\nRRULE:FREQ=WEEKLY;UNTIL=20261231T235959Z;BYDAY=MO\n"
        "DTSTART;TZID=Europe/Paris:20270104T110000\nRRULE:FREQ=WEEKLY;BYDAY=MO"
    )
    assert read_rfc5545(text, PARIS, anchor=MONDAY).set == both


def test_exceptions_go_through_text_too() -> None:
    daily = RecurrenceSet(PARIS, (Rule("DAILY", byhour=(9,), start=NINE),))
    second, third = islice(daily.between(MONDAY + timedelta(days=1), FAR), 2)
    moved = RecurrenceSet(
        PARIS,
        daily.rules,
        exceptions=(SlotException(second, None), SlotException(third, third + timedelta(hours=30))),
    )
    read = read_rfc5545(write_rfc5545(moved), PARIS, anchor=MONDAY).set
    assert read == moved
    dues = [(due.day, due.hour, slot.day) for due, slot in islice(read.due_between(MONDAY, FAR), 4)]
    assert dues == [(1, 8, 1), (4, 8, 4), (4, 14, 3), (5, 8, 5)]


@pytest.mark.parametrize(
    "slots",
    [
        RecurrenceSet("UTC", grids=(Grid(45, MONDAY.replace(microsecond=0)),)),
        RecurrenceSet("UTC", (Rule("DAILY"), Rule("DAILY", start=NINE))),
        RecurrenceSet("UTC", (Rule("DAILY"),), (Grid(60, MONDAY.replace(microsecond=0)),)),
    ],
)
def test_what_text_cannot_say_is_refused(slots: RecurrenceSet) -> None:
    with pytest.raises(Invalid):
        write_rfc5545(slots)


@pytest.mark.parametrize(
    ("policy", "rule", "left_out", "day", "slots"),
    [
        ({}, "DAILY", "20261025T023000", "2026-10-25", []),
        ({"repeat": "last"}, "DAILY", "20261025T023000", "2026-10-25", []),
        ({"repeat": "both"}, "DAILY", "20261025T023000", "2026-10-25", []),
        ({"gap": "after"}, "DAILY", "20260329T023000", "2026-03-29", []),
        ({}, "DAILY", "20260329T023000", "2026-03-29", []),
        ({}, "HOURLY", "20261025T023000", "2026-10-25", ["01:30 +0200", "03:30 +0100"]),
        ({}, "HOURLY", "20260329T023000", "2026-03-29", ["01:30 +0100", "03:30 +0200"]),
    ],
)
def test_what_is_left_out_follows_the_policy(
    policy: dict[str, Any], rule: str, left_out: str, day: str, slots: list[str]
) -> None:
    text = f"DTSTART;TZID=Europe/Paris:20260101T023000 RRULE:FREQ={rule} EXDATE;TZID=Europe/Paris:{left_out}"
    read = parse_schedule(text, PARIS, anchor=MONDAY, **policy)
    place = zone(PARIS)
    first_hour, last_hour = (
        datetime.fromisoformat(f"{day}T{hour}").replace(tzinfo=place) for hour in ("01:00", "03:59")
    )
    assert [f"{slot.astimezone(place):%H:%M %z}" for slot in read.set.between(first_hour, last_hour)] == slots
    assert bool(read.warnings) == (rule == "HOURLY" and "0329" in left_out)


def test_the_order_of_lines_is_free() -> None:
    assert first("RRULE:FREQ=WEEKLY;BYDAY=TU\nDTSTART;TZID=Europe/Paris:20261201T090000", 2) == [
        "2026-12-01 08:00:00",
        "2026-12-08 08:00:00",
    ]
    with pytest.raises(Invalid, match="RRULE stands before several DTSTARTs"):
        parse_schedule("RRULE:FREQ=DAILY DTSTART:20261201T090000 DTSTART:20261202T090000", PARIS, anchor=MONDAY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DTSTART:90000101T000000Z RRULE:FREQ=WEEKLY;COUNT=300000", "COUNT=300000 leads out of the calendar"),
        ("DTSTART:20260101T000000Z RRULE:FREQ=WEEKLY;INTERVAL=999999999", "is longer than 40 years"),
        ("DTSTART:20260101T090000 RRULE:FREQ=YEARLY;INTERVAL=50;COUNT=3", "interval 50 is out of range"),
    ],
)
def test_steps_out_of_the_calendar_are_refused(text: str, message: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_schedule(text, PARIS, anchor=MONDAY)
    assert message in refusal.value.message


def test_a_day_that_is_left_out_takes_all_its_slots() -> None:
    text = "DTSTART:20261201T090000 RRULE:FREQ=DAILY;BYHOUR=9,17 EXDATE;VALUE=DATE:20261202"
    assert [slot[:10] for slot in first(text, 4)] == ["2026-12-01", "2026-12-01", "2026-12-03", "2026-12-03"]


def test_an_until_day_ends_with_its_last_midnight() -> None:
    """In St John's midnight came twice: 23:30 of the day before came after the first."""
    text = "DTSTART;TZID=America/St_Johns:20101104T233000 RRULE:FREQ=DAILY;UNTIL=20101106"
    slots = parse_schedule(text, "America/St_Johns", anchor=MONDAY, repeat="both").set
    assert slots.count(datetime(2010, 11, 1, tzinfo=UTC), datetime(2010, 12, 1, tzinfo=UTC)) == 4


def test_a_start_that_is_left_out_needs_no_warning() -> None:
    """The RFC's own Friday the 13th: the EXDATE is there so that no calendar draws the start."""
    text = "DTSTART;TZID=America/New_York:19970902T090000 EXDATE;TZID=America/New_York:19970902T090000 RRULE:"
    read = parse_schedule(f"{text}FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "America/New_York", anchor=MONDAY)
    assert read.warnings == ()
    found = read.set.between(datetime(1997, 1, 1, tzinfo=UTC), FAR)
    assert [f"{slot:%F}" for slot in islice(found, 5)] == [
        "1998-02-13", "1998-03-13", "1998-11-13", "1999-08-13", "2000-10-13",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DTSTART:20541004T194630 RRULE:FREQ=MINUTELY;INTERVAL=2;COUNT=33;BYHOUR=2;BYMINUTE=15", "never fires"),
        ("DTSTART:20260105T090000 RRULE:FREQ=DAILY RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "never fires"),
        ("RRULE: FREQ=DAILY", "RRULE has nothing behind its colon"),
        ("DTSTART;TZID=Romance Standard Time:20260101T090000 RRULE:FREQ=DAILY", "has a TZID that cannot be read"),
        ('DTSTART;TZID="W. Europe Standard Time":20260101T090000 RRULE:FREQ=DAILY', "is no IANA zone"),
    ],
)
def test_refusals_that_help(text: str, message: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_schedule(text, PARIS, anchor=MONDAY)
    assert message in refusal.value.message


def test_a_semicolon_too_much_and_quotes_are_read() -> None:
    text = 'DTSTART;TZID="Europe/Paris":20261201T090000 RRULE:FREQ=DAILY;'
    assert first(text, 1) == ["2026-12-01 08:00:00"]


def test_a_step_in_utc_says_that_it_is_elapsed_time() -> None:
    read = parse_schedule("DTSTART:20261201T090000Z RRULE:FREQ=DAILY", PARIS, anchor=MONDAY)
    assert any("elapsed time" in said for said in read.warnings)
    assert parse_schedule("DTSTART:20261201T090000Z RRULE:FREQ=DAILY", "UTC", anchor=MONDAY).warnings == ()


def test_rules_of_utc_stay_rules() -> None:
    read = parse_schedule("RRULE:FREQ=DAILY;INTERVAL=2", "UTC", anchor=MONDAY)
    again = parse_schedule(read.written, "UTC", anchor=MONDAY + timedelta(days=9))
    assert read.set.rules
    assert again.set == read.set


def test_what_is_cut_or_picked_can_be_written() -> None:
    counted = RecurrenceSet(PARIS, (Rule("DAILY", byhour=(9,), start=NINE, count=9),))
    third = list(counted.between(MONDAY, FAR))[2]
    for slots in (
        counted.ending(third),
        counted.beginning(third),
        RecurrenceSet(PARIS, (Rule("DAILY", byhour=(9,), start=NINE, bysetpos=(-1,)),)),
        RecurrenceSet(PARIS, (Rule("YEARLY", byhour=(9,), start=NINE, byweekno=(20,)),)),
    ):
        assert read_rfc5545(write_rfc5545(slots), PARIS, anchor=MONDAY).set == slots
