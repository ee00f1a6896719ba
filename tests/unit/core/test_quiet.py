"""Quiet hours and digests, over clock changes too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.delivery import Quiet
from horae.core.quiet import WHOLE_DAY, hold, minutes_of, quiet_until

PARIS = "Europe/Paris"
NIGHT = Quiet(PARIS, ((22 * 60, 7 * 60),), 8 * 60)


def at(text: str, place: str = PARIS) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(place)).astimezone(UTC)


@pytest.mark.parametrize(
    ("urgency", "alert", "now", "until", "digest"),
    [
        ("high", False, "2026-06-01T23:00", None, False),
        ("high", True, "2026-06-01T23:00", None, False),
        ("normal", False, "2026-06-01T23:00", "2026-06-02T07:00", True),
        ("normal", False, "2026-06-01T06:59:59", "2026-06-01T07:00", True),
        ("normal", False, "2026-06-01T07:00", None, False),
        ("normal", True, "2026-06-01T23:00", None, False),
        ("low", False, "2026-06-01T12:00", "2026-06-02T08:00", True),
        ("low", False, "2026-06-01T07:30", "2026-06-01T08:00", True),
        ("low", False, "2026-06-01T08:00", "2026-06-01T08:00", True),
        ("low", True, "2026-06-01T23:00", "2026-06-02T07:00", False),
        ("low", True, "2026-06-01T12:00", None, False),
    ],
)
def test_the_table(urgency: str, alert: bool, now: str, until: str | None, digest: bool) -> None:
    found = hold(NIGHT, urgency, alert, at(now))  # type: ignore[arg-type]
    assert found == (None if until is None else at(until), digest)


def test_without_quiet_hours_all_goes_out_at_once() -> None:
    assert hold(None, "low", False, at("2026-06-01T23:00")) == (None, False)


def test_without_a_digest_low_is_like_normal() -> None:
    quiet = Quiet(PARIS, ((22 * 60, 7 * 60),))
    assert hold(quiet, "low", False, at("2026-06-01T12:00")) == (None, False)
    assert hold(quiet, "low", False, at("2026-06-01T23:00")) == (at("2026-06-02T07:00"), True)


def test_a_digest_alone_needs_no_quiet_hours() -> None:
    quiet = Quiet(PARIS, (), 8 * 60)
    assert hold(quiet, "low", False, at("2026-06-01T12:00")) == (at("2026-06-02T08:00"), True)
    assert hold(quiet, "normal", False, at("2026-06-01T12:00")) == (None, False)


def test_a_digest_in_quiet_hours_waits_for_their_end() -> None:
    quiet = Quiet(PARIS, ((22 * 60, 7 * 60),), 6 * 60)
    assert hold(quiet, "low", False, at("2026-06-01T12:00")) == (at("2026-06-02T07:00"), True)


def test_hours_that_touch_or_overlap_are_one() -> None:
    quiet = Quiet(PARIS, ((22 * 60, 0), (0, 5 * 60), (4 * 60, 6 * 60), (6 * 60, 7 * 60)))
    assert quiet_until(quiet, at("2026-06-01T22:00")) == at("2026-06-02T07:00")
    assert minutes_of(((0, 720), (720, 1440))) == minutes_of(((720, 720 + 1), (721, 720))) == WHOLE_DAY


@pytest.mark.parametrize(
    ("now", "hours", "until"),
    [
        # The clock skips 02:00 to 03:00: the hours end where it goes on
        ("2026-03-29T01:30", (60, 150), "2026-03-29T03:00"),
        ("2026-03-28T23:00", (1320, 420), "2026-03-29T07:00"),
        # It shows 02:00 to 03:00 twice: the hours end at 02:30, begin again at 02:00, and end again
        ("2026-10-25T01:30", (60, 150), "2026-10-25T02:30"),
        ("2026-10-24T23:00", (1320, 420), "2026-10-25T07:00"),
    ],
)
def test_the_end_of_quiet_hours_when_clocks_change(now: str, hours: tuple[int, int], until: str) -> None:
    assert quiet_until(Quiet(PARIS, (hours,)), at(now)) == at(until)


def test_hours_that_the_clock_shows_twice_are_quiet_twice() -> None:
    quiet = Quiet(PARIS, ((120, 180),))
    assert quiet_until(quiet, datetime(2026, 10, 25, 0, 10, tzinfo=UTC)) == datetime(2026, 10, 25, 2, 0, tzinfo=UTC)


def test_a_digest_at_a_time_that_the_clock_skips_comes_as_much_later() -> None:
    quiet = Quiet(PARIS, (), 150)
    assert hold(quiet, "low", False, at("2026-03-29T00:00"))[0] == at("2026-03-29T03:30")
    late = Quiet("America/Scoresbysund", (), 23 * 60 + 30)  # 2026-03-28 has no 23:00 to 24:00 there
    assert hold(late, "low", False, datetime(2026, 3, 29, 1, 10, tzinfo=UTC))[0] == datetime(
        2026, 3, 29, 1, 30, tzinfo=UTC
    )


# --- laws

ZONES = st.sampled_from(
    ["UTC", PARIS, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "America/St_Johns"]
)
MINUTE = st.integers(0, 1439)
HOURS = st.lists(st.tuples(MINUTE, st.integers(0, 1440)).filter(lambda pair: pair[0] != pair[1]), max_size=4).filter(
    lambda hours: minutes_of(tuple(hours)) != WHOLE_DAY
)
CHANGES = [at(text) for text in ("2026-03-29T02:00", "2026-10-25T03:00")] + [
    datetime(2026, 4, 4, 15, tzinfo=UTC), datetime(2026, 11, 1, 6, tzinfo=UTC), datetime(2011, 12, 30, 10, tzinfo=UTC),
]  # fmt: skip
NOW = st.one_of(
    st.builds(
        lambda change, off: change + timedelta(microseconds=off),
        st.sampled_from(CHANGES),
        st.integers(-36 * 3600 * 10**6, 36 * 3600 * 10**6),
    ),
    st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC)),
)


def quiet_at(quiet: Quiet, instant: datetime) -> bool:
    local = instant.astimezone(ZoneInfo(quiet.timezone))
    minute = local.hour * 60 + local.minute
    return any(a <= minute < b if a < b else (minute >= a or minute < b) for a, b in quiet.hours)


@given(ZONES, HOURS, NOW)
def test_the_end_is_the_first_instant_that_is_not_quiet(
    place: str, hours: list[tuple[int, int]], now: datetime
) -> None:
    quiet = Quiet(place, tuple(hours))
    until = quiet_until(quiet, now)
    if until is None:
        assert not quiet_at(quiet, now)
        return
    assert quiet_at(quiet, now)
    assert until > now
    assert not quiet_at(quiet, until)
    step = max(timedelta(minutes=1), (until - now) / 200)
    assert quiet_at(quiet, until - timedelta(microseconds=1))
    while now < until:
        assert quiet_at(quiet, now)
        now += step


@given(
    ZONES, HOURS, st.none() | MINUTE, NOW, st.sampled_from(["high", "normal", "low"]), st.booleans()
)  # fmt: skip
def test_what_is_held_is_held_until_a_time_to_come_that_is_not_quiet(
    place: str, hours: list[tuple[int, int]], digest: int | None, now: datetime, urgency: str, alert: bool
) -> None:
    quiet = Quiet(place, tuple(hours), digest)
    until, together = hold(quiet, urgency, alert, now)  # type: ignore[arg-type]
    if until is None:
        assert not together
        assert urgency == "high" or (alert and urgency == "normal") or not quiet_at(quiet, now)
        return
    assert until >= now
    assert not quiet_at(quiet, until)
    assert together is not alert
    assert until - now < timedelta(days=3)
    if together and urgency == "low" and digest is not None and not hours:
        local = until.astimezone(ZoneInfo(place))
        before = (local - timedelta(hours=3)).utcoffset() != local.utcoffset()
        assert local.hour * 60 + local.minute == digest or before or place == "Pacific/Apia"
