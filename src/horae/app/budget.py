"""What agents have used today and what is left, of the home and of each job that has a limit for a day.

The day is that of the home's zone. What live runs have put aside counts as used, since they may use it; so does what a run
had put aside whose end nobody knows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from horae.core.cadence import DAMAGE
from horae.core.definition import from_definition
from horae.core.instants import to_us
from horae.core.model import Job
from horae.core.wish import day_of
from horae.ports import Home, Reader, Record

Json = dict[str, Any]
KINDS = ("tokens", "usd")


def budget_of(home: Home, reader: Reader) -> Json | None:
    """Today's; None for a home without models, where nobody can spend anything."""
    agents = home.settings.agents
    if not agents.models:
        return None
    since = day_of(home.clock.now(), home.settings.timezone)
    used = reader.budget(to_us(since))
    caps = {"tokens": agents.day.tokens, "usd": agents.day.usd}
    jobs: list[Json] = []
    for job_id, amounts in used["jobs"].items():
        row = reader.find_job(job_id, removed=True)
        jobs.append({"job": row["slug"], **_of(_caps(row), amounts)})
    return {
        "since": since.isoformat(timespec="seconds").replace("+00:00", "Z"),
        **_of(caps, used),
        "jobs": sorted(jobs, key=lambda item: item["job"]),
    }


def _of(caps: Mapping[str, Any], used: Mapping[str, Any]) -> Json:
    """Each kind: used, reserved, the limit, and what is left of it."""
    found: Json = {}
    for kind in KINDS:
        spent, reserved, cap = used[kind], used[f"reserved_{kind}"], caps.get(kind)
        left = None if cap is None else max(0, cap - spent - reserved)
        found[kind] = {"used": spent, "reserved": reserved, "limit": cap, "left": left}
    return found


def spent(home: Home, job: Job) -> list[str]:
    """Why nothing is left today for a run of the job; empty when something is."""
    if not job.agent:
        return []
    since, day = day_of(home.clock.now(), home.settings.timezone), home.settings.agents.day
    reader = home.read()
    try:
        used = reader.budget(to_us(since))
    finally:
        reader.close()
    own = used["jobs"].get(job.id, dict.fromkeys((*KINDS, *(f"reserved_{kind}" for kind in KINDS)), 0))
    limits = job.limits
    found = [(_of({"tokens": day.tokens, "usd": day.usd}, used), "[budget] in config.toml")]
    found += [(_of({"tokens": limits.tokens_day, "usd": limits.usd_day}, own), "the job's limits")]
    return [
        f"the day's {'tokens' if kind == 'tokens' else 'money'} are used up ({whose}); a new day begins at midnight"
        for amounts, whose in found
        for kind in KINDS
        if amounts[kind]["left"] is not None and amounts[kind]["left"] <= 0
    ]


def _caps(row: Record) -> Json:
    try:
        limits = from_definition(json.loads(row["definition"])).limits
    except DAMAGE:
        return {}
    return {"tokens": limits.tokens_day, "usd": limits.usd_day}
