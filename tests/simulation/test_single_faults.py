"""One fault of every kind at every call of every port, in small lives.

An ordinary run takes some of them, spread evenly and others for each kind, so that all parts of a life are met by
something; the long run takes them all. At looks at a clock only that is tried which is not the same at the next call.
"""

from __future__ import annotations

from functools import cache

import pytest

from tests.simulation.scenario import simulate
from tests.simulation.scenario_agents import FLEET, LIVES
from tests.simulation.tally import Record, Tally
from tests.support.faults import KINDS, MUST
from tests.support.world import World

EACH = {FLEET.name: 2}  # calls that each kind hits in an ordinary run ...
EACH_ELSE = 8
PARTS = 8  # of the long run, each on whichever core is free
AT_A_CLOCK = ("pause", "stepped")


@cache
def without_a_fault(name: str) -> World:
    return simulate(scenario=LIVES[name], clock_calls=True)


def calls(name: str, kind: str) -> list[int]:
    """Numbers of the calls that may be hit: not those of the long calm before all are stopped."""
    plan = without_a_fault(name).plan
    over, stopping = plan.marks["over"], plan.marks["stopping"]
    numbers = (*range(over), *range(stopping, len(plan.log)))
    return [k for k in numbers if kind in AT_A_CLOCK or "Clock" not in plan.log[k]]


@pytest.mark.parametrize("name", LIVES)
def test_without_a_fault(name: str) -> None:
    world = without_a_fault(name)
    assert len(world.effects) > 10
    assert not world.hits
    assert not {"unknown", "released"} & set(world.ended)


def test_every_port_is_met() -> None:
    log = {line.split()[1] for name in LIVES for line in without_a_fault(name).plan.log}
    wanted = {"SqliteStore.commit", "SqliteStore.together", "Programs.run", "Programs.facts", "Mail.send"}
    wanted |= {"VirtualClock.now", "VirtualClock.reading", "VirtualClock.arm"}
    assert log >= wanted, "what recovery calls (`gone`, `adopt`, `cancel`) is met once something has gone wrong"
    assert set(MUST) <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LIVES)
def test_one_fault_at_a_share_of_all_calls(name: str, kind: str, record_property: Record) -> None:
    numbers, first, tally = calls(name, kind), list(KINDS).index(kind) / len(KINDS), Tally()
    each = EACH.get(name, EACH_ELSE)
    for n in range(each):
        tally.add(_hit(name, numbers[int((n + first) / each * len(numbers))], kind))
    tally.tell(record_property)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LIVES)
def test_one_fault_at_every_call(name: str, kind: str, part: int, record_property: Record) -> None:
    tally = Tally()
    for k in calls(name, kind)[part::PARTS]:
        tally.add(_hit(name, k, kind))
    tally.tell(record_property)


REPLAY = "from tests.simulation.test_single_faults import live_again; live_again({k}, '{kind}', '{name}')"


def live_again(k: int, kind: str, name: str) -> World:
    return simulate({k: kind}, scenario=LIVES[name], clock_calls=True)


def _hit(name: str, k: int, kind: str) -> World:
    try:
        return live_again(k, kind, name)
    except BaseException as error:
        again = REPLAY.format(k=k, kind=kind, name=name)
        error.add_note(f'{kind} at call {k}, {without_a_fault(name).plan.log[k]}: .venv/bin/python -c "{again}"')
        raise
