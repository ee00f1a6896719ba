"""Look: next slots, one job, runs, a run's result, and why. Nothing here writes."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from horae.app.exceptions import moment, slot_of
from horae.app.jobs import find, ready
from horae.app.upcoming import slot_json, slots_of, upcoming, upcoming_of
from horae.core.definition import described
from horae.core.identity import slot_key
from horae.core.instants import from_us, to_us
from horae.errors import Invalid, NotFound
from horae.ports import Home, Reader, Record
from horae.timing.schedule import parse_schedule
from horae.timing.zones import version

Json = dict[str, Any]
SLOTS_MAX = 1000
NOTES = {None: None, "skip": "skipped", "move": "moved"}
INCLUSIVE = timedelta(microseconds=1)  # --from names the first instant that counts
YEAR_MAX = 9900  # a preview looks fifty years ahead, and the calendar ends with 9999
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def next_slots(
    home: Home,
    *,
    job: str | None = None,
    schedule: str | None = None,
    timezone: str | None = None,
    start: str | None = None,
    count: int = 5,
) -> Json:
    """The next slots of one job, of a schedule that is not saved, or of the whole home."""
    if not 1 <= count <= SLOTS_MAX:
        raise Invalid(f"-n must be from 1 to {SLOTS_MAX}, not {count}")
    now = home.clock.now()
    if schedule is not None:
        zone = timezone or home.settings.timezone
        begin = _start(start, zone, now)
        parsed = parse_schedule(schedule, zone, anchor=begin)
        after = begin if start is None or parsed.kind == "interval" else begin - INCLUSIVE
        head = {"schedule": parsed.text, "meaning": parsed.meaning, "timezone": zone, "tzdata": version()}
        return {**head, "slots": upcoming_of(parsed.set, zone, after, count), "warnings": list(parsed.warnings)}
    if job is None:
        return _next_of_all(home, count)
    row = find(home, job).row
    after = now if start is None else _start(start, row["timezone"], now) - INCLUSIVE
    reader = home.read()
    try:
        slots = upcoming(row, reader.planned(row["id"], 1000), after, count)
    finally:
        reader.close()
    head = {"schedule": row["schedule"], "meaning": row["meaning"], "timezone": row["timezone"], "tzdata": version()}
    return {
        "job": {"id": row["id"], "slug": row["slug"], "name": row["name"], "state": row["state"]},
        **head,
        "slots": slots,
    }


def _start(text: str | None, zone: str, now: datetime) -> datetime:
    """Where a preview begins; a day alone means its midnight."""
    if text is None:
        return now
    after = moment(f"{text.strip()}T00:00" if DAY.fullmatch(text.strip()) else text, zone, now)
    if after.year > YEAR_MAX:
        raise Invalid(f"--from {text!r} is too far ahead", f"the last year is {YEAR_MAX}")
    return after


def _next_of_all(home: Home, count: int) -> Json:
    """The next planned occurrence of each active job, soonest first."""
    reader = home.read()
    try:
        rows = reader.agenda(count)
    finally:
        reader.close()
    slots = [
        {
            "job": row["slug"],
            "job_id": row["job_id"],
            **slot_json(
                from_us(row["slot_at"]), row["timezone"], row["key"], NOTES[row["exception"]], from_us(row["due_at"])
            ),
        }
        for row in rows
    ]
    return {"schedule": None, "meaning": None, "timezone": None, "tzdata": version(), "slots": slots}


def show_job(home: Home, *, job: str) -> Json:
    """One job: its definition, what it resolves to, its state, and its next slots."""
    found = find(home, job)
    row = found.row
    reader = home.read()
    try:
        slots = upcoming(row, reader.planned(row["id"], 200), home.clock.now(), 5)
        listed = reader.job(row["id"])
        runs = reader.list_runs(job_id=row["id"], state=None, limit=5, cursor=None)["runs"]
    finally:
        reader.close()
    resolved: Json = {"model": None, "tools": [], "targets": [], "limits": {}, "argv": [], "problems": []}
    if found.job is not None:
        facts = home.facts(found.job)
        resolved |= {
            "targets": list(found.job.deliver),
            "limits": described(found.job)["limits"],
            "argv": list(facts.argv),
            "problems": list(ready(home, found.job)),
        }
    shown = {**described(found.job), "id": row["id"], "slug": row["slug"]}
    return {
        "job": shown,
        "meaning": row["meaning"],
        "resolved": resolved,
        "state": listed,
        "slots": slots,
        "runs": runs,
        "file": f"jobs/{row['slug']}.md",
    }


def list_runs(home: Home, *, job: str | None, state: str | None, limit: int, cursor: str | None) -> Json:
    """Runs, newest first."""
    job_id = find(home, job).row["id"] if job is not None else None
    reader = home.read()
    try:
        return reader.list_runs(job_id=job_id, state=state, limit=limit, cursor=cursor)
    finally:
        reader.close()


def run_log(home: Home, *, run: str) -> Json:
    """The result document of one run; of a job's latest when a job is named."""
    reader = home.read()
    try:
        row = _run_or_latest(reader, run)
        shown = reader.list_runs(job_id=None, state=None, limit=1, cursor=None, run_id=row["id"])["runs"][0]
        return {"run": shown, **reader.output(row["id"])}
    finally:
        reader.close()


