"""The way of one occurrence, from top to bottom. A newcomer starts here.

              plan            claim            preflight          run             settle           deliver
   schedule ───────► occurrence ─────► run+token ─────► ok/blocked ────► runner ──────► outcome ────────► target

Planning is part of claiming: `claim_due` plans each job's next slot in the transaction that uses up this one. So is
settling part of the end of a run: whatever becomes of its messages, the slot is accounted for. They lie in the outbox from
that transaction on, and are sent from there, one at a time to each address.

Every line that touches the store is fenced, by the claim's token or the message's; when somebody else has moved it on, the
store says `Stale` and the way ends on that line (`Gateway.ended` is the one place that takes note). A crash between any two
lines is made good by `recover.py`.

What many do at the same moment is written together: `together` hands the store one of them, and it collects the others.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import NamedTuple

from horae.core.agentoutcome import worked
from horae.core.delivery import Parcel, Receipt
from horae.core.equipment import Given
from horae.core.model import Claim, End, Ending
from horae.core.outcome import blocked, judge
from horae.core.preflight import preflight
from horae.core.retry import retry_delay
from horae.core.skew import ahead
from horae.core.wish import wish_of
from horae.engine.addressing import hearers, manner_of, of_end
from horae.engine.orders import order_for
from horae.engine.sending import prepare
from horae.errors import Exhausted, Stale
from horae.limits import LEASE_MARGIN_S
from horae.ports import Closed, Ports, Tx

RUN, MESSAGE = "run", "message"
IN_A_ROW, IN_A_ROW_S = 50, 5.0  # messages to one address, and for how long, without a look at who else waits
Spawn = Callable[[Claim | Parcel, Coroutine[None, None, None], str], None]
"""Sets the way of a claim or a message going, as a task of that name."""


class Seen(NamedTuple):
    """What one look has found."""

    claims: list[Claim]
    parcels: list[Parcel]
    unwanted: list[tuple[str, str]]
    closed: dict[str, str]
    next_due: datetime | None
    now: datetime


async def step(
    p: Ports, spawn: Spawn, room: int | None, *, keep: bool, sends: int = 0, lately: Sequence[str] = ()
) -> datetime | None:
    """Claim what is due and has room, set each claim and message going, end what is to end, and say when to look again.

    Without room only slots of jobs that have a run here are answered; with None not even those.
    """
    hear = hearers(p)

    def look(tx: Tx) -> Seen:
        claims = [] if room is None else tx.runs.claim_due(p.owner, room, p.terms)
        tx.notices.look(hear)
        parcels = tx.outbox.take_due(p.owner, sends, lately)
        if claims or parcels or keep:
            tx.runs.renew(p.owner)
        unwanted, closed = tx.runs.asked_to_end(p.owner), tx.outbox.closed()
        return Seen(claims, parcels, unwanted, closed, soonest(tx), tx.now)

    asked, asked_at = p.lease.asking(), p.clock.now()
    seen = await p.store.commit(look)
    if seen.claims or seen.parcels or keep:
        p.lease.renewed(asked)
    p.closed.clear()
    p.closed.update(seen.closed)
    for claim in seen.claims:  # plan, claim
        spawn(claim, fire(claim, p), RUN)
    for parcel in seen.parcels:
        spawn(parcel, deliver(parcel, p, spawn), MESSAGE)
    for run_id, reason in seen.unwanted:
        p.runner.cancel(run_id, reason)
    return seen.next_due and seen.next_due + ahead(seen.now, asked_at, p.clock.now())


def soonest(tx: Tx) -> datetime | None:
    """When something is due next: a slot, a message, or a word about what did not happen."""
    due = (tx.runs.next_due(), tx.outbox.next_due(), tx.notices.next_due())
    return min((at for at in due if at is not None), default=None)


async def fire(claim: Claim, p: Ports) -> None:
    """The whole life of one attempt."""
    try:
        facts = p.runner.facts(claim.job)
        reasons = preflight(claim.job, facts, p.unreachable(claim.job), p.terms.calendars)  # preflight
        if reasons:
            await conclude(claim, blocked(claim.job.name, reasons), p)
            return
        async with p.slots.turn(claim.job.priority):
            given = await equipped(claim, p)
            if given is not None and given.reasons:
                await conclude(claim, blocked(claim.job.name, given.reasons), p)
                return
            started = await p.store.together(start, claim)
            order = order_for(claim, facts, p.settings, given)
            result = await p.runner.run(order, p.noted(claim), lambda: ready(p))  # run
    except Closed as closed:
        await p.store.commit(lambda tx, why=str(closed): tx.runs.refuse(claim, why))
    except Exhausted as refusal:  # the machine has no room for it: nothing has begun
        p.slots.refused(refusal.message)
        await p.store.commit(lambda tx, why=refusal.message: tx.runs.refuse(claim, why))
    else:
        await conclude(claim, judge(claim.job.name, worked(claim.job, result)), p, started)


async def equipped(claim: Claim, p: Ports) -> Given | None:
    """What an agent's run is given, with what it may spend put aside for it; None for a run without an agent.

    The day is the store's: a gateway whose clock is ahead must not begin another one before the others.
    """
    if not claim.job.agent:
        return None
    agents, timezone = p.settings.agents, p.settings.timezone
    return await p.store.commit(lambda tx: tx.agents.equip(claim, wish_of(claim.job, agents, timezone, tx.now)))


async def ready(p: Ports) -> None:
    """Directly before a program is started: who drains starts nothing more, and neither does who is not the owner."""
    await hold(p)
    p.slots.check()


async def hold(p: Ports, for_s: float = 0.0) -> None:
    """Directly before an outside effect of that length: a gateway that stood still must not act on what is not its own."""
    while not p.lease.covers(for_s):
        await renew(p, for_s + 2 * LEASE_MARGIN_S)


async def renew(p: Ports, for_s: float = 0.0) -> None:
    """Prolong the lease over all that is ours, or learn that it is somebody else's."""
    asked = p.lease.asking()
    await p.store.commit(lambda tx: tx.runs.renew(p.owner, for_s))
    p.lease.renewed(asked, for_s)


