"""1,000 `true` programs due at once, until all are durably recorded, beside a bare loop that starts and awaits 1,000.

Before that the shims alone: the same 1,000 programs, captured and recorded in the spools. `spools` gives the orders over the
shims' own sockets, and reads the spools afterwards; `collected` has the gateway's side in it, with every result collected. The
CPU is that of whoever gives the orders, the template, the shims and the programs.

The bare loop is sequential posix_spawn and wait: in C where there is a compiler, and in Python. Rounds are interleaved,
so that all three meet the same machine. The jobs are recurring, so each also gets its next slot planned. CPU is the
gateway's with its children, from the due instant until all are settled.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import select
import shutil
import time

import raw
from common import WORK, calm, clean_env, cpu_seconds, peak_mib, record, run_part, sleep_until
from house import House, recurring

from horae.core.model import Bounds, Order
from horae.ports import Settings
from horae.runners.process import ProcessRunner, told
from horae.runners.shim.spool import ENDED, RESULT
from horae.runners.spools import history


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


ENV = {"PATH": os.environ["PATH"], **{f"HORAE_BENCH_{n}": "x" * 20 for n in range(12)}}  # as many as a run has
BOUNDS = Bounds(60.0, 1.0, 256 * 1024, 100 * 1024 * 1024, 1000)


def fresh_runner():
    """A home of its own, with Landlock on as it is by default."""
    home = WORK / "shims"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    return ProcessRunner(Settings(str(home), env=clean_env()))


def order_of(number):
    """As it goes to a shim."""
    run = told(Order(f"{number:016x}", ("/bin/true",), "/", ENV, BOUNDS))
    said = json.dumps({"run": {**run, "fresh": False}}, separators=(",", ":")).encode()
    return len(said).to_bytes(4, "little") + said


async def spools(count, parallel):
    """Orders given until the last result is recorded."""
    runner = fresh_runner()
    pool = runner._pool  # noqa: SLF001  its shims, without its side of them
    shims = [await pool.take(str(n)) for n in range(parallel)]
    poll, by_fd = select.poll(), {}
    for shim in shims:
        poll.register(shim.channel, select.POLLIN)
        by_fd[shim.channel.fileno()] = shim
    orders = iter([order_of(number) for number in range(count + parallel)])

    def give(shim):
        shim.channel.send(next(orders))

    def until(done, total):
        while done < total:
            for fd, _ in poll.poll():
                ended = by_fd[fd].channel.recv(4096).count(ENDED)
                done += ended
                if ended and given[0] < total:
                    given[0] += 1
                    give(by_fd[fd])

    given = [parallel]
    for shim in shims:
        give(shim)
    until(0, parallel)  # all walls are there
    cpu, start = cpu_seconds(os.getpid()), time.perf_counter()
    given = [parallel]
    for shim in shims:
        give(shim)
    until(0, count)
    wall, cpu = time.perf_counter() - start, cpu_seconds(os.getpid()) - cpu
    ends = [json.loads(said) for shim in shims for _, kind, said in history(shim.path) if kind == RESULT]
    good = sum(end["exit"] == 0 and end["proved"] for end in ends)
    runner.close()
    return {"wall_s": wall, "cpu_s": cpu, "completed": good - parallel}


async def collected(count, parallel):
    """Orders given until all results are collected."""
    runner, turns, good = fresh_runner(), asyncio.Semaphore(parallel), 0

    async def nothing(*_given):
        """Nothing keeps it from being started, and nobody asks which process it was."""

    async def one(number):
        nonlocal good
        run_id = f"{number:016x}"
        async with turns:
            result = await runner.run(Order(run_id, ("/bin/true",), "/", ENV, BOUNDS), nothing, nothing)
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
        alone = {part.__name__: asyncio.run(part(options.n, options.parallel or 16)) for part in (spools, collected)}
        for name, found in alone.items():
            record("spawn", f"shims alone, {name}", n=options.n, **found, per_s=options.n / found["wall_s"])
        got = horae(options.n, options.parallel)
        for name, loop in loops.items():
            if loop is not None:
                for part, found in alone.items():
                    ratios = {f"{key}_ratio": found[f"{key}_s"] / loop[f"{key}_s"] for key in ("wall", "cpu")}
                    record("spawn", f"shims alone, {part}, to {name}", n=options.n, **ratios)
                record("spawn", name, n=options.n, **loop)
                ratios = {"wall_ratio": got["wall_s"] / loop["wall_s"], "cpu_ratio": got["cpu_s"] / loop["cpu_s"]}
                record("spawn", f"horae to {name}", n=options.n, **ratios)
        record("spawn", "horae", n=options.n, parallel=options.parallel, **got, per_s=options.n / got["wall_s"])


if __name__ == "__main__":
    run_part(main)
