"""Run a job by hand. A manual run is an occurrence of its own: it uses up no slot and postpones none."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from horae.app.agentview import agent_view, prompt_of, resolved
from horae.app.completed import refuse_completed
from horae.app.jobs import NO_GATEWAY, damage_of, find
from horae.app.readiness import ready
from horae.app.status import store_now
from horae.app.views import how_it_stands, run_log
from horae.core.identity import RUN_ID_CHARS
from horae.core.instants import from_us
from horae.core.labels import offered, unoffered
from horae.errors import NotFound, Refused
from horae.limits import WALL_DEFAULT_S
from horae.ports import Home, Reader, Record

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


def awaited(home: Home, *, key: str) -> Json:
    """How far an ordered run is: the result of its latest attempt, how its occurrence ended, and what it waits for.

    An occurrence may end without a run: `log` is None then, and `occurrence` has its outcome and the reason.
    """
    reader = home.read()
    try:
        row = reader.occurrence_by_key(key)
        if row is None:
            raise NotFound(f"there is no occurrence {key} any more", "`horae runs` shows what there is")
        last = reader.last_run(key)
        planned = row["state"] == "planned"
        waits = _waits(home, reader, row) if planned else None
        ended = how_it_stands(row)
    finally:
        reader.close()
    return {"log": None if last is None else run_log(home, run=last), "occurrence": ended, "waits": waits}


def _waits(home: Home, reader: Reader, row: Record) -> str:
    """Why nothing has been claimed yet, as far as anybody can tell."""
    job = reader.find_job(row["job_id"], removed=True)
    now_us = store_now(home)
    asked = (job["runs_on"] or "").split()
    alive = offered(reader.gateways(now_us, shared=home.settings.store is not None))
    lack = unoffered(asked, alive) if asked else None
    if lack is not None:
        return f"it waits for a gateway with the label: {lack}"
    if row["due_at"] > now_us:
        return f"its next attempt is due at {from_us(row['due_at']).astimezone(UTC):%H:%M:%SZ}"
    return row["reason"] or "no gateway has taken it up yet (`parallel` says how many runs may be live at once)"


def rehearse(home: Home, *, job: str, input: str | None = None) -> Json:
    """What a run would start, without starting it."""
    found = find(home, job)
    refuse_completed(found.row, "run", home.clock.now())
    if found.job is None:
        says = f"{found.row['slug']}: {damage_of(found.row) or 'it has never been valid'}"
        raise Refused(says, "`horae doctor` says what is wrong with it")
    whole = resolved(home, found.job)
    facts, limits = home.facts(whole), whole.limits
    agent = {"agent": None, "prompt": None}
    if whole.agent:
        sent = prompt_of(home, found.row, whole, extra=input)
        agent = {"agent": agent_view(home, whole, found.job.model is not None), "prompt": sent}
    return {
        "job": {"id": found.row["id"], "slug": found.row["slug"], "name": found.row["name"]},
        "argv": list(facts.argv),
        "cwd": facts.cwd or None,
        "wall_s": limits.wall_s if limits.wall_s is not None else WALL_DEFAULT_S,
        "deliver": list(found.job.deliver),
        "problems": list(ready(home, found.job)),
        **agent,
    }


def _runs(reader: Any, job_id: str, state: str) -> list[Json]:
    return reader.list_runs(job_id=job_id, state=state, limit=1, cursor=None)["runs"]
