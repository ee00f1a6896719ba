"""The cron dialect: what is read as what, what is warned about, and the sentence for everything refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from horae.errors import Invalid
from horae.timing.cron.line import WORDS, parse_cron
from horae.timing.recurrence import RecurrenceSet
from horae.timing.rules import FR, MO, WORKDAYS, Rule
from horae.timing.schedule import parse_schedule

JANUARY = datetime(2027, 1, 1, tzinfo=UTC)


def _days(line: str, until: datetime = datetime(2027, 2, 1, tzinfo=UTC)) -> list[int]:
    return [slot.day for slot in RecurrenceSet("UTC", parse_cron(line).rules).between(JANUARY, until)]


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("30 18 * * 1-5", (Rule("WEEKLY", byday=WORKDAYS, byhour=(18,), byminute=(30,)),)),
        ("0 9 * * 7", (Rule("WEEKLY", byday=((0, 6),), byhour=(9,)),)),
        ("0 9 * * FRI-SAT", (Rule("WEEKLY", byday=((0, 4), (0, 5)), byhour=(9,)),)),
        ("0 9 * * 5-7", (Rule("WEEKLY", byday=((0, 4), (0, 5), (0, 6)), byhour=(9,)),)),
        ("0 9 1,15 * *", (Rule("MONTHLY", bymonthday=(1, 15), byhour=(9,)),)),
        ("0 12 24 DEC *", (Rule("YEARLY", bymonth=(12,), bymonthday=(24,), byhour=(12,)),)),
        ("0 9 ? * MON#2,FRIL", (Rule("MONTHLY", byday=((2, MO), (-1, FR)), byhour=(9,)),)),
        ("0 9 L * *", (Rule("MONTHLY", bymonthday=(-1,), byhour=(9,)),)),
        ("0 9 L-2 * *", (Rule("MONTHLY", bymonthday=(-3,), byhour=(9,)),)),
        ("0 9 LW * *", (Rule("MONTHLY", byday=WORKDAYS, byhour=(9,), bysetpos=(-1,)),)),
        (
            "0 9 */2 * 1",
            (Rule("DAILY", bymonthday=tuple(range(1, 32, 2)), byday=((0, MO),), byhour=(9,)),),
        ),
        (
            "0 9 1 * 1",
            (
                Rule("MONTHLY", bymonthday=(1,), byhour=(9,)),
                Rule("DAILY", bymonthday=tuple(range(2, 32)), byday=((0, MO),), byhour=(9,)),
            ),
        ),
        ("0 9 1-31 * 1", (Rule("DAILY", byhour=(9,)),)),
        ("0 9 1 * 0-6", (Rule("DAILY", byhour=(9,)),)),
        (
            "0 9 15W * *",
            (
                Rule("MONTHLY", bymonthday=(15,), byday=WORKDAYS, byhour=(9,)),
                Rule("MONTHLY", bymonthday=(14,), byday=((0, FR),), byhour=(9,)),
                Rule("MONTHLY", bymonthday=(16,), byday=((0, MO),), byhour=(9,)),
            ),
        ),
    ],
)
def test_rules(line: str, rules: tuple[Rule, ...]) -> None:
    def bare(rule: Rule) -> Rule:  # the label is a matter of taste
        return replace(rule, freq="MONTHLY" if rule.byday or rule.bymonthday else "DAILY")

    assert tuple(map(bare, parse_cron(line).rules)) == tuple(map(bare, rules))


def test_labels_are_what_editors_draw() -> None:
    assert [parse_cron(line).rules[0].freq for line in ("0 9 * * *", "0 9 * * 1", "0 9 1 * *", "0 9 1 1 *")] == [
        "DAILY", "WEEKLY", "MONTHLY", "YEARLY",
    ]  # fmt: skip
    assert parse_cron("0 9 * * 1#2").rules[0].freq == "MONTHLY"


def test_star_rule_decides_between_both_and_either() -> None:
    assert _days("0 9 1 * 1") == [1, 4, 11, 18, 25]
    assert _days("0 9 */2 * 1") == [11, 25]
    assert _days("0 9 1 * */3") == []  # Sunday, Wednesday, Saturday; the first is a Friday
    assert _days("0 9 1,4 * 1") == [1, 4, 11, 18, 25]


def test_extended_days_with_weekdays() -> None:
    assert _days("0 9 L * 1") == [4, 11, 18, 25, 31]
    assert _days("0 9 31W * 5") == [1, 8, 15, 22, 29]
    assert _days("0 9 LW * */5") == [29]
    assert _days("0 9 LW * */4") == []  # Sunday and Thursday; the last weekday is a Friday
    assert _days("0 9,17 LW * *") == [29, 29]


def test_forms_that_other_libraries_refuse() -> None:
    assert _days("0 9 * * 5L") == _days("0 9 * * FRIL") == [29]
    assert _days("0 9 15W * *") == [15]
    assert _days("0 9 16W * *") == [15]
    assert _days("0 9 17W * *") == [18]
    assert _days("0 9 LW * *") == [29]
    assert _days("0 9 L-2 * *") == [29]
    assert _days("0 9 * * 1#2,1#4") == [11, 25]


_NEAREST_15 = "".join(f"FREQ=MONTHLY;{days} " for days in (
    "BYMONTHDAY=15;BYDAY=MO,TU,WE,TH,FR", "BYMONTHDAY=14;BYDAY=FR", "BYMONTHDAY=16;BYDAY=MO",
))  # fmt: skip


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("0 9,17 * * *", "FREQ=DAILY;BYHOUR=9,17"),
        ("0,30 9,17 * * 1-5", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,17;BYMINUTE=0,30"),
        ("0 */2 * * *", "FREQ=DAILY;BYHOUR=0,2,4,6,8,10,12,14,16,18,20,22"),
        ("0 */2 * * *", "FREQ=HOURLY;INTERVAL=2"),
        ("*/5 * * * *", "FREQ=HOURLY;BYMINUTE=0,5,10,15,20,25,30,35,40,45,50,55"),
        ("0 9 1 * 1", "FREQ=MONTHLY;BYMONTHDAY=1;BYHOUR=9 FREQ=WEEKLY;BYDAY=MO;BYHOUR=9"),
        ("0 9 */2 * 1", "FREQ=MONTHLY;BYDAY=MO;BYMONTHDAY=1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31;BYHOUR=9"),
        ("0 9 * * 1#2", "FREQ=MONTHLY;BYDAY=2MO;BYHOUR=9"),
        ("0 9 * * 1#2,1#4", "FREQ=MONTHLY;BYDAY=2MO,4MO;BYHOUR=9"),
        ("0 9 L * *", "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=9"),
        ("0 9 L-2 * *", "FREQ=MONTHLY;BYMONTHDAY=-3;BYHOUR=9"),
        ("0 9 * * 5L", "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9"),
        ("0 9 LW * *", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=9"),
        ("0 8 15W * *", _NEAREST_15),
        ("@yearly", "FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=1;BYHOUR=0"),
    ],
)  # fmt: skip
def test_the_rules_that_calendars_would_be_given_are_the_same_set(line: str, rules: str) -> None:
    text = "DTSTART;TZID=Europe/Berlin:20270101T080000 " + " ".join(f"RRULE:{rule}" for rule in rules.split())
    told = parse_schedule(text, "Europe/Berlin", anchor=JANUARY).set
    start = datetime.fromisoformat("2027-01-01T08:00+01:00")
    assert parse_schedule(line, "Europe/Berlin", anchor=JANUARY).set.beginning(start) == told


def test_words() -> None:
    assert {word: parse_cron(word).rules for word in WORDS} == {
        word: parse_cron(line).rules for word, line in WORDS.items()
    }
    assert parse_cron("@DAILY").rules == parse_cron("0 0 * * *").rules


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("*/90 * * * *", "it fires hourly, at minute 0 only; did you mean `every 90 minutes`?"),
        ("*/60 * * * *", "it fires hourly, at minute 0 only"),
        ("*/25 * * * *", "uneven: it fires at 0, 25, 50 of every hour, and then after 10 minutes, not 25"),
        ("*/7 * * * *", "for a steady pace write `every 7 minutes`"),
        ("0 */5 * * *", "uneven: it fires at 0, 5, 10, 15, 20 of every day, and then after 4 hours, not 5"),
        ("0 */48 * * *", "it fires daily, at hour 0 only; did you mean `every 48 hours`?"),
        ("0 9 */2 * *", "it counts from day 1 in every month anew, so after day 31 comes day 1 of the next month"),
        ("0 9 * */5 *", "uneven: it fires at 1, 6, 11 of every year"),
        ("0 9 1 * 1", "it runs on day 1 of the month OR on Mondays, not only when both match"),
        ("0 9 */2 * 1", "begins with a star, so both day fields must match"),
        ("0 9 31 * *", "months without a day 31 have no run"),
    ],
)
def test_warnings(line: str, warning: str) -> None:
    assert any(warning in said for said in parse_cron(line).warnings), parse_cron(line).warnings


@pytest.mark.parametrize(
    "line", ["*/15 * * * *", "0 */6 * * *", "0 9 * * 1-5", "0 9 1 * *", "0 9-17/3 * * *", "@daily"]
)
def test_no_warnings_where_the_line_does_what_it_says(line: str) -> None:
    assert parse_cron(line).warnings == ()


@pytest.mark.parametrize(
    ("line", "field", "message", "hint"),
    [
        ("61 * * * *", "minute", "minute '61' is out of range: it goes from 0 to 59", ""),
        ("0 24 * * *", "hour", "hour '24' is out of range: it goes from 0 to 23", ""),
        ("0 0 0 * *", "day of month", "is out of range: it goes from 1 to 31", ""),
        ("0 0 * 13 *", "month", "is out of range: it goes from 1 to 12", ""),
        ("0 0 * * 8", "day of week", "is out of range: it goes from 0 to 7", ""),
        ("99999999999999999999 * * * *", "minute", "is out of range", ""),
        ("22-2 * * * *", "minute", "is a range that runs backwards", "write 22-59,0-2"),
        ("0 22-2 * * *", "hour", "is a range that runs backwards", "write 22-23,0-2"),
        ("0 9 * * FRI-MON", "day of week", "is a range that runs backwards", "write sun,mon,fri,sat"),
        ("0 9 * * mon-sun", "day of week", "is a range that runs backwards", "write *"),
        ("*/0 * * * *", "minute", "has a step of 0", ""),
        ("*/x * * * *", "minute", "has a step that is not a number", ""),
        ("5/15 * * * *", "minute", "has a step on a single value", "write 5-59/15 for that, or */15"),
        ("1,,2 * * * *", "minute", "has an empty entry", ""),
        ("1-/2 * * * *", "minute", "lacks a value", ""),
        ("١ * * * *", "minute", "cannot be read", ""),
        ("x * * * *", "minute", "cannot be read", ""),
        ("0 9 15W/2 * *", "day of month", "cannot be read", ""),
        ("0 9 W15 * *", "day of month", "has the W in front", "write 15W"),
        ("0 9 L-31 * *", "day of month", "counts back by more days", ""),
        ("0 9 * * L5", "day of week", "has the L in front", "write 5L"),
        ("0 9 * * L", "day of week", "does not say which day", "5L"),
        ("0 9 * * 1#6", "day of week", "must count from #1 to #5", ""),
        ("L * * * *", "minute", "cannot be read", ""),
        ("0 0 31 2 *", "day of month", "`0 0 31 2 *` never fires: no month of it has a day 31", ""),
        ("0 0 30W 2 *", "day of month", "never fires", ""),
        ("0 0 31 4,6,9,11 *", "day of month", "never fires", ""),
        (
            "* * * *",
            "line",
            "a cron line has five fields (minute, hour, day of month, month, day of week); this has 4",
            "",
        ),
        ("* * * * * * *", "line", "this has 7", ""),
        ("@reboot", "line", "@reboot names no time", "init system"),
        ("@every 5m", "line", "is not a cron word", "write `every 5m`"),
        ("@fortnightly", "line", "is not a cron word", "@daily"),
    ],
)
def test_refused(line: str, field: str, message: str, hint: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_cron(line)
    assert message in refusal.value.message
    assert hint in (refusal.value.hint or "")
    assert refusal.value.details["field"] == field
    assert "value" in refusal.value.details


def test_six_fields_are_refused_with_both_readings() -> None:
    with pytest.raises(Invalid) as refusal:
        parse_cron("0 0 9 * * *")
    assert "with seconds first it means `0 9 * * *`" in refusal.value.message
    assert "with seconds last it means `0 0 9 * *`" in refusal.value.message
    assert refusal.value.hint is not None
    assert refusal.value.hint.startswith("write `0 9 * * *` or `0 0 9 * *`")
    assert refusal.value.details["seconds_first"] == "0 9 * * *"


def test_a_part_that_never_comes_is_left_out() -> None:
    assert _days("0 0 31 2 1", datetime(2027, 3, 1, tzinfo=UTC)) == [1, 8, 15, 22]
    assert len(parse_cron("0 0 31 2 1").rules) == 1
