"""A few minutes of a busy home: overlapping runs, alerts, silence, a pause, a one-shot, runs by hand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from datetime import datetime, timedelta

from tests.simulation.invariants import Expected, check
from tests.support.builders import START, a_job, a_result
from tests.support.faults import Plan
from tests.support.virtual import run_virtually
from tests.support.world import World, scratch

LENGTH = timedelta(minutes=7, seconds=20)

TIDES = a_job("tides", deliver=("local", "desk"))
BACKUP = a_job("backup", schedule="*/5 * * * *", deliver=("desk",))
SLOW = a_job("slow", schedule="every 2 minutes from 2026-03-02T08:00:30+00:00")
ONCE = a_job("once", schedule="2026-03-02T08:03:20+00:00", deliver=("local", "desk"))
PAUSED = a_job("paused", schedule="every 1 minute from 2026-03-02T08:00:15+00:00")
ALARM = a_job("alarm", schedule="*/3 * * * *")
JOBS = (TIDES, BACKUP, SLOW, ONCE, PAUSED, ALARM)


def every(seconds: int, first: datetime) -> Iterator[datetime]:
    """The slots of a grid, reckoned without the product."""
    slot = first
    while True:
        yield slot
        slot += timedelta(seconds=seconds)


SLOTS = {
    TIDES.id: Expected(TIDES, lambda: every(60, START + timedelta(minutes=1))),
    BACKUP.id: Expected(BACKUP, lambda: every(300, START + timedelta(minutes=5))),
    SLOW.id: Expected(SLOW, lambda: every(120, START + timedelta(seconds=30))),
    ONCE.id: Expected(ONCE, lambda: iter([START + timedelta(minutes=3, seconds=20)])),
    PAUSED.id: Expected(PAUSED, lambda: every(60, START + timedelta(seconds=15))),
    ALARM.id: Expected(ALARM, lambda: every(180, START + timedelta(minutes=3))),
}


def new_world(folder: str, plan: Plan | None = None, seed: int | None = None) -> World:
    world = World(folder, plan or Plan())
    world.takes_s |= {TIDES.id: 5.0, BACKUP.id: 20.0, SLOW.id: 200.0, ONCE.id: 3.0, ALARM.id: 1.0}
    world.results |= {
        BACKUP.id: lambda: a_result(stdout=" \n"),
        ALARM.id: lambda: a_result(exit_code=1, stderr="no route"),
    }
    if seed is not None:
        dice = random.Random(seed)
        world.noise = lambda: dice.randrange(4)
    return world


async def live_through(world: World, length: timedelta = LENGTH) -> None:
    """The scenario: jobs are taken in, a gateway runs, people order runs; in the end it is stopped in order."""
    world.take_in(*JOBS)
    world.outside.transact(lambda tx: tx.jobs.pause(PAUSED.id, actor="person", reason="rest"))
    world.start()
    loop = asyncio.get_running_loop()
    loop.call_later(130.0, world.order, BACKUP, "a" * 16)
    loop.call_later(299.0, world.order, TIDES, "b" * 16)
    await world.pass_time(length)
    await world.pass_time(timedelta(minutes=5))  # whatever the faults did is over by then
    await world.quiet(timedelta(hours=1))
    assert not world.broken, world.broken


def simulate(faults: dict[int, str] | None = None, seed: int | None = None, length: timedelta = LENGTH) -> Plan:
    """Live through it with these faults and check everything. Returns the plan with the log of all calls."""
    plan = Plan(faults)
    with scratch() as folder:

        async def main() -> None:
            world = new_world(folder, plan, seed)
            try:
                await live_through(world, length)
                check(world, SLOTS)
            finally:
                world.close()

        run_virtually(main())
    return plan
