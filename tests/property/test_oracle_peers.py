"""Horae beside other libraries where clocks change: equal where they are right, and where not, listed with the reason.

A peer that a row of `ROWS` does not name agrees with us there; one that it names gives what the row says, so a library
that gets mended is noticed. All are asked from ordinary instants, hours away from a change, in the wheel's zones.

- cronsim: Debian's rules; a time of day in a gap runs right after it, what begins with a star follows the clock.
- croniter: runs a time of day twice in a repeated hour.
- recurring-ical-events (what calendars draw): RFC 5545's reading of each wall time on its own, duplicates and all.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from typing import NamedTuple

import icalendar
import pytest
import recurring_ical_events
from croniter import croniter
from cronsim import CronSim

from horae.timing.schedule import parse_schedule
from horae.timing.zones import zone
from tests.support.oracles import cron_times
from tests.support.oracles_clock import families, modern

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
AROUND = timedelta(hours=26)


def _cronsim(line: str, name: str, after: datetime, until: datetime) -> list[datetime]:
    found = (slot.astimezone(UTC) for slot in CronSim(line, after.astimezone(zone(name))))
    return list(takewhile(lambda slot: slot <= until, found))


def _croniter(line: str, name: str, after: datetime, until: datetime) -> list[datetime]:
    steps = croniter(line, after.astimezone(zone(name)))

    def found() -> Iterator[datetime]:
        while True:
            yield steps.get_next(datetime).astimezone(UTC)

    return list(takewhile(lambda slot: slot <= until, found()))


def _calendar(line: str, name: str, after: datetime, until: datetime) -> list[datetime]:
    """What a calendar draws for the equal RRULE."""
    times = cron_times(line)
    event = icalendar.Event()
    first = after.astimezone(zone(name)).date() - timedelta(days=2)
    event.add("uid", "1")
    event.add("dtstart", datetime.combine(first, time(*divmod(times[0], 60)), zone(name)))
    event.add("duration", timedelta(minutes=1))
    hours, minutes = sorted({time // 60 for time in times}), sorted({time % 60 for time in times})
    event.add("rrule", {"FREQ": "DAILY", "BYHOUR": hours, "BYMINUTE": minutes})
    calendar = icalendar.Calendar()
    calendar.add_component(event)
    drawn = recurring_ical_events.of(calendar).between(after - AROUND, until + AROUND)
    slots = sorted(item.decoded("DTSTART").astimezone(UTC) for item in drawn)
    return [slot for slot in slots if after < slot <= until]


def _ours(line: str, name: str, after: datetime, until: datetime, **policy: str) -> list[datetime]:
    return list(parse_schedule(line, name, anchor=EPOCH, **policy).set.between(after, until))  # pyright: ignore[reportArgumentType]


PEERS = {"cronsim": _cronsim, "croniter": _croniter, "calendar": _calendar}


class Row(NamedTuple):
    """What is due on a local day, or on a part of it; and what a peer does instead, with the reason."""

    zone: str
    line: str
    day: str
    slots: str
    others: dict[str, str]
    reason: str = ""
    between: str = "00:00 24:00"


TWICE = "croniter runs a time of day twice in a repeated hour"
AFTER = "crons run what a gap leaves out right after it; we shift it by the gap, as calendars do"
ALONE = "a calendar reads every wall time on its own: one in the gap is shifted, also onto one that is there already"
ONCE = "a calendar knows each wall time once, so an hourly series pauses for two hours"
HALF = "cronsim goes on by whole hours, so a change of half an hour may make it miss the first slot after it"
STEP = "croniter makes up for a step that falls into the gap"

NEW_YORK, LORD_HOWE, SAO_PAULO = "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"
SYDNEY, LONDON, CASABLANCA = "Australia/Sydney", "Europe/London", "Africa/Casablanca"
ROWS = [
    Row(NEW_YORK, "30 2 * * *", "2026-03-08", "03:30-04", {"cronsim": "03:00-04", "croniter": "03:00-04"}, AFTER),
    Row(NEW_YORK, "30 1 * * *", "2026-11-01", "01:30-04", {"croniter": "01:30-04 01:30-05"}, TWICE),
    Row(
        NEW_YORK, "0 * * * *", "2026-03-08", "00:00-05 01:00-05 03:00-04 04:00-04",
        {"calendar": "00:00-05 01:00-05 03:00-04 03:00-04 04:00-04"}, ALONE, between="00:00 05:00",
    ),
    Row(
        NEW_YORK, "0 * * * *", "2026-11-01", "00:00-04 01:00-04 01:00-05 02:00-05 03:00-05",
        {"calendar": "00:00-04 01:00-04 02:00-05 03:00-05"}, ONCE, between="00:00 04:00",
    ),
    Row(
        NEW_YORK, "0 */2 * * *", "2026-03-08", "00:00-05 04:00-04 06:00-04",
        {"croniter": "00:00-05 03:00-04 04:00-04 06:00-04", "calendar": "00:00-05 03:00-04 04:00-04 06:00-04"},
        f"{STEP}; {ALONE}", between="00:00 07:00",
    ),
    Row(
        NEW_YORK, "0,30 1 * * *", "2026-11-01", "01:00-04 01:30-04",
        {"croniter": "01:00-04 01:30-04 01:00-05 01:30-05"}, TWICE,
    ),
    Row(
        NEW_YORK, "0,30 2-3 * * *", "2026-03-08", "03:00-04 03:30-04",
        {"calendar": "03:00-04 03:00-04 03:30-04 03:30-04"}, ALONE,
    ),
    Row(SYDNEY, "30 2 * * *", "2026-10-04", "03:30+11", {"cronsim": "03:00+11", "croniter": "03:00+11"}, AFTER),
    Row(SYDNEY, "30 2 * * *", "2026-04-05", "02:30+11", {"croniter": "02:30+11 02:30+10"}, TWICE),
    Row(LONDON, "30 1 * * *", "2026-03-29", "02:30+01", {"cronsim": "02:00+01", "croniter": "02:00+01"}, AFTER),
    Row(LONDON, "30 1 * * *", "2026-10-25", "01:30+01", {"croniter": "01:30+01 01:30+00"}, TWICE),
    Row(LORD_HOWE, "15 2 * * *", "2026-10-04", "02:45+11", {"cronsim": "02:30+11", "croniter": "02:30+11"}, AFTER),
    Row(LORD_HOWE, "45 1 * * *", "2026-04-05", "01:45+11", {"croniter": "01:45+11 01:45+1030"}, TWICE),
    Row(
        LORD_HOWE, "0 * * * *", "2026-10-04", "00:00+1030 01:00+1030 03:00+11 04:00+11",
        {"calendar": "00:00+1030 01:00+1030 02:30+11 03:00+11 04:00+11"}, ALONE, between="00:00 05:00",
    ),
    Row(
        LORD_HOWE, "*/15 * * * *", "2026-10-04", "01:30+1030 01:45+1030 02:30+11 02:45+11 03:00+11",
        {"calendar": "01:30+1030 01:45+1030 02:30+11 02:30+11 02:45+11 02:45+11 03:00+11"}, ALONE,
        between="01:30 03:15",
    ),
    Row(CASABLANCA, "30 2 * * *", "2026-02-15", "02:30+01", {"croniter": "02:30+01 02:30+00"}, TWICE),
    Row(CASABLANCA, "30 2 * * *", "2026-03-22", "03:30+01", {"cronsim": "03:00+01", "croniter": "03:00+01"}, AFTER),
    Row(SAO_PAULO, "0 0 * * *", "2018-11-04", "01:00-02", {}),
    Row(SAO_PAULO, "30 23 * * *", "2018-02-17", "23:30-02", {"croniter": "23:30-02 23:30-03"}, TWICE),
    Row(SAO_PAULO, "0 0 * * *", "2019-11-03", "00:00-03", {}),  # no summer time any more
    Row(
        "America/Caracas", "0 * * * *", "2016-05-01", "02:00-0430 03:00-04 04:00-04",
        {"cronsim": "02:00-0430 04:00-04"}, HALF, between="02:00 05:00",
    ),
    Row(
        "Asia/Pyongyang", "0 */2 * * *", "2018-05-05", "00:00+09 02:00+09",
        {"cronsim": "02:00+09"}, HALF, between="00:00 03:00",
    ),
    Row(
        LORD_HOWE, "0 */2 * * *", "2026-04-05", "00:00+11 02:00+1030 04:00+1030",
        {"cronsim": "00:00+11 04:00+1030"}, HALF, between="00:00 05:00",
    ),
]  # fmt: skip


def _shown(slots: list[datetime], name: str) -> str:
    return " ".join(f"{slot.astimezone(zone(name)):%H:%M%z}".removesuffix("00") for slot in slots)


def _window(row: Row) -> tuple[datetime, datetime]:
    opening, closing = (int(word[:2]) * 60 + int(word[3:]) for word in row.between.split())
    midnight = datetime.combine(date.fromisoformat(row.day), time(), zone(row.zone))
    first, last = (midnight + timedelta(minutes=minutes) for minutes in (opening, closing))
    return first.astimezone(UTC) - timedelta(seconds=1), last.astimezone(UTC) - timedelta(seconds=1)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.zone} {row.line} {row.day}")
def test_each_peer_does_what_we_say_of_it(row: Row) -> None:
    first, last = _window(row)
    assert _shown(_ours(row.line, row.zone, first, last), row.zone) == row.slots
    for peer, ask in PEERS.items():
        found = [slot for slot in ask(row.line, row.zone, first - AROUND, last) if slot > first]
        assert _shown(found, row.zone) == row.others.get(peer, row.slots), f"{peer}: {row.reason}"


def _inside(at: int, before: int, after: int) -> str:
    """A time of day in the middle of the gap or of the repeated time."""
    middle = (at + (before + after) // 2) // 60 % 1440
    return f"{middle % 60} {middle // 60} * * *"


CHANGING = [family[0] for family in families() if modern(family[0])]


@pytest.mark.parametrize("name", CHANGING)
def test_cronsim_and_calendars_over_a_change_of_every_zone(name: str) -> None:
    """Debian's rules are our gap=after for times of day, and our default for what follows the clock."""
    changes = modern(name)
    change = changes[zlib.crc32(name.encode()) // 7 % len(changes)]
    middle = EPOCH + timedelta(seconds=change.at)
    window = middle - AROUND - timedelta(minutes=7), middle + AROUND
    for line in ("0 * * * *", "*/15 * * * *", "0 */2 * * *", "30 * * * *"):
        ours, theirs = _ours(line, name, *window), _cronsim(line, name, *window)
        if (change.before - change.after) % 3600:  # HALF
            ours = [slot for slot in ours if slot in theirs or slot != next(one for one in ours if one >= middle)]
        assert ours == theirs, f"{line} in {name}"
    for line in ("30 2 * * *", "30 1 * * *", "0 0 * * *", _inside(*change)):
        assert _ours(line, name, *window, gap="after") == _cronsim(line, name, *window), f"{line} in {name}"
        assert _ours(line, name, *window) == _calendar(line, name, *window), f"{line} in {name}"


@pytest.mark.parametrize("name", [NEW_YORK, LONDON, LORD_HOWE, "America/Toronto"])
def test_cronsim_goes_back_when_it_starts_in_the_second_half_of_a_repeated_hour(name: str) -> None:
    """Known: which is why it is asked from ordinary instants only. We never answer with what has passed."""
    back = next(change for change in modern(name) if change.after < change.before and change.at > 1_767_225_600)
    base = EPOCH + timedelta(seconds=back.at + (back.before - back.after) // 2)
    wall = base.astimezone(zone(name))
    line = f"{(wall.minute + 1) % 60} {wall.hour} * * *"
    assert wall.fold == 1
    assert next(CronSim(line, wall)).astimezone(UTC) < base
    following = parse_schedule(line, name, anchor=EPOCH).set.next_after(base)
    assert following is not None
    assert following > base
