"""Lives with agents under random faults: budgets, what runs leave, what waits, what follows what. The seed says everything."""

from __future__ import annotations

import pytest

from tests.simulation.swarm_agents import live
from tests.simulation.tally import Record, Tally

SEEDS = 24  # in an ordinary run
PARTS = 3
LONG_SEEDS = range(1000, 4000)
LONG_PARTS = 40


def lived(seeds: range, record: Record) -> None:
    tally = Tally()
    for seed in seeds:
        tally.add(live(seed))
    tally.tell(record)


@pytest.mark.parametrize("part", range(PARTS))
def test_P14_many_faults(part: int, record_property: Record) -> None:
    lived(range(part, SEEDS, PARTS), record_property)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(LONG_PARTS))
def test_P14_very_many_faults(part: int, record_property: Record) -> None:
    lived(LONG_SEEDS[part::LONG_PARTS], record_property)
