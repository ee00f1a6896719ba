"""What the gateways of a simulated world act on: programs that run, and a desk where messages arrive.

What has taken effect is never taken back: a program that started goes on when its gateway dies, a message stays sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from horae.core.delivery import LOCAL, Address, Message, Platform, Receipt
from horae.core.model import Bounds, Job, Order, Owner, Result
from horae.core.preflight import Facts
from horae.errors import Exhausted, Invalid
from horae.ports import Orphan
from tests.support.builders import a_result
from tests.support.worldagents import Play

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
    watch: Callable[[], None] = lambda: None
    """Tells whoever waits for it that it was ended from elsewhere."""

    broken: bool = False
    """Whether it went with its shim: then there is no result."""
    ended_by: str | None = None
    """Why its shim ended it, or will when its time is over."""
    play: Play | None = None
    """What its agent does; None where there is none."""
    dozes: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """When its machine fell asleep under it, and for how long."""

    @property
    def lived_s(self) -> float:
        """For how long it went on, in seconds of its own."""
        return self.ends_s - self.began_s - sum(min(by_s, self.ends_s - at_s) for at_s, by_s in self.dozes)

    def at_s(self, lived_s: float) -> float:
        """When it had lived for so long."""
        found_s = self.began_s + lived_s
        for at_s, by_s in self.dozes:
            found_s += by_s if at_s <= found_s else 0.0
        return found_s

    def end(self, reason: str | None = None) -> None:
        """Somebody ends it, if it is still there: its shim for a reason, or anybody else."""
        now_s = asyncio.get_running_loop().time()
        if self.ends_s > now_s:
            self.ends_s, self.ended_by = now_s, reason
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
    """The runner: a program takes effect when it starts, runs for its time under its shim, and does not need its gateway."""

    def __init__(self, world: Any, life: Any) -> None:
        self.world, self.life = world, life
        self._live: dict[str, Effect] = {}

    def facts(self, job: Job) -> Facts:
        agents = self.world.agents
        return (agents and agents.facts(job)) or Facts(argv=("program", job.id), cwd="/")

    async def run(
        self,
        order: Order,
        started: Callable[[int, int], Awaitable[None]],
        ready: Callable[[], Awaitable[None]],
    ) -> Result:
        loop, life = asyncio.get_running_loop(), self.life
        job_id = order.env["HORAE_JOB_ID"]
        await ready()
        life.must_live()
        if loop.time() < life.host.full_until_s:
            raise Exhausted("the machine has no room for another process")
        now_s = loop.time()
        play = self.world.agents.play(order, job_id, now_s) if self.world.agents else None
        takes_s = self.world.lasts(job_id, order.run_id) if play is None else play.lasts_s
        effect = Effect(
            order.run_id, order.env["HORAE_OCCURRENCE_KEY"], job_id, life.name, life.host.name, life.host.boot,
            self.world.clock.now(), now_s, now_s + min(takes_s, order.bounds.wall_s),
            ended_by="wall limit reached" if takes_s > order.bounds.wall_s else None,
            play=play,
        )  # fmt: skip
        self.world.begin(effect)
        note = loop.call_later(NOTED_AFTER_S, self._note, started, len(self.world.effects))
        try:
            return await self._outcome(effect)
        finally:
            note.cancel()

    async def adopt(self, orphan: Orphan, bounds: Bounds, secrets: Sequence[str]) -> Result:
        """What is on this machine and of this boot has a shim, or has left its result; the rest cannot be seen."""
        host = self.life.host
        if orphan.host != host.name or orphan.boot != f"boot{host.boot}":
            return a_result(exit_code=None, lost="it was on another machine, or the machine was started anew")
        for effect in self.world.effects_of(orphan.run_id):
            if (effect.host, effect.boot) == (host.name, host.boot):
                return await self._outcome(effect)
        return a_result(exit_code=None, lost="no shim has begun it")

    async def _outcome(self, effect: Effect) -> Result:
        """How a program ends, once it has."""
        loop = asyncio.get_running_loop()
        self._live[effect.run_id] = effect
        try:
            while (left := effect.ends_s - loop.time()) > 0:
                await self._wait(left, effect)
        finally:
            self._live.pop(effect.run_id, None)
        result = self._result(effect)
        if effect.play is None or effect.boot != self.life.host.boot:
            return result
        return replace(result, work=effect.play.work(effect.lived_s))

    def _result(self, effect: Effect) -> Result:
        if effect.boot != self.life.host.boot or effect.broken:
            return a_result(exit_code=None, lost="its shim ended before it")
        if effect.ended_by is not None:
            return a_result(exit_code=None, signal=15, ended_by=effect.ended_by)
        if effect.play is not None:
            return a_result(exit_code=effect.play.status, stdout=effect.play.answer)
        return self.world.result(effect.job_id, effect)

    @staticmethod
    async def _wait(seconds: float, effect: Effect) -> None:
        """Until the program's time is over or it is ended."""
        waiter = (loop := asyncio.get_running_loop()).create_future()

        def over() -> None:
            if not waiter.done():
                waiter.set_result(None)

        timer = loop.call_later(seconds, over)
        was, effect.watch = effect.watch, lambda: (was(), over())  # pyright: ignore[reportAttributeAccessIssue]
        try:
            await waiter
        finally:
            timer.cancel()

    def _note(self, started: Callable[[int, int], Awaitable[None]], pid: int) -> None:
        async def note() -> None:
            await started(pid, 1)

        task = asyncio.get_running_loop().create_task(note())
        task.add_done_callback(lambda task: task.cancelled() or task.exception())

    def stop_all(self, reason: str) -> None:
        for effect in list(self._live.values()):
            effect.end(reason)

    def cancel(self, run_id: str, reason: str) -> bool:
        effect = self._live.get(run_id)
        if effect is not None:
            effect.end(reason)
        return effect is not None

    def collected(self, run_id: str) -> None: ...

    def sweep(self, keep: Collection[str]) -> None: ...

    def gone(self, owner: Owner) -> bool:
        """On this machine it can be seen that a process is gone; of another nothing is known."""
        host = self.life.host
        if owner.host != host.name:
            return False
        if owner.boot != f"boot{host.boot}":
            return True
        return any(life.name == owner.id and life.over for life in self.world.lives)


