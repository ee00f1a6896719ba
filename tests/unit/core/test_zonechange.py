"""Planned slots under zone data that changed. Rows carry the old law in their offset; the installed data is the new one.

Vancouver keeps -07:00 from 2026 on; until then its law was -08:00 in winter.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from horae.core.zonechange import Ahead, Course, Passed, Standing, follow
from horae.timing.recurrence import Gap, RecurrenceSet, Repeat
from horae.timing.schedule import parse_schedule
from horae.timing.zones import zone as zone_of

VANCOUVER = "America/Vancouver"
START = datetime(2026, 1, 1, tzinfo=UTC)
NINE = "every day at 9am"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def passed(text: str) -> Passed:
    """`passed("2026-11-01T09:00-08:00")`: an instant and the offset that was true by the old law."""
    instant = datetime.fromisoformat(text)
    offset = instant.utcoffset()
    assert offset is not None
    return Passed(instant.astimezone(UTC), round(offset.total_seconds()))


def ahead(text: str, exception: str | None = None) -> Ahead:
    return Ahead(f"key of {text}", *passed(text), exception)


def slots_of(
    schedule: str, zone: str = VANCOUVER, gap: Gap | None = None, repeat: Repeat | None = None
) -> RecurrenceSet:
    return parse_schedule(schedule, zone, anchor=START, gap=gap, repeat=repeat).set


def course(
    slots: RecurrenceSet,
    cursor: str | None,
    *,
    last: str | None = None,
    begun: str | None = None,
    others: tuple[Ahead, ...] = (),
    early: tuple[str, ...] = (),
    due: bool = False,
    taken: frozenset[datetime] = frozenset(),
) -> Course:
    begin = begun or last
    assert begin is not None, "say when the cursor was planned"
    rows = tuple(map(passed, early if last is None else (last, *early)))
    row: Ahead | Passed | None = None if cursor is None else passed(cursor) if due else ahead(cursor)
    rows += (row,) if isinstance(row, Passed) else ()
    standing = Standing(slots.zone, row, datetime.fromisoformat(begin).astimezone(UTC), others, rows)
    return follow(slots, standing, lambda slot: slot in {row.slot for row in rows} | taken)


def cursor_of(found: Course) -> datetime | None:
    return found.places[-1][1]


# --- the next slot


@pytest.mark.parametrize(
    ("schedule", "last", "cursor", "now"),
    [
        # the law that changed: -08:00 was planned, -07:00 it is
        (NINE, "2026-10-31T09:00-07:00", "2026-11-01T09:00-08:00", "2026-11-01T16:00"),
        (NINE, "2026-11-01T09:00-08:00", "2026-11-02T09:00-08:00", "2026-11-02T16:00"),
        ("Mondays at 9am", "2026-10-26T09:00-07:00", "2026-11-02T09:00-08:00", "2026-11-02T16:00"),
        # the other way round: what ran at nine, by a clock that was an hour ahead, does not run again at nine
        (NINE, "2026-11-01T09:00-06:00", "2026-11-02T09:00-06:00", "2026-11-02T16:00"),
        ("every day at 9am and 10am", "2026-11-01T09:00-06:00", "2026-11-01T10:00-06:00", "2026-11-01T17:00"),
        # nothing changed where it stands
        (NINE, "2026-06-01T09:00-07:00", "2026-06-02T09:00-07:00", "2026-06-02T16:00"),
        # around the clock each real slot runs once, whatever it is called
        ("0 * * * *", "2026-11-01T09:00-08:00", "2026-11-01T10:00-08:00", "2026-11-01T18:00"),
        ("*/20 * * * *", "2026-11-01T09:00-06:00", "2026-11-01T09:20-06:00", "2026-11-01T15:20"),
    ],
)
def test_the_plan_goes_on_behind_the_wall_time_that_had_its_turn(
    schedule: str, last: str, cursor: str, now: str
) -> None:
    assert cursor_of(course(slots_of(schedule), cursor, last=last)) == utc(now)


def test_a_slot_whose_new_instant_has_passed_is_still_planned() -> None:
    """The gateway was away until half past eleven; 9am had been an hour before what was planned."""
    found = course(slots_of(NINE), "2026-11-05T09:00-08:00", last="2026-11-04T09:00-08:00")
    assert cursor_of(found) == utc("2026-11-05T16:00")


def test_a_job_that_never_ran_is_planned_from_where_it_was_begun() -> None:
    found = course(slots_of(NINE), "2026-11-02T09:00-08:00", begun="2026-11-01T12:00-08:00")
    assert cursor_of(found) == utc("2026-11-02T16:00")
    # what was planned has not run: it is due at once, though by the new law it had passed when the job was made
    found = course(slots_of(NINE), "2026-11-02T09:00-08:00", begun="2026-11-02T08:30-08:00")
    assert cursor_of(found) == utc("2026-11-02T16:00")


def test_what_came_before_a_job_was_planned_anew_is_not_made_up_for() -> None:
    """It ran in summer, was removed, and is back since noon."""
    found = course(
        slots_of(NINE), "2026-11-20T09:00-08:00", last="2026-07-01T09:00-07:00", begun="2026-11-19T12:00-08:00"
    )
    assert cursor_of(found) == utc("2026-11-20T16:00")


def test_a_wall_time_that_exists_now_is_planned() -> None:
    """By the old law clocks in Tokyo went from 2:00 to 3:00 on 29 March, and the job skips such nights."""
    slots = slots_of("every day at 2:30", "Asia/Tokyo", gap="skip")
    found = course(slots, "2026-03-30T02:30+10:00", last="2026-03-28T02:30+09:00")
    assert cursor_of(found) == utc("2026-03-28T17:30")


@pytest.mark.parametrize("gap", ["shift", "after", "skip"])
def test_a_wall_time_that_had_its_turn_and_is_in_a_gap_now_has_it_no_more(gap: Gap) -> None:
    """By the old law there was no change in Paris on 29 March."""
    slots = slots_of("every day at 2:30", "Europe/Paris", gap=gap)
    found = course(slots, "2026-03-30T02:30+01:00", last="2026-03-29T02:30+01:00")
    assert cursor_of(found) == utc("2026-03-30T00:30")


def test_what_comes_behind_a_new_gap_is_not_lost() -> None:
    slots = slots_of("every day at 2:30 and 3:00", "Europe/Paris", gap="skip")
    found = course(slots, "2026-03-29T03:00+01:00", last="2026-03-29T02:30+01:00")
    assert cursor_of(found) == utc("2026-03-29T01:00")


def test_a_wall_time_that_comes_twice_now_does_not_run_twice() -> None:
    """By the old law clocks in Paris did not go back on 25 October."""
    slots = slots_of("every day at 2:30", "Europe/Paris", repeat="both")
    found = course(slots, "2026-10-26T02:30+01:00", last="2026-10-25T02:30+01:00")
    assert cursor_of(found) == utc("2026-10-26T01:30")


def test_of_two_instants_that_a_wall_time_has_now_neither_is_run() -> None:
    """By the old law clocks in Paris were two hours ahead of what they are."""
    slots = slots_of("every day at 2:30", "Europe/Paris", repeat="both")
    found = course(slots, "2026-10-26T02:30+03:00", last="2026-10-25T02:30+03:00")
    assert cursor_of(found) == utc("2026-10-26T01:30")


# --- what does not follow the clock


@pytest.mark.parametrize(
    ("schedule", "begun", "cursor"),
    [
        ("every 90 minutes from 2026-11-01T00:00:00+00:00", "2026-11-01T08:30-08:00", "2026-11-01T10:00-08:00"),
        ("every 90 minutes from 2026-11-01T00:00:00+00:00", "2026-11-01T10:30-06:00", "2026-11-01T12:00-06:00"),
        ("2026-11-20T09:00:00-08:00", "2026-11-01T09:00-08:00", "2026-11-20T09:00-08:00"),
        ("2026-11-01T09:20:00-08:00", "2026-11-01T09:00-08:00", "2026-11-01T09:20-08:00"),
        ("2026-11-01T09:20:00-06:00", "2026-11-01T09:00-06:00", "2026-11-01T09:20-06:00"),
    ],
)
def test_instants_and_elapsed_time_stay(schedule: str, begun: str, cursor: str) -> None:
    assert cursor_of(course(slots_of(schedule), cursor, begun=begun)) == ahead(cursor).slot


def test_single_instants_follow_one_another() -> None:
    slots = RecurrenceSet(VANCOUVER, dates=(utc("2026-11-01T15:00"), utc("2026-11-01T15:30")))
    found = course(slots, "2026-11-01T09:30-06:00", last="2026-11-01T09:00-06:00")
    assert cursor_of(found) == utc("2026-11-01T15:30")


def test_an_instant_without_an_offset_follows_the_clock() -> None:
    found = course(slots_of("2026-11-20T09:00"), "2026-11-20T09:00-08:00", begun="2026-11-01T12:00-08:00")
    assert cursor_of(found) == utc("2026-11-20T16:00")
    soon = course(slots_of("2026-11-20T09:00"), "2026-11-20T09:00-08:00", begun="2026-11-20T08:59-08:00")
    assert cursor_of(soon) == utc("2026-11-20T16:00")


def test_a_schedule_without_a_slot_left_has_none() -> None:
    assert (
        cursor_of(course(slots_of("2026-11-20T09:00"), "2026-11-21T09:00-08:00", begun="2026-11-20T12:00-08:00"))
        is None
    )


# --- what people decided


def test_skips_and_moves_go_along_with_their_slots() -> None:
    others = (
        ahead("2026-11-02T09:00-08:00", "skip"),
        ahead("2026-11-03T09:00-08:00", "move"),
        ahead("2026-11-04T09:00-08:00"),
        ahead("2026-12-24T09:00-08:00", "skip"),
    )
    found = course(slots_of(NINE), "2026-11-05T09:00-08:00", last="2026-11-01T09:00-08:00", others=others)
    assert [place for _, place in found.places] == [
        utc(f"{day}T16:00") for day in ("2026-11-02", "2026-11-03", "2026-11-04", "2026-12-24", "2026-11-05")
    ]


def test_the_plan_passes_over_what_was_decided() -> None:
    others = (ahead("2026-11-02T09:00-08:00", "skip"), ahead("2026-11-03T09:00-08:00", "move"))
    found = course(slots_of(NINE), "2026-11-04T09:00-08:00", last="2026-11-01T09:00-08:00", others=others)
    assert cursor_of(found) == utc("2026-11-04T16:00")


def test_a_skip_goes_with_its_slot_and_a_move_stays() -> None:
    """By the old law there was no change in Paris on 29 March; the job skips what a gap leaves out."""
    slots = slots_of("every day at 2:30", "Europe/Paris", gap="skip")
    night = "2026-03-29T02:30+01:00"
    for exception, place in (("skip", None), (None, None), ("move", passed(night).slot)):
        found = course(
            slots, "2026-03-30T02:30+01:00", last="2026-03-28T02:30+01:00", others=(ahead(night, exception),)
        )
        assert [slot for _, slot in found.places] == [place, utc("2026-03-30T00:30")]


def test_two_that_would_be_one_slot_are_not() -> None:
    """By the old law 1:30 came twice in Vancouver on 1 November, and both had been moved."""
    twice = (ahead("2026-11-01T01:30-07:00", "move"), ahead("2026-11-01T01:30-08:00", "move"))
    slots = slots_of("every day at 1:30", repeat="both")
    found = course(slots, "2026-11-02T01:30-08:00", last="2026-10-31T01:30-07:00", others=twice)
    assert [slot for _, slot in found.places] == [
        utc("2026-11-01T08:30"), utc("2026-11-01T09:30"), utc("2026-11-02T08:30"),
    ]  # fmt: skip


def test_a_slot_that_a_gap_had_moved_stays_at_its_instant() -> None:
    """By the old law 2:30 was 3:30 in Tokyo on 29 March."""
    slots = slots_of("every day at 2:30", "Asia/Tokyo")
    others = (ahead("2026-03-29T03:30+10:00", "skip"),)
    found = course(slots, "2026-03-30T02:30+10:00", last="2026-03-28T02:30+09:00", others=others)
    assert [slot for _, slot in found.places] == [utc("2026-03-28T17:30"), utc("2026-03-29T17:30")]


# --- what had its turn, and would have it again


def test_a_wall_time_that_had_its_turn_is_closed_while_the_plan_is_held_back() -> None:
    """It ran at 9am by a clock that was an hour ahead; at 9am by the new clock it must not run again."""
    found = course(slots_of(NINE), None, begun="2026-11-01T09:00-06:00", early=("2026-11-01T09:00-06:00",))
    assert found.closed == ((passed("2026-11-01T09:00-06:00"), utc("2026-11-01T16:00")),)


@pytest.mark.parametrize(
    ("cursor", "after", "outrun"),
    [
        ("2026-11-01T09:00-06:00", "2026-11-01T16:00", True),
        ("2026-11-01T09:00-08:00", "2026-11-01T16:00", True),
        ("2026-06-02T09:00-07:00", "2026-06-02T16:00", False),
    ],
)
def test_the_plan_goes_on_behind_the_wall_time_of_a_cursor_that_is_due(cursor: str, after: str, outrun: bool) -> None:
    found = course(slots_of("every day at 9am and 9:30am"), cursor, begun=cursor, due=True)
    assert (found.after, found.outrun) == (utc(after), outrun)
    assert (found.places, found.closed) == ((), ())


def test_nothing_is_closed_where_the_plan_has_passed() -> None:
    found = course(slots_of(NINE), None, begun="2026-11-01T09:00-08:00", early=("2026-11-01T09:00-08:00",))
    assert found.closed == ()


def test_a_slot_that_ran_early_does_not_run_again() -> None:
    early = ("2026-11-04T09:00-08:00", "2026-12-24T09:00-08:00")
    found = course(slots_of(NINE), "2026-11-03T09:00-08:00", last="2026-11-02T09:00-08:00", early=early)
    assert [slot for _, slot in found.closed] == [utc("2026-11-04T16:00"), utc("2026-12-24T16:00")]
    assert cursor_of(found) == utc("2026-11-03T16:00")


def test_nothing_is_closed_that_no_schedule_would_run_again() -> None:
    found = course(slots_of(NINE), None, begun="2026-11-01T17:30-06:00", early=("2026-11-01T17:30-06:00",))
    assert found.closed == ()


def test_a_wall_time_whose_instant_had_its_turn_under_another_name_stays_where_it_was_planned() -> None:
    """At 17:00 UTC nine o'clock ran; by the new law that was ten, and ten has not run."""
    slots = slots_of("every day at 9am and 10am")
    found = course(slots, "2026-11-01T10:00-08:00", last="2026-11-01T09:00-08:00")
    assert cursor_of(found) == utc("2026-11-01T18:00")


