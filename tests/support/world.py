"""A whole gateway over a real SQLite file, in virtual time, with a runner and senders that write down what they did.

The world outlives its gateways: processes go on when their gateway dies, the file keeps what was committed, and what
has taken effect outside (a program started, a message sent) is never taken back.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from horae.core.model import Claim, Job, Message, Order, Owner, Receipt, Result
from horae.core.preflight import Facts
from horae.engine.gateway import Gateway
from horae.engine.slots import Slots
from horae.errors import Invalid
from horae.ports import Orphan, Ports, Settings
from horae.senders.local import Local
from horae.store.migrate import migrate
from horae.store.sqlite import SqliteStore
from tests.support.builders import START, a_result
from tests.support.faults import Crash, Faulty, Plan
from tests.support.virtual import VirtualClock

PAUSE_S = 90.0  # longer than the longest run of the scenarios' ordinary jobs


@contextmanager
def scratch() -> Iterator[str]:
    """A folder in memory where there is one: the simulation commits thousands of times."""
    memory = "/dev/shm"
    folder = tempfile.mkdtemp(prefix="horae-", dir=memory if os.access(memory, os.W_OK) else None)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_template: list[bytes] = []


def new_database(path: str) -> None:
    """An empty store of the newest schema; migrated once for all tests of a process."""
    if not _template:
        with scratch() as folder:
            db = sqlite3.connect(os.path.join(folder, "t.db"), isolation_level=None)
            migrate(db, "t.db")
            db.close()
            _template.append(Path(folder, "t.db").read_bytes())
    Path(path).write_bytes(_template[0])


@dataclass(slots=True)
class Effect:
    """A program that started."""

    run_id: str
    key: str
    by: str
    at: datetime
    began_s: float
    ends_s: float


@dataclass
class World:
    """Everything outside the gateways."""

    folder: str
    plan: Plan = field(default_factory=Plan)
    settings: Settings = field(default_factory=lambda: Settings("/h", parallel=4, drain_s=600.0))
    noise: Callable[[], int] = lambda: 0
    takes_s: dict[str, float] = field(default_factory=dict)
    """job id → how long its program runs."""
    results: dict[str, Callable[[], Result]] = field(default_factory=dict)
    clock: VirtualClock = field(default_factory=VirtualClock)
    effects: list[Effect] = field(default_factory=list)
    sent: list[tuple[str, str, str]] = field(default_factory=list)
    """(run id, target, body) of every message that arrived."""
    hits: list[tuple[str, str, datetime]] = field(default_factory=list)
    """(gateway, fault, when): what the plan did."""
    broken: list[BaseException] = field(default_factory=list)
    """What ended a gateway that no fault had hit."""
    lives: list[Life] = field(default_factory=list)
    asked_to_stop: datetime = START
    file: str = ""

    def __post_init__(self) -> None:
        self.file = os.path.join(self.folder, "runtime.db")
        new_database(self.file)
        self.outside = SqliteStore(self.file, self.clock)  # the command line, beside every gateway
        self.outside.db.execute("PRAGMA synchronous = OFF")  # no fault of this world is a power cut

    def close(self) -> None:
        for life in self.lives:
            life.store.close()
        self.outside.close()

    def take_in(self, *jobs: Job) -> None:
        def work(tx: Any) -> None:
            for job in jobs:
                tx.jobs.upsert(job, signature="s", meaning="m", actor="test")

        self.outside.transact(work)
        self.wake()

    def order(self, job: Job, run_id: str) -> None:
        self.outside.transact(lambda tx: tx.jobs.order_run(job.id, run_id=run_id, actor="person", input=None))
        self.wake()

    def wake(self) -> None:
        for life in self.lives:
            if not life.dead:
                life.gateway.wake()

    def start(self) -> Life:
        life = Life(self, f"g{len(self.lives) + 1}")
        self.lives.append(life)
        life.task = asyncio.get_running_loop().create_task(life.gateway.run(), name=life.name)
        life.task.add_done_callback(life.ended)
        return life

    async def pass_time(self, by: timedelta) -> None:
        """Let virtual time pass; a gateway that died is followed by another, twenty seconds later."""
        loop = asyncio.get_running_loop()
        end = loop.time() + by.total_seconds()
        while loop.time() < end:
            await asyncio.sleep(min(20.0, end - loop.time()))
            if all(life.dead or life.stopped for life in self.lives):
                self.start()

    async def quiet(self, limit: timedelta) -> None:
        """Stop every live gateway in order and wait until it has; what dies in it is followed by another once more."""
        while True:
            calls = -1
            while calls != (calls := len(self.hits)):  # nobody stands still, and whoever is new has looked
                await self.pass_time(timedelta(seconds=PAUSE_S + 170))  # longer than any program runs
            self.asked_to_stop = self.clock.now()
            live = [life for life in self.lives if life.task is not None and not life.dead and not life.stopped]
            for life in live:
                life.gateway.stop()
            if live:
                _, late = await asyncio.wait([life.task for life in live if life.task], timeout=limit.total_seconds())
                assert not late, "a gateway that was asked to stop did not"
            if all(life.dead or life.stopped for life in self.lives):
                if all(life.died_s < self.lives[-1].born_s for life in self.lives if life.dead):
                    return
                self.start()  # what died is made good by whoever starts next

    def rows(self, sql: str, *args: Any) -> list[sqlite3.Row]:
        with sqlite3.connect(self.file) as db:
            db.row_factory = sqlite3.Row
            found = db.execute(sql, args).fetchall()
        db.close()
        return found


class Life:
    """One gateway from its start to its end."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.dead = self.stopped = False
        self.born_s, self.died_s = asyncio.get_running_loop().time(), 0.0
        self.task: asyncio.Task[None] | None = None
        self._awake = asyncio.Event()
        self._awake.set()
        self.store = SqliteStore(world.file, world.clock)
        self.store.db.execute("PRAGMA synchronous = OFF")
        self.clock = world.clock.sibling()
        self.runner = Programs(world, self)
        self.desk = Mail(world)
        senders = {"local": Local(), "desk": Faulty(self.desk, "send", world.plan, self, world.noise)}
        slots = Slots(world.settings.parallel)
        self.ports = Ports(
            owner=Owner(name, "host", "boot", 1000 + len(world.lives), 1),
            clock=self.clock,
            store=Faulty(self.store, "commit", world.plan, self, world.noise),  # pyright: ignore[reportArgumentType]
            runner=Faulty(self.runner, "run", world.plan, self, world.noise),  # pyright: ignore[reportArgumentType]
            sender=lambda target: senders[target] if target in senders else _refuse(target),  # pyright: ignore[reportArgumentType]
            settings=world.settings,
            slots=slots,
        )
        self.gateway = Gateway(self.ports, slots, self.runner.stop_all, "test")

    # ── what faults do to it

    def must_live(self) -> None:
        if self.dead:
            raise Crash

    async def while_paused(self) -> None:
        await self._awake.wait()

    def hit(self, fault: str, args: Any) -> None:
        self.world.hits.append((self.name, fault, self.world.clock.now()))
        if fault == "before":
            self.die()
        elif fault in ("pause", "usurped"):
            self._awake.clear()
            asyncio.get_running_loop().call_later(PAUSE_S, self._awake.set)
            if fault == "usurped":
                asyncio.get_running_loop().call_later(PAUSE_S / 3, self._usurp)

    def die(self) -> None:
        """As by SIGKILL: nothing of it runs any more."""
        self.dead = True
        self.clock.dead = True
        loop = asyncio.get_running_loop()
        self.died_s = loop.time()
        self.world.hits.append((self.name, "died", self.world.clock.now()))
        mine = [*self.gateway._tasks, *([self.task] if self.task else [])]
        for task in mine:
            loop.call_soon(task.cancel)
        self._awake.set()

    def ended(self, task: asyncio.Task[None]) -> None:
        self.stopped = not self.dead
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Crash):
            self.world.broken.append(error)

    def _usurp(self) -> None:
        if not self.dead and not any(other is not self and not other.dead for other in self.world.lives):
            self.world.start()


