"""The next slots of a job as people see them: the schedule, with what was decided about single slots laid over it.

Each slot carries a note: skipped or moved by a person, shifted by the clock, due together with another. What has no slot
because the clock left it out is told beside the slots, at the instant at which it would have been.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from horae.core.cadence import slots_of
from horae.core.definition import from_definition
from horae.core.exclusion import Calendar, excluded
from horae.core.identity import slot_key
from horae.core.instants import from_us
from horae.core.model import Job
from horae.core.preflight import Facts, preflight
from horae.core.spread import spread_offset_s
from horae.ports import Record
from horae.timing.notes import ClockNotes
from horae.timing.recurrence import RecurrenceSet
from horae.timing.vocabulary import listed
from horae.timing.zones import offset_s

Json = dict[str, Any]
Calendars = Mapping[str, Calendar]
NO_CALENDARS: Calendars = {}
FAR = timedelta(days=366 * 50)
DECIDED = {"skip": "skipped", "move": "moved"}
HAD_TURN = {"claimed": "live", "settled": "used"}
NAMED_MAX = 3  # slots due at the same instant that are still named one by one


class Decided(NamedTuple):
    """A slot with a row: when it is due, and `skip` or `move` where a person said so; `used` when it had its turn.

    One that is having its turn is `live`, and counts for `repeat` already: behind the last one nothing may be promised.
    """

    due: datetime
    exception: str | None


class Preview(NamedTuple):
    """Slots by due instant, and what the clock left out among them: `{"at", "text"}`."""

    slots: list[Json]
    notes: list[Json]


def slot_json(
    slot: datetime, zone: str, key: str | None, note: str | None, due: datetime | None = None
) -> dict[str, Any]:
    """One slot in the shape of docs/reference/cli.md."""
    at = local(slot, zone)
    return {
        "slot": at,
        "slot_utc": slot.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z",
        "key": key,
        "note": note,
        "due": at if due is None else local(due, zone),
    }


def local(instant: datetime, zone: str) -> str:
    """An instant as JSON has it, with the zone's offset."""
    return instant.astimezone(timezone(timedelta(seconds=offset_s(instant, zone)))).isoformat(timespec="seconds")


def upcoming(
    row: Record, planned: Sequence[Record], now: datetime, count: int, calendars: Calendars = NO_CALENDARS
) -> list[Json]:
    """The next `count` slots of a job by the instant at which they run. `planned` are its open occurrences."""
    return preview_of_job(row, planned, now, count, calendars=calendars).slots


def preview_of_job(
    row: Record,
    planned: Sequence[Record],
    after: datetime,
    count: int,
    *,
    now: datetime | None = None,
    calendars: Calendars = NO_CALENDARS,
) -> Preview:
    """The same, with what the clock leaves out until the last of them. `now` is told when `after` is another instant."""
    if not row["definition"] or row["completed_at"] is not None:
        return Preview([], [])
    zone = row["timezone"]
    slots = slots_of(row)
    clock = ClockNotes(slots)
    decided = decided_of(planned)
    promised, others = by_repeat(row, slots, decided, now or after, after)
    between = slots.between(after, after + FAR)
    plain = list(
        islice((slot for slot in between if slot not in decided), count if others is None else min(count, others))
    )
    spread = timedelta(seconds=spread_offset_s(row["id"], row["spread_s"]))
    due_of = {slot: item.due for slot, item in promised.items() if item.due > after}
    due_of |= {slot: slot + spread for slot in plain}
    shown: list[tuple[datetime, str, Json]] = []
    for slot in sorted(due_of, key=lambda slot: (due_of[slot], slot))[:count]:
        exception = promised[slot].exception if slot in promised else None
        note = DECIDED.get(exception or "") or clock_words(clock, slot, slots.zone, zone)
        if exception is None:
            note = noted(excluded_words(row, slot, calendars), note)
        shown.append((due_of[slot], "", slot_json(slot, zone, slot_key(row["id"], slot), note, due_of[slot])))
    mark_together(shown)
    if len(shown) == count:
        end = shown[-1][0]
    elif len(plain) == others:  # the last one by `repeat`: what the clock leaves out behind it would not have run
        end = max((after, *plain, *(item.due for item in promised.values() if item.exception is None)))
    else:
        end = after + FAR
    return Preview([slot for *_, slot in shown], left_out(clock, after, end, slots.zone, zone))


def decided_of(planned: Iterable[Record]) -> dict[datetime, Decided]:
    """Scheduled slots that have a row already: when they are due, and what a person decided about them."""
    return {
        from_us(item["slot_at"]): Decided(
            from_us(item["due_at"]), item["exception"] if item["state"] == "planned" else HAD_TURN[item["state"]]
        )
        for item in planned
        if item["trigger"] == "schedule"
    }