def _run_or_latest(reader: Reader, text: str) -> Record:
    try:
        return reader.find_run(text)
    except NotFound as error:
        try:
            job = reader.find_job(text)
        except NotFound:
            raise error from None
    latest = reader.list_runs(job_id=job["id"], state=None, limit=1, cursor=None)["runs"]
    if not latest:
        raise NotFound(f"{job['slug']} has not run yet", "`horae next` shows when it will")
    return reader.find_run(latest[0]["id"])


def why(home: Home, *, job: str, slot: str | None = None, limit: int = 10) -> Json:
    """The chain of decisions about a job's latest slots, or about one slot, past or to come."""
    row = find(home, job).row
    shown = {"id": row["id"], "slug": row["slug"], "name": row["name"], "state": row["state"]}
    reader = home.read()
    try:
        if slot is None:
            return {"job": shown, "occurrences": reader.occurrences(row["id"], slot_at=None, limit=limit)}
        item = reader.occurrence_by_key(slot)
        if item is not None and item["job_id"] == row["id"]:
            return {"job": shown, "occurrences": [reader.occurrence(item)]}
        at = slot_of(home, row, slot) if slot == "next" else moment(slot, row["timezone"], home.clock.now())
        found = reader.occurrences(row["id"], slot_at=to_us(at), limit=limit)
    finally:
        reader.close()
    return {"job": shown, "occurrences": found or [_unplanned(row, at, home.clock.now(), slot)]}


def _unplanned(row: Any, at: datetime, now: datetime, text: str) -> Json:
    """A slot without a row: still too far ahead, or never one of this job's."""
    slots = slots_of(row) if row["definition"] else None
    if slots is None or not slots.contains(at):
        raise NotFound(f"{row['slug']} has no slot at {text}", "`horae next` and `horae why JOB` list its slots")
    shown = slot_json(at, row["timezone"], slot_key(row["id"], at), None)
    if at <= now:
        raise NotFound(
            f"{row['slug']} has no record of a slot at {text}", f"it exists since {from_us(row['created_at']):%F %T}Z"
        )
    decision = {
        "entry": None,
        "at": None,
        "actor": "schedule",
        "what": "ahead",
        "detail": {
            "by": row["schedule"],
            "zone": row["timezone"],
            "note": "it gets a row when the slot before it is used up",
        },
    }
    return {**shown, "trigger": "schedule", "state": "planned", "outcome": None, "reason": None, "exception": None,
            "missed": 0, "span": None, "decisions": [decision]}  # fmt: skip
