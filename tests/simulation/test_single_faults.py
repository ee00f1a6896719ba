"""One fault at every call of a scenario: the gateway dies before it, dies after it, stands still, or is usurped."""

from __future__ import annotations

import pytest

from tests.simulation.scenario import simulate
from tests.support.faults import KINDS

SHARE = 3  # of the calls are hit by each kind in an ordinary run; the long one hits them all


def test_without_a_fault() -> None:
    plan = simulate()
    assert len(plan.log) > 100


@pytest.mark.parametrize("kind", KINDS)
def test_one_fault_at_every_third_call(kind: str) -> None:
    calls = len(simulate().log)
    for k in range(KINDS.index(kind) % SHARE, calls, SHARE):
        _hit(k, kind)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_one_fault_at_every_call(kind: str) -> None:
    for k in range(len(simulate().log)):
        _hit(k, kind)


def _hit(k: int, kind: str) -> None:
    try:
        simulate({k: kind})
    except BaseException as error:
        again = f"from tests.simulation.scenario import simulate; simulate({{{k}: {kind!r}}})"
        error.add_note(f"replay it: .venv/bin/python -c {again!r}")
        raise
