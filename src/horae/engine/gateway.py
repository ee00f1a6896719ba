"""The long-lived process's heart, and the only `while` of the engine.

There is no tick. The loop claims what is due, then sleeps until the next due instant or until something wakes it: a new
or changed job, an ordered run, a run that ended, a stepped clock. A wait never exceeds `WAIT_MAX_S`, as the net below a
wake-up that was lost.

Stopping: the first request drains (nothing new starts, queued claims are given back, live runs may end); a second one,
or the drain's own limit, ends the live runs and records that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta

from horae.core.clockwatch import compare
from horae.core.model import Claim
from horae.engine.flow import step
from horae.engine.recover import ABANDONED, ORPHAN, abandon, recover
from horae.engine.slots import Slots
from horae.errors import Problem
from horae.limits import CLAIM_BATCH_MAX, KILL_GRACE_S, WAIT_MAX_S
from horae.ports import Ports

log = logging.getLogger("horae.gateway")


class Gateway:
    """One running gateway. `run` returns when it has stopped."""

    def __init__(self, ports: Ports, slots: Slots, stop_runs: Callable[[str], None], version: str) -> None:
        self.ports = ports
        self._slots = slots
        self._stop_runs = stop_runs
        self._version = version
        self._woken = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], Claim] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.stopping = False
        self.next_due: datetime | None = None
        self.looked_at: datetime | None = None

    @property
    def live(self) -> list[Claim]:
        """Claims that are on their way."""
        return list(self._tasks.values())

    def wake(self) -> None:
        """Look again now. Safe from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._woken.set)

    def soon(self, call: Callable[..., object], *args: object) -> None:
        """Have something done on the engine's own thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(call, *args)

    def stop(self) -> None:
        """Once: drain. Again: end the live runs too."""
        if self.stopping:
            self._stop_runs("the gateway was stopped")
        self.stopping = True
        self._slots.close()
        self.wake()

    async def run(self) -> None:
        """Sign on, make good what was left, fire until stopped, drain, sign off."""
        self._loop = asyncio.get_running_loop()
        p = self.ports
        await p.store.commit(lambda tx: tx.runs.sign_on(p.owner, self._version))
        await recover(p, self._spawn)
        before = p.clock.reading()
        while not self.stopping:
            self._woken.clear()
            self.looked_at = p.clock.now()
            room = CLAIM_BATCH_MAX - len(self._tasks)
            if room > 0:
                claimed = len(self._tasks)
                self.next_due = await step(p, self._spawn, room)
                if len(self._tasks) - claimed >= room:
                    continue  # there may be more
            net = p.clock.now() + timedelta(seconds=WAIT_MAX_S)
            due = self.next_due if room > 0 else None  # with no room, only a run that ends changes anything
            p.clock.arm(min(due or net, net), self._woken.set)
            await self._woken.wait()
            noticed, before = compare(before, now := p.clock.reading()), now
            if noticed:
                await p.store.commit(
                    lambda tx, n=noticed: tx.journal.append(
                        "clock_changed", actor="gateway", stepped_s=n.stepped_s, slept_s=n.slept_s
                    )
                )
        await self._drain()
        await p.store.commit(lambda tx: tx.runs.sign_off(p.owner))

    async def _drain(self) -> None:
        """Wait for what is live; past the limit, end it. What an earlier gateway started is left to the next one."""
        await _cancel({task for task in self._tasks if task.get_name() == ORPHAN})
        if not self._tasks:
            return
        log.info("waiting for %d live run(s); press Ctrl-C again to end them", self._slots.held)
        _, late = await asyncio.wait(self._tasks, timeout=self.ports.settings.drain_s)
        if late:
            self._stop_runs(f"the gateway stopped and the run did not end within {self.ports.settings.drain_s:.0f} s")
            _, stuck = await asyncio.wait(late, timeout=2 * KILL_GRACE_S)
            await _cancel(stuck)  # not even KILL ends it: the next gateway takes it over

    def _spawn(self, claim: Claim, way: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(way, name=name)
        self._tasks[task] = claim
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        claim = self._tasks.pop(task)
        self._woken.set()
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        if self.stopping and isinstance(error, Problem):
            log.warning("run %s: its end could not be recorded and is left to the next start: %s", claim.run_id, error)
        else:
            log.error("run %s: a fault of Horae ended its flow", claim.run_id, exc_info=error)
            if task.get_name() != ABANDONED:  # once: a fault in this as well is left to the next start
                self._spawn(claim, abandon(claim, f"a fault of Horae ended its flow: {error!r}", self.ports), ABANDONED)


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
