"""One gateway of a simulated world, from its start to its end, and what faults do to it."""

from __future__ import annotations

import asyncio
from typing import Any

from horae.core.model import Claim, Owner
from horae.engine.gateway import Gateway
from horae.engine.lease import Lease
from horae.engine.slots import Slots
from horae.limits import LEASE_S
from horae.ports import Ports
from horae.store.sqlite import SqliteStore
from horae.store.writer import GROUP_MAX, GroupWriter, Member
from tests.support.builders import HOUR
from tests.support.faults import FAR_S, FULL_S, JUST_S, LATE, Crash, Faulty
from tests.support.outside import Mail, Post, Programs
from tests.support.virtual import VirtualClock, nap

STOPS_S = {"pause": JUST_S, "far": FAR_S, "usurped": FAR_S, "asleep": JUST_S, **LATE}
CUT_S = {"cut": JUST_S, "cut_far": FAR_S}
READINGS = ("now", "reading", "arm")


GATHERED_IN = 4  # rounds of the loop: so long the group before was being written


class Together(GroupWriter):
    """The group writer without its thread: whoever hands in at the same moment is committed together."""

    def __init__(self, store: SqliteStore, life: Life) -> None:
        super().__init__(store)
        self._life = life
        self._waiting: list[Member] = []

    async def _written(self, member: Member) -> Any:
        member.loop = asyncio.get_running_loop()
        member.future = member.loop.create_future()
        if not self._waiting:
            member.loop.call_soon(self._write_waiting, GATHERED_IN)
        self._waiting.append(member)
        return await member.future

    def _write_waiting(self, rounds: int = 0) -> None:
        loop = asyncio.get_running_loop()
        if rounds:
            loop.call_soon(self._write_waiting, rounds - 1)
            return
        if self._life.dead:
            return
        if (left := self._life.still_until_s - loop.time()) > 0:
            loop.call_later(left, self._write_waiting)
            return
        group, self._waiting = self._waiting[:GROUP_MAX], self._waiting[GROUP_MAX:]
        self._write(group)
        if self._waiting:
            loop.call_soon(self._write_waiting)


class Watched(Lease):
    """A lease that remembers when it was renewed (after which entry of the journal), and until when it was trusted then."""

    def __init__(self, clock: Any, watch: VirtualClock, world: Any) -> None:
        super().__init__(clock)
        self._watch, self._world = watch, world
        self.trusted: list[tuple[int, float]] = []

    def renewed(self, asked_s: float, for_s: float = LEASE_S) -> None:
        super().renewed(asked_s, for_s)
        now_s = asyncio.get_running_loop().time()
        seq = self._world.told[-1].entry.seq if self._world.told else 0
        self.trusted.append((seq, now_s + self._trusted_until_s - self._watch.reading().steady_s))


class Life:
    """A gateway. Times are the loop's."""

    def __init__(self, world: Any, name: str, place: Any) -> None:
        self.world, self.name, self.place = world, name, place
        self.host = world.hosts[place.host]
        self.boot = self.host.boot
        self.dead = self.stopped = self.stood_still = False
        self.still_until_s = self.cut_until_s = self.died_s = self.stopped_s = 0.0
        self.born_s = asyncio.get_running_loop().time()
        self.task: asyncio.Task[None] | None = None
        self.store = SqliteStore(world.file, world.clock)
        self.store.db.execute("PRAGMA synchronous = OFF")
        self.store.listen(lambda entries: world.note(name, entries))
        self.clock = self.host.clock.sibling()
        self.runner = Programs(world, self)
        self.desk = Mail(world, self)
        self.ports = self._ports()
        self.lease: Any = self.ports.lease
        self.gateway = Gateway(self.ports, self._slots, self.runner.stop_all, "test", shared=world.shared)

    def _ports(self) -> Ports:
        world, plan, noise = self.world, self.world.plan, self.world.noise
        store = Together(self.store, self) if world.grouped else self.store
        clock: Any = Faulty(self.clock, READINGS if world.clock_calls else (), plan, self)
        desk = Faulty(self.desk, ("send",), plan, self, noise)
        self._slots = Slots(world.settings.parallel)
        place = self.place
        owner = Owner(self.name, place.host, f"boot{self.boot}", 1000 + len(world.lives), 1, place.labels)
        runner: Any = Faulty(self.runner, ("facts", "run", "cancel", "gone", "adopt"), plan, self, noise)
        faulty: Any = Faulty(store, ("commit", "together"), plan, self, noise, store=True)
        return Ports(
            owner=owner,
            clock=clock,
            store=faulty,
            runner=runner,
            targets=Post({"desk": desk, **world.senders}, safe_to_repeat=lambda: world.idempotent),
            settings=world.settings,
            slots=self._slots,
            lease=Watched(clock, self.clock, world),
            terms=world.terms(place),
        )

    # ── what faults do to it

    def must_live(self) -> None:
        if self.dead:
            raise Crash

    async def while_paused(self) -> None:
        """Whoever stands still goes no further."""
        loop = asyncio.get_running_loop()
        while not self.dead and (left := self.still_until_s - loop.time()) > 0:
            await nap(left)
        self.must_live()

    async def while_cut_off(self) -> None:
        loop = asyncio.get_running_loop()
        while not self.dead and (left := max(self.cut_until_s, self.world.away_until_s) - loop.time()) > 0:
            await nap(left)
            await self.while_paused()
        self.must_live()

    def hit(self, fault: str) -> None:
        """Meet a fault now."""
        now_s = asyncio.get_running_loop().time()
        lasts_s = STOPS_S.get(fault, CUT_S.get(fault, 0.0))
        if fault not in ("power", "asleep", "outage"):  # those strike others as well
            self.world.strike(self, fault, now_s + lasts_s)
        if fault in ("before", "after"):
            self.die()
        elif fault == "power":
            self.host.lose_power(self.world)
        elif fault == "shims":
            self.host.lose_the_shims(self.world)
        elif fault == "stepped":
            self.host.clock.step(HOUR if len(self.world.hits) % 2 else -HOUR)
        elif fault == "full":
            self.host.full_until_s = now_s + FULL_S
        elif fault == "asleep":
            self.host.fall_asleep(self.world, lasts_s)
        elif fault == "outage":
            self.world.lose_the_store(JUST_S)
        elif fault in CUT_S:
            self.cut_until_s = max(self.cut_until_s, now_s + lasts_s)
        else:
            self.stand_still(now_s + lasts_s)
            if fault == "usurped":
                asyncio.get_running_loop().call_later(lasts_s / 3, self._usurp)

    def stand_still(self, until_s: float) -> None:
        self.still_until_s = max(self.still_until_s, until_s)

    def die(self) -> None:
        """As by SIGKILL: nothing of it runs any more."""
        if self.dead or self.stopped:
            return
        self.dead = True
        self.clock.dead = True
        loop = asyncio.get_running_loop()
        self.died_s = loop.time()
        for task in [*self.gateway._tasks, *self.gateway._sends, *([self.task] if self.task else [])]:
            loop.call_soon(task.cancel)

    def ended(self, task: asyncio.Task[None]) -> None:
        self.stopped = not self.dead
        self.stopped_s = asyncio.get_running_loop().time()
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Crash):
            self.world.broken.append(error)

    @property
    def over(self) -> bool:
        return self.dead or self.stopped

    @property
    def claims(self) -> list[Claim]:
        return self.gateway.live

    def _usurp(self) -> None:
        if not self.dead:
            self.world.start(self.place)
