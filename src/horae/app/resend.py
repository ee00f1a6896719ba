"""Have a result sent anew that reached nobody, or may not have. Only a person decides that; the job is not run again.

What has arrived is never sent again. What may have arrived is sent a second time only by this word.
"""

from __future__ import annotations

from typing import Any

from horae.app.jobs import NO_GATEWAY
from horae.core.delivery import Manner
from horae.errors import Problem
from horae.ports import Home

Json = dict[str, Any]


def resend_run(home: Home, *, run: str, target: str | None = None) -> Json:
    """Send what a run said anew: to one target, or to all that it did not reach."""
    reader = home.read()
    try:
        run_id = reader.find_run(run)["id"]
    finally:
        reader.close()
    manner = Manner(give_up_s=home.settings.give_up_s)
    wanted = None if target is None else _address(home, target)
    targets = home.store.transact(lambda tx: tx.outbox.resend(run_id, wanted, manner, actor=home.actor))
    home.wake()
    reader = home.read()
    try:
        shown = reader.list_runs(job_id=None, state=None, limit=1, cursor=None, run_id=run_id)["runs"][0]
    finally:
        reader.close()
    return {
        "run": shown,
        "targets": targets,
        "did": f"run {run_id} of {shown['slug']} is sent anew to {', '.join(targets)}",
        "undo": None,
        "warnings": [] if home.gateway else [NO_GATEWAY],
    }


def _address(home: Home, target: str) -> str:
    """A target as a delivery knows it: by its address, or as it stands there if it resolves to nothing any more."""
    try:
        found = home.targets.resolve(target)
    except Problem:
        return target
    return str(found[0]) if len(found) == 1 else target
