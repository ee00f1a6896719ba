"""The engine without programs: real gateway, real store, real group commit, and a runner that starts nothing.

It shows what deciding and recording cost, and it is what in-process schedulers are compared with. `Shifted` is the
system's clock with a shift, so that jobs can be stored long before they are due and all come due at a chosen moment.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from horae.clock import SystemClock
from horae.core.model import Job, Owner, Result
from horae.core.preflight import Facts
from horae.engine.gateway import Gateway
from horae.engine.lease import Lease
from horae.engine.slots import Slots
from horae.ports import Ports, Settings
from horae.store.sqlite import SqliteStore
from horae.store.writer import GroupWriter
from horae.wiring.desk import desk_of

OWNER = Owner("bench", "host", "boot", os.getpid(), 1)
BATCH = 500


class Shifted(SystemClock):
    """The system's clock, moved forward by `shift`."""

    shift = timedelta()

    def now(self):
        return super().now() + self.shift

    def arm(self, until, wake):
        super().arm(until - self.shift, wake)


class Noop:
    """A runner that has nothing to do but what it is given."""

    def __init__(self, work: Callable[[str], None] = lambda _name: None, says: str = ""):
        self._work = work
        self._says = says

    def facts(self, _job):
        return Facts(("true",), "/")

    async def run(self, order, _started, ready):
        await ready()
        self._work(order.env["HORAE_JOB_NAME"])
        return Result(0, None, self._says, "", 0, 0)

    async def adopt(self, orphan, bounds, secrets):
        """Nothing was ever started."""

    def collected(self, run_id):
        """Nothing is kept."""

    def sweep(self, keep):
        """Nothing is kept."""

    def cancel(self, run_id, reason):
        return False

    def gone(self, owner):
        return False


def fill(store: SqliteStore, count: int, schedule: str, deliver: Callable[[int], str] = lambda _: "local") -> None:
    """Store `count` jobs as the job files' reader would, in transactions of its size. `deliver` says where to, of each."""
    for start in range(0, count, BATCH):
        jobs = [
            Job(f"{i:012x}", f"j{i}", f"j{i}", schedule, "UTC", agent=False, command=("true",), deliver=(deliver(i),))
            for i in range(start, min(count, start + BATCH))
        ]
        store.transact(
            lambda tx, jobs=jobs: [tx.jobs.upsert(job, signature="x", meaning="m", actor="bench") for job in jobs]
        )


def gateway(store, clock: SystemClock, parallel: int, runner: Noop, *, owner="bench", shared=False, targets=None):
    """A gateway over it; the writer is running."""
    writer, slots = GroupWriter(store), Slots(parallel)
    writer.start()
    settings = Settings(os.path.dirname(store.path), parallel=parallel)
    targets = targets or desk_of(settings, clock)
    ports = Ports(replace(OWNER, id=owner), clock, writer, runner, targets, settings, slots, Lease(clock))
    return Gateway(ports, slots, lambda _reason: None, "bench", shared=shared), writer


async def run_until(engine: Gateway, store: SqliteStore, count: int, within_s: float, what: str = "completed") -> int:
    """Run it until so many runs are completed (or messages delivered) on the disk, then stop it; how many were."""
    loop, done, seen = asyncio.get_running_loop(), asyncio.Event(), 0

    def told(entries):  # on the writer's thread, after the commit
        nonlocal seen
        before, seen = seen, seen + sum(entry.what == what for entry in entries)
        if before < count <= seen:
            loop.call_soon_threadsafe(done.set)

    store.listen(told)
    task = asyncio.create_task(engine.run())
    try:
        await asyncio.wait_for(done.wait(), within_s)
    except TimeoutError:
        pass
    finally:
        engine.stop()
        await task
    return seen