class Mail:
    """The sender of `desk`: what it sends arrives."""

    def __init__(self, world: Any, life: Any) -> None:
        self.world, self.life = world, life

    def check(self, address: Address | None = None) -> str | None:
        return None

    async def send(self, message: Message) -> Receipt:
        run_id, kind = str(message.facts["run"]), message.facts["kind"]
        if kind not in ("result", "alert"):
            self.world.notes.append((kind, message.body))
            return Receipt("accept", evidence="arrived")
        self.world.sent.append((run_id, str(message.address), message.body))
        now_s = asyncio.get_running_loop().time()
        self.world.sendings.append(Sending(run_id, str(message.address), self.life.name, now_s, self.life.stood_still))
        return Receipt("accept", evidence="arrived")


class Post:
    """The targets of a world: what stays here, and places where somebody sends."""

    def __init__(self, senders: dict[str, Any], *, safe_to_repeat: Callable[[], bool] = lambda: False) -> None:
        self._senders, self._safe_to_repeat = senders, safe_to_repeat
        self._timeouts_s = {name: getattr(sender, "timeout_s", 20.0) for name, sender in senders.items()}

    def resolve(self, target: str, origin: str | None = None) -> tuple[Address, ...]:
        return (self.address(target),)

    def address(self, text: str) -> Address:
        if text != LOCAL and text not in self._senders:
            raise Invalid(f"no such target is configured: {text}")
        return Address(text)

    def platform(self, address: Address) -> Platform:
        self.address(str(address))
        return Platform(
            address.platform,
            "test",
            alone=True,
            header=False,
            footer=False,
            timeout_s=self._timeouts_s.get(address.platform, 20.0),
            safe_to_repeat=self._safe_to_repeat(),
        )

    def sender(self, address: Address) -> Any:
        return self._senders[address.platform]

    def problem(self, target: str, origin: str | None = None) -> str | None:
        try:
            self.address(target)
        except Invalid as error:
            return error.message
        return None
