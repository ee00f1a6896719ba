"""Look: one job, runs, a run's result, and why. Nothing here writes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from horae.app.exceptions import moment, slot_of
from horae.app.jobs import clock_policy, find, ready
from horae.app.upcoming import slot_json, slots_of, upcoming
from horae.core.definition import described
from horae.core.identity import slot_key
from horae.core.instants import from_us, to_us
from horae.errors import NotFound
from horae.ports import Home, Reader, Record

Json = dict[str, Any]


def show_job(home: Home, *, job: str) -> Json:
    """One job: its definition, what it resolves to, its state, and its next slots."""
    found = find(home, job)
    row = found.row
    reader = home.read()
    try:
        now = home.clock.now()
        slots = upcoming(row, reader.ahead(row["id"], to_us(now), 200), now, 5)
        listed = reader.job(row["id"])
        runs = reader.list_runs(job_id=row["id"], state=None, limit=5, cursor=None)["runs"]
    finally:
        reader.close()
    resolved: Json = {"model": None, "tools": [], "targets": [], "limits": {}, "argv": [], "problems": []}
    resolved["clock_change"] = clock_policy(row)
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