class Programs:
    """The runner: a program takes effect when it starts, runs for its time, and does not care for its gateway."""

    def __init__(self, world: World, life: Life) -> None:
        self.world, self.life = world, life
        self._live: dict[str, asyncio.Future[str]] = {}

    def facts(self, job: Job) -> Facts:
        self.life.must_live()
        return Facts(argv=("program", job.id), cwd="/")

    async def run(self, order: Order, started: Callable[[int, int], Awaitable[None]]) -> Result:
        loop = asyncio.get_running_loop()
        job_id = order.env["HORAE_JOB_ID"]
        takes = self.world.takes_s.get(job_id, 1.0)
        key = order.env["HORAE_OCCURRENCE_KEY"]
        began = loop.time()
        effect = Effect(order.run_id, key, self.life.name, self.world.clock.now(), began, began + takes)
        self.world.effects.append(effect)
        await started(len(self.world.effects), 1)
        stop = self._live[order.run_id] = loop.create_future()
        try:
            done, _ = await asyncio.wait([stop], timeout=takes)
        finally:
            del self._live[order.run_id]
        if done:
            effect.ends_s = loop.time()
            return a_result(exit_code=None, signal=15, ended_by=stop.result())
        made = self.world.results.get(job_id)
        return made() if made else a_result(stdout=f"did {key[:8]}\n")

    def stop_all(self, reason: str) -> None:
        for stop in self._live.values():
            if not stop.done():
                stop.set_result(reason)

    async def outlived(self, orphan: Orphan, left_s: float) -> bool:
        ends = [effect.ends_s for effect in self.world.effects if effect.run_id == orphan.run_id]
        left = max(ends, default=0.0) - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, min(left, left_s)))
        self.life.must_live()
        return left > left_s


class Mail:
    """The sender of `desk`: what it sends arrives."""

    def __init__(self, world: World) -> None:
        self.world = world

    def problem(self, target: str) -> str | None:
        return None

    def kept(self, run_id: str) -> Receipt | None:
        return None

    async def send(self, message: Message) -> Receipt:
        self.world.sent.append((message.run_id, message.target, message.body))
        return Receipt("accept", evidence="arrived")


def _refuse(target: str) -> Any:
    raise Invalid(f"no such target is configured: {target}")


def live_claims(life: Life) -> list[Claim]:
    return life.gateway.live


__all__ = ["START", "Crash", "Effect", "Life", "Plan", "World", "live_claims", "new_database", "scratch"]
