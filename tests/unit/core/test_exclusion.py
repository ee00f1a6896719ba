"""Exclusion calendars: what is read of config.toml and of iCalendar files, and what is excluded and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from horae.core import policies
from horae.core.calendarform import calendar_of
from horae.core.eventfile import Events, read_events
from horae.core.exclusion import Calendar, excluded, unknown_calendars
from horae.core.preflight import Facts, preflight
from horae.errors import Invalid
from horae.limits import CALENDAR_DAYS_MAX, CALENDAR_EVENTS_MAX
from horae.timing.schedule import parse_schedule
from tests.support.builders import START, a_job


def calendar(name: str = "quiet", text: str = "", **table: Any) -> Calendar:
    """Of a table, and of an iCalendar text when one is given."""
    if text:
        table = {**table, "file": "x.ics"}
    return calendar_of(name, table, lambda _file, place: read_events(text, place or "Europe/Paris"))


def why(found: Calendar, instant: str, place: str = "Europe/Paris") -> str | None:
    return excluded({found.name: found}, [found.name], datetime.fromisoformat(instant).astimezone(UTC), place)


@pytest.mark.parametrize(
    ("table", "instant", "reason"),
    [
        ({"dates": ["2026-12-25"]}, "2026-12-25T00:00+01:00", "quiet: 2026-12-25"),
        ({"dates": ["2026-12-25"]}, "2026-12-25T23:59:59+01:00", "quiet: 2026-12-25"),
        ({"dates": ["2026-12-25"]}, "2026-12-26T00:00+01:00", None),
        ({"dates": ["2026-12-25"]}, "2027-12-25T12:00+01:00", None),
        ({"dates": [date(2026, 12, 25)]}, "2026-12-25T12:00+01:00", "quiet: 2026-12-25"),
        ({"dates": ["12-25"]}, "2031-12-25T12:00+01:00", "quiet: 12-25"),
        ({"dates": ["02-29"]}, "2028-02-29T12:00+01:00", "quiet: 02-29"),
        ({"dates": ["02-29"]}, "2027-02-28T12:00+01:00", None),
        ({"dates": ["2026-12-24..2027-01-02"]}, "2027-01-02T12:00+01:00", "quiet: 2026-12-24..2027-01-02"),
        ({"dates": ["2026-12-24..2027-01-02"]}, "2027-01-03T00:00+01:00", None),
        ({"dates": ["12-24..01-02"]}, "2029-01-02T12:00+01:00", "quiet: 12-24..01-02"),
        ({"dates": ["12-24..01-02"]}, "2029-12-24T00:00+01:00", "quiet: 12-24..01-02"),
        ({"dates": ["12-24..01-02"]}, "2029-06-02T00:00+02:00", None),
        ({"weekdays": ["sat", "Sunday"]}, "2026-12-06T12:00+01:00", "quiet: Sunday"),
        ({"weekdays": ["sat", "Sunday"]}, "2026-12-07T00:00+01:00", None),
        ({"hours": ["22:00-07:00"]}, "2026-12-06T22:00+01:00", "quiet: 22:00-07:00"),
        ({"hours": ["22:00-07:00"]}, "2026-12-07T06:59:59+01:00", "quiet: 22:00-07:00"),
        ({"hours": ["22:00-07:00"]}, "2026-12-07T07:00+01:00", None),
        ({"hours": ["12:00 - 13:30"]}, "2026-12-07T13:29+01:00", "quiet: 12:00 - 13:30"),
        ({"hours": ["18:00-24:00"]}, "2026-12-07T23:59+01:00", "quiet: 18:00-24:00"),
        ({"hours": ["18:00-24:00"]}, "2026-12-08T00:00+01:00", None),
        ({"hours": ["18:00-00:00"]}, "2026-12-08T00:00+01:00", None),
        ({"hours": ["22:00-07:00"], "timezone": "Asia/Tokyo"}, "2026-12-07T22:00+09:00", "quiet: 22:00-07:00"),
        ({"hours": ["22:00-07:00"], "timezone": "Asia/Tokyo"}, "2026-12-07T22:30+01:00", "quiet: 22:00-07:00"),
        ({"hours": ["22:00-07:00"], "timezone": "Asia/Tokyo"}, "2026-12-07T00:30+01:00", None),
        # the rarest reason tells the most
        ({"dates": ["2026-12-06"], "weekdays": ["sun"], "hours": ["00:00-12:00"]}, "2026-12-06T09:00+01:00",
         "quiet: 2026-12-06"),
        ({"weekdays": ["sun"], "hours": ["00:00-12:00"]}, "2026-12-06T09:00+01:00", "quiet: Sunday"),
    ],
)  # fmt: skip
def test_what_a_table_excludes(table: dict[str, Any], instant: str, reason: str | None) -> None:
    assert why(calendar(**table), instant) == reason


@pytest.mark.parametrize(
    ("instant", "reason"),
    [
        ("2026-03-29T01:59+01:00", "quiet: 01:30-02:30"),  # and then comes 03:00
        ("2026-03-29T03:00+02:00", None),
        ("2026-10-25T02:15+02:00", "quiet: 01:30-02:30"),
        ("2026-10-25T02:45+02:00", None),
        ("2026-10-25T02:15+01:00", "quiet: 01:30-02:30"),  # shown twice, excluded twice
        ("2026-10-25T02:30+01:00", None),
    ],
)
def test_P12_hours_are_those_that_a_clock_shows(instant: str, reason: str | None) -> None:
    assert why(calendar(hours=["01:30-02:30"]), instant) == reason


def test_P12_a_day_is_one_in_the_jobs_zone_or_in_the_calendars() -> None:
    found, own = calendar(dates=["2026-12-25"]), calendar(dates=["2026-12-25"], timezone="Asia/Tokyo")
    assert why(found, "2026-12-24T16:00+00:00", "Asia/Tokyo")
    assert not why(found, "2026-12-24T16:00+00:00", "Europe/Paris")
    assert why(own, "2026-12-24T16:00+00:00", "Europe/Paris")


def test_of_several_calendars_the_first_that_holds_gives_the_reason() -> None:
    known = {"a": calendar("a", weekdays=["mon"]), "b": calendar("b", dates=["2026-12-07"])}
    monday = datetime(2026, 12, 7, 9, tzinfo=UTC)
    assert excluded(known, ["gone", "b", "a"], monday, "UTC") == "b: 2026-12-07"
    assert excluded(known, ["a", "b"], monday, "UTC") == "a: Monday"
    assert excluded(known, [], monday, "UTC") is None
    assert unknown_calendars(known, ["a", "gone"]) == ("gone",)


# ── mistakes


@pytest.mark.parametrize(
    ("table", "key", "says", "hint"),
    [
        ({}, "", "excludes nothing", "dates"),
        ({"timezone": "UTC"}, "", "excludes nothing", None),
        ({"dates": "2026-12-25"}, "dates", "a list of days", 'write dates = ["2026-12-25"]'),
        ({"dates": [20261225]}, "dates", "a list of days", None),
        ({"dates": [datetime(2026, 12, 25, 12)]}, "dates", "a list of days", None),
        ({"dates": ["25.12.2026"]}, "dates", "cannot read '25.12.2026'", "2026-12-25"),
        ({"dates": ["2026-02-30"]}, "dates", "no day of the calendar", None),
        ({"dates": ["13-01"]}, "dates", "no day of the calendar", None),
        ({"dates": ["2026-12-24..01-02"]}, "dates", "a year at one end only", "at both, or at none"),
        ({"dates": ["2027-01-02..2026-12-24"]}, "dates", "ends before it begins", None),
        ({"dates": ["2026-01-01..2126-01-01"]}, "dates", f"more than {CALENDAR_DAYS_MAX} days", None),
        ({"dates": ["2026-01-01..2066-01-01", "2070-01-01..2110-01-01"]}, "dates", f"more than {CALENDAR_DAYS_MAX}", None),
        ({"dates": ["2026-12-24.."]}, "dates", "cannot read", None),
        ({"weekdays": ["satrday"]}, "weekdays", "'satrday' is no weekday", "did you mean saturday?"),
        ({"weekdays": [6]}, "weekdays", "a list of weekdays", None),
        ({"hours": ["22-7"]}, "hours", "cannot read '22-7'", "22:00-07:00"),
        ({"hours": ["22:00-25:00"]}, "hours", "no time of day", None),
        ({"hours": ["22:60-23:00"]}, "hours", "no time of day", None),
        ({"hours": ["24:00-07:00"]}, "hours", "no time of day", None),
        ({"hours": ["07:00-07:00"]}, "hours", "the whole day", "weekdays"),
        ({"hours": ["00:00-24:00"]}, "hours", "the whole day", None),
        ({"date": ["12-25"]}, "date", "not a key of a calendar", "did you mean dates?"),
        ({"colour": "red"}, "colour", "not a key of a calendar", "known keys are dates"),
        ({"dates": ["12-25"], "timezone": "Nowhere"}, "timezone", "Nowhere", None),
        ({"file": 3}, "file", "the name of an iCalendar file", None),
        ([], "", "must be a table", "[calendars.quiet]"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_table_is_told_with_its_key(table: Any, key: str, says: str, hint: str | None) -> None:
    with pytest.raises(Invalid) as caught:
        calendar_of("quiet", table, lambda _file, _place: Events())
    assert says in caught.value.message
    assert caught.value.details["key"] == key
    assert hint is None or hint in str(caught.value.hint)


# ── iCalendar


def ics(*events: str) -> str:
    parts = "".join(f"BEGIN:VEVENT\nUID:{number}\n{event}\nEND:VEVENT\n" for number, event in enumerate(events))
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x//EN\n{parts}END:VCALENDAR\n"


CHRISTMAS = "SUMMARY:Christmas Day\nDTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261226"
EACH_YEAR = "SUMMARY:Christmas Day\nDTSTART;VALUE=DATE:20201225\nRRULE:FREQ=YEARLY\nEXDATE;VALUE=DATE:20271225"
SALE = "SUMMARY:Sale\\, again\nDTSTART;TZID=America/New_York:20261202T220000\nDURATION:PT3H"
WEEKLY = (
    "SUMMARY:Maintenance\nDTSTART;TZID=Europe/Paris:20261021T233000\nDTEND;TZID=Europe/Paris:20261022T010000\n"
    "RRULE:FREQ=WEEKLY;COUNT=4"
)


@pytest.mark.parametrize(
    ("event", "instant", "reason"),
    [
        (CHRISTMAS, "2026-12-25T23:59+01:00", "quiet: Christmas Day"),
        (CHRISTMAS, "2026-12-26T00:00+01:00", None),
        (CHRISTMAS.replace("20261226", "20261228"), "2026-12-27T12:00+01:00", "quiet: Christmas Day"),
        ("SUMMARY:One\nDTSTART;VALUE=DATE:20261225", "2026-12-25T12:00+01:00", "quiet: One"),
        ("DTSTART;VALUE=DATE:20261225", "2026-12-25T12:00+01:00", "quiet: an event without a title"),
        (CHRISTMAS + "\nSTATUS:CANCELLED", "2026-12-25T12:00+01:00", None),
        (CHRISTMAS + "\nTRANSP:TRANSPARENT", "2026-12-25T12:00+01:00", "quiet: Christmas Day"),
        (EACH_YEAR, "2031-12-25T00:00+01:00", "quiet: Christmas Day"),
        (EACH_YEAR, "2031-12-24T23:59+01:00", None),
        (EACH_YEAR, "2027-12-25T12:00+01:00", None),
        (SALE, "2026-12-03T04:00+01:00", "quiet: Sale, again"),
        (SALE, "2026-12-03T03:59+01:00", None),
        (SALE, "2026-12-03T07:00+01:00", None),
        (WEEKLY, "2026-10-28T23:30+01:00", "quiet: Maintenance"),
        (WEEKLY, "2026-10-29T00:59+01:00", "quiet: Maintenance"),
        (WEEKLY, "2026-10-29T01:00+01:00", None),
        (WEEKLY, "2026-11-18T23:30+01:00", None),
        ("SUMMARY:Float\nDTSTART:20261202T100000\nDTEND:20261202T110000", "2026-12-02T10:30+01:00", "quiet: Float"),
        ("SUMMARY:Z\nDTSTART:20261202T100000Z\nDTEND:20261202T110000Z", "2026-12-02T11:30+01:00", "quiet: Z"),
        ("SUMMARY:Mark\nDTSTART:20261202T100000Z", "2026-12-02T10:00+00:00", None),
        ("SUMMARY:R\nDTSTART;VALUE=DATE:20261202\nRDATE;VALUE=DATE:20261209", "2026-12-09T10:00+01:00", "quiet: R"),
        ("SUMMARY:R\nDTSTART;VALUE=DATE:20261202\nRDATE;VALUE=DATE:20261209", "2026-12-02T10:00+01:00", "quiet: R"),
        # a start that its own rule does not have is one all the same
        ("SUMMARY:Off\nDTSTART;VALUE=DATE:20261202\nRRULE:FREQ=WEEKLY;BYDAY=FR", "2026-12-02T10:00+01:00", "quiet: Off"),
    ],
)  # fmt: skip
def test_what_an_event_excludes(event: str, instant: str, reason: str | None) -> None:
    assert why(calendar(text=ics(event)), instant) == reason


def test_an_instance_that_was_moved_or_cancelled_replaces_its_own() -> None:
    moved = ics(WEEKLY).replace(
        "END:VCALENDAR",
        "BEGIN:VEVENT\nUID:0\nSUMMARY:Moved\nRECURRENCE-ID;TZID=Europe/Paris:20261028T233000\n"
        "DTSTART;TZID=Europe/Paris:20261030T120000\nDURATION:PT1H\nEND:VEVENT\n"
        "BEGIN:VEVENT\nUID:0\nSTATUS:CANCELLED\nRECURRENCE-ID;TZID=Europe/Paris:20261104T233000\n"
        "DTSTART;TZID=Europe/Paris:20261104T233000\nEND:VEVENT\nEND:VCALENDAR",
    )
    found = calendar(text=moved)
    assert why(found, "2026-10-21T23:45+02:00") == "quiet: Maintenance"
    assert why(found, "2026-10-28T23:45+01:00") is None
    assert why(found, "2026-10-30T12:30+01:00") == "quiet: Moved"
    assert why(found, "2026-11-04T23:45+01:00") is None
    assert why(found, "2026-11-11T23:45+01:00") == "quiet: Maintenance"


def test_many_single_events_that_overlap_are_all_looked_at() -> None:
    starts = [datetime(2026, 12, 1, tzinfo=UTC) + timedelta(hours=number) for number in range(200)]
    lengths = [timedelta(minutes=10 + 70 * (number % 5 == 0)) for number in range(200)]
    events = [f"SUMMARY:{n}\nDTSTART:{start:%Y%m%dT%H%M%SZ}\nDTEND:{start + length:%Y%m%dT%H%M%SZ}"
              for n, (start, length) in enumerate(zip(starts, lengths, strict=True))]  # fmt: skip
    found = calendar(text=ics(*events))
    for minute in range(0, 60 * 24, 7):
        instant = datetime(2026, 12, 3, tzinfo=UTC) + timedelta(minutes=minute)
        held = any(start <= instant < start + length for start, length in zip(starts, lengths, strict=True))
        assert (found.reason(instant, "UTC") is not None) == held


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello", "no iCalendar file"),
        ("", "no iCalendar file"),
        ("BEGIN:VEVENT\nEND:VEVENT\n", "no VCALENDAR"),
        (ics("SUMMARY:Odd\nDTSTART:soon"), "event 'Odd': DTSTART is wrong"),
        (ics("SUMMARY:Odd"), "event 'Odd': DTSTART is missing"),
        (ics("SUMMARY:Odd\nDTSTART;TZID=Foo/Bar:20261202T220000\nDURATION:PT1H"), "unknown time zone 'Foo/Bar'"),
        (ics("SUMMARY:Odd\nDTSTART;VALUE=DATE:20261225\nRRULE:FREQ=SECONDLY"), "event 'Odd': "),
        (ics("SUMMARY:Odd\nDTSTART;VALUE=DATE:99991225"), "in the year 9999"),
        (ics("SUMMARY:Odd\nDTSTART;VALUE=DATE:20260101\nDTEND;VALUE=DATE:20960101"), f"more than {CALENDAR_DAYS_MAX}"),
        (ics(*[EACH_YEAR] * (CALENDAR_EVENTS_MAX + 1)), f"more than {CALENDAR_EVENTS_MAX} events"),
    ],
)
def test_a_file_of_which_a_part_cannot_be_read_is_refused_whole(text: str, says: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_events(text, "UTC")
    assert says in caught.value.message
    assert caught.value.hint


# ── what is said when a job is made


CALENDAR = Calendar("holidays", single={date(2026, 12, 25): "Christmas Day"})


def test_P6_a_calendar_of_which_the_file_could_not_be_read_blocks() -> None:
    known = {"holidays": replace(CALENDAR, unread="h.ics: its event 'Gala': unknown time zone 'Gotham'")}
    assert preflight(a_job(), Facts(), lambda _target: None, known) == ()
    assert preflight(a_job(exclude=("holidays",)), Facts(), lambda _target: None, known) == (
        "exclusion calendar holidays could not be read: h.ics: its event 'Gala': unknown time zone 'Gotham'",
    )
    assert excluded(known, ("holidays",), datetime(2026, 12, 25, 12, tzinfo=UTC), "UTC") == "holidays: Christmas Day"


def test_P6_a_calendar_that_is_gone_blocks() -> None:
    job = a_job(exclude=("nihgts", "holidays"))
    assert preflight(job, Facts(), lambda _target: None) == ()
    assert preflight(job, Facts(), lambda _target: None, {"nights": CALENDAR, "holidays": CALENDAR}) == (
        "exclusion calendar nihgts: config.toml has no [calendars.nihgts] (did you mean nights?)",
    )
    alone = preflight(a_job(exclude=("x",)), Facts(), lambda _target: None, {})
    assert alone == ("exclusion calendar x: config.toml has no [calendars.x] (it has none)",)


def test_warnings_name_pairs_that_do_not_go_together() -> None:
    quiet = calendar(hours=["00:00-12:00"])

    def told(schedule: str, *, shared: bool = False, **given: Any) -> list[str]:
        slots = parse_schedule(schedule, "UTC", anchor=START).set
        return list(
            policies.warnings(
                a_job(**given),
                slots,
                START,
                calendars={"quiet": quiet},
                groups={"gpu": 1},
                labels=("eu",),
                shared=shared,
            )
        )

    nine = "every day at 9:00"
    assert told(nine) == []
    assert told(nine, spread_s=86400, group="gpu", runs_on=("eu",), catch_up="all", overlap="queue") == []
    assert "spread of 5 minutes is longer than the 1 minute between" in told("* * * * *", spread_s=300)[0]
    assert told("2026-12-24 18:00", spread_s=86400) == []
    assert told(nine, exclude=("quiet",)) == ["all of its next 60 slots are excluded by quiet"]
    assert told("2027-01-05 09:00", exclude=("quiet",)) == ["its next slot is excluded by quiet"]
    assert told("every day at 9:00 and 15:00", exclude=("quiet", "gone")) == []
    assert "only the newest runs" in told(nine, catch_up="all", overlap="cancel_running")[0]
    assert "oldest and the newest" in told(nine, catch_up="all", overlap="queue_one")[0]
    assert "no limit for group cpu" in told(nine, group="cpu")[0]
    assert "does not have the label gpu" in told(nine, runs_on=("eu", "gpu"))[0]
    assert told(nine, runs_on=("gpu",), shared=True) == []