def test_what_stays_for_another_keeps_its_name_and_what_it_comes_before_is_closed() -> None:
    """By the old law Vancouver was in Tokyo: 5:00 would be where 21:00 ran early, and is before 21:00 of the day before."""
    slots = slots_of("every day at 5:00 and 10:30 and 21:00")
    cursor = "2026-03-09T05:00+09:00"
    found = course(
        slots, cursor, last="2026-03-08T21:00+09:00", begun="2026-03-08T12:00+00:00", early=("2026-03-09T21:00+09:00",)
    )
    assert cursor_of(found) == passed(cursor).slot
    assert found.kept == {ahead(cursor).key}
    assert utc("2026-03-09T04:00") in [slot for _, slot in found.closed]


def test_one_that_stays_where_another_would_be_closed_is_there_alone() -> None:
    """By the old law Kiritimati was in Honolulu, a day behind."""
    slots = slots_of("every day at 11:00", "Pacific/Kiritimati")
    cursor = "2026-11-30T11:00-10:00"
    found = course(slots, cursor, last="2026-11-29T11:00-10:00", early=("2026-12-01T11:00-10:00",))
    assert (cursor_of(found), found.closed) == (passed(cursor).slot, ())


@pytest.mark.parametrize("minutes", [0, 1, 700])
@pytest.mark.parametrize(
    "schedule", [NINE, "0 * * * *", "every day at 2:30 and 17:00", "every 90 minutes", "Mondays at 9am"]
)
@pytest.mark.parametrize("zone", [VANCOUVER, "Europe/Paris", "Australia/Lord_Howe"])
def test_unchanged_data_changes_nothing(schedule: str, zone: str, minutes: int) -> None:
    slots = slots_of(schedule, zone)
    now = utc("2026-03-20T03:10")
    for _ in range(40):
        now += timedelta(hours=13, minutes=minutes)
        last, cursor = slots.last_until(now), slots.next_after(now)
        assert last is not None
        assert cursor is not None
        local = [instant.astimezone(zone_of(zone)).isoformat() for instant in (last, cursor)]
        found = course(slots, local[1], last=local[0], begun=now.isoformat())
        assert cursor_of(found) == cursor
        assert found.closed == ()
