"""Whole gateways over a real SQLite file, in virtual time, with runners and senders that write down what they did.

The world outlives its gateways: processes go on when their gateway dies, the file keeps what was committed, and what has
taken effect outside (a program started, a message sent) is never taken back. `places` says which gateways there shall be:
whatever dies or stops is followed by another in its place. Places may be on one machine or on several, whose wall clocks
may be wrong; the store's time is `clock`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from horae.core.model import Claim, Job, Result, Terms
from horae.ports import Settings
from horae.store.journal import Entry
from horae.store.migrate import migrate
from horae.store.sqlite import SqliteStore
from tests.support.builders import START, a_result, us
from tests.support.faults import FAR_S, Crash, Plan
from tests.support.life import Life
from tests.support.outside import Effect, Sending
from tests.support.virtual import VirtualClock, nap
from tests.support.worldagents import Agents

PAUSE_S = FAR_S
AGAIN_S = 20.0  # after which somebody notices that a gateway is gone


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


@dataclass(slots=True, repr=False)
class Host:
    """A machine."""

    name: str
    clock: VirtualClock
    boot: int = 1
    full_until_s: float = 0.0
    """Until then it has no room for another process."""

    def lose_power(self, world: World) -> None:
        """Everything on it is over. It can be used again at once, and others see that it booted."""
        now_s = asyncio.get_running_loop().time()
        for life in world.lives:
            if life.host is self and not life.over:
                world.strike(life, "power", now_s)
                life.die()
        for effect in world.running(self):
            effect.end()
        self.boot += 1

    def lose_the_shims(self, world: World) -> None:
        """Whatever watches programs on it is killed, and they with it."""
        now_s = asyncio.get_running_loop().time()
        for effect in world.running(self):
            effect.broken = True
            world.strike(world.by_name(effect.by), "shims", now_s)
            effect.end()

    def fall_asleep(self, world: World, by_s: float) -> None:
        """Nothing on it goes on for so long, programs neither."""
        until_s = asyncio.get_running_loop().time() + by_s
        for life in world.lives:
            if life.host is self and not life.over:
                world.strike(life, "asleep", until_s)
                life.stand_still(until_s)
        for effect in world.running(self):
            effect.ends_s += by_s
            effect.dozes.append((until_s - by_s, by_s))
        self.clock.doze(by_s)


class Place(NamedTuple):
    """Where there shall be a gateway, and what it offers."""

    host: str = "host"
    labels: frozenset[str] = frozenset()


class Hit(NamedTuple):
    """A fault that a gateway met, and until when it lasted."""

    life: str
    fault: str
    at_s: float
    until_s: float


class Told(NamedTuple):
    """An entry of the journal, who wrote it, and when by the loop's time."""

    by: str
    at_s: float
    entry: Entry


