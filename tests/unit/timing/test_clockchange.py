"""Wall times to instants where clocks change, in the cases that other schedulers get wrong."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae.timing.clockchange import Gap, Repeat, instants_of, span_at
from horae.timing.zones import zone


def _shown(wall: str, name: str, gap: Gap = "shift", repeat: Repeat = "first") -> list[str]:
    found = instants_of(datetime.fromisoformat(wall), name, gap, repeat)
    assert all(instant.tzinfo is UTC for instant in found)
    return [instant.astimezone(zone(name)).isoformat() for instant in found]


@pytest.mark.parametrize(
    ("wall", "name", "shift", "after"),
    [
        ("2026-03-08T02:30", "America/New_York", "2026-03-08T03:30:00-04:00", "2026-03-08T03:00:00-04:00"),
        ("2027-03-28T02:30", "Europe/Berlin", "2027-03-28T03:30:00+02:00", "2027-03-28T03:00:00+02:00"),
        ("2026-10-04T02:15", "Australia/Lord_Howe", "2026-10-04T02:45:00+11:00", "2026-10-04T02:30:00+11:00"),
        ("2018-11-04T00:00", "America/Sao_Paulo", "2018-11-04T01:00:00-02:00", "2018-11-04T01:00:00-02:00"),
        ("2011-12-30T09:00", "Pacific/Apia", "2011-12-31T09:00:00+14:00", "2011-12-31T00:00:00+14:00"),
        ("2026-03-22T02:30", "Africa/Casablanca", "2026-03-22T03:30:00+01:00", "2026-03-22T03:00:00+01:00"),
    ],
)
def test_gap(wall: str, name: str, shift: str, after: str) -> None:
    assert _shown(wall, name) == [shift]
    assert _shown(wall, name, gap="after") == [after]
    assert _shown(wall, name, gap="skip") == []


def test_repeat() -> None:
    wall, name = "2026-10-25T02:30", "Europe/Berlin"
    first, last = "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"
    assert _shown(wall, name) == [first]
    assert _shown(wall, name, repeat="last") == [last]
    assert _shown(wall, name, repeat="both") == [first, last]


def test_ordinary_times_do_not_care() -> None:
    assert _shown("2026-07-01T12:00", "Europe/Berlin", "skip", "both") == ["2026-07-01T12:00:00+02:00"]


def test_a_span_ends_where_the_clock_changes() -> None:
    change = int(datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp())
    before, after = span_at("Europe/Berlin", change - 1), span_at("Europe/Berlin", change)
    assert before.end == before.dies == change == after.start == after.born
    assert (before.offset, before.after) == (7200, 3600) == (after.before, after.offset)
