"""What a preview says about clock changes: every skipped and repeated wall time is a slot, falls on one, or is told of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from horae.timing.clockchange import EPOCH, Gap, Repeat, instants_of
from horae.timing.notes import ClockNote, ClockNotes, change_words, changes_between, shift_words
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule
from horae.timing.zones import zone

GAPS: tuple[Gap, ...] = ("shift", "after", "skip")
REPEATS: tuple[Repeat, ...] = ("first", "both", "last")
CHANGES = {  # zone → a wall time of the day on which its clock changes
    "America/New_York": ("2021-03-14", "2021-11-07"),
    "Europe/Berlin": ("2021-03-28", "2021-10-31"),
    "Australia/Lord_Howe": ("2021-10-03", "2021-04-04"),
    "America/Sao_Paulo": ("2018-11-04", "2018-02-17"),
    "Pacific/Apia": ("2011-12-30", "2011-04-02"),
    "America/St_Johns": ("2011-03-13", "2010-11-07"),
}


def noon(day: str, name: str, days: int = 0) -> datetime:
    return datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=zone(name)) + timedelta(days=days)


def told(text: str, name: str, day: str, gap: Gap | None = None, repeat: Repeat | None = None) -> list[str]:
    """All that is said from noon two days before to noon two days after, by instant; slots in angles."""
    begin, end = noon(day, name, -2), noon(day, name, 2)
    slots = parse_schedule(text, name, anchor=begin, gap=gap, repeat=repeat).set
    notes = ClockNotes(slots)
    found = [(note.at, f"<{note.text}>") for slot in slots.between(begin, end) if (note := notes.of_slot(slot))]
    found += [(note.at, note.text) for note in notes.left_out(begin, end)]
    return [f"{at.astimezone(zone(name)):%d %H:%M%z} {words}" for at, words in sorted(found)]


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        ("shift", "14 03:30-0400 <runs at 03:30 on 14 March: the clock skips 02:30>"),
        ("after", "14 03:00-0400 <runs at 03:00 on 14 March: the clock skips 02:30>"),
        ("skip", "14 03:00-0400 the clock skips 02:30 on 14 March: no run"),
    ],
)
def test_a_gap_in_new_york(gap: Gap, said: str) -> None:
    assert told("every day at 02:30", "America/New_York", "2021-03-14", gap) == [said]
    assert told("every day at 04:30", "America/New_York", "2021-03-14", gap) == []


@pytest.mark.parametrize(
    ("repeat", "said"),
    [
        ("first", ["31 02:30+0200 <02:30 comes twice on 31 October: this is the first>",
                   "31 02:30+0100 02:30 comes twice on 31 October: the second is not run"]),
        ("last", ["31 02:30+0200 02:30 comes twice on 31 October: the first is not run",
                  "31 02:30+0100 <02:30 comes twice on 31 October: this is the second>"]),
        ("both", ["31 02:30+0200 <02:30 comes twice on 31 October: this is the first of two runs>",
                  "31 02:30+0100 <02:30 comes twice on 31 October: this is the second of two runs>"]),
    ],
)  # fmt: skip
def test_a_repeated_hour_in_berlin(repeat: Repeat, said: list[str]) -> None:
    assert told("every day at 02:30", "Europe/Berlin", "2021-10-31", repeat=repeat) == said
    assert told("every day at 01:59", "Europe/Berlin", "2021-10-31", repeat=repeat) == []
    assert told("every day at 03:00", "Europe/Berlin", "2021-10-31", repeat=repeat) == []


def test_lord_howe_moves_by_half_an_hour() -> None:
    assert told("every day at 02:15", "Australia/Lord_Howe", "2021-10-03") == [
        "03 02:45+1100 <runs at 02:45 on 3 October: the clock skips 02:15>"
    ]
    assert told("every day at 01:45", "Australia/Lord_Howe", "2021-04-04", repeat="both") == [
        "04 01:45+1100 <01:45 comes twice on 4 April: this is the first of two runs>",
        "04 01:45+1030 <01:45 comes twice on 4 April: this is the second of two runs>",
    ]
    assert told("every day at 01:15", "Australia/Lord_Howe", "2021-04-04") == []


def test_sao_paulo_left_out_midnight() -> None:
    said = "04 01:00-0200 <runs at 01:00 on 4 November: the clock skips 00:00>"
    assert told("every day at 00:00", "America/Sao_Paulo", "2018-11-04") == [said]
    assert told("every day at 00:00", "America/Sao_Paulo", "2018-11-04", "after") == [said]
    assert told("every day at 23:30", "America/Sao_Paulo", "2018-02-17") == [
        "17 23:30-0200 <23:30 comes twice on 17 February: this is the first>",
        "17 23:30-0300 23:30 comes twice on 17 February: the second is not run",
    ]


def test_apia_lost_a_day() -> None:
    falls = "31 09:00+1400 <the clock skips 09:00 on 30 December: its run falls on this one>"
    assert told("every day at 09:00", "Pacific/Apia", "2011-12-30") == [falls]
    assert told("0 9 30 12 *", "Pacific/Apia", "2011-12-30") == [
        "31 09:00+1400 <runs at 09:00 on 31 December: the clock skips 09:00 on 30 December>"
    ]
    assert told("every day at 09:00", "Pacific/Apia", "2011-12-30", "skip") == [
        "31 00:00+1400 the clock skips 09:00 on 30 December: no run"
    ]
    assert told("0 9,21 * * *", "Pacific/Apia", "2011-12-30", "after") == [
        "31 00:00+1400 <runs at 00:00 on 31 December: the clock skips 09:00 and 21:00 on 30 December>"
    ]


def test_what_follows_the_clock_is_told_in_one_line() -> None:
    assert told("*/15 * * * *", "Europe/Berlin", "2021-03-28") == [
        "28 03:00+0200 the clock skips 02:00, 02:15, 02:30 and 02:45 on 28 March: no runs"
    ]
    assert told("* * * * *", "Europe/Berlin", "2021-03-28") == [
        "28 03:00+0200 the clock skips 60 times of day from 02:00 to 02:59 on 28 March: no runs"
    ]
    assert told("* * * * *", "Europe/Berlin", "2021-03-28", "after") == [
        "28 03:00+0200 <the clock skips 60 times of day from 02:00 to 02:59 on 28 March: their runs fall on this one>"
    ]
    assert told("0,30 2 * * *", "Europe/Berlin", "2021-10-31")[2] == (
        "31 02:00+0100 02:00 and 02:30 come twice on 31 October: the second ones are not run"
    )


def test_a_run_that_falls_on_another() -> None:
    assert told("30 2,3 * * *", "Europe/Berlin", "2021-03-28") == [
        "28 03:30+0200 <the clock skips 02:30 on 28 March: its run falls on this one>"
    ]


def test_an_interval_that_keeps_its_time_of_day_loses_it() -> None:
    assert told("every 24 hours", "Europe/Berlin", "2021-03-28") == [
        "28 03:00+0200 from 28 March on it runs 1 hour later by the clock: an interval counts elapsed time"
    ]
    assert "earlier" in told("every 6 hours", "Europe/Berlin", "2021-10-31")[0]
    assert told("every 1 hour", "Europe/Berlin", "2021-03-28") == []  # on the hour before and after
    assert told(
        "every 90 minutes", "Australia/Lord_Howe", "2021-10-03"
    )  # sixteen a day, and half an hour is none of it
    assert told("every 7 hours", "Europe/Berlin", "2021-03-28") == []  # other times every day anyway
    assert told("every 15 minutes", "Europe/Berlin", "2021-03-28") == []


def test_what_a_person_left_out_is_not_the_clocks_doing() -> None:
    name, day = "Europe/Berlin", "2021-03-28"
    slots = parse_schedule("every day at 02:30", name, anchor=noon(day, name), gap="skip").set
    shifted = instants_of(datetime(2021, 3, 28, 2, 30), name)
    without = RecurrenceSet(name, slots.rules, exdates=shifted, gap="skip", repeat="both")
    assert ClockNotes(slots).left_out(noon(day, name, -1), noon(day, name))
    assert ClockNotes(without).left_out(noon(day, name, -1), noon(day, name)) == []


def test_bounds_of_rules_hold() -> None:
    name, day = "Europe/Berlin", "2021-03-28"
    slots = parse_schedule("every day at 02:30", name, anchor=noon(day, name), gap="skip").set
    around = (noon(day, name, -2), noon(day, name, 2))
    assert ClockNotes(slots.ending(noon(day, name, -1))).left_out(*around) == []
    assert ClockNotes(slots.beginning(noon(day, name))).left_out(*around) == []
    both = slots.ending(noon(day, name, -1)) | slots.beginning(noon(day, name, -1))
    assert len(ClockNotes(both).left_out(*around)) == 1


def test_the_stretch_is_open_at_its_beginning_and_closed_at_its_end() -> None:
    name, at = "Europe/Berlin", datetime(2021, 3, 28, 1, tzinfo=UTC)
    notes = ClockNotes(parse_schedule("every day at 02:30", name, anchor=at, gap="skip").set)
    second = timedelta(seconds=1)
    assert [len(notes.left_out(*ends)) for ends in ((at - second, at), (at, at + second), (at - second, at - second))] == [
        1, 0, 0,
    ]  # fmt: skip
    assert changes_between(name, at - second, at)
    assert not changes_between(name, at, at + timedelta(days=200))
    assert [shift_words(change) for change in changes_between(name, at, at + timedelta(days=400))] == ["-1h", "+1h"]


def test_changes_in_words() -> None:
    def only(name: str, day: str) -> tuple[str, str]:
        (change,) = changes_between(name, noon(day, name, -1), noon(day, name, 1))
        return shift_words(change), change_words(change)

    assert only("Europe/Berlin", "2021-03-28") == ("+1h", "the clock goes forward 1 hour: 02:00 becomes 03:00")
    assert only("Australia/Lord_Howe", "2021-04-04") == ("-30m", "the clock goes back 30 minutes: 02:00 becomes 01:30")
    assert only("Pacific/Apia", "2011-12-30") == (
        "+24h", "the clock goes forward 1 day: 00:00 on 30 December becomes 00:00 on 31 December",
    )  # fmt: skip
    assert only("Asia/Kathmandu", "1986-01-01")[0] == "+15m"
    assert not changes_between("UTC", noon("2000-01-01", "UTC"), noon("2030-01-01", "UTC"))


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(("gap", "repeat"), list(product(GAPS, REPEATS)))
def test_no_wall_time_goes_untold(name: str, gap: Gap, repeat: Repeat) -> None:
    """For each quarter of an hour of the days around a change: its instants are slots, or a note says that they are not.

    The oracle asks `instants_of` for one wall time at a time, and knows neither spans nor rules.
    """
    for day, minutes in product(CHANGES[name], ("*/15", "7")):
        begin, end = noon(day, name, -2), noon(day, name, 2)
        slots = parse_schedule(f"{minutes} * * * *", name, anchor=begin, gap=gap, repeat=repeat).set
        notes = ClockNotes(slots)
        spoken = {slot: note for slot in slots.between(begin, end) if (note := notes.of_slot(slot))}
        left = notes.left_out(begin, end)
        skipped = repeated = 0
        wall = begin.replace(tzinfo=None, hour=0, minute=0)
        while wall < end.replace(tzinfo=None, hour=0, minute=0):
            wall += timedelta(minutes=1)
            if wall.minute not in ((0, 15, 30, 45) if minutes == "*/15" else (7,)):
                continue
            showings = instants_of(wall, name, "skip", "both")
            runs = instants_of(wall, name, gap, repeat)
            if not showings:
                skipped += 1
                assert all(runs[0] in spoken for _ in runs[:1]), (wall, "a shifted run says why")
            elif len(showings) == 2:
                repeated += 1
                assert set(runs) <= set(spoken), wall
            else:
                clean = [at for at in runs if at in spoken and spoken[at].kind in ("first", "last", "shifted")]
                assert clean == [], (wall, "an ordinary run has nothing to say but what falls on it")
        assert bool(left) == bool((skipped and gap == "skip") or (repeated and repeat != "both")), (day, left)
        assert skipped or repeated or minutes == "7", "the day has a change"


def test_it_is_cheap_where_nothing_changes() -> None:
    name = "Europe/Berlin"
    begin = noon("2021-06-01", name)
    notes = ClockNotes(parse_schedule("* * * * *", name, anchor=begin).set)
    assert not any(notes.of_slot(begin + timedelta(minutes=number)) for number in range(5000))
    assert "_parts" not in vars(notes)  # the rules were not even compiled


def test_single_dates_have_nothing_to_explain() -> None:
    at = datetime(2021, 10, 31, 0, 30, tzinfo=UTC)
    assert ClockNotes(RecurrenceSet("Europe/Berlin", dates=(at,))).of_slot(at) is None
    assert ClockNotes(RecurrenceSet("Europe/Berlin", dates=(at,))).left_out(EPOCH, at) == []
    assert ClockNote(at, "first", "x") < ClockNote(at + timedelta(seconds=1), "first", "x")


def test_a_run_that_is_moved_to_its_own_bound_is_explained() -> None:
    text = "every day at 02:30 until 2026-03-29 03:00"
    slots = parse_schedule(text, "Europe/Paris", anchor=datetime(2026, 1, 1, tzinfo=UTC), gap="after").set
    last = slots.last_until(datetime(2026, 4, 1, tzinfo=UTC))
    assert last is not None
    assert last == datetime(2026, 3, 29, 1, tzinfo=UTC)
    note = ClockNotes(slots).of_slot(last)
    assert note is not None
    assert note.kind == "shifted"
