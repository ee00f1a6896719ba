"""Lives that nobody thought of: a seed says which machines, jobs, people and faults there are."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha1
from typing import Any

from horae.core.model import CatchUp, Job, Limits, Overlap, Result, Retries
from horae.ports import Settings
from tests.simulation.invariants import Expected
from tests.simulation.scenario import Act, Scenario, every, on_grid, simulate
from tests.support.builders import START, a_result, us
from tests.support.faults import KINDS, Plan
from tests.support.world import Place, World

FAULTS_MAX = 6
OVERLAPS: tuple[Overlap, ...] = ("skip", "queue_one", "queue", "cancel_running", "allow")
CATCH_UPS: tuple[CatchUp, ...] = ("once", "skip", "all")


@dataclass(frozen=True)
class Size:
    """How much goes on."""

    jobs: tuple[int, int]
    length_s: tuple[int, int]
    steps_s: tuple[int, ...]
    phases_s: tuple[int, ...]
    """Seconds after the beginning at which grids start."""
    takes_s: tuple[float, ...]
    parallel: tuple[int, ...]
    people: int
    """At most so many acts of people."""
    plain: float
    """The share of jobs that have no policies."""
    grouped: float
    """The share of lives in which what is written at one moment is written together."""


SHORT = Size(
    jobs=(3, 8), length_s=(60, 240), steps_s=(2, 3, 5, 7, 10, 15, 20, 30, 60), phases_s=tuple(range(1, 31)),
    takes_s=(0.1, 0.5, 1.0, 3.0, 8.0, 25.0, 70.0), parallel=(1, 2, 4, 16), people=8, plain=0.3, grouped=0.7,
)  # fmt: skip
DENSE = Size(
    jobs=(100, 200), length_s=(200, 400), steps_s=(5, 5, 10, 10, 10, 15, 30), phases_s=(5, 10, 11),
    takes_s=(0.1, 0.5, 1.0, 3.0, 8.0), parallel=(16, 64), people=12, plain=0.8, grouped=1.0,
)  # fmt: skip


class Swarm:
    """One seed's life."""

    def __init__(self, seed: int, size: Size) -> None:
        self.seed = seed
        self.dice = random.Random(seed)
        self.size = size
        self.length_s = self.dice.randint(*size.length_s)
        self.grouped = self.dice.random() < size.grouped
        self.fails: dict[str, float] = {}
        self.says: dict[str, float] = {}
        self.scenario = self._scenario()
        self.plan = Plan(later=self._faults())

    def live(self) -> World:
        """Live through it and check everything."""
        return simulate(None, self.seed, self.scenario, plan=self.plan, grouped=self.grouped, clock_calls=True)

    def __str__(self) -> str:
        s = self.scenario
        faults = ", ".join(f"{kind} after {at_s:.0f} s" for at_s, _, kind in self.plan.later) or "none"
        return f"seed {self.seed}: {len(s.jobs)} jobs, {len(s.places)} gateways, {s.length_s:.0f} s; faults: {faults}"

    # ── what there is

    def _scenario(self) -> Scenario:
        dice = self.dice
        hosts = [f"host{n}" for n in range(dice.choice((1, 1, 2, 3)))]
        count = dice.choice((1, 2, 2, 3, 4))
        labels = [frozenset({"gpu"}), frozenset[str]()]
        places = tuple(Place(hosts[n % len(hosts)], dice.choice(labels)) for n in range(count))
        shared = count > 1 or dice.random() < 0.3
        off_s = {host: dice.uniform(-90, 90) for host in hosts} if shared else {}
        gpu = any(place.labels for place in places)
        jobs = tuple(self._job(n, gpu) for n in range(dice.randint(*self.size.jobs)))
        settings = Settings(
            "/h",
            parallel=dice.choice(self.size.parallel),
            drain_s=dice.choice((3.0, 30.0, 600.0)),
            groups={"wide": 3},
        )
        return Scenario(
            f"seed {self.seed}", jobs, float(self.length_s), places=places, off_s=off_s, shared=shared,
            settings=settings, takes_s={each.job.id: self._takes(each.job) for each in jobs},
            results={each.job.id: self._result(each.job) for each in jobs}, acts=tuple(self._acts(jobs)),
        )  # fmt: skip

    def _job(self, n: int, gpu: bool) -> Expected:
        dice = self.dice
        step_s, plain = dice.choice(self.size.steps_s), dice.random() < self.size.plain
        retries = Retries(dice.randint(1, 3), dice.choice((1.0, 5.0)), 20.0) if dice.random() < 0.25 else Retries()
        given: dict[str, Any] = {
            "deliver": dice.choice((("local",), ("desk",), ("local", "desk"))),
            "runs_on": ("gpu",) if gpu and dice.random() < 0.2 else (),
            "overlap": dice.choice(OVERLAPS) if dice.random() < 0.5 else "skip",
            "catch_up": dice.choice(CATCH_UPS),
            "not_later_than_s": dice.choice((None, None, None, 45)),
            "retries": retries,
            "spread_s": dice.choice((0, 0, 0, 10)),
            "group": dice.choice((None, None, None, "one", "wide")),
            "priority": dice.choice((0, 0, 0, 5, -5)),
            "limits": Limits(wall_s=dice.choice((None, None, 20.0))),
        }
        if plain:
            given = {"deliver": ("local",) if dice.random() < 0.7 else given["deliver"], "runs_on": given["runs_on"]}
        made = on_grid(f"job{n}", step_s, dice.choice(self.size.phases_s), float(self.length_s), **given)
        self.fails[made.job.id] = dice.choice((0.0, 0.0, 0.2, 0.9))
        self.says[made.job.id] = dice.choice((0.0, 0.5, 1.0))
        return made

    def _takes(self, job: Job) -> float:
        takes_s = self.dice.choice(self.size.takes_s)
        return min(takes_s, 1.0) if job.overlap == "queue" or job.catch_up == "all" else takes_s

    def _result(self, job: Job) -> Callable[[], Result]:
        dice = random.Random(f"{self.seed}/{job.id}")

        def made() -> Result:
            if dice.random() < self.fails[job.id]:
                return a_result(exit_code=1, stderr="it did not work")
            return a_result(stdout="news\n" if dice.random() < self.says[job.id] else "")

        return made

    def _faults(self) -> list[tuple[float, int, str]]:
        count = self.dice.randint(0, FAULTS_MAX)
        last_s = self.length_s + 60.0
        return sorted(
            (self.dice.uniform(0, last_s), self.dice.choice((0, 1, 2, 3, 5, 8, 13, 21)), self.dice.choice(list(KINDS)))
            for _ in range(count)
        )

    # ── what people do

    def _acts(self, jobs: tuple[Expected, ...]) -> Iterator[Act]:
        dice = self.dice
        kinds = self._kinds()
        for n in range(dice.randint(0, self.size.people)):
            at_s = dice.uniform(2, self.length_s) + 0.25  # no slot is due at such an instant
            act, job = dice.choice(kinds), dice.choice(jobs).job
            yield at_s, lambda world, act=act, job=job, n=n: act(world, job, n)

    def _kinds(self) -> list[Callable[[World, Job, int], None]]:
        return [
            self._order, self._order, self._pause, self._resume, self._skip, self._move, self._cancel, self._cancel,
            self._edit, self._rename, self._remove, self._stop, self._resolve, self._resolve,
        ]  # fmt: skip

    def _order(self, world: World, job: Job, n: int) -> None:
        world.order(job, sha1(f"{self.seed}/{n}".encode()).hexdigest()[:16])

    def _pause(self, world: World, job: Job, n: int) -> None:
        world.people(lambda tx: tx.jobs.pause(job.id, actor="person", reason=None))

    def _resume(self, world: World, job: Job, n: int) -> None:
        for each in world.expected.values():
            world.people(lambda tx, each=each: tx.jobs.resume(each.job.id, actor="person"))

    def _planned(self, world: World, job: Job) -> list[Any]:
        return world.rows(
            "SELECT * FROM occurrence WHERE job_id = ? AND state = 'planned' AND trigger = 'schedule' AND slot_at > ?"
            " AND exception IS NULL AND attempts = 0 ORDER BY slot_at",
            job.id, us(world.clock.now()) + 1_000_000,
        )  # fmt: skip

    def _except(self, world: World, job: Job, kind: str, later_s: int | None) -> None:
        planned = self._planned(world, job)
        if not planned:
            return
        slot = START + timedelta(microseconds=planned[0]["slot_at"] - us(START))
        due = None if later_s is None else slot + timedelta(seconds=later_s)
        world.people(lambda tx: tx.jobs.set_exception(job.id, slot, kind, due=due, actor="person"))

    def _skip(self, world: World, job: Job, n: int) -> None:
        self._except(world, job, "skip", None)

    def _move(self, world: World, job: Job, n: int) -> None:
        self._except(world, job, "move", 3 + 11 * (n % 5))

    def _cancel(self, world: World, job: Job, n: int) -> None:
        live = world.rows("SELECT id FROM run WHERE state IN ('claimed', 'running') ORDER BY id")
        if live:
            chosen = live[n % len(live)]["id"]
            world.people(lambda tx: tx.runs.ask_to_end(chosen, actor="person", reason="cancelled by person"))

    def _edit(self, world: World, job: Job, n: int) -> None:
        """Another schedule from now on. What was decided about single slots may go with it."""
        known: Expected = world.expected[job.id]
        if known.later or self._stepped(world):
            return
        now = world.clock.now()
        step_s, first = self.size.steps_s[n % len(self.size.steps_s)], START + timedelta(seconds=n % 7)
        last = START + timedelta(seconds=self.length_s)
        schedule = f"every {step_s} seconds from {first.isoformat()} until {last.isoformat()}"
        changed = replace(known.job, schedule=schedule)
        world.expected[job.id] = replace(known, job=changed, later=((now, lambda: every(step_s, first, last)),))
        world.take_in(changed)

    @staticmethod
    def _stepped(world: World) -> bool:
        """Whether the store's clock was set: then what was a slot before an instant cannot be told by that instant."""
        return not world.shared and any(hit.fault == "stepped" for hit in world.hits)

    def _rename(self, world: World, job: Job, n: int) -> None:
        known: Expected = world.expected[job.id]
        if known.later and known.later[-1][1] is None:
            return
        changed = replace(known.job, name=f"{job.name} {n}")
        world.expected[job.id] = replace(known, job=changed)
        world.take_in(changed)

    def _remove(self, world: World, job: Job, n: int) -> None:
        known: Expected = world.expected[job.id]
        if known.later or self._stepped(world):
            return
        world.expected[job.id] = replace(known, later=((world.clock.now(), None),))
        world.people(lambda tx: tx.jobs.remove(job.id, actor="person", reason="not needed"))

    def _stop(self, world: World, job: Job, n: int) -> None:
        """A planned stop; now and then an impatient one."""
        live = world.live()
        if live:
            chosen = live[n % len(live)]
            chosen.gateway.stop()
            if n % 3 == 0:
                chosen.gateway.stop()

    def _resolve(self, world: World, job: Job, n: int) -> None:
        unknown = world.rows("SELECT id, job_id FROM run WHERE state = 'unknown' ORDER BY id")
        if not unknown:
            return
        chosen, said = unknown[n % len(unknown)], ("completed", "failed", "rerun")[n % 3]
        known: Expected = world.expected[chosen["job_id"]]
        gone = known.later and known.later[-1][1] is None
        again = sha1(f"{self.seed}/again/{n}".encode()).hexdigest()[:16] if said == "rerun" and not gone else None

        def work(tx: Any) -> None:
            tx.runs.resolve(chosen["id"], "failed" if gone else said, actor="person", reason=None, again=again)
            if again is not None:
                tx.jobs.order_run(chosen["job_id"], run_id=again, actor="person", input=None)

        world.people(work)


def live(seed: int, size: Size = SHORT) -> World:
    """One seed's life. What goes wrong is said with the seed and how to live it again."""
    swarm = Swarm(seed, size)
    try:
        return swarm.live()
    except BaseException as error:
        error.add_note(f"{swarm}\nlive it again: make simulate ARGS='--seed {seed}{' --dense' * (size is DENSE)}'")
        raise
