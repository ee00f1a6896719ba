"""An agent's run once more: with the prompt that it was given, exactly, and perhaps another model. Nobody is told of it.

Two results side by side say what a change of the model changes: in the answer, in time, in cost.
"""

from __future__ import annotations

import difflib
from typing import Any

from horae.app.jobs import NO_GATEWAY
from horae.app.views import run_or_latest
from horae.core.agentfacts import unknown_model
from horae.core.identity import RUN_ID_CHARS
from horae.errors import Invalid
from horae.ports import Home, Reader

Json = dict[str, Any]
SHOWN = ("id", "state", "reason", "model", "turns", "tokens", "cost_usd", "duration_s")


def replay_run(home: Home, *, run: str, model: str | None = None) -> Json:
    """Order it. Returns the id that the run will have, at once."""
    if model is not None and model not in home.settings.agents.models:
        says = unknown_model(model, home.settings.agents.models)
        raise Invalid(says, "`horae model` lists what there is", field="model", value=model)
    reader = home.read()
    try:
        row = run_or_latest(reader, run)
        job = reader.find_job(row["job_id"], removed=True)
    finally:
        reader.close()
    new = home.entropy(RUN_ID_CHARS // 2).hex()
    made = home.store.transact(lambda tx: tx.agents.replay(row["id"], new_run=new, model=model, actor=home.actor))
    home.wake()
    return {
        "run_id": new,
        "replay_of": row["id"],
        "key": made["key"],
        "job": {"id": job["id"], "slug": job["slug"], "name": job["name"]},
        "did": f"ordered run {new} of {job['slug']}, a replay of {row['id']}",
        "undo": None,
        "warnings": [] if home.gateway else [NO_GATEWAY],
    }


def compared(home: Home, *, before: str, after: str) -> Json:
    """Two runs side by side: what they used, and how their answers differ, as a unified diff."""
    reader = home.read()
    try:
        old, new = _run(reader, before), _run(reader, after)
        texts = [reader.output(run["id"])["message"] or "" for run in (old, new)]
    finally:
        reader.close()
    lines = difflib.unified_diff(
        texts[0].splitlines(),
        texts[1].splitlines(),
        f"{old['id']} ({old['model']})",
        f"{new['id']} ({new['model']})",
        lineterm="",
    )
    costs = old["cost_usd"], new["cost_usd"]
    return {
        "before": {key: old[key] for key in SHOWN},
        "after": {key: new[key] for key in SHOWN},
        "same": texts[0] == texts[1],
        "diff": "\n".join(lines),
        "cost_usd": None if None in costs else costs[1] - costs[0],
    }


def _run(reader: Reader, text: str) -> Json:
    """A run that somebody names. Raises NotFound, Ambiguous."""
    run_id = reader.find_run(text)["id"]
    return reader.list_runs(job_id=None, state=None, limit=1, cursor=None, run_id=run_id)["runs"][0]