def start(tx: Tx, claims: Sequence[Claim]) -> Sequence[datetime | Stale]:
    """claimed → running."""
    return tx.runs.start_all(claims)


def end(tx: Tx, ends: Sequence[End]) -> Sequence[bool | Stale]:
    """running → its end, the outbox filled; its slot is settled, or due again."""
    return tx.runs.conclude_all(ends)


async def conclude(claim: Claim, ending: Ending, p: Ports, started: datetime | None = None) -> None:
    """Write the end, fill the outbox and settle, in one transaction."""
    job = claim.job
    to, alerts = of_end(job, claim.run_id, p.targets, p.settings, p.clock.now(), alert=ending.alert)
    again = retry_delay(job, ending, claim.failures + 1, claim.key)
    await p.store.together(end, End(claim, ending, to, alerts, manner_of(job, p.settings), started, again))  # settle


async def deliver(parcel: Parcel, p: Ports, spawn: Spawn, more: int = IN_A_ROW, until_s: float | None = None) -> None:
    """Send a message, and then what else is due at that address. What becomes of it is its own matter."""
    until_s = p.clock.reading().steady_s + IN_A_ROW_S if until_s is None else until_s
    ready = prepare(parcel, p)
    if isinstance(ready, Receipt):
        receipt = ready
    else:
        await hold(p, ready.within_s)
        receipt = await ready.make()  # deliver
    more = more if p.clock.reading().steady_s < until_s else 0
    following = await p.store.commit(
        lambda tx: tx.notices.record(parcel, receipt, p.owner if more and p.slots.posts else None)
    )
    if following is not None:
        spawn(following, deliver(following, p, spawn, more - 1, until_s), MESSAGE)
