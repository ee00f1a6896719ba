"""Lives with agents that nobody thought of: what they may use, what they ask, what follows what, and who answers them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta, timezone
from hashlib import sha1
from typing import Any

import pytest

from horae.core import wish
from horae.core.agent import AgentSettings, DayLimits
from horae.core.model import Job, Retries
from tests.simulation.invariants import Expected
from tests.simulation.invariants_budgets import budgets_hold_now
from tests.simulation.scenario import Scenario
from tests.simulation.scenario_agents import FAR, answer
from tests.simulation.swarm import Size, Swarm
from tests.support.builders import START
from tests.support.faults import KINDS
from tests.support.world import World
from tests.support.worldagents import MODELS, PROVIDER, Agents, Ways

AGENTS = Size(
    jobs=(3, 6), length_s=(60, 180), steps_s=(5, 10, 15, 20, 30, 60), phases_s=tuple(range(1, 31)),
    takes_s=(0.1, 1.0, 3.0, 8.0), parallel=(2, 4, 16), people=40, plain=0.3, grouped=0.7,
)  # fmt: skip
LIKELY = ("shims", "shims", "power", "cut", "cut", "cut_far", "stall", "stall", "pause", "usurped", "after")
SELDOM = 0.2  # of runs that go on later, where others wait for them
DAY_TOKENS, DAY_USD = (None, None, 30_000, 100_000, 300_000), (None, None, 0.2, 0.6, 3.0)


class AgentSwarm(Swarm):
    """One seed's life."""

    def __init__(self, seed: int, size: Size = AGENTS) -> None:
        self.low = random.Random(f"{seed}/low").choice((0.0, 0.0, 0.3))
        self.ways: dict[str, Ways] = {}
        super().__init__(seed, size)

    def live(self) -> World:
        with pytest.MonkeyPatch.context() as patch:
            if (midnight_s := self.midnight_s) is not None:
                patch.setattr(wish, "zone", lambda _name: midnight_at(midnight_s))
            return super().live()

    def _scenario(self) -> Scenario:
        made, dice = super()._scenario(), self.dice
        agents = AgentSettings(
            {PROVIDER.name: PROVIDER}, MODELS, day=DayLimits(dice.choice(DAY_TOKENS), dice.choice(DAY_USD))
        )
        self.midnight_s = midnight_s = dice.choice((None, float(dice.randint(20, self.length_s))))
        seed, ways = self.seed, self.ways
        return replace(
            made,
            settings=replace(made.settings, agents=agents),
            agents=lambda: Agents(seed, ways, midnight_s=midnight_s),
            look=budgets_hold_now,
        )

    def _job(self, n: int, gpu: bool) -> Expected:
        dice, made = self.dice, super()._job(n, gpu)
        job, given = made.job, dict[str, Any]()
        if n and dice.random() < 0.5:
            given["after"] = f"job{dice.randrange(n)}" if dice.random() < 0.8 else f"job{dice.randint(0, n + 1)}"
            if dice.random() < 0.6:
                made = replace(made, slots=lambda: iter(()))
                given["schedule"] = FAR
        if dice.random() < 0.85:
            given |= {"agent": True, "script": None, "prompt": "high water?", "model": "small"}
            given["limits"] = replace(job.limits, **self._limits())
            given["retries"] = dice.choice((job.retries, Retries(dice.randint(1, 2), 1.0, 3.0)))
            self.ways[job.id] = self._ways(job)
        return replace(made, job=replace(job, **given))

    def _limits(self) -> dict[str, Any]:
        dice = self.dice
        return {
            "turns": dice.choice((None, None, None, 3)),
            "tokens": dice.choice((None, 6000, 15_000, 15_000)),
            "usd": dice.choice((None, None, 0.05, 0.2)),
            "tokens_day": dice.choice((None, None, 20_000, 60_000)),
            "usd_day": dice.choice((None, None, 0.1, 0.4)),
        }

    def _ways(self, job: Job) -> Ways:
        dice = self.dice
        ways = Ways(
            calls=dice.choice((2, 4, 7)), call_s=dice.choice((0.3, 2.0, 8.0, 25.0)), watches=dice.random() < 0.4,
            several=dice.choice((0.0, 0.0, 0.5)), low=self.low,
        )  # fmt: skip
        if job.overlap != "queue" and job.catch_up != "all":
            return ways
        ends = [*ways.ends]
        ends[8] = ends[9] = SELDOM
        return replace(ways, call_s=0.3, ends=tuple(ends))

    def _faults(self) -> list[tuple[float, int, str]]:
        dice, kinds = self.dice, [*KINDS, *LIKELY]
        times = sorted(dice.uniform(0, self.length_s) for _ in range(dice.choice((0, 1, 2, 4, 6, 8))))
        return [(at_s, dice.choice((0, 1, 2, 3, 5, 8, 13, 21)), dice.choice(kinds)) for at_s in times]

    # ── what people do

    def _kinds(self) -> list[Callable[[World, Job, int], None]]:
        return [
            *[self._decide] * 8, *[self._replay] * 2, *[self._cancel_later] * 2, *[self._order] * 2, self._pause,
            *[self._resume] * 2, self._cancel, self._edit, self._rename, self._remove, self._stop, *[self._resolve] * 2,
        ]  # fmt: skip

    def _decide(self, world: World, job: Job, n: int) -> None:
        """A word on a question that is open; now and then on one that was answered before."""
        answer(world, n, last=n % 4 == 0)

    def _replay(self, world: World, job: Job, n: int) -> None:
        runs = world.rows("SELECT run_id FROM agent_prompt ORDER BY run_id")
        if not runs:
            return
        chosen, new = runs[n % len(runs)]["run_id"], sha1(f"{self.seed}/replay/{n}".encode()).hexdigest()[:16]
        model = None if n % 2 else "large"
        world.people(lambda tx: tx.agents.replay(chosen, new_run=new, model=model, actor="person"))

    def _cancel_later(self, world: World, job: Job, n: int) -> None:
        """No more of what was begun and waits."""
        waiting = world.rows(
            "SELECT m.run_id FROM resume m JOIN occurrence o ON o.key = m.key WHERE o.state = 'planned' ORDER BY m.run_id"
        )
        if waiting:
            chosen = waiting[n % len(waiting)]["run_id"]
            world.people(lambda tx: tx.runs.ask_to_end(chosen, actor="person", reason="cancelled by person"))


def midnight_at(seconds: float) -> timezone:
    """A zone in which a day begins so many seconds after the world."""
    begins = START + timedelta(seconds=seconds)
    since = begins - begins.replace(hour=0, minute=0, second=0, microsecond=0)
    return timezone(-since)


def live(seed: int) -> World:
    """One seed's life with agents."""
    swarm = AgentSwarm(seed)
    try:
        return swarm.live()
    except BaseException as error:
        error.add_note(f"{swarm}\nlive it again: make simulate ARGS='--seed {seed} --agents'")
        raise
