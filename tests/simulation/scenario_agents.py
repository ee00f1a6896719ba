"""A small life with agents, of which every call is hit in turn: they watch, ask and are answered, and share a budget."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from horae.core.agent import AgentSettings, DayLimits
from horae.core.model import Limits, Retries
from horae.errors import Conflict
from horae.ports import Settings
from tests.simulation.invariants import Expected
from tests.simulation.invariants_budgets import budgets_hold_now
from tests.simulation.scenario import SMALL, Scenario, on_grid
from tests.support.world import Place, World
from tests.support.worldagents import ENDS, MODELS, PROVIDER, Agents, Ways

FAR = "0 0 1 1 *"  # not in these days: such a job runs after others only


def an_agents(known: Expected, **given: object) -> Expected:
    """The same, worked on by an agent."""
    values = {"agent": True, "script": None, "prompt": "high water?", "model": "small", **given}
    return replace(known, job=replace(known.job, **values))  # pyright: ignore[reportArgumentType]


def follower(known: Expected, after: str) -> Expected:
    """The same, of which no slot comes in these days: it runs after another one."""
    return replace(known, job=replace(known.job, schedule=FAR, after=after), slots=lambda: iter(()))


def answer(world: World, n: int, *, last: bool = False) -> None:
    """Somebody says a word on the newest question that is open; with `last`, on one that may be decided already."""
    assert world.agents is not None
    asks = world.rows("SELECT id FROM ask ORDER BY decided_at IS NOT NULL, asked_at DESC, id LIMIT 4")
    if not asks:
        return
    chosen, approved = asks[-1 if last else 0]["id"], n % 3 > 0
    with suppress(Conflict):
        world.people(lambda tx: tx.agents.decide(chosen, approved=approved, actor="person", reason=None))
        world.agents.decided.append((chosen, approved))


def _mostly(*names: str) -> tuple[float, ...]:
    return tuple(4.0 if name in names else 0.3 for name in ENDS)


_FLEET = (
    an_agents(on_grid("watch", 15, 10, 70, deliver=("desk",)), limits=Limits(tokens=6000)),
    an_agents(
        on_grid("mail", 20, 12, 70, deliver=("local", "desk"), retries=Retries(2, 2.0, 5.0)),
        limits=Limits(tokens=8000, usd_day=0.2),
    ),
    an_agents(follower(on_grid("sum", 30, 30, 70), "watch"), limits=Limits(tokens=4000)),
    follower(on_grid("sweep", 30, 30, 70), "sum"),
)
FLEET = Scenario(
    "fleet",
    _FLEET,
    length_s=70.0,
    places=(Place("east"), Place("west")),
    off_s={"east": 7.3, "west": -41.0},
    shared=True,
    settings=Settings(
        "/h",
        parallel=3,
        drain_s=20.0,
        agents=AgentSettings({PROVIDER.name: PROVIDER}, MODELS, day=DayLimits(tokens=60_000, usd=0.5)),
    ),
    takes_s={_FLEET[3].job.id: 2.0},
    acts=tuple((at_s + 0.25, lambda world, n=n: answer(world, n)) for n, at_s in enumerate(range(14, 80, 6))),
    agents=lambda: Agents(
        "fleet",
        {
            _FLEET[0].job.id: Ways(calls=3, call_s=3.0, watches=True, ends=_mostly("done", "held")),
            _FLEET[1].job.id: Ways(calls=4, call_s=2.0, ends=_mostly("parked", "done", "failed")),
            _FLEET[2].job.id: Ways(calls=2, call_s=5.0, ends=_mostly("done", "parked"), several=0.5),
        },
        source_s=25.0,
    ),
    look=budgets_hold_now,
)
LIVES = {**SMALL, FLEET.name: FLEET}
