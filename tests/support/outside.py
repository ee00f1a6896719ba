"""What the gateways of a simulated world act on: programs that run, and a desk where messages arrive.

What has taken effect is never taken back: a program that started goes on when its gateway dies, a message stays sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from horae.core.model import Job, Message, Order, Owner, Receipt, Result
from horae.core.preflight import Facts
from horae.errors import Exhausted
from horae.ports import Orphan
from tests.support.builders import a_result

NOTED_AFTER_S = 0.2


@dataclass(slots=True)
class Effect:
    """A program that started. Seconds are the loop's."""

    run_id: str
    key: str
    job_id: str
    by: str
    """The gateway that started it."""
    host: str
    boot: int
    at: datetime
    began_s: float
    ends_s: float
    stood_still: bool
    """Whether its gateway stood still between its last look at its lease and this."""
    watch: Callable[[], None] = lambda: None
    """Tells whoever waits for it that it was ended from elsewhere."""

    def end(self) -> None:
        """Somebody ends it, if it is still there."""
        now_s = asyncio.get_running_loop().time()
        if self.ends_s > now_s:
            self.ends_s = now_s
            self.watch()


@dataclass(slots=True)
class Sending:
    """A message that arrived."""

    run_id: str
    target: str
    by: str
    at_s: float
    stood_still: bool


class Programs:
    """The runner: a program takes effect when it starts, runs for its time, and does not care for its gateway."""

    def __init__(self, world: Any, life: Any) -> None:
        self.world, self.life = world, life
        self._live: dict[str, asyncio.Future[str]] = {}
        self._orphans: dict[str, asyncio.Future[str]] = {}
        self._stopped: str | None = None

    def facts(self, job: Job) -> Facts:
        return Facts(argv=("program", job.id), cwd="/")

    async def run(self, order: Order, started: Callable[[int, int], Awaitable[None]]) -> Result:
        loop, life = asyncio.get_running_loop(), self.life
        job_id = order.env["HORAE_JOB_ID"]
        if loop.time() < life.host.full_until_s:
            raise Exhausted("the machine has no room for another process")
        takes_s = self.world.lasts(job_id, order.run_id)
        now_s = loop.time()
        effect = Effect(
            order.run_id, order.env["HORAE_OCCURRENCE_KEY"], job_id, life.name, life.host.name, life.host.boot,
            self.world.clock.now(), now_s, now_s + takes_s, life.stood_still,
        )  # fmt: skip
        self.world.begin(effect)
        stop = self._live[order.run_id] = loop.create_future()
        note = loop.call_later(NOTED_AFTER_S, self._note, started, len(self.world.effects))
        if self._stopped is not None:
            stop.set_result(self._stopped)
        limit = loop.call_later(order.wall_s, self.cancel, order.run_id, "wall limit reached")
        try:
            while not stop.done() and (left := effect.ends_s - loop.time()) > 0:
                await self._wait(stop, left, effect)
        except asyncio.CancelledError:
            if not life.dead:  # what lives ends its program when it leaves
                effect.end()
            raise
        finally:
            note.cancel()
            limit.cancel()
            del self._live[order.run_id]
        if stop.done():
            effect.end()
            return a_result(exit_code=None, signal=15, ended_by=stop.result())
        if effect.ends_s < now_s + takes_s:
            return a_result(exit_code=None, signal=15)
        return self.world.result(job_id, effect)

    @staticmethod
    async def _wait(stop: asyncio.Future[str], seconds: float, effect: Effect) -> None:
        """Until the program's time is over or it is stopped."""
        waiter = (loop := asyncio.get_running_loop()).create_future()

        def over(*_: object) -> None:
            if not waiter.done():
                waiter.set_result(None)

        timer = loop.call_later(seconds, over)
        stop.add_done_callback(over)
        was, effect.watch = effect.watch, lambda: (was(), over())  # pyright: ignore[reportAttributeAccessIssue]
        try:
            await waiter
        finally:
            timer.cancel()
            stop.remove_done_callback(over)

    def _note(self, started: Callable[[int, int], Awaitable[None]], pid: int) -> None:
        async def note() -> None:
            await started(pid, 1)

        task = asyncio.get_running_loop().create_task(note())
        task.add_done_callback(lambda task: task.cancelled() or task.exception())

    def stop_all(self, reason: str) -> None:
        self._stopped = reason
        for run_id in list(self._live):
            self.cancel(run_id, reason)

    def cancel(self, run_id: str, reason: str) -> bool:
        stop = self._live.get(run_id) or self._orphans.get(run_id)
        if stop is not None and not stop.done():
            stop.set_result(reason)
        return stop is not None

    def gone(self, owner: Owner) -> bool:
        """On this machine it can be seen that a process is gone; of another nothing is known."""
        host = self.life.host
        if owner.host != host.name:
            return False
        if owner.boot != f"boot{host.boot}":
            return True
        return any(life.name == owner.id and life.over for life in self.world.lives)

    async def outlived(self, orphan: Orphan, left_s: float) -> str | None:
        """What is on this machine and of this boot can be waited for, and ended; the rest cannot be seen."""
        loop, host = asyncio.get_running_loop(), self.life.host
        if orphan.host != host.name or orphan.boot != f"boot{host.boot}":
            return None
        asked = self._orphans[orphan.run_id] = loop.create_future()
        limit = loop.call_later(left_s, lambda: asked.done() or asked.set_result("its wall limit passed"))
        try:
            for effect in self.world.effects_of(orphan.run_id):
                here = (effect.host, effect.boot) == (host.name, host.boot)
                while here and not asked.done() and (left := effect.ends_s - loop.time()) > 0:
                    await self._wait(asked, left, effect)
                if here and asked.done() and effect.ends_s > loop.time():
                    effect.end()
                    return asked.result()
        finally:
            limit.cancel()
            del self._orphans[orphan.run_id]
        return None


class Mail:
    """The sender of `desk`: what it sends arrives."""

    def __init__(self, world: Any, life: Any) -> None:
        self.world, self.life = world, life

    @property
    def idempotent(self) -> bool:
        return self.world.idempotent

    def problem(self, target: str) -> str | None:
        return None

    def kept(self, run_id: str) -> Receipt | None:
        return None

    async def send(self, message: Message) -> Receipt:
        self.world.sent.append((message.run_id, message.target, message.body))
        now_s = asyncio.get_running_loop().time()
        self.world.sendings.append(
            Sending(message.run_id, message.target, self.life.name, now_s, self.life.stood_still)
        )
        return Receipt("accept", evidence="arrived")
