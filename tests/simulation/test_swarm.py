"""Several random faults in one life, and a random order of who goes first. The seed says everything."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.simulation.scenario import simulate
from tests.simulation.swarm import DENSE, SHORT, Size, live
from tests.simulation.swarm_agents import live as live_with_agents
from tests.simulation.tally import Record, Tally

SEEDS = 40  # in an ordinary run
LONG_SEEDS = range(1000, 4000)
PARTS = 40  # of the long run, each on whichever core is free
PART_SLOTS = 25_000  # of each part: a million in all
DENSE_FROM = 10_000


def lived(seeds: Iterable[int], size: Size, record: Record, *, until_slots: int = 0) -> Tally:
    """Live these lives, or as many of them as it takes for so many slots."""
    tally = Tally()
    for seed in seeds:
        tally.add(live(seed, size))
        if until_slots and tally.slots >= until_slots:
            break
    tally.tell(record)
    return tally


@pytest.mark.parametrize("part", range(4))
def test_many_faults(part: int, record_property: Record) -> None:
    lived(range(part * SEEDS // 4, (part + 1) * SEEDS // 4), SHORT, record_property)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_very_many_faults(part: int, record_property: Record) -> None:
    lived(LONG_SEEDS[part::PARTS], SHORT, record_property)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_million_slots_under_faults(part: int, record_property: Record) -> None:
    seeds = range(DENSE_FROM + part, DENSE_FROM + 100 * PARTS, PARTS)
    tally = lived(seeds, DENSE, record_property, until_slots=PART_SLOTS)
    assert tally.slots >= PART_SLOTS
    assert tally.slots_hit >= tally.slots / 2


def test_the_life_of_a_seed(request: pytest.FixtureRequest, record_property: Record) -> None:
    """`make simulate ARGS="--seed 1234"`; without a seed, that a seed says everything."""
    seed = request.config.getoption("--seed", None)
    if seed is not None and request.config.getoption("--agents"):
        live_with_agents(seed)
        return
    if seed is not None:
        size = DENSE if request.config.getoption("--dense") else SHORT
        lived([seed], size, record_property)
        return
    logs = [live(7).plan.log for _ in range(2)]
    assert logs[0] == logs[1]
    logs = [simulate({40: "after", 90: "before"}, seed=7).plan.log for _ in range(2)]
    assert logs[0] == logs[1]
