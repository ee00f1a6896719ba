"""What is expected of jobs: when it is looked at, whatever clocks do, and how it is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from horae.core.expect import first_looks, next_by, overdue_by, overdue_every, said_nothing, window_of
from tests.support.builders import DAY, HOUR, SECOND, START, a_job, at

ZONES = (
    *("UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Chatham"),
    *("America/Sao_Paulo", "Africa/Cairo", "Pacific/Kiritimati", "America/Santiago"),
)
clocks = st.builds(lambda hour, minute: f"{hour:02d}:{minute:02d}", st.integers(0, 23), st.integers(0, 59))
instants = st.integers(0, 40 * 365 * 86_400).map(lambda s: datetime(2010, 1, 1, tzinfo=UTC) + timedelta(seconds=s))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00")


@given(clocks, st.sampled_from(ZONES), instants)
@example("02:30", "Europe/Paris", utc("2027-03-28T01:30:00"))  # left out by the clock
@example("02:30", "Europe/Paris", utc("2026-10-25T00:30:00"))  # shown twice
@example("00:00", "America/Santiago", utc("2026-09-06T04:00:00"))  # there is no midnight
@example("09:30", "UTC", utc("2026-03-02T09:30:00"))  # on the dot
def test_windows_follow_one_another_and_leave_nothing_out(clock: str, place: str, now: datetime) -> None:
    begin, end = window_of(clock, place, now)
    after = next_by(clock, place, now)
    assert begin < end <= now < after
    assert next_by(clock, place, begin) == end
    assert next_by(clock, place, end) == after
    assert window_of(clock, place, after) == (end, after)
    assert window_of(clock, place, after - SECOND) == (begin, end)
    assert 22 * HOUR <= end - begin <= 26 * HOUR


@given(clocks, st.sampled_from(ZONES), instants)
def test_a_window_ends_when_a_clock_of_the_zone_says_so(clock: str, place: str, now: datetime) -> None:
    end = next_by(clock, place, now)
    local = end.astimezone(ZoneInfo(place))
    if f"{local:%H:%M}" != clock:  # only where that clock leaves the time out: then it comes as much later
        hour, minute = map(int, clock.split(":"))
        wanted = local.replace(hour=hour, minute=minute, second=0, fold=0)
        assert f"{wanted.astimezone(UTC).astimezone(ZoneInfo(place)):%H:%M}" != clock
    assert local.second == 0


@pytest.mark.parametrize(
    ("clock", "now", "begin", "end"),
    [
        ("09:30", "2026-03-02T08:29:59", "2026-02-28T08:30:00", "2026-03-01T08:30:00"),
        ("09:30", "2026-03-02T08:30:00", "2026-03-01T08:30:00", "2026-03-02T08:30:00"),
        ("02:30", "2027-03-28T12:00:00", "2027-03-27T01:30:00", "2027-03-28T01:30:00"),  # 3:30 by the clock
        ("02:30", "2027-03-29T12:00:00", "2027-03-28T01:30:00", "2027-03-29T00:30:00"),  # 23 hours
        ("02:30", "2026-10-25T12:00:00", "2026-10-24T00:30:00", "2026-10-25T00:30:00"),  # the first of the two
        ("02:30", "2026-10-26T12:00:00", "2026-10-25T00:30:00", "2026-10-26T01:30:00"),  # 25 hours
        ("00:00", "2026-03-02T12:00:00", "2026-02-28T23:00:00", "2026-03-01T23:00:00"),
        ("23:59", "2026-03-02T12:00:00", "2026-02-28T22:59:00", "2026-03-01T22:59:00"),
    ],
)
def test_the_window_of_paris(clock: str, now: str, begin: str, end: str) -> None:
    assert window_of(clock, "Europe/Paris", utc(now)) == (utc(begin), utc(end))


def test_a_job_of_the_evening_has_until_the_next_morning() -> None:
    begin, end = window_of("09:30", "UTC", at("09:30", day=3))
    assert begin < at("18:00", day=2) < end


@pytest.mark.parametrize("now", ["1980-01-01T00:00:10", "2000-01-01T00:00:10", "2024-01-01T12:00:00"])
def test_a_clock_that_begins_anew_has_windows_too(now: str) -> None:
    begin, end = window_of("00:00", "UTC", utc(now))
    assert (end.date(), end - begin) == (utc(now).date(), DAY)


def test_it_counts_from_now() -> None:
    assert first_looks(a_job(), START) == {}
    job = a_job(expect_by="09:30", expect_every_s=3600, timezone="Europe/Paris")
    assert first_looks(job, START) == {"by": at("08:30"), "every": at("09:00")}
    assert first_looks(job, at("08:30"))["by"] == at("08:30", day=3), "a time that is now is over"


def test_what_is_told_names_what_was_expected_and_where_to_look() -> None:
    cause, text = overdue_by("Tides", "tides", "09:30", "Europe/Paris")
    assert cause == "no run had completed by 09:30 (Europe/Paris)"
    assert text == f"Tides is overdue: {cause}. `horae why tides` says what became of its slots."
    cause, text = overdue_every("Tides", "tides", 93_600, None)
    assert cause == "no run completed within 1 day 2 hours"
    assert "none has completed yet" in text
    assert "the last one did at 2026-03-02 08:00Z" in overdue_every("Tides", "tides", 93_600, START)[1]


def test_silence_is_told_with_its_length_and_has_one_cause() -> None:
    once, often = said_nothing("Tides", 1), said_nothing("Tides", 3)
    assert once[0] == often[0], "or each further run would be trouble of another kind"
    assert once[1] == "Tides completed and said nothing. Something was expected (`expect_output`)."
    assert often[1].startswith("Tides completed and said nothing, 3 runs in a row. ")