def by_repeat(
    row: Record, slots: RecurrenceSet, decided: Mapping[datetime, Decided], now: datetime, after: datetime
) -> tuple[Mapping[datetime, Decided], int | None]:
    """What a job's `repeat` leaves of the slots with a row, and how many others may run after an instant; None: any number.

    Slots with a row are promised a run, however far ahead they are, and the others get what is left of the number. Only
    of promises beyond it the first that are due are kept.
    """
    used = {slot for slot, item in decided.items() if item.exception in HAD_TURN.values()}
    if row["repeat_max"] is None:
        return {slot: item for slot, item in decided.items() if slot not in used}, None
    live = sum(item.exception == "live" for item in decided.values())
    left = max(0, row["repeat_max"] - row["counted"] - live)
    runs = [slot for slot, item in decided.items() if slot not in used and item.exception != "skip"]
    beyond = used | set(sorted(runs, key=lambda slot: (decided[slot].due, slot))[left:])
    others = max(0, left - len(runs))
    passed = slots.count(now, after, others + len(decided)) - within(slots, decided, now, after)
    return {slot: item for slot, item in decided.items() if slot not in beyond}, max(0, others - passed)


def within(slots: RecurrenceSet, decided: Iterable[datetime], after: datetime, until: datetime) -> int:
    """How many of the instants are slots in (after, until]; zone data that changed may have left others."""
    return sum(after < slot <= until and slots.contains(slot) for slot in decided)


def preview_of(slots: RecurrenceSet, zone: str, after: datetime, count: int) -> Preview:
    """The next slots of a schedule that no job has, and what the clock leaves out until the last of them."""
    clock = ClockNotes(slots)
    ahead = list(islice(slots.between(after, after + FAR), count))
    end = ahead[-1] if len(ahead) == count else after + FAR
    shown = [slot_json(slot, zone, None, clock_words(clock, slot, slots.zone, zone)) for slot in ahead]
    return Preview(shown, left_out(clock, after, end, slots.zone, zone))


def excluded_words(row: Record, slot: datetime, calendars: Calendars) -> str | None:
    """That a slot will not run, and why, where the job names a calendar that says so."""
    if not calendars:
        return None
    names = json.loads(row["definition"]).get("exclude", ())
    reason = excluded(calendars, names, slot, row["timezone"])
    return None if reason is None else f"excluded by {reason}"


def unread(job: Job, calendars: Calendars) -> tuple[str, ...]:
    """What is wrong with the exclusion calendars that a job names: each of its slots that they leave will be blocked."""
    return preflight(replace(job, deliver=()), Facts(), lambda _target: None, calendars) if job.exclude else ()


def blocked_words(row: Record, calendars: Calendars) -> str | None:
    """The same of a job's row, as a warning; None where nothing is wrong. Only a job that names a calendar is read."""
    if not row["definition"] or not json.loads(row["definition"]).get("exclude"):
        return None
    reasons = unread(from_definition(json.loads(row["definition"])), calendars)
    return f"{row['slug']}: what is not excluded will be blocked: {'; '.join(reasons)}" if reasons else None


def clock_words(clock: ClockNotes, slot: datetime, zone: str, shown_in: str) -> str | None:
    """What the clock of `zone` did to a slot, for a reader who sees times of the zone `shown_in`."""
    note = clock.of_slot(slot)
    return None if note is None else _placed(note.text, zone, shown_in)


def left_out(clock: ClockNotes, after: datetime, until: datetime, zone: str, shown_in: str) -> list[Json]:
    """What the clock left out in (after, until]."""
    return [
        {"at": local(note.at, shown_in), "text": _placed(note.text, zone, shown_in)}
        for note in clock.left_out(after, until)
    ]


def _placed(text: str, zone: str, shown_in: str) -> str:
    return text if zone == shown_in else f"{text} (in {zone})"


def mark_together(shown: Iterable[tuple[datetime, str, Json]]) -> None:
    """Add to the notes of slots that are due at the same instant which others are. (due, job or "", slot)."""
    for group in together(item for item in shown if item[2]["note"] != DECIDED["skip"]):
        for (_, _, slot), words in zip(group, others_of(group), strict=True):
            slot["note"] = noted(slot["note"], words)


def together(items: Iterable[tuple[datetime, str, Json]]) -> list[list[tuple[datetime, str, Json]]]:
    """Groups of two or more with the same instant, ascending."""
    ordered = sorted(items, key=lambda item: item[:2])
    groups = (list(group) for _, group in groupby(ordered, key=itemgetter(0)))
    return [group for group in groups if len(group) > 1]


def others_of(group: Sequence[tuple[datetime, str, Json]]) -> list[str]:
    """For each slot of a group in words, with which others it is due. Many are counted, or this would be quadratic."""
    found: list[str] = []
    for at, (_, job, _) in enumerate(group):
        others = [
            f"its slot of {slot['slot']}" if name == job else name
            for place, (_, name, slot) in enumerate(group[: NAMED_MAX + 1])
            if place != at
        ]
        found.append(f"at the same time as {some_of(others[:NAMED_MAX], len(group) - 1)}")
    return found


def noted(*notes: str | None) -> str | None:
    """Several notes in one."""
    return "; ".join(note for note in notes if note) or None


def some_of(names: Sequence[str], total: int) -> str:
    """Names in a sentence, and how many of the total are not among them."""
    return f"{', '.join(names)} and {total - len(names)} more" if total > len(names) else listed(names)
