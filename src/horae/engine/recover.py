"""What an earlier gateway left behind, made good at the start of the next.

A home has one gateway at a time (it holds the lock), so every attempt of another owner is an orphan:

- claimed, never started: nothing has happened, so the slot is due again;
- running, its process still there: it goes on; when it ends, nobody of us has seen how, so it becomes unknown;
- running, its process gone: unknown at once. It may have done its work, so it is never run again by itself;
- finished, but not delivered or settled: the rest of the flow is done now.

Adoption gives each orphan a new token first, so that a former owner that is not dead after all is stale from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress

from horae.core.model import Claim
from horae.core.outcome import lost
from horae.engine.flow import conclude, finish_off
from horae.errors import Stale
from horae.ports import Orphan, Ports

UNSTARTED = "the gateway ended before it started anything"
LOST = "the gateway that watched it ended first; it may have done all of its work or none of it"


async def recover(p: Ports, spawn: Callable[[Claim, Coroutine[None, None, None]], None]) -> int:
    """Adopt every orphan and set its remaining way going. Returns how many there were."""
    orphans = await p.store.commit(lambda tx: tx.runs.orphans(p.owner))
    for orphan in orphans:
        claim = await p.store.commit(lambda tx, o=orphan: tx.runs.adopt(o.run_id, p.owner))
        if orphan.state == "claimed":
            with suppress(Stale):
                await p.store.commit(lambda tx, c=claim: tx.runs.release(c, UNSTARTED))
        elif orphan.state == "running":
            spawn(claim, outlive(orphan, claim, p))
        else:
            spawn(claim, settle_late(claim, p))
    return len(orphans)


async def outlive(orphan: Orphan, claim: Claim, p: Ports) -> None:
    """Wait until nothing of the process is left, then say that its end is unknown."""
    await p.runner.outlived(orphan)
    try:
        await conclude(claim, lost(claim.job.name, LOST), p)
    except Stale:
        return


async def settle_late(claim: Claim, p: Ports) -> None:
    """Deliver and settle a run that had finished."""
    try:
        await finish_off(claim, p)
    except Stale:
        return
