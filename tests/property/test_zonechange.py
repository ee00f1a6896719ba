"""Laws of slots under zone data that changed, over pairs of real laws: one planned, the other holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import takewhile

from hypothesis import assume, given
from hypothesis import strategies as st

from horae.core.zonechange import Ahead, Course, Passed, Standing, follow
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule
from horae.timing.zones import offset_s

ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)
LAWS = ("America/Vancouver", "America/Los_Angeles", "America/Phoenix", "America/Denver", "UTC", "Europe/Paris",
        "Africa/Lagos", "Europe/London", "Asia/Kolkata", "Australia/Adelaide", "Australia/Lord_Howe")  # fmt: skip
# No clock changes at these hours, so that a wall time is one instant by every law
times = st.lists(st.integers(5 * 60, 22 * 60), min_size=1, max_size=4, unique=True)
moments = st.integers(0, 400 * 86400).map(lambda seconds: ANCHOR + timedelta(seconds=seconds))


def at_times(minutes: list[int], zone: str) -> RecurrenceSet:
    listed = " and ".join(f"{minute // 60}:{minute % 60:02}" for minute in minutes)
    return parse_schedule(f"every day at {listed}", zone, anchor=ANCHOR).set


def standing(law: str, zone: str, slots: RecurrenceSet, now: datetime, *, ran: bool) -> Standing:
    """What is on record in `zone` when another law planned it."""
    last, cursor = slots.last_until(now), slots.next_after(now)
    assert last is not None
    assert cursor is not None
    used = Passed(last, offset_s(last, law)) if ran else None
    return Standing(zone, Ahead("cursor", cursor, offset_s(cursor, law), None), now, used)


def place(course: Course) -> datetime:
    ((_, slot),) = course.places
    assert slot is not None
    return slot


def wall(instant: datetime, offset: int) -> datetime:
    return instant + timedelta(seconds=offset)


def decided(state: Standing, slots: RecurrenceSet) -> Course:
    had = {state.last.slot} if state.last else set[datetime]()
    return follow(slots, state, lambda slot: slot in had)


@given(times, st.sampled_from(LAWS), st.sampled_from(LAWS), moments)
def test_no_wall_time_runs_twice_and_none_is_lost(minutes: list[int], law: str, zone: str, now: datetime) -> None:
    slots = at_times(minutes, zone)
    state = standing(law, zone, at_times(minutes, law), now, ran=True)
    assert state.last is not None
    assert state.cursor is not None
    slot = place(decided(state, slots))
    assume(slot != state.cursor.slot or slots.contains(slot))  # it stays where its instant was taken: see the next test
    used, promised = wall(*state.last), wall(state.cursor.slot, state.cursor.offset_s)
    shown = wall(slot, offset_s(slot, zone))
    assert used < shown <= promised, "not again what ran, and not later than what was promised"
    between = takewhile(lambda other: other < slot, slots.between(slot - timedelta(days=3), slot))
    lost = [other for other in between if wall(other, offset_s(other, zone)) > used]
    assert all(other <= now for other in lost), "what it passes over had passed before it was planned"


@given(times, st.sampled_from(LAWS), st.sampled_from(LAWS), moments, st.booleans())
def test_asking_again_gives_the_same(minutes: list[int], law: str, zone: str, now: datetime, ran: bool) -> None:
    slots = at_times(minutes, zone)
    state = standing(law, zone, at_times(minutes, law), now, ran=ran)
    assert state.cursor is not None
    slot = place(decided(state, slots))
    offset = offset_s(slot, zone) if slots.contains(slot) else state.cursor.offset_s
    later = now + timedelta(seconds=1)
    again = Standing(zone, Ahead("cursor", slot, offset, None), later if slot > later else now, state.last)
    assert place(decided(again, slots)) == slot


@given(times, st.sampled_from(LAWS), moments, st.booleans())
def test_the_same_law_changes_nothing(minutes: list[int], law: str, now: datetime, ran: bool) -> None:
    slots = at_times(minutes, law)
    state = standing(law, law, slots, now, ran=ran)
    assert state.cursor is not None
    assert place(decided(state, slots)) == state.cursor.slot
