"""Any text to a schedule: which kind, what is written into the file, what is refused before it is looked at."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from horae.errors import Invalid
from horae.limits import SCHEDULE_CHARS_MAX
from horae.timing.phrases.phrase import FORMS
from horae.timing.schedule import parse_schedule

NAME = "Europe/Berlin"
ANCHOR = datetime(2026, 11, 30, 8, 0, 0, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "kind", "written", "meaning"),
    [
        ("30 18 * * 1-5", "cron", "30 18 * * 1-5", "at 18:30 on weekdays"),
        ("@daily", "cron", "@daily", "at 00:00 every day"),
        ("Weekdays  at 18:30", "phrase", "Weekdays at 18:30", "at 18:30 on weekdays"),
        (
            "every 90 minutes",
            "interval",
            "every 90 minutes from 2026-11-30T09:00:00+01:00",
            "every 90 minutes from 09:00 on 30 November 2026",
        ),
        (
            "every hour from 08:00",
            "interval",
            "every hour from 2026-11-30T08:00:00+01:00",
            "every hour from 08:00 on 30 November 2026",
        ),
        ("in 30m", "once", "2026-11-30T09:30:01+01:00", "once, at 09:30:01 on Monday 30 November 2026"),
        (
            "2026-12-24T18:00:00Z",
            "once",
            "2026-12-24T19:00:00+01:00",
            "once, at 19:00 on Thursday 24 December 2026",
        ),
        ("2026-12-24 18:00", "once", "2026-12-24T18:00:00+01:00", "once, at 18:00 on Thursday 24 December 2026"),
        ("2026-12-24 at 6pm", "once", "2026-12-24T18:00:00+01:00", "once, at 18:00 on Thursday 24 December 2026"),
        ("2026-12-24 noon", "once", "2026-12-24T12:00:00+01:00", "once, at 12:00 on Thursday 24 December 2026"),
        ("2026-12-24 9:00", "once", "2026-12-24T09:00:00+01:00", "once, at 09:00 on Thursday 24 December 2026"),
        (
            "24 december 2026 at noon",
            "once",
            "2026-12-24T12:00:00+01:00",
            "once, at 12:00 on Thursday 24 December 2026",
        ),
        ("1 jan 2027 at 9am", "once", "2027-01-01T09:00:00+01:00", "once, at 09:00 on Friday 1 January 2027"),
        (
            "2026-12-24 18:00; 2026-12-25 18:00",
            "phrase",
            "2026-12-24 18:00; 2026-12-25 18:00",
            "once, at 18:00 on Thursday 24 December 2026; once, at 18:00 on Friday 25 December 2026",
        ),
        ("2020-01-01 00:00", "once", "2020-01-01T00:00:00+01:00", "once, at 00:00 on Wednesday 1 January 2020"),
    ],
)
def test_read(text: str, kind: str, written: str, meaning: str) -> None:
    schedule = parse_schedule(text, NAME, anchor=ANCHOR)
    assert (schedule.kind, schedule.written, schedule.meaning) == (kind, written, meaning)
    assert schedule.text == " ".join(text.split())
    assert schedule.timezone == schedule.set.zone == NAME


@pytest.mark.parametrize(
    "text", [*FORMS, "0 9 1 * 1", "*/15 * * * *", "0 9 LW * *", "2026-10-25 02:30", "every 2 weeks"]
)
def test_written_text_means_the_same_later(text: str) -> None:
    schedule = parse_schedule(text, NAME, anchor=ANCHOR)
    again = parse_schedule(schedule.written, NAME, anchor=ANCHOR + timedelta(days=200, seconds=3.7))
    assert again.set == schedule.set
    assert again.written == schedule.written
    assert again.kind == schedule.kind


def test_the_first_slot_of_an_interval_is_one_period_away() -> None:
    slots = parse_schedule("every 90 minutes", NAME, anchor=ANCHOR).set
    assert slots.next_after(ANCHOR) == ANCHOR.replace(microsecond=0) + timedelta(minutes=90)


def test_warnings_are_handed_on() -> None:
    assert "did you mean `every 90 minutes`?" in parse_schedule("*/90 * * * *", NAME, anchor=ANCHOR).warnings[0]
    assert "comes twice" in parse_schedule("2026-10-25 02:30", NAME, anchor=ANCHOR).warnings[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty schedule"),
        (" \t ", "an empty schedule"),
        ("x" * (SCHEDULE_CHARS_MAX + 1), "a schedule of 4097 characters is too long"),
        ("every\x00day at 9am", "must not contain the character U+0000"),
        ("0 9 * * *\n0 10 * * *", "must not contain the character U+000A"),
        ("\u200bdaily at 9am", "must not contain the character U+200B"),
        ("\u202edaily at 9am", "must not contain the character U+202E"),
        ("RRULE:FREQ=SECONDLY", "FREQ=SECONDLY runs more than once a minute"),
        ("exrule:freq=daily", "EXRULE is deprecated"),
        ("2026-12-24", "names a day but no time"),
        ("2026-13-24 09:00", "is no date of the calendar"),
        ("2026-12-24 25:00", "is no date of the calendar"),
        ("2026-12-24T18:00:00+99:00", "there is no offset '+99:00'"),
        ("in 9999999999999 minutes", "is too long"),
        ("2026-12-24T18", "cannot read the date"),
        ("2026-12-24 foo", "'foo' is not expected after `2026-12-24`"),
        ("2026-12-24T18:00:00.5Z", "slots are whole seconds"),
        ("0001-01-01T00:00+14:00", "is outside of the calendar"),
        ("9999-12-31 00:00", "is outside of the calendar"),
        ("61 * * * *", "minute '61' is out of range"),
        ("0 9 * *", "a cron line has five fields"),
        ("0 0 9 * * *", "with seconds first it means `0 9 * * *`"),
        ("0 0 9 1 1 5", "with seconds first it means"),
        ("* * *", "a cron line has five fields"),
        ("30m", "products disagree on '30m'"),
        ("1 2 3", "cannot read the schedule '1 2 3'"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_schedule(text, NAME, anchor=ANCHOR)
    assert message in refusal.value.message
    assert len(refusal.value.message) < 400


def test_zero_fractions_are_whole_seconds() -> None:
    assert parse_schedule("2026-12-24T18:00:00.000Z", NAME, anchor=ANCHOR).written == "2026-12-24T19:00:00+01:00"


def test_an_unknown_zone_is_said_first() -> None:
    with pytest.raises(Invalid, match="unknown time zone 'PST'"):
        parse_schedule("nonsense", "PST", anchor=ANCHOR)


def test_a_naive_anchor_is_a_bug_of_the_caller() -> None:
    with pytest.raises(ValueError, match="the anchor needs an offset"):
        parse_schedule("in 5m", NAME, anchor=datetime(2026, 11, 30, 8))


# ── no slot at all


@pytest.mark.parametrize("text", ["on demand", "On Demand", "  ON\tdemand "])
def test_on_demand_has_no_slot_and_is_written_in_one_form(text: str) -> None:
    schedule = parse_schedule(text, NAME, anchor=ANCHOR, gap="skip", repeat="both")
    assert (schedule.kind, schedule.written, schedule.timezone, schedule.warnings) == ("demand", "on demand", NAME, ())
    assert schedule.text == " ".join(text.split())
    assert schedule.set.next_after(datetime(1, 1, 2, tzinfo=UTC)) is None
    assert schedule.meaning == "on demand: when a person runs it, or after the job that it names"
    again = parse_schedule(schedule.written, NAME, anchor=ANCHOR + timedelta(days=9))
    assert (again.set, again.kind) == (schedule.set, "demand")


@pytest.mark.parametrize(
    "text", ["demand", "on-demand", "on demand at 9am", "on demands", "every on demand", "on, demand"]
)
def test_what_is_nearly_on_demand_is_none(text: str) -> None:
    with pytest.raises(Invalid):
        parse_schedule(text, NAME, anchor=ANCHOR)


def test_on_demand_needs_a_zone_all_the_same() -> None:
    with pytest.raises(Invalid, match="Europe/Berlim"):
        parse_schedule("on demand", "Europe/Berlim", anchor=ANCHOR)
