"""`--seed N` lives one life again; what long runs have lived through is added up and printed at their end."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import pytest

from horae.limits import LEASE_S
from tests.simulation.tally import LIVED
from tests.support.faults import KINDS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="live one simulated life again")
    parser.addoption("--agents", action="store_true", help="the life of that seed in which agents work")
    parser.addoption("--dense", action="store_true", help="the life of that seed in which very much goes on")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With a seed, that life and nothing else."""
    if config.getoption("--seed", None) is None:
        return
    chosen = [item for item in items if item.name == "test_the_life_of_a_seed"]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_sum] = {"lives": 0, "hit": 0, "slots": 0, "slots_hit": 0}
    config.stash[_met] = Counter()
    config.stash[_since] = time.monotonic()


_sum = pytest.StashKey[dict[str, int]]()
_met = pytest.StashKey[Counter[str]]()
_since = pytest.StashKey[float]()


class _Adder:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        for name, told in report.user_properties:
            if name == LIVED:
                lived = json.loads(str(told))
                for key in self._config.stash[_sum]:
                    self._config.stash[_sum][key] += lived[key]
                self._config.stash[_met].update(lived["met"])


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.pluginmanager.register(_Adder(session.config))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    total, met = config.stash[_sum], config.stash[_met]
    if not total["lives"]:
        return
    say = terminalreporter.write_line
    terminalreporter.section("simulated lives")
    passed_s = time.monotonic() - config.stash[_since]
    say(f"{total['lives']:>10,} lives, {total['hit']:,} of them met a fault")
    say(f"{total['slots']:>10,} slots, {total['slots_hit']:,} of them in lives that met a fault")
    say(f"{passed_s:>10,.0f} s of wall time")
    for kind, meaning in KINDS.items():
        say(f"{met[kind]:>10,} × {kind:<8} {meaning}")
    say(f"(a lease is {LEASE_S:.0f} s; --seed N lives one of them again)")
