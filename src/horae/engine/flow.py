"""The way of one occurrence, from top to bottom. A newcomer starts here.

              plan            claim            preflight          run             deliver          settle
   schedule ───────► occurrence ─────► run+token ─────► ok/blocked ────► runner ──────► outbox ─────────► outcome

Planning is part of claiming: `claim_due` plans each job's next slot in the transaction that uses up this one. Every line
that touches the store is fenced by the claim's token; when somebody else has moved the run on, the store says `Stale`
and the way ends on that line (`Gateway.ended` is the one place that takes note). A crash between any two lines is made
good by `recover.py`.

What many do at the same moment is written together: `together` hands the store one of them, and it collects the others.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime

from horae.core.model import Claim, End, Ending, Receipt
from horae.core.outcome import blocked, judge
from horae.core.preflight import preflight
from horae.core.retry import retry_delay
from horae.core.skew import ahead
from horae.engine.orders import order_for
from horae.errors import Exhausted, Problem, Stale
from horae.ports import Closed, Ports, Tx

RUN = "run"
Spawn = Callable[[Claim, Coroutine[None, None, None], str], None]
"""Sets a claim's way going, as a task of that name."""


async def step(p: Ports, spawn: Spawn, room: int | None, *, keep: bool) -> datetime | None:
    """Claim what is due and has room, set each claim going, end what is to end, and say when to look again.

    Without room only slots of jobs that have a run here are answered; with None not even those.
    """

    def look(tx: Tx) -> tuple[list[Claim], list[tuple[str, str]], datetime | None, datetime]:
        claims = [] if room is None else tx.runs.claim_due(p.owner, room, p.terms)
        if claims or keep:
            tx.runs.renew(p.owner)
        return claims, tx.runs.asked_to_end(p.owner), tx.runs.next_due(), tx.now

    asked, asked_at = p.lease.asking(), p.clock.now()
    claims, unwanted, next_due, store_now = await p.store.commit(look)
    if claims or keep:
        p.lease.renewed(asked)
    for claim in claims:  # plan, claim
        spawn(claim, fire(claim, p), RUN)
    for run_id, reason in unwanted:
        p.runner.cancel(run_id, reason)
    return next_due and next_due + ahead(store_now, asked_at, p.clock.now())


async def fire(claim: Claim, p: Ports) -> None:
    """The whole life of one attempt."""
    try:
        facts = p.runner.facts(claim.job)
        reasons = preflight(claim.job, facts, p.unreachable, p.terms.calendars)  # preflight
        if reasons:
            await conclude(claim, blocked(claim.job.name, reasons), p)
            return
        async with p.slots.turn(claim.job.priority):
            started = await p.store.together(start, claim)
            order = order_for(claim, facts, p.settings)
            result = await p.runner.run(order, p.noted(claim), lambda: ready(p))  # run
    except Closed as closed:
        await p.store.commit(lambda tx, why=str(closed): tx.runs.refuse(claim, why))
    except Exhausted as refusal:  # the machine has no room for it: nothing has begun
        p.slots.refused(refusal.message)
        await p.store.commit(lambda tx, why=refusal.message: tx.runs.refuse(claim, why))
    else:
        await conclude(claim, judge(claim.job.name, result), p, started)


async def ready(p: Ports) -> None:
    """Directly before a program is started: who drains starts nothing more, and neither does who is not the owner."""
    await hold(p)
    p.slots.check()


async def hold(p: Ports) -> None:
    """Directly before an outside effect: a gateway that stood still must not act on what is no longer its own."""
    while p.lease.lapsed:
        await renew(p)


async def renew(p: Ports) -> None:
    """Prolong the lease over all our runs, or learn that they are somebody else's."""
    asked = p.lease.asking()
    await p.store.commit(lambda tx: tx.runs.renew(p.owner))
    p.lease.renewed(asked)


def start(tx: Tx, claims: Sequence[Claim]) -> Sequence[datetime | Stale]:
    """claimed → running."""
    return tx.runs.start_all(claims)


def end(tx: Tx, ends: Sequence[End]) -> Sequence[bool | Stale]:
    """running → its end, the outbox filled; whoever needs nothing sent is settled, or due again."""
    return tx.runs.conclude_all(ends)


async def conclude(claim: Claim, ending: Ending, p: Ports, started: datetime | None = None) -> None:
    """Write the end, fill the outbox and settle in one transaction, unless something must be sent first."""
    again = retry_delay(claim.job, ending, claim.failures + 1, claim.key)
    left = await p.store.together(end, End(claim, ending, p.kept(claim), started, again))
    if left:
        await finish_off(claim, p)


async def finish_off(claim: Claim, p: Ports) -> None:
    """What follows a finished run, also one that an earlier gateway finished."""
    await deliver(claim, p)  # deliver
    await p.store.commit(lambda tx: tx.runs.settle(claim))  # settle


async def deliver(claim: Claim, p: Ports) -> None:
    """Send what the outbox holds for this run. Its failure is its own: the run stays as it ended."""
    for message in await p.store.commit(lambda tx: tx.outbox.begin(claim)):
        await hold(p)
        try:
            receipt = await p.sender(message.target).send(message)
        except Problem as problem:  # a target that does not exist (any more)
            receipt = Receipt("refuse", reason=problem.message)
        await p.store.commit(lambda tx, m=message, r=receipt: tx.outbox.record(claim, m, r))
