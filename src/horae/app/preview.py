"""`next`: the coming slots of one job, of a schedule that no job has, or of the whole home. Nothing here writes.

The home is shown by the next slot of each active job: a job that runs every minute would hide all others. Where only
planned rows are needed they are read by due instant, and a schedule is read only for the jobs that are shown; only a
preview that begins at another time than now works out the slots of every job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, cast, get_args

from horae.app.completed import nothing_ahead
from horae.app.exceptions import moment
from horae.app.jobs import damage_of, find
from horae.app.upcoming import (
    DECIDED,
    Calendars,
    Preview,
    blocked_words,
    clock_words,
    excluded_words,
    left_out,
    mark_together,
    noted,
    preview_of,
    preview_of_job,
    slot_json,
)
from horae.core.cadence import DAMAGE, slots_of
from horae.core.instants import from_us, to_us
from horae.core.text import clip
from horae.errors import Invalid, NotFound
from horae.ports import Home, Reader, Record
from horae.timing.clockchange import Gap, Repeat
from horae.timing.notes import ClockNotes
from horae.timing.schedule import parse_schedule
from horae.timing.zones import version

Json = dict[str, Any]
SLOTS_MAX = 1000
JOBS_MAX = 1000  # whose schedules are worked out for one look at the whole home
PAGE = 500
PLANNED_MAX = 1000  # open slots that are looked at for skips and moves
BESIDE = 50  # slots behind the last one shown that may be due at the same instant
BEGINNINGS = "write a day or an instant: `2026-12-24`, `2026-12-24 18:00`, `tomorrow`, `tomorrow at 9am` or `in 2h`"
INCLUSIVE = timedelta(microseconds=1)  # --from names the first instant that counts
YEAR_MAX = 9900  # a preview looks fifty years ahead, and the calendar ends with 9999
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
WORDS: dict[str, tuple[str, ...]] = {"gap": get_args(Gap), "repeat": get_args(Repeat)}


def next_slots(
    home: Home,
    *,
    job: str | None = None,
    schedule: str | None = None,
    timezone: str | None = None,
    clock_change: dict[str, str] | None = None,
    start: str | None = None,
    count: int = 5,
) -> Json:
    """The shape of `next`. `clock_change` is `{"gap", "repeat"}`, for a schedule that is not saved."""
    if not 1 <= count <= SLOTS_MAX:
        raise Invalid(f"-n must be from 1 to {SLOTS_MAX}, not {count}")
    now = home.clock.now()
    if schedule is not None:
        return _of_schedule(
            schedule, home.settings.timezone if timezone is None else timezone, clock_change or {}, start, now, count
        )
    if clock_change:
        raise Invalid("a clock change policy is for --schedule", "a job has its own: `horae edit JOB --clock-change …`")
    if job is None:
        return _of_home(home, now, None if start is None else beginning(start, home.settings.timezone, now), count)
    row = find(home, job).row
    after = now if start is None else beginning(start, row["timezone"], now) - INCLUSIVE
    calendars = home.settings.calendars
    reader = home.read()
    try:
        planned = reader.ahead(row["id"], to_us(now), PLANNED_MAX)
    finally:
        reader.close()
    shown, damage = Preview([], []), damage_of(row)
    with suppress(*(DAMAGE if damage is not None else ())):  # what can be worked out is shown all the same
        shown = preview_of_job(row, planned, after, count, now=now, calendars=calendars)
    warnings = [nothing_ahead(row, now)] if row["state"] == "completed" else _blocked([row], calendars)
    warnings += [] if damage is None else [f"{row['slug']}: {damage}"]
    return {
        "job": {key: row[key] for key in ("id", "slug", "name", "state", "completed_reason")},
        **_head(row["schedule"], row["meaning"], row["timezone"]),
        "slots": shown.slots,
        "notes": shown.notes,
        "warnings": warnings,
    }


def _of_schedule(
    schedule: str, zone: str, clock_change: dict[str, str], start: str | None, now: datetime, count: int
) -> Json:
    begin = now if start is None else beginning(start, zone, now)
    gap, repeat = policy(clock_change)
    parsed = parse_schedule(schedule, zone, anchor=begin, gap=gap, repeat=repeat)
    after = begin if start is None or parsed.kind == "interval" else begin - INCLUSIVE
    shown = preview_of(parsed.set, zone, after, count)
    head = _head(parsed.text, parsed.meaning, zone)
    return {**head, "slots": shown.slots, "notes": shown.notes, "warnings": list(parsed.warnings)}


def _head(schedule: str | None, meaning: str | None, zone: str | None) -> Json:
    return {"schedule": schedule, "meaning": meaning, "timezone": zone, "tzdata": version()}


def policy(said: dict[str, str]) -> tuple[Gap | None, Repeat | None]:
    """What is to become of wall times that the clock skips or shows twice; None is the schedule's default."""
    for key, word in said.items():
        known = WORDS.get(key)
        if known is None:
            says = f"a clock change policy has no {key!r}"
            raise Invalid(says, "for example gap=skip,repeat=both", field="clock_change", value=key)
        if word not in known:
            says = f"{key} must be {', '.join(known[:-1])} or {known[-1]}, not {word!r}"
            raise Invalid(says, "for example gap=skip,repeat=both", field=f"clock_change.{key}", value=word)
    return cast("Gap | None", said.get("gap")), cast("Repeat | None", said.get("repeat"))


