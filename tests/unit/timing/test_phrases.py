"""The English of schedules: every form, and the sentence for everything that has two readings or none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from horae.errors import Invalid
from horae.timing.dates import end_of
from horae.timing.phrases.phrase import FORMS, parse_phrase
from horae.timing.recurrence import Grid, RecurrenceSet
from horae.timing.schedule import parse_schedule
from horae.timing.words.sets import describe

NAME = "Europe/Berlin"
ANCHOR = datetime(2026, 11, 30, 8, 0, 0, 500_000, tzinfo=UTC)  # Monday, 09:00 in Berlin
WHOLE = ANCHOR.replace(microsecond=0)


@pytest.mark.parametrize("form", FORMS)
def test_every_advertised_form_is_read(form: str) -> None:
    found = parse_phrase(form, NAME, ANCHOR)
    again = parse_phrase(f"  {form.upper().replace(' ', '   ')} ", NAME, ANCHOR)
    assert (again.set, again.kind, again.warnings) == (found.set, found.kind, found.warnings)
    assert again.written.lower() == found.written.lower()


@pytest.mark.parametrize(
    ("text", "period", "anchor"),
    [
        ("every 90 minutes", 5400, WHOLE),
        ("every 1h30m", 5400, WHOLE),
        ("every hour", 3600, WHOLE),
        ("every minute", 60, WHOLE),
        ("every 45s", 45, WHOLE),
        ("every 90 minutes from 08:00", 5400, WHOLE - timedelta(hours=1)),
        ("every hour from 10am", 3600, WHOLE + timedelta(hours=1)),
        ("every 2h from 2026-12-01T00:00Z", 7200, datetime(2026, 12, 1, tzinfo=UTC)),
        ("every 2h from 2026-12-01 00:00", 7200, datetime(2026, 11, 30, 23, tzinfo=UTC)),
    ],
)
def test_intervals(text: str, period: int, anchor: datetime) -> None:
    found = parse_phrase(text, NAME, ANCHOR)
    assert (found.kind, found.set) == ("interval", RecurrenceSet(NAME, grids=(Grid(period, anchor),)))


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("in 30m", "2026-11-30T09:30:01+01:00"),
        ("in 2 hours", "2026-11-30T11:00:01+01:00"),
        ("today at 18:00", "2026-11-30T18:00:00+01:00"),
        ("tomorrow 9am", "2026-12-01T09:00:00+01:00"),
        ("in an hour", "2026-11-30T10:00:01+01:00"),
        ("in two hours and five minutes", "2026-11-30T11:05:01+01:00"),
        ("the day after tomorrow at noon", "2026-12-02T12:00:00+01:00"),
        ("at 9am tomorrow", "2026-12-01T09:00:00+01:00"),
        ("once, at 18:00 on Thursday 24 December 2026", "2026-12-24T18:00:00+01:00"),
        ("24 dec 2026 at 6pm", "2026-12-24T18:00:00+01:00"),
        ("noon on december 24th, 2026", "2026-12-24T12:00:00+01:00"),
        ("at 02:30 +01:00 on 25 October 2026", "2026-10-25T02:30:00+01:00"),
        ("on 2026-12-24 at 18:00", "2026-12-24T18:00:00+01:00"),
        ("on 2027-03-28 at 02:30", "2027-03-28T03:30:00+02:00"),
    ],
)
def test_one_shots(text: str, slot: str) -> None:
    found = parse_phrase(text, NAME, ANCHOR)
    assert (found.kind, found.written) == ("once", slot)
    assert found.set == RecurrenceSet(NAME, dates=(datetime.fromisoformat(slot),))


def test_today_is_the_day_of_the_zone() -> None:
    late = datetime(2026, 11, 30, 20, tzinfo=UTC)  # already the first of December in Auckland
    assert parse_phrase("today at noon", "Pacific/Auckland", late).written == "2026-12-01T12:00:00+13:00"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("every day at 9am", "at 09:00 every day"),
        ("daily at 12am and 12pm", "at 00:00 and 12:00 every day"),
        ("every day at 9:00, 12:00 and 17:30", "at 09:00, 12:00 and 17:30 every day"),
        ("every day at 9:00:30", "at 09:00:30 every day"),
        ("everyday at 9am", "at 09:00 every day"),
        ("9am daily", "at 09:00 every day"),
        ("noon on fridays", "at 12:00 on Fridays"),
        ("every day at 9am and at 5pm", "at 09:00 and 17:00 every day"),
        ("at 9am and at 5pm every day", "at 09:00 and 17:00 every day"),
        ("mondays at 9am and at 5pm on fridays", "at 09:00 on Mondays, and at 17:00 on Fridays"),
        ("each morning at 8am", "at 08:00 every day"),
        ("at 8pm every evening in june", "at 20:00 every day in June"),
        ("every afternoon at 2pm and 4pm", "at 14:00 and 16:00 every day"),
        ("every night at 23:00 until 2027-01-31", "at 23:00 every day until 31 January 2027"),
        ("nightly at 10pm", "at 22:00 every day"),
        ("every day except sunday at 9am", "at 09:00 on Mondays to Saturdays"),
        ("every day except weekends at 9am", "at 09:00 on weekdays"),
        ("daily, except on mondays, at 9am", "at 09:00 on Tuesdays to Sundays"),
        ("at 9am on weekdays except friday", "at 09:00 on Mondays to Thursdays"),
        ("mon-sat except wed at 9am", "at 09:00 on Mondays, Tuesdays, Thursdays, Fridays and Saturdays"),
        ("last day of month at 9am", "at 09:00 on the last day of the month"),
        ("annually on 1 january at 9am", "at 09:00 every year on 1 January"),
        ("hourly from 9am to 5pm on weekdays", "every hour from 09:00 to 17:00, on weekdays"),
        ("hourly at minute 15", "every hour at minute 15"),
        ("every three days at 9am starting 2026-12-01", "every 3 days at 09:00 starting 1 December 2026"),
        ("third and second to last weekday of the month at 9am",
         "at 09:00 on the third and the second to last weekday of the month"),
        ("weekdays at 9am", "at 09:00 on weekdays"),
        ("at 9am on weekdays", "at 09:00 on weekdays"),
        ("9 am on weekdays", "at 09:00 on weekdays"),
        ("every weekday at 9am", "at 09:00 on weekdays"),
        ("mon-fri at 9am", "at 09:00 on weekdays"),
        ("every friday to monday at 9pm", "at 21:00 on Mondays, Fridays, Saturdays and Sundays"),
        ("weekends at midnight", "at 00:00 on weekends"),
        ("every mon, wed, fri at 7:15am", "at 07:15 on Mondays, Wednesdays and Fridays"),
        ("at 7:15am and 8pm on mondays and every wed", "at 07:15 and 20:00 on Mondays and Wednesdays"),
        ("every monday 9am", "at 09:00 on Mondays"),
        ("mondays and thursdays at noon", "at 12:00 on Mondays and Thursdays"),
        ("mondays at 9am and fridays at 17:00", "at 09:00 on Mondays, and at 17:00 on Fridays"),
        ("weekly on monday at 9am", "at 09:00 on Mondays"),
        ("mondays in january and july at 9am", "at 09:00 on Mondays in January and July"),
        ("mondays at 9am in january, july", "at 09:00 on Mondays in January and July"),
        ("at 9am on mondays in nov-feb", "at 09:00 on Mondays in January, February, November and December"),
        ("first of the month at 07:00", "at 07:00 on day 1 of the month"),
        ("day 15 of the month at 8am", "at 08:00 on day 15 of the month"),
        ("on days 1 and 15 of the month at 8am", "at 08:00 on days 1 and 15 of the month"),
        ("days 1-5 of each month at 8am", "at 08:00 on days 1 to 5 of the month"),
        ("1st and 15th of the month at 8am", "at 08:00 on days 1 and 15 of the month"),
        ("every month on the 15th at 8am", "at 08:00 on day 15 of the month"),
        ("the last day of the month at 23:00", "at 23:00 on the last day of the month"),
        ("second to last day of the month at 23:00", "at 23:00 on the second to last day of the month"),
        ("second-to-last day of the month at 23:00", "at 23:00 on the second to last day of the month"),
        ("last weekday of the month at 17:00", "at 17:00 on the last weekday of the month"),
        ("first and last weekday of the month at 9am", "at 09:00 on the first and last weekday of the month"),
        ("weekday nearest to the 15th of the month at 9am", "at 09:00 on the weekday nearest to day 15 of the month"),
        ("first monday of the month at 9am", "at 09:00 on the first Monday of the month"),
        ("last friday of every month at 17:00", "at 17:00 on the last Friday of the month"),
        ("first and third monday of the month at 9am", "at 09:00 on the first and third Monday of the month"),
        ("first monday and last day of the month at 9am",
         "at 09:00 on the first Monday of the month and on the last day of the month"),
        ("first saturday or sunday of the month at 9am", "at 09:00 on the first Saturday or Sunday of the month"),
        ("every year on 24 december at 12:00", "at 12:00 every year on 24 December"),
        ("yearly on december 24 and january 1 at 12:00", "at 12:00 every year on 1 January and 24 December"),
        ("every 24 december at noon", "at 12:00 every year on 24 December"),
        ("every december 24th at noon", "at 12:00 every year on 24 December"),
        ("day 100 and the last day of the year at noon", "at 12:00 on day 100 and the last day of the year"),
        ("20th monday of the year at noon", "at 12:00 on the 20th Monday of the year"),
        ("mondays in weeks 1 and 20 of the year at noon", "at 12:00 on Mondays in weeks 1 and 20 of the year"),
        ("fridays, but only on day 13 of the month, at noon", "at 12:00 on Fridays, but only on day 13 of the month"),
        ("hourly", "every hour at minute 0"),
        ("hourly on weekdays", "every hour at minute 0, on weekdays"),
        ("every hour by the clock", "every hour at minute 0"),
        ("every minute by the clock", "every minute by the clock"),
        ("every 15 minutes by the clock in may", "every 15 minutes by the clock, every day in May"),
        ("every 2 hours by the clock on weekdays", "every 2 hours by the clock, on weekdays"),
        ("every 90 minutes by the clock", "every 90 minutes by the clock"),
        ("every hour at minutes 5 and 35", "every hour at minutes 5 and 35"),
        ("at minute 5 of hours 9 to 17 on weekdays", "every hour from 09:05 to 17:05, on weekdays"),
        ("every 15 minutes between 9:00 and 17:00 on weekdays", "every 15 minutes from 09:00 to 17:00, on weekdays"),
        ("weekdays, every 15 minutes from 9am to 5pm", "every 15 minutes from 09:00 to 17:00, on weekdays"),
        ("every 45 minutes from 9:00 to 17:15", "every 45 minutes from 09:00 to 17:15, every day"),
        ("every 2 hours between 8am and 6pm", "at 08:00, 10:00, 12:00, 14:00, 16:00 and 18:00 every day"),
        ("mondays at 9am starting 2026-12-07", "at 09:00 on Mondays starting 7 December 2026"),
        ("mondays at 9am starting 2026-12-07 12:00", "at 09:00 on Mondays starting 14 December 2026"),
        ("mondays at 9am until 2027-01-31", "at 09:00 on Mondays until 31 January 2027"),
        ("mondays at 9am until 9:00 on 4 january 2027", "at 09:00 on Mondays until 4 January 2027"),
        ("mondays at 9am, 10 times, starting on december 7, 2026",
         "at 09:00 on Mondays starting 7 December 2026, 10 times"),
        ("weekdays at 9am except 2026-12-25 and 2027-01-01",
         "at 09:00 on weekdays, except 25 December 2026 and 1 January 2027"),
        ("every day at 9am and 5pm, except on 2026-12-24 at 5pm",
         "at 09:00 and 17:00 every day, except 17:00 on 24 December 2026"),
        ("mondays at 9am until 2027-01-01, then mondays at 11am",
         "at 09:00 on Mondays until 1 January 2027, then at 11:00 on Mondays"),
        ("mondays at 9am until 2027-01-04 9:00, then mondays at 11am until 2027-06-30 then fridays at 9am",
         ("at 09:00 on Mondays until 09:00 on 4 January 2027, then at 11:00 on Mondays until 30 June 2027, "
          "then at 09:00 on Fridays")),
        ("every 90 minutes until 2027-01-01, then every 2 hours",
         ("every 90 minutes from 09:00 on 30 November 2026 until 1 January 2027, "
          "then every 2 hours from 00:00 on 2 January 2027")),
        ("mondays at 9am until 2027-01-31; fridays at 17:00",
         "at 09:00 on Mondays until 31 January 2027; at 17:00 on Fridays"),
        ("mondays at 9am; on 2026-12-24 at noon",
         "at 09:00 on Mondays; once, at 12:00 on Thursday 24 December 2026"),
    ],
)  # fmt: skip
def test_days_and_times(text: str, words: str) -> None:
    assert describe(parse_phrase(text, NAME, ANCHOR).set, NAME) == words


@pytest.mark.parametrize(
    ("text", "written", "slots"),
    [
        ("every 3 days at 9am", "starting 2026-12-01", ["12-01 09:00", "12-04 09:00"]),
        ("every 3 days at 9am and 10am", "starting 2026-11-30 10:00", ["11-30 10:00", "12-03 09:00", "12-03 10:00"]),
        ("every other day at 10am", "starting 2026-11-30", ["11-30 10:00", "12-02 10:00"]),
        ("every 2 weeks on monday and friday at 9am", "starting 2026-12-04", ["12-04 09:00", "12-14 09:00"]),
        ("every other friday at 17:00", "starting 2026-12-04", ["12-04 17:00", "12-18 17:00"]),
        ("every 2 months on the 1st at 9am", "starting 2026-12-01", ["12-01 09:00", "02-01 09:00"]),
        ("every 3 months on the last friday at 17:00", "starting 2026-12-25", ["12-25 17:00", "03-26 17:00"]),
        ("every 2 years on 24 december at noon", "starting 2026-12-24", ["12-24 12:00", "12-24 12:00"]),
        ("every 2 years on the last sunday of the month at noon in march", "starting 2027-03-28", ["03-28 12:00"]),
        ("mondays at 9am, 2 times", "starting 2026-12-07, 2 times", ["12-07 09:00", "12-14 09:00", None]),
        ("every day at 9am and 10am, 3 times", "starting 2026-11-30 10:00, 3 times", ["11-30 10:00", "12-01 09:00"]),
    ],
)
def test_what_is_counted_begins_with_the_first_slot(text: str, written: str, slots: list[str | None]) -> None:
    found = parse_phrase(text, NAME, ANCHOR)
    assert found.written.endswith(written)
    assert parse_phrase(found.written, NAME, ANCHOR + timedelta(days=99)).set == found.set
    at: datetime | None = ANCHOR
    for slot in slots:
        assert at is not None
        at = found.set.next_after(at)
        assert (at and f"{at.astimezone(ZoneInfo(NAME)):%m-%d %H:%M}") == slot


def test_the_count_of_a_start_that_is_named_begins_there_too() -> None:
    found = parse_phrase("every other friday at 17:00 starting 2026-12-05", NAME, ANCHOR)
    assert found.written == "every other friday at 17:00 starting 2026-12-05"
    assert found.set.next_after(ANCHOR) == datetime(2026, 12, 11, 16, tzinfo=UTC)


def test_a_change_at_a_date_leaves_nothing_out_and_has_nothing_twice() -> None:
    slots = parse_phrase("daily at 9am until 2026-12-02, then daily at 8am until 2026-12-04", NAME, ANCHOR).set
    found = [f"{slot:%d %H}" for slot in slots.between(ANCHOR, ANCHOR + timedelta(days=30))]
    assert found == ["01 08", "02 08", "03 07", "04 07"]


def test_an_end_and_a_day_to_leave_out_stand_for_the_day_of_the_zone() -> None:
    slots = parse_phrase("every hour until 2026-12-02 except 2026-12-01", "Asia/Tokyo", ANCHOR).set
    found = list(slots.between(ANCHOR, ANCHOR + timedelta(days=9)))
    assert [f"{found[0]:%d %H}", f"{found[-1]:%d %H}", len(found)] == ["30 09", "02 14", 6 + 24]


def test_ten_times_of_an_interval_are_ten_runs() -> None:
    found = parse_phrase("every 90 minutes, 10 times", NAME, ANCHOR)
    assert found.written == "every 90 minutes from 2026-11-30T10:30:00+01:00, 10 times"
    assert found.set.count(ANCHOR, ANCHOR + timedelta(days=9)) == 10
    assert parse_phrase(found.written, NAME, ANCHOR + timedelta(days=99)).set == found.set
    assert (
        parse_phrase("every hour from 10:00, 3 times", NAME, ANCHOR).set.count(ANCHOR, ANCHOR + timedelta(days=9)) == 3
    )


def test_a_policy_decides_which_slots_are_left_out() -> None:
    text = "daily at 02:30 except 2027-03-28"
    assert parse_phrase(text, NAME, ANCHOR).set.exdates == (datetime(2027, 3, 28, 1, 30, tzinfo=UTC),)
    with pytest.raises(Invalid, match="there is no slot on 2027-03-28"):
        parse_phrase(text, NAME, ANCHOR, gap="skip")


def test_between_has_exactly_the_times_that_it_says() -> None:
    slots = parse_phrase("every 15 minutes between 9:00 and 10:00", "UTC", ANCHOR).set
    day = datetime(2026, 12, 1, tzinfo=UTC)
    found = list(slots.between(day, day + timedelta(days=1)))
    assert found == [day + timedelta(hours=9, minutes=15 * step) for step in range(5)]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("every 2 weeks", "every 2 weeks is elapsed time: in Europe/Berlin its time of day moves"),
        ("31st of the month at noon", "months without a day 31 have no run"),
        ("every 29 february at noon", "leap years only"),
        ("fifth monday of the month at noon", "most months have no fifth one"),
        ("on 2027-03-28 at 02:30", "02:30 is left out on 2027-03-28 in Europe/Berlin (clock change): it runs at 03:30"),
        ("on 2026-10-25 at 02:30", "02:30 comes twice on 2026-10-25 in Europe/Berlin: it runs at the first"),
    ],
)
def test_warnings(text: str, warning: str) -> None:
    (said,) = parse_phrase(text, NAME, ANCHOR).warnings
    assert warning in said


def test_no_warning_about_days_where_clocks_never_change() -> None:
    assert parse_phrase("every 2 days", "Asia/Tokyo", ANCHOR).warnings == ()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("30m", "products disagree on '30m'", "write `in 30m` or `every 30m`"),
        ("2 hours", "products disagree on '2 hours'", "write `in 2 hours` or `every 2 hours`"),
        ("30", "products disagree on '30'", "write `in 30m` or `every 30m`"),
        ("every 0m", "is too short", "the least is 1 s"),
        ("every 0.5s", "not a whole number of seconds", ""),
        ("every 5", "'5' has no unit", "90 minutes"),
        ("every 100000 weeks", "is longer than 40 years", ""),
        ("in 100000 weeks", "is longer than 40 years", ""),
        ("in 5 bananas", "cannot read the duration '5 bananas'", ""),
        ("every day", "'every day' names no time of day", "write, for example, `every day at 9am`"),
        ("every monday", "'every monday' names no time of day", "`every monday at 9am`"),
        ("weekdays", "names no time of day", ""),
        ("last day of the month", "names no time of day", ""),
        ("tomorrow", "names no time of day", "`tomorrow at 9am`"),
        ("on 2026-12-24", "names no time of day", ""),
        ("every week", "names no day and no time", "`every monday at 9am`"),
        ("noon", "names a time but no day", "`every day at noon`, `today at noon` or `tomorrow at noon`"),
        ("9:00", "names a time but no day", ""),
        ("every day at 9", "'9' could be morning or evening", "`every day at 9am`"),
        ("every 20m from 9", "'9' could be morning or evening", "`every 20m from 9am`, `every 20m from 9pm`"),
        ("every day at 25:00", "there is no time '25:00'", ""),
        ("every day at 13pm", "there is no time '13pm'", ""),
        ("monday at 9am", "'monday' could mean the next one or every one", "`every monday at 9am`, or a date"),
        ("weekday at 9am", "'weekday' alone could mean", "`weekdays at 9am`"),
        ("24 december at noon", "could mean once or every year", "`every 24 december at noon`"),
        ("every 30 february at noon", "February has no day 30", ""),
        ("32nd of the month at noon", "no month has a 32nd day", ""),
        ("7th monday of the month at noon", "no month has a 7th monday", ""),
        ("tomorrow at 9am and 10am", "names several instants", "one job for each"),
        ("on 2026-02-30 at noon", "'2026-02-30' is no date of the calendar", ""),
        ("every 25 minutes between 9:00 and 17:00", "does not come out at the same minutes", "every 25 minutes from"),
        ("every 15 minutes between 17:00 and 9:00", "9:00 is not after 17:00", ""),
        ("tomorow at 9am", "cannot read the schedule 'tomorow at 9am'", "write `tomorrow at 9am`"),
        ("sometime at 9am", "cannot read the schedule 'sometime at 9am'", "the nearest forms: "),
        ("next friday at 9am", "'next friday' could be the coming one", "write its date"),
        ("every month at 9am", "'every month' does not say on which day", "`every month on the 1st at 9am`"),
        ("every 3 months", "'every 3 months' does not say on which day", ""),
        ("every day until 24:00", "cannot read", ""),
        ("every day at 24:00", "there is no time '24:00'", "`midnight`"),
        ("every day from 9am to 5pm", "comes once only from 09:00 to 17:00", "`every hour from 09:00 to 17:00`"),
        ("every 12 hours from 9:00 to 17:00", "comes once only", "`every day at 09:00`"),
        ("mondays except tuesdays at 9am", "names a day that is not among them", ""),
        ("mondays except mondays at 9am", "`except` leaves nothing", ""),
        ("every fortnight at 9am", "cannot read the schedule", "`every day at 9am`"),
        ("every other weekdays at 9am", "every second one of these days", "`every 2 weeks on weekdays at 9am`"),
        ("every day at 9am please", "cannot read the schedule", ""),
        ("every 2 weeks at 9am", "does not say on which day", "`every 2 weeks on monday at 9am`"),
        ("every 25 minutes by the clock", "comes out even in a day", "`every 25 minutes`"),
        ("every day by the clock", "does not say at which time", "`every day at 9am`"),
        ("every 0 minutes by the clock", "comes out even in a day", ""),
        ("every 0 minutes from 9:00 to 17:00", "does not come out", ""),
        ("every 90 minutes between 9:00 and 17:00", "does not come out", "`every 90 minutes from 09:00 to 16:30`"),
        ("every hour at minute 60", "there is no minute 60", ""),
        ("at minute 0 of hour 24 every day", "there is no hour 24", ""),
        ("every 0 days at 9am", "every 0 periods is no pace", ""),
        ("first monday of the year at 9am in march", "cannot be combined", ""),
        ("every 2 weeks on monday at 9am and fridays at 10am", "stands alone", "joined with `;`"),
        ("mondays at 9am and fridays at 10am, 10 times", "counts the slots of one rule", "`until 2027-01-31`"),
        ("mondays at 9am, 0 times", "0 times is out of range", ""),
        ("mondays at 9am, 1000000 times", "not used up within 100 years", ""),
        ("mondays at 9am until 2027-01-01 until 2027-02-01", "`until` stands there twice", ""),
        ("mondays at 9am, then fridays at 9am", "has no end", "`until 2027-01-01, then …`"),
        ("mondays at 9am starting 2027-01-01 until 2026-12-01", "no slot between its beginning and its end", ""),
        ("every hour from 10:00 starting 2026-12-01", "`from` and `starting` are the same", ""),
        ("every hour from 2026-12-01", "2026-12-01 names a day but no time", ""),
        ("mondays at 9am except 2026-12-25", "there is no slot on 2026-12-25", ""),
        ("mondays at 9am except 2026-12-07 10:00", "there is no slot at 10:00 on 2026-12-07", ""),
        ("every second except 2026-12-07", "more than 2000 slots", ""),
        ("31st of the month at 9am in february", "these days never come", ""),
        ("weekday nearest to the 31st of the month at 9am in april", "these months have no day 31", ""),
        ("every year on 24 december at 9am in march", "a date names its month already", ""),
        ("monday 24 december 2026 at noon", "24 December 2026 is a Thursday, not a Monday", ""),
        ("on 24 foo 2026 at noon", "'foo' is not expected after `on 24`", ""),
        ("at 9am on monday", "'monday' could mean the next one or every one", ""),
        ("days 5 to 1 of the month at 9am", "runs backwards", "`1 to 5`"),
        ("every day at 9am on weekends", "'on' is not expected after `every day at 9am`", "expected there: "),
        ("every day at", "something is missing after `every day at`", "expected there: a time of day"),
        ("every day at 9am ünd 10am", "cannot read the schedule", ""),
        ("x" * 301, "a phrase of 301 characters is too long", ""),
    ],
)
def test_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_phrase(text, NAME, ANCHOR)
    assert message in refusal.value.message
    assert hint in (refusal.value.hint or "")


@pytest.mark.parametrize("place", ["America/St_Johns", "America/Havana", "America/Sao_Paulo", "Europe/Paris"])
def test_a_day_ends_where_its_date_ends_however_often_its_midnight_comes(place: str) -> None:
    for first in (date(2010, 11, 5), date(2007, 2, 23), date(2025, 11, 1)):
        for day in (first + timedelta(days=number) for number in range(4)):
            end, where = end_of(day, place), ZoneInfo(place)
            assert end.astimezone(where).date() == day
            later = [(end + timedelta(minutes=step, seconds=1)).astimezone(where).date() for step in range(180)]
            assert day not in later


def test_until_a_day_of_which_the_last_hour_comes_twice() -> None:
    slots = parse_phrase("every day at 23:30 until 2010-11-06", "America/St_Johns", ANCHOR, repeat="both").set
    day = datetime(2010, 11, 6, 12, tzinfo=UTC)
    assert slots.count(day, day + timedelta(days=2)) == 2


@pytest.mark.parametrize(
    ("phrase", "policy", "words"),
    [
        ("every day at 02:30 except 2026-10-25 02:30", {}, "25 October 2026"),
        ("every day at 02:30 except 2026-10-25 02:30", {"repeat": "last"}, "25 October 2026"),
        ("every day at 02:30 except 2026-10-25 02:30", {"repeat": "both"}, "25 October 2026"),
        ("every day at 02:30 except 2026-03-29 02:30", {"gap": "after"}, "29 March 2026"),
        ("every hour by the clock except 2026-10-25 02:00", {}, "02:00 on 25 October 2026"),
        ("every hour by the clock except 2026-10-25 02:00 +02:00", {}, "02:00 +02:00 on 25 October 2026"),
        ("every hour by the clock except 2026-10-25 02:00 +01:00", {}, "02:00 +01:00 on 25 October 2026"),
    ],
)
def test_what_is_left_out_follows_the_policy(phrase: str, policy: dict[str, Any], words: str) -> None:
    anchor = datetime(2026, 3, 1, tzinfo=UTC)
    read = parse_schedule(phrase, "Europe/Paris", anchor=anchor, **policy)
    whole = replace(read.set, exdates=())
    day = datetime.fromisoformat(f"{phrase.split('except ')[1][:10]}T00:00:00+00:00") - timedelta(hours=2)
    gone = set(whole.between(day, day + timedelta(hours=20))) - set(read.set.between(day, day + timedelta(hours=20)))
    assert len(gone) == (2 if policy.get("repeat") == "both" or words == "02:00 on 25 October 2026" else 1)
    assert f"except {words}" in read.meaning
    plain = read.meaning.partition(" (clock changes")[0]
    assert parse_schedule(plain, "Europe/Paris", anchor=anchor, **policy).set == read.set
