"""A runner that keeps a copy of a cluster's scripts looks once more before a job is blocked."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from horae.core.preflight import Facts
from horae.errors import Trouble
from horae.ports import Runner
from horae.store.scriptmirror import ScriptMirror
from horae.wiring.scripts import Following
from tests.support.builders import a_job

MISSING, THERE = Facts(problems=("script does not exist",)), Facts(("/bin/sh", "x.sh"))


def following(*facts: Facts, trouble: bool = False) -> tuple[Following, list[Any]]:
    """One whose runner finds these, one after the other; and what was asked of its mirror."""
    asked: list[Any] = []
    found = iter(facts)

    def refresh() -> int:
        asked.append("refresh")
        if trouble:
            raise Trouble("the database is away")
        return 1

    async def done(*given: Any) -> Any:
        return given

    runner = SimpleNamespace(
        facts=lambda _job: next(found),
        cancel=lambda run_id, reason: (run_id, reason),
        gone=lambda owner: owner,
        run=done,
        adopt=done,
        sweep=asked.append,
        collected=asked.append,
    )
    mirror = SimpleNamespace(refresh=refresh)
    return Following(cast("Runner", runner), cast("ScriptMirror", mirror)), asked


def test_a_script_that_came_a_moment_ago_is_found() -> None:
    ready, asked = following(MISSING, THERE)
    assert ready.facts(a_job()) == THERE
    assert asked == ["refresh"]


def test_one_that_is_nowhere_blocks() -> None:
    ready, asked = following(MISSING, MISSING)
    assert ready.facts(a_job()) == MISSING
    assert asked == ["refresh"]


def test_what_is_there_is_not_looked_for() -> None:
    ready, asked = following(THERE)
    assert ready.facts(a_job()) == THERE
    assert asked == []


def test_a_command_is_no_script() -> None:
    ready, asked = following(MISSING)
    assert ready.facts(a_job(script=None, command=("true",))) == MISSING
    assert asked == []


def test_while_the_database_is_away_what_is_known_counts() -> None:
    ready, asked = following(MISSING, trouble=True)
    assert ready.facts(a_job()) == MISSING
    assert asked == ["refresh"]


@pytest.mark.parametrize(("name", "given"), [("run", ("a", "b", "c")), ("adopt", ("a", "b", "c"))])
def test_everything_else_is_the_runners_own(name: str, given: tuple[str, ...]) -> None:
    ready, asked = following()
    assert asyncio.run(getattr(ready, name)(*given)) == given
    ready.sweep(["r1"])
    ready.collected("r2")
    assert asked == [["r1"], "r2"]
    assert ready.cancel("r", "why") == ("r", "why")
    assert ready.gone(cast("Any", "g1")) == "g1"
