"""A stop that comes between a run's start in the store and its program: nothing is started any more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from horae.core.model import Bounds, Order, Result
from horae.ports import Closed, Settings
from horae.runners.process import ProcessRunner


async def nobody(pid: int, born: int) -> None:
    """Who became what does not matter here."""


@pytest.mark.parametrize("fails", [Closed("the gateway is stopping"), asyncio.CancelledError()])
def test_O8_whoever_is_stopped_at_the_last_moment_starts_nothing(tmp_path: Path, fails: BaseException) -> None:
    """Its shim is there already; that it can be used again shows that nothing is left of the one that was stopped."""
    (tmp_path / "marks").mkdir()

    async def ready() -> None:
        raise fails

    async def at_once() -> None:
        return

    def order(name: str) -> Order:
        bounds = Bounds(60.0, 1.0, 1000, 10_000, 100)
        return Order(name * 16, ("/bin/touch", f"{tmp_path}/marks/{name}"), "/", {}, bounds)

    async def story() -> Result:
        runner = ProcessRunner(Settings(str(tmp_path / "home")))
        with pytest.raises(type(fails)):
            await runner.run(order("a"), nobody, ready)
        try:
            return await runner.run(order("b"), nobody, at_once)
        finally:
            runner.close()

    assert asyncio.run(story()).exit_code == 0
    assert [path.name for path in (tmp_path / "marks").iterdir()] == ["b"]
