"""What another gateway left behind, made good: at the start, and for as long as there are others.

An attempt is taken over when its owner is proven gone (the same boot of the same machine, and its process is not there)
or its lease has ended by the store's time. An owner that nobody can look at counts as alive until then. After that:

- claimed, never started: nothing has happened, so the slot is due again;
- running, on this machine: its shim does not need its gateway. The run is adopted, and ends as it ends; or it has ended
  meanwhile, and its result is collected;
- running, its shim gone without a result, or on another machine: unknown. It may have done its work, so it is never run
  again by itself;
- being sent: nobody knows whether it arrived, so it is not sent again, unless its target takes a repeat for the same;
- to be sent: it lies in the outbox, and whoever looks next sends it.

Taking over gives each attempt a new token first, so that a former owner that is not dead after all is stale from then on.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta

from horae.core.agentoutcome import worked
from horae.core.delivery import Parcel, Receipt
from horae.core.model import Claim
from horae.core.outcome import blocked, judge, lost
from horae.core.skew import ahead
from horae.engine.addressing import addressees
from horae.engine.flow import RUN, Spawn, conclude
from horae.engine.orders import bounds_of
from horae.errors import Exhausted, Problem, Stale
from horae.ports import Orphan, Ports, Tx

ORPHAN = "orphan"  # names a task that only waits for a run that another gateway has started
ABANDONED = "abandoned"  # names a task that ends what a fault of ours broke off
UNSTARTED = "the gateway ended before it started anything"


async def recover(p: Ports, spawn: Spawn, judges_in_s: float | None, live: Collection[str] = ()) -> datetime | None:
    """Take over what can be, and set its remaining way going. Says when the next lease of somebody else ends.

    Before `judges_in_s` have passed nobody's lease is taken for ended (see `lease.py`); None where nobody else can be.
    `live` are the runs that are on their way here.
    Raises Stale when our own runs were taken over: then nothing may become ours before we have begun anew.
    """
    asked = p.clock.now()
    others, store_now = await p.store.commit(lambda tx: (tx.runs.others(p.owner), tx.now))
    if not others:
        p.runner.sweep(live)
        return None
    off = ahead(store_now, asked, p.clock.now())
    proven = {holder.owner.id for holder in others if p.runner.gone(holder.owner)}
    asked_s = p.lease.asking()
    taken = await p.store.commit(lambda tx: _take(tx, p, proven, judges_in_s))
    p.lease.renewed(asked_s)
    for orphan, claim in taken:
        if orphan.state == "running":
            spawn(claim, resume(orphan, claim, p), ORPHAN)
        elif orphan.state != "claimed":
            spawn(claim, settle(claim, p), RUN)
    p.runner.sweep({*live, *(orphan.run_id for orphan, _ in taken)})
    soonest = p.clock.now() + timedelta(seconds=judges_in_s or 0.0)
    return min((max(each.lease_until + off, soonest) for each in others if each.owner.id not in proven), default=None)


def _take(tx: Tx, p: Ports, proven: Collection[str], judges_in_s: float | None) -> list[tuple[Orphan, Claim]]:
    """Found, taken and given back in one transaction: a former owner that is not dead after all moves nothing in between.

    Whether we may judge was looked at before; that we have not stood still since is seen by our own lease.
    """
    judges = judges_in_s is None or (judges_in_s <= 0 and tx.runs.holds(p.owner))
    taken = tx.runs.take_over(p.owner, proven, lapsed=judges, repeatable=lambda address: _repeatable(p, address))
    tx.runs.renew(p.owner)
    if taken:
        tx.runs.asked_to_end(p.owner)  # what was to end and has not begun is over: it must not be due again
    for orphan, claim in taken:
        if orphan.state == "claimed":
            with suppress(Stale):
                tx.runs.release(claim, UNSTARTED)
    return taken


def _repeatable(p: Ports, address: str) -> bool:
    """Whether a message that may have arrived there can be sent again."""
    with suppress(Problem):  # a target that does not exist (any more)
        return p.targets.platform(p.targets.address(address)).safe_to_repeat
    return False


async def settle(claim: Claim, p: Ports) -> None:
    """What an earlier version left undone: it settled a slot only when the messages of its run had been sent."""
    await p.store.commit(lambda tx: tx.runs.settle(claim))


async def resume(orphan: Orphan, claim: Claim, p: Ports) -> None:
    """The rest of the way of a run that another gateway has started, once it is known how that ended."""
    try:
        result = await p.runner.adopt(orphan, bounds_of(claim.job), claim.job.secrets)
    except Exhausted as refusal:  # its shim could not start it
        await p.store.commit(lambda tx, why=refusal.message: tx.runs.refuse(claim, why))
        return
    await conclude(claim, judge(claim.job.name, worked(claim.job, result)), p, orphan.started_at)


async def unsent(parcel: Parcel, why: str, p: Ports) -> None:
    """A message whose sending broke off may have arrived."""
    await p.store.commit(lambda tx: tx.notices.record(parcel, Receipt("lose", reason=why)))


async def abandon(claim: Claim, why: str, p: Ports) -> None:
    """End an attempt whose flow broke off for a fault of ours: it must not look live until the next start."""
    to = addressees(claim.job, claim.run_id, p.targets, p.settings, p.clock.now(), alert=True)

    def end(tx: Tx) -> None:
        for ending in (lost(claim.job.name, why), blocked(claim.job.name, (why,))):
            try:
                tx.runs.finish(claim, ending, to)
                break
            except Stale:  # it was not running, or had not even begun, or has ended before
                continue
        tx.runs.settle(claim)

    await p.store.commit(end)
