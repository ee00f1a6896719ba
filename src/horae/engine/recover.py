"""What an earlier gateway left behind, made good at the start of the next.

A home has one gateway at a time (it holds the lock), so every attempt of another owner is an orphan:

- claimed, never started: nothing has happened, so the slot is due again;
- running, its process still there: it goes on, at most for what is left of its wall limit; when it ends, nobody of us
  has seen how, so it becomes unknown;
- running, its process gone: unknown at once. It may have done its work, so it is never run again by itself;
- finished, but not delivered or settled: the rest of the flow is done now.

Adoption gives each orphan a new token first, so that a former owner that is not dead after all is stale from then on.
"""

from __future__ import annotations

from contextlib import suppress

from horae.core.model import Claim
from horae.core.outcome import blocked, lost
from horae.engine.flow import RUN, Spawn, conclude, finish_off
from horae.engine.orders import wall_of
from horae.errors import Stale
from horae.ports import Orphan, Ports, Tx

ORPHAN = "orphan"  # names a task that only waits for somebody else's process
ABANDONED = "abandoned"  # names a task that ends what a fault of ours broke off
UNSTARTED = "the gateway ended before it started anything"
OVER = "its wall limit passed, so what was left of it was ended"
LOST = "the gateway that watched it ended first; it may have done all of its work or none of it"


async def recover(p: Ports, spawn: Spawn) -> int:
    """Adopt every orphan and set its remaining way going. Returns how many there were."""
    # found and adopted in one transaction: a former owner that is not dead after all must not move one on in between
    adopted = await p.store.commit(
        lambda tx: [(orphan, tx.runs.adopt(orphan.run_id, p.owner)) for orphan in tx.runs.orphans(p.owner)]
    )
    for orphan, claim in adopted:
        if orphan.state == "claimed":
            with suppress(Stale):
                await p.store.commit(lambda tx, c=claim: tx.runs.release(c, UNSTARTED))
        elif orphan.state == "running":
            spawn(claim, outlive(orphan, claim, p), ORPHAN)
        else:
            spawn(claim, settle_late(claim, p), RUN)
    return len(adopted)


async def outlive(orphan: Orphan, claim: Claim, p: Ports) -> None:
    """Wait until nothing of the process is left, then say that its end is unknown."""
    passed_s = (p.clock.now() - (orphan.started_at or claim.claimed_at)).total_seconds()
    ended = await p.runner.outlived(orphan, max(0.0, wall_of(claim.job) - passed_s))
    try:
        await conclude(claim, lost(claim.job.name, f"{LOST}; {OVER}" if ended else LOST), p)
    except Stale:
        return


async def settle_late(claim: Claim, p: Ports) -> None:
    """Deliver and settle a run that had finished."""
    try:
        await finish_off(claim, p)
    except Stale:
        return


async def abandon(claim: Claim, why: str, p: Ports) -> None:
    """End an attempt whose flow broke off for a fault of ours: it must not look live until the next start."""

    def end(tx: Tx) -> None:
        for ending in (lost(claim.job.name, why), blocked(claim.job.name, (why,))):
            try:
                tx.runs.finish(claim, ending, {})
                break
            except Stale:  # it was not running, or had not even begun, or has ended before
                continue
        tx.outbox.give_up(claim, why)
        tx.runs.settle(claim)

    try:
        await p.store.commit(end)
    except Stale:
        return
