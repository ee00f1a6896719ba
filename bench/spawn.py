"""1,000 `true` programs due at once, until all are durably recorded, beside a bare loop that starts and awaits 1,000.

Before that the shims alone: the same 1,000 programs, captured and recorded in their spools, without a store. Its CPU is that
of whoever gives the orders, the template, the shims and the programs.

The bare loop is sequential posix_spawn and wait: in C where there is a compiler, and in Python. Rounds are interleaved,
so that all three meet the same machine. The jobs are recurring, so each also gets its next slot planned. CPU is the
gateway's with its children, from the due instant until all are settled.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import time

import raw
from common import WORK, calm, clean_env, cpu_seconds, peak_mib, record, run_part, sleep_until
from house import House, recurring

from horae.core.model import Bounds, Order
from horae.ports import Settings
from horae.runners.process import ProcessRunner


def horae(count, parallel):
    """Due until settled."""
    with House("spawn", parallel=parallel, commands=["/bin/true"]) as house:
        due = int(time.time() + 3 + count / 250)
        for i in range(count):
            house.job(i, recurring(due), "command: [/bin/true]")
        house.up()
        if time.time() > due - 0.5:
            raise RuntimeError("the gateway was ready too late; give it more time")
        sleep_until(due - 0.1)
        cpu = cpu_seconds(house.pid)
        sleep_until(due)
        done = house.wait_settled(count, timeout=120)
        cpu = cpu_seconds(house.pid) - cpu
        good = house.ask("SELECT count(*) FROM run WHERE state = 'completed' AND exit_code = 0")[0][0]
        return {"wall_s": done - due, "cpu_s": cpu, "completed": good, "peak_mib": peak_mib(house.pid)}


async def shims(count, parallel):
    """Orders given until all results are collected from the spools, with Landlock on as it is by default."""
    home = WORK / "shims"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    runner = ProcessRunner(Settings(str(home), env=clean_env()))
    env = {"PATH": os.environ["PATH"], **{f"HORAE_BENCH_{n}": "x" * 20 for n in range(12)}}  # as many as a run has
    bounds, turns, good = Bounds(60.0, 1.0, 256 * 1024, 100 * 1024 * 1024, 1000), asyncio.Semaphore(parallel), 0

    async def nothing(*_given):
        """Nothing keeps it from being started, and nobody asks which process it was."""

    async def one(number):
        nonlocal good
        run_id = f"{number:016x}"
        async with turns:
            result = await runner.run(Order(run_id, ("/bin/true",), "/", env, bounds), nothing, nothing)
        runner.collected(run_id)
        good += result.exit_code == 0 and result.used.proved

    await asyncio.gather(*(one(10**6 + n) for n in range(parallel)))  # all shims are there
    cpu, start, good = cpu_seconds(os.getpid()), time.perf_counter(), 0
    await asyncio.gather(*(one(n) for n in range(count)))
    wall, cpu = time.perf_counter() - start, cpu_seconds(os.getpid()) - cpu
    runner.close()
    return {"wall_s": wall, "cpu_s": cpu, "completed": good}


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--n", type=int, default=1000)
    ask.add_argument("--rounds", type=int, default=5)
    ask.add_argument("--parallel", type=int, help="live runs at once (default: Horae's own)")
    options = ask.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    for _ in range(options.rounds):
        calm()
        loops = {"bare loop in Python": raw.spawn_python(options.n), "bare loop in C": raw.spawn_c(options.n)}
        alone = asyncio.run(shims(options.n, options.parallel or 16))
        record("spawn", "shims alone", n=options.n, **alone, per_s=options.n / alone["wall_s"])
        got = horae(options.n, options.parallel)
        for name, loop in loops.items():
            if loop is not None:
                ratios = {"wall_ratio": alone["wall_s"] / loop["wall_s"], "cpu_ratio": alone["cpu_s"] / loop["cpu_s"]}
                record("spawn", f"shims alone to {name}", n=options.n, **ratios)
                record("spawn", name, n=options.n, **loop)
                ratios = {"wall_ratio": got["wall_s"] / loop["wall_s"], "cpu_ratio": got["cpu_s"] / loop["cpu_s"]}
                record("spawn", f"horae to {name}", n=options.n, **ratios)
        record("spawn", "horae", n=options.n, parallel=options.parallel, **got, per_s=options.n / got["wall_s"])


if __name__ == "__main__":
    run_part(main)
