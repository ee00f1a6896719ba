"""The next slots of a job as people see them: the schedule, with what was decided about single slots laid over it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from typing import Any

from horae.core.identity import slot_key
from horae.core.instants import from_us
from horae.ports import Record
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule
from horae.timing.zones import offset_s

FAR = timedelta(days=366 * 50)


def slots_of(row: Record) -> RecurrenceSet:
    """The recurrence set of a stored job."""
    return parse_schedule(row["schedule"], row["timezone"], anchor=from_us(row["anchor_at"])).set


def slot_json(
    slot: datetime, zone: str, key: str | None, note: str | None, due: datetime | None = None
) -> dict[str, Any]:
    """One slot in the shape of docs/reference/cli.md."""
    at = slot.astimezone(timezone(timedelta(seconds=offset_s(slot, zone))))
    moved = (
        None
        if due is None
        else due.astimezone(timezone(timedelta(seconds=offset_s(due, zone)))).isoformat(timespec="seconds")
    )
    return {
        "slot": at.isoformat(timespec="seconds"),
        "slot_utc": slot.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z",
        "key": key,
        "note": note,
        "due": moved or at.isoformat(timespec="seconds"),
    }


def upcoming(row: Record, planned: Sequence[Record], now: datetime, count: int) -> list[dict[str, Any]]:
    """The next `count` slots of a job by the instant at which they run. `planned` are its open occurrences."""
    if not row["definition"] or row["completed_at"] is not None:
        return []
    zone = row["timezone"]
    decided = {from_us(item["slot_at"]): item for item in planned if item["trigger"] == "schedule"}
    slots = slots_of(row)
    if row["repeat_max"] is not None:
        count = min(count, max(0, row["repeat_max"] - row["counted"]))
    ahead = set(islice(slots.between(now, now + FAR), count + len(decided)))
    ahead |= {slot for slot, item in decided.items() if from_us(item["due_at"]) > now}
    found: list[tuple[datetime, dict[str, Any]]] = []
    for slot in ahead:
        item = decided.get(slot)
        due = from_us(item["due_at"]) if item is not None else slot
        note = None
        if item is not None and item["exception"] == "skip":
            note = "skipped"
        elif item is not None and item["exception"] == "move":
            note = "moved"
        found.append((due, slot_json(slot, zone, slot_key(row["id"], slot), note, due if note == "moved" else None)))
    found.sort(key=lambda pair: pair[0])
    return [shown for _, shown in found[:count]]


def upcoming_of(slots: RecurrenceSet, zone: str, after: datetime, count: int) -> list[dict[str, Any]]:
    """The next slots of a schedule that no job has."""
    return [slot_json(slot, zone, None, None) for slot in islice(slots.between(after, after + FAR), count)]
