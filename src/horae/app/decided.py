"""What people decided in advance about single slots, and what becomes of it when the series changes.

A skip or a move belongs to its slot. It goes on to apply where the changed schedule has that slot too, and is void where
it has not. Whoever changes a series is told which is which: nothing that a person decided goes away unsaid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from horae.app.upcoming import local, slot_json
from horae.core.identity import slot_key
from horae.core.instants import from_us
from horae.ports import Home
from horae.timing.recurrence import RecurrenceSet

Json = dict[str, Any]
DECIDED_MAX = 1000  # open slots of a job that are looked at for skips and moves
NO_SLOT = "the new schedule has no such slot"


def decided(home: Home, job_id: str) -> list[Json]:
    """Skips and moves of a job: `{"slot_at", "kind", "due_at"}`, as an undo needs them to bring them back."""
    reader = home.read()
    try:
        rows = [row for row in reader.planned(job_id, DECIDED_MAX) if row["exception"] is not None]
    finally:
        reader.close()
    return [{"slot_at": row["slot_at"], "kind": row["exception"], "due_at": row["due_at"]} for row in rows]


def aftermath(home: Home, job_id: str, zone: str, before: Sequence[Json]) -> Json:
    """After an edit, of what was decided before it: `kept` still applies, `void` does not any more."""
    now = {(item["slot_at"], item["kind"]) for item in decided(home, job_id)}
    kept = [item for item in before if (item["slot_at"], item["kind"]) in now]
    gone = [item for item in before if (item["slot_at"], item["kind"]) not in now]
    reader = home.read()
    try:
        rows = {item["slot_at"]: reader.occurrence_by_key(slot_key(job_id, from_us(item["slot_at"]))) for item in gone}
    finally:
        reader.close()
    void = [  # what had its turn while the edit was made is neither
        item for item in gone if (row := rows[item["slot_at"]]) is None or row["outcome"] == "void"
    ]
    return {
        "kept": [told(job_id, zone, item) for item in kept],
        "void": [told(job_id, zone, item, NO_SLOT) for item in void],
    }


def foreseen(job_id: str, zone: str, before: Sequence[Json], slots: RecurrenceSet) -> Json:
    """The same of an edit that has not been made: `slots` are those that the series would have."""
    kept = [item for item in before if slots.contains(from_us(item["slot_at"]))]
    void = [item for item in before if item not in kept]
    return {
        "kept": [told(job_id, zone, item) for item in kept],
        "void": [told(job_id, zone, item, NO_SLOT) for item in void],
    }


def told(job_id: str, zone: str, item: Json, reason: str | None = None) -> Json:
    """One skip or move for people: its slot and key, and where a moved one went."""
    slot = from_us(item["slot_at"])
    shown = slot_json(slot, zone, slot_key(job_id, slot), None)
    to = local(from_us(item["due_at"]), zone) if item["kind"] == "move" else None
    return {
        "slot": shown["slot"],
        "slot_utc": shown["slot_utc"],
        "key": shown["key"],
        "kind": item["kind"],
        "to": to,
        "reason": reason,
    }
