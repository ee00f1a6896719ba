"""The cron dialect: what is read as what, what is warned about, and the sentence for everything refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae.errors import Invalid
from horae.timing.cron import WORDS, parse_cron
from horae.timing.recurrence import RecurrenceSet
from horae.timing.rules import FR, MO, WORKDAYS, Rule

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
        return Rule("MONTHLY" if rule.byday or rule.bymonthday else "DAILY", *_parts(rule))

    assert tuple(map(bare, parse_cron(line).rules)) == tuple(map(bare, rules))


def _parts(
    rule: Rule,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...], *tuple[tuple[int, ...], ...]]:
    return rule.bymonth, rule.bymonthday, rule.byday, rule.byhour, rule.byminute, rule.bysetpos


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


def test_words() -> None:
    assert {word: parse_cron(word).rules for word in WORDS} == {
        word: parse_cron(line).rules for word, line in WORDS.items()
    }
    assert parse_cron("@DAILY").rules == parse_cron("0 0 * * *").rules
    assert parse_cron("  0\t9  *  * * ").line == "0 9 * * *"


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
