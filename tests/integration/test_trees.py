"""P7: whatever a run starts, in whatever session, is gone when the run is over.

Trees by seeds: new sessions and groups, double forks, forks while being killed, processes that ignore TERM, that stop
themselves, that close their output. Runs end by themselves, by their wall limit, or because somebody cancels them.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from horae.core.model import Bounds, Order, Result
from horae.ports import Settings
from horae.runners.process import ProcessRunner

TREE = Path(__file__).parents[1] / "support" / "tree.py"
AT_ONCE = 4


async def nobody(pid: int, born: int) -> None:
    """Who became what does not matter here."""


async def at_once() -> None:
    """Nothing keeps it from being started."""


async def grow(runner: ProcessRunner, folder: Path, seed: int) -> tuple[Result, bool]:
    """One tree from its start to its end. Says whether any process of it is left."""
    dice = random.Random(seed)
    fifo = folder / f"{seed}.fifo"
    os.mkfifo(fifo)
    fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    run_id = f"{seed:016x}"
    bounds = Bounds(dice.choice((0.1, 0.2, 20.0)), 0.1, 4096, 1 << 20, 1000)
    order = Order(run_id, (sys.executable, "-IS", str(TREE), str(fifo), str(seed)), "/", {"PATH": "/bin"}, bounds)
    task = asyncio.create_task(runner.run(order, nobody, at_once))
    if bounds.wall_s > 1:
        asyncio.get_running_loop().call_later(0.1 + dice.random() * 0.2, runner.cancel, run_id, "enough")
    try:
        result = await asyncio.wait_for(task, 60)
        runner.collected(run_id)
        try:
            return result, os.read(fd, 1) != b""
        except BlockingIOError:
            return result, True  # somebody holds the other end
    finally:
        os.close(fd)
        fifo.unlink()


def trees(folder: Path, seeds: range) -> Counter[str]:
    """How many of them ended in which way; fails at the first of which anything is left."""
    ends: Counter[str] = Counter()

    async def story() -> None:
        runner = ProcessRunner(Settings(str(folder / "home")))
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(seed: int) -> None:
            async with turns:
                result, left = await grow(runner, folder, seed)
            assert result.used is not None, (seed, result)
            assert result.used.proved, f"tree {seed}: it is not proved that nothing is left"
            assert not left, f"tree {seed}: a process is left"
            ends["killed" if result.used.survivors else "gone by itself"] += 1
            ends[(result.ended_by or "by itself").split(" of ")[0]] += 1

        try:
            await asyncio.gather(*(one(seed) for seed in seeds))
        finally:
            runner.close()

    asyncio.run(story())
    return ends


def met(ends: Counter[str]) -> bool:
    """Whether the seeds were of all kinds, so that the absence of survivors says something."""
    return all(ends[kind] >= 10 for kind in ("killed", "gone by itself", "by itself", "wall limit", "enough"))


@pytest.mark.timeout(200)
def test_P7_O7_O23_nothing_survives_of_two_hundred_random_trees(tmp_path: Path) -> None:
    ends = trees(tmp_path, range(200))
    assert met(ends), ends


@pytest.mark.long
@pytest.mark.timeout(5400)
def test_P7_O7_nothing_survives_of_ten_thousand_random_trees(tmp_path: Path) -> None:
    ends = trees(tmp_path, range(1000, 11_000))
    assert met(ends), ends
