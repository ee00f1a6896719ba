"""The English of schedules: every form, and the sentence for everything that has two readings or none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from horae.errors import Invalid
from horae.timing.phrases import FORMS, parse_phrase
from horae.timing.recurrence import Grid, RecurrenceSet
from horae.timing.words import rules_words, slot_words
from horae.timing.zones import zone

NAME = "Europe/Berlin"
ANCHOR = datetime(2026, 11, 30, 8, 0, 0, 500_000, tzinfo=UTC)  # Monday, 09:00 in Berlin
WHOLE = ANCHOR.replace(microsecond=0)


@pytest.mark.parametrize("form", FORMS)
def test_every_advertised_form_is_read(form: str) -> None:
    found = parse_phrase(form, NAME, ANCHOR)
    assert (found.once is not None) + (found.grid is not None) + bool(found.rules) == 1
    assert parse_phrase(f"  {form.upper().replace(' ', '   ')} ", NAME, ANCHOR) == found


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
    assert parse_phrase(text, NAME, ANCHOR).grid == Grid(period, anchor)


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("in 30m", "Mon 2026-11-30 09:30:01 +01:00"),
        ("in 2 hours", "Mon 2026-11-30 11:00:01 +01:00"),
        ("today at 18:00", "Mon 2026-11-30 18:00 +01:00"),
        ("tomorrow 9am", "Tue 2026-12-01 09:00 +01:00"),
        ("on 2026-12-24 at 18:00", "Thu 2026-12-24 18:00 +01:00"),
        ("on 2027-03-28 at 02:30", "Sun 2027-03-28 03:30 +02:00"),
    ],
)
def test_one_shots(text: str, slot: str) -> None:
    once = parse_phrase(text, NAME, ANCHOR).once
    assert once is not None
    assert slot_words(once, NAME) == slot


def test_today_is_the_day_of_the_zone() -> None:
    late = datetime(2026, 11, 30, 20, tzinfo=UTC)  # already the first of December in Auckland
    once = parse_phrase("today at noon", "Pacific/Auckland", late).once
    assert once is not None
    assert f"{once.astimezone(zone('Pacific/Auckland')):%d %H:%M}" == "01 12:00"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("every day at 9am", "at 09:00 every day"),
        ("daily at 12am and 12pm", "at 00:00 and 12:00 every day"),
        ("every day at 9:00, 12:00 and 17:30", "at 09:00, 12:00 and 17:30 every day"),
        ("weekdays at 9am", "at 09:00 on weekdays"),
        ("every weekday at 9am", "at 09:00 on weekdays"),
        ("mon-fri at 9am", "at 09:00 on weekdays"),
        ("every friday to monday at 9pm", "at 21:00 on Monday, Friday, Saturday and Sunday"),
        ("weekends at midnight", "at 00:00 on weekends"),
        ("every mon, wed, fri at 7:15am", "at 07:15 on Monday, Wednesday and Friday"),
        ("every monday 9am", "at 09:00 on Monday"),
        ("mondays and thursdays at noon", "at 12:00 on Monday and Thursday"),
        ("first of the month at 07:00", "at 07:00 on day 1 of the month"),
        ("1st and 15th of the month at 8am", "at 08:00 on days 1 and 15 of the month"),
        ("every month on the 15th at 8am", "at 08:00 on day 15 of the month"),
        ("the last day of the month at 23:00", "at 23:00 on the last day of the month"),
        ("first monday of the month at 9am", "at 09:00 on the first Monday of the month"),
        ("last friday of every month at 17:00", "at 17:00 on the last Friday of the month"),
        (
            "first and third monday of the month at 9am",
            "at 09:00 on the first Monday of the month and the third Monday of the month",
        ),
        ("every year on 24 december at 12:00", "at 12:00 every year on 24 December"),
        ("every 24 december at noon", "at 12:00 every year on 24 December"),
        ("every december 24th at noon", "at 12:00 every year on 24 December"),
        ("hourly", "every hour at minute 0"),
        ("every 15 minutes between 9:00 and 17:00 on weekdays", "every 15 minutes from 09:00 to 17:00, on weekdays"),
        ("every 2 hours between 8am and 6pm", "at 08:00, 10:00, 12:00, 14:00, 16:00 and 18:00 every day"),
    ],
)
def test_days_and_times(text: str, words: str) -> None:
    assert rules_words(parse_phrase(text, NAME, ANCHOR).rules) == words


def test_between_has_exactly_the_times_that_it_says() -> None:
    rules = parse_phrase("every 15 minutes between 9:00 and 10:00", "UTC", ANCHOR).rules
    day = datetime(2026, 12, 1, tzinfo=UTC)
    found = list(RecurrenceSet("UTC", rules).between(day, day + timedelta(days=1)))
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
        ("every 0m", "an interval of 0m is too short", "the least is 1 s"),
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
        ("every 20m from 9", "'9' could be morning or evening", "9am, 9pm or 09:00"),
        ("every day at 25:00", "there is no time '25:00'", ""),
        ("every day at 13pm", "there is no time '13pm'", ""),
        ("monday at 9am", "'monday' could mean the next one or every one", "write `every monday`"),
        ("weekday at 9am", "'weekday' alone could mean", "`weekdays`"),
        ("24 december at noon", "could mean once or every year", "`every 24 december at 9:00`"),
        ("every 30 february at noon", "February has no day 30", ""),
        ("32nd of the month at noon", "no month has a 32nd day", ""),
        ("7th monday of the month at noon", "no month has a 7th monday", ""),
        ("tomorrow at 9am and 10am", "names several instants", "one job for each"),
        ("on 2026-02-30 at noon", "'2026-02-30' is no date of the calendar", ""),
        ("every 25 minutes between 9:00 and 17:00", "does not come out at the same minutes", "every 25 minutes from"),
        ("every 15 minutes between 17:00 and 9:00", "9:00 is not after 17:00", ""),
        ("tomorow at 9am", "cannot read the schedule 'tomorow at 9am'", "the nearest forms: `tomorrow at 9am`"),
        ("every other day at 9am", "cannot read the schedule", "`every day at 9am`"),
        ("every day at 9am please", "cannot read the schedule", ""),
        ("x" * 301, "a phrase of 301 characters is too long", ""),
    ],
)
def test_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_phrase(text, NAME, ANCHOR)
    assert message in refusal.value.message
    assert hint in (refusal.value.hint or "")
