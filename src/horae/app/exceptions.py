"""What people decide about single slots: skip one, move one. Exact, in advance, and taken back until the slot comes due."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from horae.app.completed import refuse_completed
from horae.app.jobs import Found, damage_of, find, summary
from horae.app.upcoming import slot_json, slots_of
from horae.core.instants import from_us
from horae.core.text import clip
from horae.errors import Invalid, NotFound, Refused
from horae.ports import Home, Record
from horae.timing.schedule import parse_schedule

Json = dict[str, Any]
KEY = re.compile(r"[0-9a-f]{32}")
INSTANT_CHARS_MAX = 200
ONE_INSTANT = "for example 2026-12-24T18:00, `in 2h` or `tomorrow at 9am`"


def skip_slot(home: Home, *, job: str, slot: str = "next") -> Json:
    """One slot will not run. It stays on record as skipped."""
    found = _live(home, job, "skipped")
    at = slot_of(home, found.row, slot)
    entry = home.store.transact(
        lambda tx: tx.jobs.set_exception(found.row["id"], at, "skip", due=None, actor=home.actor)
    )
    return _answer(home, found, at, None, entry, "will skip")


def move_slot(home: Home, *, job: str, slot: str, to: str) -> Json:
    """One slot will run at another time. Its key stays the same."""
    found = _live(home, job, "moved")
    at = slot_of(home, found.row, slot)
    due = moment(to, found.row["timezone"], home.clock.now())
    if due <= home.clock.now():
        raise Invalid(f"{to!r} is in the past", "give an instant that is still to come, for example `in 2h`")
    entry = home.store.transact(
        lambda tx: tx.jobs.set_exception(found.row["id"], at, "move", due=due, actor=home.actor)
    )
    return _answer(home, found, at, due, entry, "will move")


def moment(text: str, timezone: str, now: datetime) -> datetime:
    """One instant as people write it: ISO, `in 2h`, `tomorrow at 9am`. Naive times are in the job's zone."""
    if not text.strip() or len(text) > INSTANT_CHARS_MAX:
        says = f"{clip(text, INSTANT_CHARS_MAX)!r} is not one instant" if text.strip() else "an instant has no value"
        raise Invalid(says, ONE_INSTANT)
    try:
        schedule = parse_schedule(text, timezone, anchor=now)
    except Invalid as refusal:
        message = refusal.message.replace("cannot read the schedule", "cannot read the instant")
        hint = (
            refusal.hint if refusal.hint and "every" not in refusal.hint else ONE_INSTANT
        )  # what recurs is no way out
        raise Invalid(message, hint, **refusal.details) from refusal
    if schedule.kind != "once":
        raise Invalid(f"{text!r} is not one instant but a schedule", ONE_INSTANT)
    return schedule.set.dates[0]


def slot_of(home: Home, row: Record, text: str) -> datetime:
    """The slot that a person means by an instant, `next`, or an occurrence key. It must be one of the job's slots."""
    now = home.clock.now()
    reader = home.read()
    try:
        if text == "next":
            open_ones = [item for item in reader.planned(row["id"], 200) if item["trigger"] == "schedule"]
            for item in open_ones:
                if item["exception"] != "skip":
                    return from_us(item["slot_at"])
            raise NotFound(f"{row['slug']} has no next slot", "`horae show` says why")
        if KEY.fullmatch(text):
            item = reader.occurrence_by_key(text)
            if item is None or item["job_id"] != row["id"]:
                raise NotFound(
                    f"{row['slug']} has no planned occurrence with the key {text}", "`horae next` lists slots and keys"
                )
            return from_us(item["slot_at"])
        at = moment(text, row["timezone"], now)
        known = [from_us(item["slot_at"]) for item in reader.planned(row["id"], 1000) if item["trigger"] == "schedule"]
    finally:
        reader.close()
    slots = slots_of(row)
    if at in known or slots.contains(at):
        return at
    near = [slots.last_until(at), slots.next_after(at)]
    listed = " or ".join(slot_json(slot, row["timezone"], None, None)["slot"] for slot in near if slot is not None)
    raise NotFound(f"{row['slug']} has no slot at {text}", f"the nearest are {listed}" if listed else None)


def _live(home: Home, job: str, verb: str) -> Found:
    found = find(home, job)
    refuse_completed(found.row, f"{verb}: it has no slots ahead", home.clock.now())
    if found.job is None:
        says = f"{found.row['slug']}: {damage_of(found.row) or 'it has never been valid'}"
        raise Refused(says, "mend its file first; `horae doctor` says what is wrong")
    return found


def _answer(home: Home, found: Found, at: datetime, due: datetime | None, entry: int, verb: str) -> Json:
    home.wake()
    zone = found.row["timezone"]
    shown = slot_json(at, zone, None, None, due)
    did = f"{found.row['slug']} {verb} {shown['slot']}" + (f" to {shown['due']}" if due else "")
    return {
        **summary(home, found.row["id"]),
        "slot": shown["slot"],
        "did": did,
        "undo": f"horae undo {entry}",
        "entry": entry,
    }
