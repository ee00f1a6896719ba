"""Run a job by hand. A manual run is an occurrence of its own: it uses up no slot and postpones none."""

from __future__ import annotations

from typing import Any

from horae.app.completed import refuse_completed
from horae.app.jobs import NO_GATEWAY, find, ready
from horae.core.identity import RUN_ID_CHARS
from horae.errors import Refused
from horae.limits import WALL_DEFAULT_S
from horae.ports import Home

Json = dict[str, Any]


def run_job(home: Home, *, job: str, input: str | None = None) -> Json:
    """Order one run, now. Returns the id that the run will have, at once."""
    found = find(home, job)
    row, slug = found.row, found.row["slug"]
    refuse_completed(row, "run", home.clock.now())
    if row["state"] == "quarantined":
        raise Refused(f"{slug} cannot run: its file is broken", "`horae doctor` says what is wrong with it")
    reader = home.read()
    try:
        live = [run for state in ("claimed", "running") for run in _runs(reader, row["id"], state)]
    finally:
        reader.close()
    if live:
        raise Refused(
            f"{slug} is running already (run {live[0]['id']})", f"`horae log {live[0]['id']} --follow` shows it"
        )
    run_id = home.entropy(RUN_ID_CHARS // 2).hex()
    made = home.store.transact(lambda tx: tx.jobs.order_run(row["id"], run_id=run_id, actor=home.actor, input=input))
    home.wake()
    return {
        "run_id": run_id,
        "key": made["key"],
        "job": {"id": row["id"], "slug": slug, "name": row["name"]},
        "did": f"ordered run {run_id} of {slug}",
        "undo": None,
        "warnings": [] if home.gateway else [NO_GATEWAY],
    }


def rehearse(home: Home, *, job: str) -> Json:
    """What a run would start, without starting it."""
    found = find(home, job)
    refuse_completed(found.row, "run", home.clock.now())
    if found.job is None:
        raise Refused(f"{found.row['slug']} has never been valid", "`horae doctor` says what is wrong with it")
    facts = home.facts(found.job)
    limits = found.job.limits
    return {
        "job": {"id": found.row["id"], "slug": found.row["slug"], "name": found.row["name"]},
        "argv": list(facts.argv),
        "cwd": facts.cwd or None,
        "wall_s": limits.wall_s if limits.wall_s is not None else WALL_DEFAULT_S,
        "deliver": list(found.job.deliver),
        "problems": list(ready(home, found.job)),
    }


def _runs(reader: Any, job_id: str, state: str) -> list[Json]:
    return reader.list_runs(job_id=job_id, state=state, limit=1, cursor=None)["runs"]
