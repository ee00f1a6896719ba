"""Slots by days: what is counted is what would be walked, whatever was decided about single slots."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from horae.app import dayslots
from horae.app.dayslots import LISTED_MAX, slots_by_day, used_up
from horae.app.upcoming import Decided
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule

BEGIN = datetime(2021, 3, 26, tzinfo=UTC)
EDGES = [BEGIN + timedelta(days=number) for number in range(6)]
SECOND = timedelta(seconds=1)


def a_set(text: str) -> RecurrenceSet:
    return parse_schedule(text, "Europe/Berlin", anchor=BEGIN).set


def hours(number: float) -> datetime:
    return BEGIN + timedelta(hours=number)


@pytest.mark.parametrize("text", ["*/15 * * * *", "0 */6 * * *", "0 9 * * *", "every 7 minutes", "30 2 * * sun"])
@pytest.mark.parametrize(
    "apart", [{}, {hours(5): None, hours(29.75): hours(31), hours(23.75): None}], ids=["plain", "decided"]
)
def test_counting_agrees_with_walking(
    monkeypatch: pytest.MonkeyPatch, text: str, apart: dict[datetime, datetime | None]
) -> None:
    decided = {
        slot: Decided(due or slot, "skip" if due is None else "move")
        for slot, due in apart.items()
        if a_set(text).contains(slot)
    }
    after, until = hours(3), EDGES[-1] - SECOND
    walked = list(slots_by_day(a_set(text), decided, EDGES, after, until))
    monkeypatch.setattr(dayslots, "WALKED_MAX", 0)
    assert list(slots_by_day(a_set(text), decided, EDGES, after, until)) == walked
    plain = [slot for slot in a_set(text).between(after, until) if slot not in decided]
    assert sum(count for _, count, _ in walked) == len(plain)
    for day, count, found in walked:
        inside = [slot for slot in plain if EDGES[day] <= slot < EDGES[day + 1]]
        assert count == len(inside)
        assert found == (inside if count <= LISTED_MAX else [inside[0], inside[-1]])


@pytest.mark.parametrize("left", [1, 2, 3, 7, 94, 95, 96])
def test_the_last_slot_by_repeat(left: int) -> None:
    slots, until = a_set("*/15 * * * *"), EDGES[1] - SECOND
    apart = {hours(1), hours(2), hours(20.1)}  # the last of them is no slot of these: zone data may have changed
    plain = [slot for slot in slots.between(BEGIN, until) if slot not in apart]
    assert used_up(slots, apart, BEGIN, until, left) == (plain[left - 1] if left <= len(plain) else until)


def test_none_is_left() -> None:
    assert used_up(a_set("*/15 * * * *"), {}, BEGIN, EDGES[1], 0) is None
