"""Several random faults in one life, and a random order of who goes first. The seed says everything."""

from __future__ import annotations

import random

import pytest

from tests.simulation.scenario import simulate
from tests.support.faults import KINDS

CALLS = 260  # about as many as the scenario makes
SEEDS = 40
LONG_SEEDS = 3000
REPLAY = ".venv/bin/python -c 'from tests.simulation.test_swarm import live; live({seed})'"


def live(seed: int) -> None:
    """One life under up to six faults."""
    dice = random.Random(seed)
    faults = {dice.randrange(CALLS): dice.choice(KINDS) for _ in range(dice.randint(1, 6))}
    try:
        simulate(faults, seed=seed)
    except BaseException as error:
        error.add_note(f"seed {seed}, faults {faults}; replay it: {REPLAY.format(seed=seed)}")
        raise


@pytest.mark.parametrize("part", range(4))
def test_many_faults(part: int) -> None:
    for seed in range(part * SEEDS // 4, (part + 1) * SEEDS // 4):
        live(seed)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_very_many_faults() -> None:
    for seed in range(SEEDS, LONG_SEEDS):
        live(seed)


def test_the_same_seed_is_the_same_life() -> None:
    logs = [simulate({40: "after", 90: "before"}, seed=7).log for _ in range(2)]
    assert logs[0] == logs[1]


@pytest.mark.parametrize(
    "seed",
    [
        63,  # a former owner released its claim between the new owner's look and its adoption
        2434,  # ... or finished it there, and nobody settled it
    ],
)
def test_a_seed_that_once_found_something(seed: int) -> None:
    live(seed)
