"""Whether a job could run now: the judgement of preflight, outside of any run."""

from __future__ import annotations

import json

from horae.app.agentview import lacking, resolved
from horae.app.budget import spent
from horae.core.cadence import DAMAGE
from horae.core.definition import from_definition
from horae.core.model import Job
from horae.core.preflight import preflight
from horae.ports import Home, Record
from horae.ports.home import shut


def ready(home: Home, job: Job) -> tuple[str, ...]:
    """Why a job could not run now; empty when it could."""
    job = resolved(home, job)
    reader = home.read()
    try:
        closed = {item["address"]: str(item["reason"]) for item in reader.closed_targets()}
    finally:
        reader.close()

    def unreachable(target: str) -> str | None:
        why = home.targets.problem(target, job.origin)
        return shut(home.targets.resolve(target, job.origin), closed) if why is None and closed else why

    found = preflight(job, home.facts(job), unreachable, home.settings.calendars)
    return (*found, *lacking(home, job))


def is_ready(home: Home, job_id: str) -> bool:
    """Whether a job could run now, as far as what is stored of it can be read."""
    reader = home.read()
    try:
        job = _sound(reader.find_job(job_id))
    finally:
        reader.close()
    return job is not None and not ready(home, job) and not spent(home, job)


def _sound(row: Record) -> Job | None:
    """The last good definition, if what is stored of it is not damaged."""
    try:
        return from_definition(json.loads(row["definition"]))
    except DAMAGE:
        return None
