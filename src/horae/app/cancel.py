"""Ask a live run to end. Whoever owns it sees to that, on whichever machine it is; without a gateway, its shim.

One that was begun and waits, for a person's word or its provider, is over at once: nothing of it runs.
"""

from __future__ import annotations

from typing import Any

from horae.core.states import OPEN
from horae.errors import Refused, Unavailable
from horae.ports import Home

Json = dict[str, Any]


def cancel_run(home: Home, *, run: str) -> Json:
    """Note that a run shall end, and wake its gateway, or tell its shim. One that waits for its turn is called off."""
    reader = home.read()
    try:
        found = reader.find_run(run)
    finally:
        reader.close()
    run_id = found["id"]
    said = f"cancelled by {home.actor}"
    noted = home.store.transact(lambda tx: tx.runs.ask_to_end(run_id, actor=home.actor, reason=said))
    home.wake()
    if found["state"] not in OPEN:
        if not noted:
            raise Refused(
                f"run {run_id} is {found['state']}: only a live one can be cancelled", "`horae runs` lists them"
            )
        return {"run_id": run_id, "did": f"run {run_id} does not go on", "undo": None}
    if not home.gateway and not home.ask_left(run_id):
        why = "no gateway is running, and no shim on this machine has it"
        raise Unavailable(f"run {run_id} cannot be ended now: {why}", "the next gateway sees to it: `horae up`")
    return {"run_id": run_id, "did": f"asked run {run_id} to end", "undo": None}