def beginning(text: str, zone: str, now: datetime) -> datetime:
    """The instant at which a preview is to begin; a day alone means its midnight."""
    said = text.strip()
    if said.lower() == "now":
        return now
    try:
        after = moment(f"{said}T00:00" if DAY.fullmatch(said) else said, zone, now)
    except Invalid as refusal:
        try:
            after = moment(f"{said} at 0:00", zone, now)  # `tomorrow`, `24 december 2026`
        except Invalid:
            why = "" if "is not one instant" in refusal.message else f": {refusal.message}"
            says = f"--from {clip(text, 60)!r} is not one instant{why}"
            raise Invalid(says, BEGINNINGS, field="from", value=text) from None
    if after.year > YEAR_MAX:
        raise Invalid(f"--from {clip(text, 60)!r} is too far ahead", f"the last year is {YEAR_MAX}")
    return after


def _blocked(rows: Iterable[Record], calendars: Calendars) -> list[str]:
    """That slots of these jobs will be blocked, as long as a calendar that they name cannot be read."""
    found: list[str] = []
    for row in rows:
        with suppress(*DAMAGE):  # one damaged record harms only itself
            if (words := blocked_words(row, calendars)) is not None:
                found.append(words)
    return found


def live_rows(reader: Reader, states: Iterable[str], limit: int = JOBS_MAX) -> Iterator[Record]:
    """The rows of jobs in these states, by slug; at most so many."""
    for state in states:
        cursor: str | None = None
        while limit > 0:
            page = reader.list_jobs(all=False, state=state, limit=min(PAGE, limit), cursor=cursor)
            limit -= len(page["jobs"])
            for job in page["jobs"]:
                with suppress(NotFound):  # removed since
                    yield reader.find_job(job["id"])
            cursor = page["cursor"]
            if cursor is None:
                break


def _of_home(home: Home, now: datetime, begin: datetime | None, count: int) -> Json:
    reader = home.read()
    try:
        after = now if begin is None else max(now, begin - INCLUSIVE)  # the home had no jobs before it had them
        calendars = home.settings.calendars
        worked_out = None if begin is None else _worked_out(reader, now, after, calendars)
        found = list(worked_out or _planned(reader, now, count, calendars))
        known = reader.counts().get("active", 0)
        shown = sorted(found, key=lambda item: (item[0], item[1]["job"]))
        warnings = _of_shown(reader, [slot["job_id"] for _, slot, _ in shown[:count]], calendars)
    finally:
        reader.close()
    mark_together([(due, slot["job"], slot) for due, slot, _ in shown])
    cut = shown[:count]
    notes = sorted((note for _, _, notes in cut for note in notes), key=lambda note: datetime.fromisoformat(note["at"]))
    if begin is not None and known > JOBS_MAX:
        warnings.append(f"{JOBS_MAX} of {known} jobs were looked at: name one to see it")
    if len(shown) > count:
        warnings.append(f"{known} jobs are active: `-n {min(known, SLOTS_MAX)}` shows the next slot of each")
    return {**_head(None, None, None), "slots": [slot for _, slot, _ in cut], "notes": notes, "warnings": warnings}


def _of_shown(reader: Reader, ids: Iterable[str], calendars: Calendars) -> list[str]:
    """The same of the jobs that are shown, each once."""
    rows: list[Record] = []
    for job_id in dict.fromkeys(ids):
        with suppress(NotFound):  # removed since
            rows.append(reader.find_job(job_id))
    return _blocked(rows, calendars)


def _planned(
    reader: Reader, now: datetime, count: int, calendars: Calendars
) -> Iterator[tuple[datetime, Json, list[Json]]]:
    """(due, slot, notes) of the planned rows that come due first, and of some behind them that may be due with the last."""
    for place, row in enumerate(reader.agenda(count + BESIDE)):
        slot, due, zone = from_us(row["slot_at"]), from_us(row["due_at"]), row["timezone"]
        job = {"job": row["slug"], "job_id": row["job_id"]}
        words, notes = DECIDED.get(row["exception"]), list[Json]()
        if row["trigger"] == "schedule" and place < count:
            with suppress(*DAMAGE):  # what is stored of the job is damaged; its planned slot is shown all the same
                of_job = reader.find_job(row["job_id"])
                slots = slots_of(of_job)
                clock = ClockNotes(slots)
                words = words or noted(
                    excluded_words(of_job, slot, calendars), clock_words(clock, slot, slots.zone, zone)
                )
                notes = [{**job, **note} for note in left_out(clock, now, slot, slots.zone, zone)]
        yield due, {**job, **slot_json(slot, zone, row["key"], words, due)}, notes


def _worked_out(
    reader: Reader, now: datetime, after: datetime, calendars: Calendars
) -> Iterator[tuple[datetime, Json, list[Json]]]:
    """(due, slot, notes) of the first slot of each active job after an instant."""
    for row in live_rows(reader, ("active",)):
        job = {"job": row["slug"], "job_id": row["id"]}
        shown = Preview([], [])
        with suppress(*DAMAGE):  # one damaged record harms only itself
            planned = reader.ahead(row["id"], to_us(now), PLANNED_MAX)
            shown = preview_of_job(row, planned, after, 1, now=now, calendars=calendars)
        for slot in shown.slots:
            due = datetime.fromisoformat(slot["due"])
            yield due, {**job, **slot}, [{**job, **note} for note in shown.notes]
