"""Back to cron: the canonical line, or why there is none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae.errors import Invalid
from horae.timing.cron.back import to_cron
from horae.timing.cron.line import parse_cron
from horae.timing.recurrence import Grid, RecurrenceSet, SlotException
from horae.timing.rules import WORKDAYS, Rule
from horae.timing.schedule import parse_schedule

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
START = datetime(2026, 11, 30, 12)


@pytest.mark.parametrize(
    ("line", "canonical"),
    [
        ("*/15 * * * *", "*/15 * * * *"),
        ("0,15,30,45 0-23 * jan-dec ?", "*/15 * * * *"),
        ("30 18 * * MON-FRI", "30 18 * * 1-5"),
        ("0 9 * * 6,7", "0 9 * * 0,6"),
        ("0 9,17 1 * *", "0 9,17 1 * *"),
        ("5-59/15 9-17/2 * * *", "5-50/15 9-17/2 * * *"),
        ("0 9 1 * 1", "0 9 1 * 1"),
        ("0 9 */2 * 1", "0 9 */2 * 1"),
        ("0 9 1 * */2", "0 9 1 * */2"),
        ("0 9 1-31/2 * 1", "0 9 1-31/2 * 1"),
        ("0 9 1-31 * 1", "0 9 * * *"),
        ("0 9 */2,10 * 1", "0 9 */2,10 * 1"),
        ("0 9 L * *", "0 9 L * *"),
        ("0 9 L-2 * 3", "0 9 L-2 * 3"),
        ("0 9 LW * *", "0 9 LW * *"),
        ("0 9 15W * *", "0 9 15W * *"),
        ("0 9 1W * *", "0 9 1W * *"),
        ("0 9 29W 2 *", "0 9 29W 2 *"),
        ("0 9 31W * *", "0 9 LW 1,3,5,7,8,10,12 *"),
        ("0 9 * * MON#2,1#4", "0 9 * * 1#2,1#4"),
        ("0 9 * * FRIL", "0 9 * * 5L"),
        ("0 0 29 feb *", "0 0 29 2 *"),
        ("@yearly", "0 0 1 1 *"),
        ("@hourly", "0 * * * *"),
        ("@weekly", "0 0 * * 0"),
    ],
)
def test_canonical_line(line: str, canonical: str) -> None:
    slots = RecurrenceSet("UTC", parse_cron(line).rules)
    assert to_cron(slots) == canonical
    assert RecurrenceSet("UTC", parse_cron(canonical).rules) == slots


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("DTSTART:20200101T090000 RRULE:FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", "0 9 */6 * 5#2"),
        ("DTSTART:20200101T000000 RRULE:FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9;BYMINUTE=0", "0 9 * * 1-5"),
        ("DTSTART:20200101T000000 RRULE:FREQ=HOURLY;INTERVAL=2", "0 */2 * * *"),
        ("DTSTART:20200101T000000 RRULE:FREQ=MINUTELY;INTERVAL=20", "*/20 * * * *"),
        ("DTSTART:20200131T170000 RRULE:FREQ=MONTHLY;BYMONTHDAY=-1", "0 17 L * *"),
        ("DTSTART:20200131T170000 RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "0 17 LW * *"),
        ("DTSTART:20200131T170000 RRULE:FREQ=MONTHLY;BYMONTHDAY=1,2,3,4,5,6,7;BYDAY=MO", "0 17 * * 1#1"),
        ("DTSTART:20200101T090000 RRULE:FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24", "0 9 24 12 *"),
        ("weekdays at 9am and 5pm", "0 9,17 * * 1-5"),
        ("last friday of the month at 17:00", "0 17 * * 5L"),
    ],
)
def test_a_line_for_what_began_long_ago(text: str, line: str) -> None:
    assert to_cron(parse_schedule(text, "Europe/Paris", anchor=NOON).set, since=NOON) == line


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("DTSTART:20261201T090000 RRULE:FREQ=DAILY", "it begins on 2026-12-01"),
        ("DTSTART:20200101T090000 RRULE:FREQ=DAILY;UNTIL=20300101", "it ends"),
        ("DTSTART:20200101T090000 RRULE:FREQ=DAILY;COUNT=9000", "it ends"),
        ("DTSTART:20200106T090000 RRULE:FREQ=WEEKLY;INTERVAL=2", "it leaves out periods (INTERVAL=2)"),
        ("DTSTART:20200106T090000 RRULE:FREQ=YEARLY;BYWEEKNO=20", "it counts in weeks or years"),
        ("DTSTART:20200106T090030 RRULE:FREQ=DAILY", "it runs at second 30"),
        ("DTSTART:20200106T090000 RRULE:FREQ=MONTHLY;BYDAY=-2MO", "no lists of month days and weekdays"),
        ("DTSTART:20200106T090000 RRULE:FREQ=MONTHLY;BYMONTHDAY=14,19;BYDAY=FR", "no lists of month days and weekdays"),
        ("DTSTART:20200106T000000 RRULE:FREQ=MINUTELY;INTERVAL=90", "its times are no product"),
        ("weekdays at 9:00 and 17:30", "its times are no product"),
        ("DTSTART:20200101T090000 RRULE:FREQ=DAILY EXDATE:20260101T090000", "it leaves out or moves single slots"),
        ("DTSTART:20200101T090000 RRULE:FREQ=DAILY RDATE:20270101T100000", "it has single dates"),
        ("every 90 minutes", "an interval counts elapsed time"),
        ("2026-12-24 18:00", "it has single dates"),
    ],
)
def test_refused_with_the_reason(text: str, reason: str) -> None:
    slots = parse_schedule(text, "Europe/Paris", anchor=NOON).set
    with pytest.raises(Invalid) as refusal:
        to_cron(slots, since=NOON)
    assert reason in refusal.value.message


def test_a_start_counts_unless_it_is_said_since_when() -> None:
    slots = parse_schedule("DTSTART:20200101T090000 RRULE:FREQ=DAILY", "Europe/Paris", anchor=NOON).set
    with pytest.raises(Invalid, match="it begins on 2020-01-01"):
        to_cron(slots)


@pytest.mark.parametrize(
    "slots",
    [
        RecurrenceSet("UTC"),
        RecurrenceSet("UTC", (Rule("DAILY"),), (Grid(60, NOON),)),
        RecurrenceSet("UTC", (Rule("DAILY", byhour=(12,)),), exceptions=(SlotException(NOON, None),)),
        RecurrenceSet("UTC", (Rule("DAILY", since=NOON, start=START),)),
        RecurrenceSet("UTC", (Rule("MONTHLY", byday=WORKDAYS, bysetpos=(2,)), Rule("DAILY", byhour=(3,)))),
    ],
)
def test_other_sets_are_refused(slots: RecurrenceSet) -> None:
    with pytest.raises(Invalid, match="no cron line can say this"):
        to_cron(slots)
