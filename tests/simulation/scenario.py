"""Lives to be hit by faults: small ones of which every call is hit in turn, and how any of them is lived through."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from horae.core.model import Result
from horae.errors import Refused
from horae.ports import Settings
from tests.simulation.invariants import Expected, check
from tests.support.builders import HOUR, START, a_job, a_result
from tests.support.faults import Crash, Plan
from tests.support.virtual import run_virtually
from tests.support.world import Place, World, scratch
from tests.support.worldagents import Agents

Act = tuple[float, Callable[[World], object]]
"""After so many seconds somebody does something."""


HOW_RUNS_ENDED = """
SELECT state FROM run WHERE NOT EXISTS (
  SELECT 1 FROM journal j WHERE j.run_id = run.id AND j.what IN ('parked', 'held'))
"""  # but for those that go on later
FOR_EVER = datetime.max.replace(tzinfo=UTC)


def every(seconds: int, first: datetime, last: datetime = FOR_EVER) -> Iterator[datetime]:
    """The slots of a grid, reckoned without the product."""
    slot = first
    while slot <= last:
        yield slot
        slot += timedelta(seconds=seconds)


def on_grid(slug: str, seconds: int, first_s: int, last_s: float, **given: Any) -> Expected:
    """A job on a grid from so many seconds after the beginning to so many."""
    first, last = (START + timedelta(seconds=at_s) for at_s in (first_s, last_s))
    schedule = f"every {seconds} seconds from {first.isoformat()} until {last.isoformat()}"
    job = a_job(slug, schedule=schedule, **given)
    return Expected(job, lambda: every(seconds, first, last), finite=True)


@dataclass(frozen=True)
class Scenario:
    """What goes on in a world, faults apart."""

    name: str
    jobs: tuple[Expected, ...]
    length_s: float
    places: tuple[Place, ...] = (Place(),)
    off_s: dict[str, float] = field(default_factory=dict[str, float])
    shared: bool = False
    settings: Settings = field(default_factory=lambda: Settings("/h", parallel=4, drain_s=600.0))
    takes_s: dict[str, float] = field(default_factory=dict[str, float])
    results: dict[str, Callable[[], Result]] = field(default_factory=dict[str, Callable[[], Result]])
    acts: tuple[Act, ...] = ()
    agents: Callable[[], Agents] | None = None
    look: Callable[[World], None] | None = None

    @property
    def expected(self) -> dict[str, Expected]:
        return {each.job.id: each for each in self.jobs}

    def world(self, folder: str, plan: Plan, **given: Any) -> World:
        made = World(
            folder, plan, places=self.places, off_s=self.off_s, shared=self.shared, settings=self.settings, **given
        )
        made.takes_s |= self.takes_s
        made.results |= self.results
        made.agents, made.look = self.agents and self.agents(), self.look
        return made


async def live_through(world: World, scenario: Scenario, expected: dict[str, Expected]) -> None:
    """Jobs are taken in, gateways run, people do this and that; in the end all are stopped in order."""
    world.expected = expected
    world.take_in(*[each.job for each in scenario.jobs])
    loop = asyncio.get_running_loop()
    for at_s, act in scenario.acts:
        loop.call_later(at_s, _tried, world, act)
    for place in scenario.places:
        world.start(place)
    await world.pass_time(timedelta(seconds=scenario.length_s))
    world.plan.mark("over")
    await world.settle(START + timedelta(seconds=scenario.length_s), 3 * 3600.0)
    world.plan.mark("stopping")
    await world.quiet(HOUR)
    assert not world.broken, world.broken


def _tried(world: World, act: Callable[[World], object]) -> None:
    """People are told no now and then."""
    try:
        act(world)
    except Refused:
        world.refusals += 1


def simulate(
    faults: dict[int, str] | None = None,
    seed: int | None = None,
    scenario: Scenario | None = None,
    *,
    plan: Plan | None = None,
    grouped: bool = False,
    clock_calls: bool = False,
) -> World:
    """Live through it with these faults and check everything. Returns the world, with the log of all calls."""
    plan, scenario, expected = plan or Plan(faults), scenario or HOME, dict((scenario or HOME).expected)
    with scratch() as folder, hushed():

        async def main() -> World:
            world = scenario.world(folder, plan, grouped=grouped, clock_calls=clock_calls)
            if seed is not None:
                dice = random.Random(seed)
                world.noise = lambda: dice.choice((0, 0, 1, 3))
            try:
                await live_through(world, scenario, expected)
                check(world, expected)
                count = "SELECT count(*) FROM occurrence WHERE state = 'settled' AND trigger = 'schedule'"
                world.slots = world.rows(count)[0][0]
                world.ended = Counter(row["state"] for row in world.rows(HOW_RUNS_ENDED))
            finally:
                world.close()
            return world

        return run_virtually(main())


class _Faults(logging.Handler):
    """Gateways that die say a lot, and nobody reads it. What they say of a fault of ours is kept."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, Crash):
            self.found.append(error)


