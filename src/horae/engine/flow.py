"""The way of one occurrence, from top to bottom. A newcomer starts here.

              plan            claim            preflight          run             deliver          settle
   schedule ───────► occurrence ─────► run+token ─────► ok/blocked ────► runner ──────► outbox ─────────► outcome

Planning is part of claiming: `claim_due` plans each job's next slot in the transaction that uses up this one. Every line
that touches the store is fenced by the claim's token; when somebody else has moved the run on, the store says `Stale`
and we stop, here and nowhere else. A crash between any two lines is made good by `recover.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import datetime

from horae.core.model import Claim, Ending, Receipt
from horae.core.outcome import blocked, judge
from horae.core.preflight import preflight
from horae.engine.orders import order_for
from horae.engine.slots import Closed
from horae.errors import Problem, Stale
from horae.ports import Ports, Tx

RUN = "run"
Spawn = Callable[[Claim, Coroutine[None, None, None], str], None]
"""Sets a claim's way going, as a task of that name."""


async def step(p: Ports, spawn: Spawn, room: int) -> datetime | None:
    """Claim everything that is due, set each claim going, and say when to look again."""
    claims, next_due = await p.store.commit(lambda tx: (tx.runs.claim_due(p.owner, room), tx.runs.next_due()))
    for claim in claims:  # plan, claim
        spawn(claim, fire(claim, p), RUN)
    return next_due


async def fire(claim: Claim, p: Ports) -> None:
    """The whole life of one attempt."""
    try:
        reasons = preflight(claim.job, facts := p.runner.facts(claim.job), p.unreachable)  # preflight
        try:
            if reasons:
                ending = blocked(claim.job.name, reasons)
            else:
                async with p.slots:
                    await p.store.commit(lambda tx: tx.runs.start(claim))
                    result = await p.runner.run(order_for(claim, facts, p.settings), p.noted(claim))  # run
                ending = judge(claim.job.name, result)
        except Closed:
            await p.store.commit(lambda tx: tx.runs.release(claim, "the gateway is stopping"))
        else:
            await conclude(claim, ending, p)
    except Stale:
        return


async def conclude(claim: Claim, ending: Ending, p: Ports) -> None:
    """Write the end and fill the outbox in one transaction; whoever needs nothing sent is settled by it too."""

    def end(tx: Tx) -> bool:
        left = tx.runs.finish(claim, ending, p.kept(claim))
        if not left:
            tx.runs.settle(claim)
        return left

    if await p.store.commit(end):
        await finish_off(claim, p)


async def finish_off(claim: Claim, p: Ports) -> None:
    """What follows a finished run, also one that an earlier gateway finished."""
    await deliver(claim, p)  # deliver
    await p.store.commit(lambda tx: tx.runs.settle(claim))  # settle


async def deliver(claim: Claim, p: Ports) -> None:
    """Send what the outbox holds for this run. Its failure is its own: the run stays as it ended."""
    for message in await p.store.commit(lambda tx: tx.outbox.begin(claim)):
        try:
            receipt = await p.sender(message.target).send(message)
        except Problem as problem:  # a target that does not exist (any more)
            receipt = Receipt("refuse", reason=problem.message)
        await p.store.commit(lambda tx, m=message, r=receipt: tx.outbox.record(claim, m, r))
