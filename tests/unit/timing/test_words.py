"""Every set has words: exact, and a phrase again where the grammar can say it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.errors import Invalid
from horae.timing.policy import default_policy
from horae.timing.recurrence import Grid, RecurrenceSet, Rule, SlotException
from horae.timing.schedule import parse_schedule
from horae.timing.words.sets import describe

NAME = "Europe/Berlin"
ANCHOR = datetime(2026, 11, 30, 8, tzinfo=UTC)  # Monday, 09:00 in Berlin
LATER = ANCHOR + timedelta(days=40, seconds=0.5)


def a_set(*rules: Rule, zone: str = NAME, **fields: Any) -> RecurrenceSet:
    gap, repeat = default_policy(rules)
    return replace(RecurrenceSet(zone, rules, gap=gap, repeat=repeat), **fields)


def is_phrase(words: str) -> bool:
    try:
        return parse_schedule(words, NAME, anchor=LATER).kind in ("once", "interval", "phrase")
    except Invalid:
        return False


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("30 18 * * 1-5", "at 18:30 on weekdays"),
        ("0 10 * * 6,0", "at 10:00 on weekends"),
        ("0 9 * * 1,4", "at 09:00 on Mondays and Thursdays"),
        ("0 9 * * *", "at 09:00 every day"),
        ("* * * * *", "every minute by the clock"),
        ("* 5 * * *", "every minute from 05:00 to 05:59, every day"),
        ("0 * * * *", "every hour at minute 0"),
        ("0,15,30,45 * * * *", "every 15 minutes by the clock"),
        ("5,35 * * * *", "every hour at minutes 5 and 35"),
        ("*/90 * * * *", "every hour at minute 0"),
        ("*/5 * * * *", "every 5 minutes by the clock"),
        ("*/7 * * * *", "every hour at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56"),
        ("0 */3 * * *", "every 3 hours by the clock"),
        ("0 */6 * * *", "at 00:00, 06:00, 12:00 and 18:00 every day"),
        ("*/5 * * * 1-5", "every 5 minutes by the clock, on weekdays"),
        ("*/5 9-17 * * *", "every 5 minutes from 09:00 to 17:55, every day"),
        ("0 9-17 * * 1-5", "every hour from 09:00 to 17:00, on weekdays"),
        ("1,2,3,10 1,5 * * *", "at minutes 1 to 3 and 10 of hours 1 and 5 every day"),
        ("0 9 1 * 1", "at 09:00 on day 1 of the month and on Mondays"),
        ("0 9 1 3 1", "at 09:00 on day 1 of the month and on Mondays, in March only"),
        ("0 9 L * 1", "at 09:00 on the last day of the month and on Mondays"),
        ("0 9 1-5 * *", "at 09:00 on days 1 to 5 of the month"),
        ("0 9,17 L 1,6 *", "at 09:00 and 17:00 on the last day of the month in January and June"),
        ("0 9 1,L * *", "at 09:00 on day 1 and the last day of the month"),
        ("0 9 L-2 * *", "at 09:00 on the third to last day of the month"),
        ("0 12 24 12 *", "at 12:00 every year on 24 December"),
        ("0 9 * 5 *", "at 09:00 every day in May"),
        ("0 9 * * MON#2,FRIL", "at 09:00 on the second Monday and the last Friday of the month"),
        ("0 9 * * MON#1,MON#3", "at 09:00 on the first and third Monday of the month"),
        ("0 9 LW * *", "at 09:00 on the last weekday of the month"),
        ("0 9,17 LW * *", "at 09:00 and 17:00 on the last weekday of the month"),
        ("0 9 1W * *", "at 09:00 on the weekday nearest to day 1 of the month"),
        ("0 9 15W * *", "at 09:00 on the weekday nearest to day 15 of the month"),
        ("0 9 30W * *", "at 09:00 on the weekday nearest to day 30 of the month"),
        ("0 9 15W * 1,3", "at 09:00 on Mondays and Wednesdays and on the weekday nearest to day 15 of the month"),
        ("0 9 */16 * 1", "at 09:00 on Mondays, but only on days 1 and 17 of the month"),
        ("0 9 1-31 * 1", "at 09:00 every day"),
    ],
)
def test_cron_lines(line: str, words: str) -> None:
    schedule = parse_schedule(line, NAME, anchor=ANCHOR)
    assert schedule.meaning == words
    assert parse_schedule(words, NAME, anchor=LATER).set == schedule.set


MONDAY = datetime(2026, 12, 7)
NINE: Any = {"byhour": (9,)}


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (
            [Rule("WEEKLY", byday=((0, 0), (0, 4)), interval=2, start=MONDAY.replace(hour=8), **NINE)],
            "every 2 weeks on Monday and Friday at 09:00 starting 7 December 2026",
        ),
        (
            [Rule("WEEKLY", byday=((0, 4),), interval=2, start=datetime(2026, 12, 5), **NINE)],
            "every 2 weeks on Friday at 09:00 starting 18 December 2026",
        ),
        (
            [Rule("WEEKLY", byday=((0, 0), (0, 4)), interval=2, start=MONDAY, wkst=6, **NINE)],
            "every 2 weeks on Monday and Friday at 09:00 starting 7 December 2026",
        ),
        ([Rule("DAILY", interval=3, start=MONDAY, **NINE)], "every 3 days at 09:00 starting 7 December 2026"),
        (
            [Rule("MONTHLY", byday=((-1, 4),), interval=3, start=MONDAY, **NINE)],
            "every 3 months on the last Friday at 09:00 starting 25 December 2026",
        ),
        (
            [Rule("YEARLY", (12,), (24,), interval=2, start=MONDAY, **NINE)],
            "every 2 years on 24 December at 09:00 starting 24 December 2026",
        ),
        (
            [Rule("DAILY", interval=2, start=MONDAY.replace(hour=12), byhour=(9, 17))],
            "every 2 days at 09:00 and 17:00 starting 17:00 on 7 December 2026",
        ),
        (
            [Rule("DAILY", byday=((0, 0),), interval=3, start=MONDAY, **NINE)],
            "every 3 days, but only on Mondays at 09:00 starting 7 December 2026",
        ),
        ([Rule("DAILY", start=MONDAY, **NINE)], "at 09:00 every day starting 7 December 2026"),
        ([Rule("DAILY", start=MONDAY, count=10, **NINE)], "at 09:00 every day starting 7 December 2026, 10 times"),
        ([Rule("DAILY", start=MONDAY, count=1, **NINE)], "at 09:00 every day starting 7 December 2026, 1 time"),
        ([Rule("YEARLY", byyearday=(100, -1), **NINE)], "at 09:00 on day 100 and the last day of the year"),
        ([Rule("YEARLY", byday=((20, 0),), **NINE)], "at 09:00 on the 20th Monday of the year"),
        ([Rule("YEARLY", byweekno=(1, 20), **NINE)], "at 09:00 every day in weeks 1 and 20 of the year"),
        ([Rule("YEARLY", byday=((0, 0),), byweekno=(-1,), **NINE)], "at 09:00 on Mondays in the last week of the year"),
        (
            [Rule("MONTHLY", byday=((0, 5), (0, 6)), bysetpos=(1,), **NINE)],
            "at 09:00 on the first Saturday or Sunday of the month",
        ),
        ([Rule("MONTHLY", byday=((0, 0),), bysetpos=(-1,), **NINE)], "at 09:00 on the last Monday of the month"),
        ([Rule("DAILY", byhour=(9, 12, 17), bysetpos=(-1,))], "at 17:00 every day"),
        ([Rule("WEEKLY", byday=((0, 0), (0, 2)), bysetpos=(-1,), wkst=1, **NINE)], "at 09:00 on Mondays"),
        ([Rule("DAILY", second=30, **NINE)], "at 09:00:30 every day"),
        (
            [Rule("HOURLY", byhour=(), interval=6, start=MONDAY.replace(hour=1))],
            "at 01:00, 07:00, 13:00 and 19:00 every day starting 7 December 2026",
        ),
        (
            [Rule("DAILY", until=datetime(2027, 1, 31, 22, 59, 59, tzinfo=UTC), **NINE)],
            "at 09:00 every day until 31 January 2027",
        ),
        (
            [Rule("DAILY", byhour=(9, 17), until=datetime(2027, 1, 31, 8, tzinfo=UTC))],
            "at 09:00 and 17:00 every day until 09:00 on 31 January 2027",
        ),
        (
            [Rule("DAILY", byhour=(9, 17), since=datetime(2027, 1, 31, 12, tzinfo=UTC))],
            "at 09:00 and 17:00 every day starting 17:00 on 31 January 2027",
        ),
        (
            [
                Rule("DAILY", until=datetime(2027, 1, 10, 7, 59, 59, tzinfo=UTC), **NINE),
                Rule("DAILY", since=datetime(2027, 1, 10, 10, tzinfo=UTC), byhour=(11,)),
            ],
            "at 09:00 every day until 9 January 2027, then at 11:00 every day",
        ),
        (
            [Rule("DAILY", byhour=(9,)), Rule("WEEKLY", byday=((0, 0),), byhour=(17,))],
            "at 09:00 every day, and at 17:00 on Mondays",
        ),
        (
            [Rule("DAILY", byhour=(9,)), Rule("WEEKLY", byday=((0, 0),), byhour=(17,), start=MONDAY)],
            "at 09:00 every day; at 17:00 on Mondays starting 7 December 2026",
        ),
    ],
)
def test_rules_that_the_grammar_can_say(rules: list[Rule], words: str) -> None:
    slots = a_set(*rules)
    assert describe(slots, NAME) == words
    assert list(parse_schedule(words, NAME, anchor=LATER).set.between(ANCHOR, LATER)) == list(
        slots.between(ANCHOR, LATER)
    )
    assert parse_schedule(words, NAME, anchor=LATER).meaning == words


@pytest.mark.parametrize(
    ("slots", "words"),
    [
        (
            a_set(Rule("MONTHLY", byday=((0, 0), (0, 1)), byhour=(9, 17), bysetpos=(-1,))),
            "at 09:00 and 17:00 on Mondays and Tuesdays, of these only the last of each month",
        ),
        (
            a_set(Rule("WEEKLY", (3,), (), ((0, 0), (0, 6)), bysetpos=(1,), wkst=6, **NINE)),
            "at 09:00 on Mondays and Sundays in March, of these only the first of each week (weeks begin on Sunday)",
        ),
        (
            a_set(Rule("WEEKLY", byday=((0, 0), (0, 6)), interval=2, start=MONDAY, wkst=6, **NINE)),
            "every 2 weeks on Monday and Sunday (weeks begin on Sunday) at 09:00 starting 7 December 2026",
        ),
        (
            a_set(Rule("MONTHLY", byday=((0, 0), (1, 4)), interval=2, start=MONDAY, **NINE)),
            "every 2 months on Mondays or the first Friday at 09:00 starting 7 December 2026",
        ),
        (
            a_set(Rule("MINUTELY", (), (), ((0, 0),), (9,), (), interval=7, start=MONDAY)),
            "every 7 minutes by the clock, counted from 00:00 on 7 December 2026, in hour 9 only, on Mondays",
        ),
        (
            a_set(Rule("DAILY", **NINE), gap="skip", repeat="both"),
            "at 09:00 every day (clock changes: gap skip, repeat both)",
        ),
        (a_set(Rule("DAILY", **NINE), zone="Asia/Tokyo"), "at 09:00 every day (in Asia/Tokyo)"),
        (
            a_set(Rule("DAILY", **NINE), exceptions=(SlotException(ANCHOR, None),)),
            "at 09:00 every day (skipped: 09:00 on 30 November 2026)",
        ),
        (
            a_set(Rule("DAILY", **NINE), exceptions=(SlotException(ANCHOR, ANCHOR + timedelta(hours=1)),)),
            "at 09:00 every day (moved: 09:00 on 30 November 2026 to 10:00 on 30 November 2026)",
        ),
        (a_set(), "never"),
        (a_set(Rule("YEARLY", (2,), (30,))), "never"),
    ],
)
def test_what_the_grammar_cannot_say_has_words_that_are_no_phrase(slots: RecurrenceSet, words: str) -> None:
    assert describe(slots, NAME) == words
    assert not is_phrase(words)


def test_dates_grids_and_what_is_left_out() -> None:
    last_night = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)  # 02:30 for the second time
    slots = RecurrenceSet(
        NAME,
        grids=(Grid(5400, ANCHOR, ANCHOR + timedelta(hours=24)),),
        dates=(ANCHOR, last_night),
        exdates=(ANCHOR + timedelta(hours=3),),
    )
    words = describe(slots, NAME)
    assert words == (
        "every 90 minutes from 09:00 on 30 November 2026 until 09:00 on 1 December 2026, "
        "except 12:00 on 30 November 2026; once, at 02:30 +01:00 on Sunday 25 October 2026"
    )
    assert parse_schedule(words, NAME, anchor=LATER).set == slots


def test_a_day_that_is_left_out_whole_is_said_as_a_day() -> None:
    slots = a_set(Rule("DAILY", byhour=(9, 17)), exdates=(ANCHOR, ANCHOR + timedelta(hours=8, days=1)))
    words = "at 09:00 and 17:00 every day, except 09:00 on 30 November 2026 and 17:00 on 1 December 2026"
    assert describe(slots, NAME) == words
    both = replace(slots, exdates=(ANCHOR, ANCHOR + timedelta(hours=8)))
    assert describe(both, NAME) == "at 09:00 and 17:00 every day, except 30 November 2026"
    assert parse_schedule(describe(both, NAME), NAME, anchor=LATER).set == both