@contextmanager
def hushed() -> Iterator[None]:
    """No word of the gateways is shown; a fault of ours that ended a flow ends the life."""
    log, ear = logging.getLogger("horae"), _Faults()
    log.addHandler(ear)
    was, log.propagate = log.propagate, False
    try:
        yield
        for error in ear.found:
            raise error
    finally:
        log.propagate = was
        log.removeHandler(ear)


# ── one gateway: overlapping runs, alerts, silence, a pause, a one-shot, runs by hand

TIDES = a_job("tides", deliver=("local", "desk"))
BACKUP = a_job("backup", schedule="*/5 * * * *", deliver=("desk",))
SLOW = a_job("slow", schedule="every 2 minutes from 2026-03-02T08:00:30+00:00")
ONCE = a_job("once", schedule="2026-03-02T08:03:20+00:00", deliver=("local", "desk"))
PAUSED = a_job("paused", schedule="every 1 minute from 2026-03-02T08:00:15+00:00")
ALARM = a_job("alarm", schedule="*/3 * * * *")
MINUTES = timedelta(minutes=1)
HOME = Scenario(
    "home",
    (
        Expected(TIDES, lambda: every(60, START + MINUTES)),
        Expected(BACKUP, lambda: every(300, START + 5 * MINUTES)),
        Expected(SLOW, lambda: every(120, START + MINUTES / 2)),
        Expected(ONCE, lambda: iter([START + timedelta(minutes=3, seconds=20)])),
        Expected(PAUSED, lambda: every(60, START + timedelta(seconds=15))),
        Expected(ALARM, lambda: every(180, START + 3 * MINUTES)),
    ),
    length_s=440.0,
    takes_s={TIDES.id: 5.0, BACKUP.id: 20.0, SLOW.id: 200.0, ONCE.id: 3.0, ALARM.id: 1.0},
    results={
        BACKUP.id: lambda: a_result(stdout=" \n"),
        ALARM.id: lambda: a_result(exit_code=1, stderr="no route"),
    },
    acts=(
        (0.0, lambda world: world.people(lambda tx: tx.jobs.pause(PAUSED.id, actor="person", reason="rest"))),
        (130.0, lambda world: world.order(BACKUP, "a" * 16)),
        (299.0, lambda world: world.order(TIDES, "b" * 16)),
    ),
)


# ── two gateways on one machine: short and long programs, more due than one may run

_PAIR = (
    on_grid("news", 20, 20, 140, deliver=("desk",)),
    on_grid("mail", 30, 25, 140, deliver=("local", "desk")),
    on_grid("long", 60, 30, 140),
    on_grid("heap", 15, 15, 140),
)
PAIR = Scenario(
    "pair",
    _PAIR,
    length_s=150.0,
    places=(Place(), Place(labels=frozenset({"second"}))),
    off_s={"host": 0.0},  # a clock of its own, which is right: that of the store is another
    shared=True,
    settings=Settings("/h", parallel=2, drain_s=600.0),
    takes_s=dict(zip((each.job.id for each in _PAIR), (3.0, 12.0, 45.0, 1.0), strict=True)),
    results={_PAIR[3].job.id: lambda: a_result(exit_code=3, stderr="heap is full")},
)


# ── three gateways on two machines, whose clocks are wrong; some jobs have a place of their own

_MACHINES = (
    on_grid("rain", 25, 20, 140, deliver=("desk",)),
    on_grid("model", 40, 30, 140, runs_on=("gpu",), deliver=("desk",)),
    on_grid("disk", 50, 35, 140),
)
MACHINES = Scenario(
    "machines",
    _MACHINES,
    length_s=140.0,
    places=(Place("east", frozenset({"gpu"})), Place("west"), Place("west", frozenset({"gpu"}))),
    off_s={"east": 7.3, "west": -41.0},
    shared=True,
    settings=Settings("/h", parallel=2, drain_s=20.0),
    takes_s=dict(zip((each.job.id for each in _MACHINES), (4.0, 35.0, 15.0), strict=True)),
)
SMALL = {each.name: each for each in (HOME, PAIR, MACHINES)}