@dataclass(repr=False)
class World:
    """Everything outside the gateways."""

    folder: str
    plan: Plan = field(default_factory=Plan)
    settings: Settings = field(default_factory=lambda: Settings("/h", parallel=4, drain_s=600.0))
    noise: Callable[[], int] = lambda: 0
    places: tuple[Place, ...] = (Place(),)
    off_s: dict[str, float] = field(default_factory=dict)
    """machine → by how much its wall clock is wrong; one that is not named has the store's."""
    shared: bool = False
    grouped: bool = False
    """Whether gateways write through the group writer, as they really do, or each call by itself."""
    clock_calls: bool = False
    """Whether the plan counts looks at a clock too."""
    takes_s: dict[str, float] = field(default_factory=dict)
    """job id → how long its program runs."""
    results: dict[str, Callable[[], Result]] = field(default_factory=dict)
    agents: Agents | None = None
    """What agents do, where jobs have some."""
    look: Callable[[World], None] | None = None
    """Called after every call of the store: what must hold at every moment."""
    clock: VirtualClock = field(default_factory=VirtualClock)
    effects: list[Effect] = field(default_factory=list)
    sent: list[tuple[str, str, str]] = field(default_factory=list)
    """(run id, target, body) of every message that arrived."""
    notes: list[tuple[Any, str]] = field(default_factory=list)
    """(kind, body) of what arrived that is no result or alert of a run."""
    senders: dict[str, Any] = field(default_factory=dict)
    """Other targets than `desk`, by name."""
    idempotent: bool = False
    """Whether the desk takes a message that arrives twice as one."""
    sendings: list[Sending] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    broken: list[BaseException] = field(default_factory=list)
    """What ended a gateway that no fault had hit."""
    lives: list[Life] = field(default_factory=list)
    given: dict[str, Job] = field(default_factory=dict)
    """job id → the definition that a person gave last."""
    expected: dict[str, Any] = field(default_factory=dict)
    """What the invariants expect, for people who change it."""
    away_until_s: float = 0.0
    """Until then nobody reaches the store."""
    refusals: int = 0
    slots: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    """How many runs ended in which state."""
    asked_to_stop: datetime = START
    file: str = ""

    def __post_init__(self) -> None:
        self.file = os.path.join(self.folder, "runtime.db")
        new_database(self.file)
        self.outside = SqliteStore(self.file, self.clock)  # the command line, beside every gateway
        self.outside.db.execute("PRAGMA synchronous = OFF")  # no fault of this world is a power cut
        self.outside.listen(lambda entries: self.note("people", entries))
        self.hosts = {place.host: Host(place.host, self.clock) for place in self.places}
        for name, off_s in self.off_s.items():
            self.hosts[name] = Host(name, VirtualClock(off_s=off_s))
        asyncio.get_running_loop().set_exception_handler(_said)
        self._by_run: dict[str, list[Effect]] = {}
        self._eyes: sqlite3.Connection | None = None

    def close(self) -> None:
        for life in self.lives:
            life.store.close()
        if self._eyes is not None:
            self._eyes.close()
        self.outside.close()

    # ── what people do

    def take_in(self, *jobs: Job) -> None:
        def work(tx: Any) -> None:
            for job in jobs:
                tx.jobs.upsert(job, signature="s", meaning="m", actor="test")

        self.given |= {job.id: job for job in jobs}
        self.people(work)

    def order(self, job: Job, run_id: str) -> None:
        self.people(lambda tx: tx.jobs.order_run(job.id, run_id=run_id, actor="person", input=None))

    def people(self, work: Callable[[Any], Any]) -> Any:
        answer = self.outside.transact(work)
        self.wake()
        return answer

    def wake(self) -> None:
        for life in self.lives:
            if not life.dead:
                life.gateway.wake()

    # ── gateways and time

    def terms(self, place: Place) -> Terms:
        return Terms(place.labels, self.settings.groups, self.settings.calendars)

    def start(self, place: Place | None = None) -> Life:
        place = place or self.places[0]
        self.hosts.setdefault(place.host, Host(place.host, VirtualClock()))
        life = Life(self, f"g{len(self.lives) + 1}", place)
        self.lives.append(life)
        life.task = asyncio.get_running_loop().create_task(life.gateway.run(), name=life.name)
        life.task.add_done_callback(life.ended)
        return life

    def live(self, place: Place | None = None) -> list[Life]:
        return [life for life in self.lives if not life.over and (place is None or life.place == place)]

    async def pass_time(self, by: timedelta) -> None:
        """Let virtual time pass; a gateway that died or stopped is followed by another, twenty seconds later."""
        loop = asyncio.get_running_loop()
        end = loop.time() + by.total_seconds()
        while loop.time() < end:
            await nap(min(AGAIN_S, end - loop.time()))
            for place in self.places:
                if not self.live(place):
                    self.start(place)

    async def settle(self, until: datetime, limit_s: float) -> None:
        """Let time pass until nothing is live, and nothing is planned up to that instant, whatever the clock says now.

        What was ordered, or was begun and goes on later, is waited for too.
        """
        loop = asyncio.get_running_loop()
        end_s = loop.time() + limit_s
        left = "SELECT 1 FROM occurrence WHERE state = 'claimed' OR (state = 'planned' AND (due_at <= ?"
        left += " OR later IS NOT NULL OR trigger = 'manual')) LIMIT 1"
        while loop.time() < end_s and self.rows(left, us(until)):
            await self.pass_time(timedelta(seconds=AGAIN_S))

    async def quiet(self, limit: timedelta) -> None:
        """Stop every live gateway in order and wait until it has; what dies in it is followed by another once more."""
        longest_s = max((200.0, *self.takes_s.values()))
        while True:
            hits = -1
            while hits != (hits := len(self.hits)):  # nobody stands still, and whoever is new has looked
                await self.pass_time(timedelta(seconds=FAR_S + min(longest_s, 600.0)))
            self.asked_to_stop = self.clock.now()
            asked_s = asyncio.get_running_loop().time()
            live = self.live()
            for life in live:
                life.gateway.stop()
            if live:
                _, late = await asyncio.wait([life.task for life in live if life.task], timeout=limit.total_seconds())
                assert not late, "a gateway that was asked to stop did not"
            last_s = (
                asked_s if self.shared else self.lives[-1].born_s
            )  # a home of its own is made good by who starts next
            died = any(life.dead and life.died_s >= last_s for life in self.lives)
            if not self.live() and not died:
                return
            if died and not self.live():
                self.start()

    def lose_the_store(self, by_s: float) -> None:
        """It cannot be reached by any gateway for so long."""
        self.away_until_s = asyncio.get_running_loop().time() + by_s
        for life in self.lives:
            if not life.over:
                self.strike(life, "outage", self.away_until_s)

    # ── what is written down

    def strike(self, life: Life, fault: str, until_s: float) -> None:
        self.hits.append(Hit(life.name, fault, asyncio.get_running_loop().time(), until_s))

    def note(self, by: str, entries: list[Entry]) -> None:
        at_s = asyncio.get_running_loop().time()
        self.told += [Told(by, at_s, entry) for entry in entries]

    def begin(self, effect: Effect) -> None:
        self.effects.append(effect)
        self._by_run.setdefault(effect.run_id, []).append(effect)

    def by_name(self, name: str) -> Life:
        return next(life for life in self.lives if life.name == name)

    def effects_of(self, run_id: str) -> list[Effect]:
        return self._by_run.get(run_id, [])

    def running(self, host: Host) -> list[Effect]:
        now_s = asyncio.get_running_loop().time()
        here = (host.name, host.boot)
        return [effect for effect in self.effects if effect.ends_s > now_s and (effect.host, effect.boot) == here]

    def lasts(self, job_id: str, run_id: str) -> float:
        return self.takes_s.get(job_id, 1.0)

    def result(self, job_id: str, effect: Effect) -> Result:
        made = self.results.get(job_id)
        return made() if made else a_result(stdout=f"did {effect.key[:8]}\n")

    def rows(self, sql: str, *args: Any) -> list[sqlite3.Row]:
        if self._eyes is None:
            self._eyes = sqlite3.connect(self.file)
            self._eyes.row_factory = sqlite3.Row
        return self._eyes.execute(sql, args).fetchall()


def _said(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A gateway that died says so in every call that it had left to make; anything else is a fault."""
    if not isinstance(context.get("exception"), Crash):
        loop.default_exception_handler(context)


def live_claims(life: Life) -> list[Claim]:
    return life.gateway.live


__all__ = ["START", "Crash", "Effect", "Life", "Place", "Plan", "World", "live_claims", "new_database", "scratch"]
