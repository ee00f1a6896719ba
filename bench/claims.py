"""How fast are decisions made durable? 10,000 due occurrences: claimed; and claimed, started, finished and settled.

- `claim`: the real SqliteStore (WAL, synchronous=FULL), `claim_due` in the gateway's own batches, one commit a batch.
  Each claim writes a run with its token, plans and writes the job's next slot, and journals both.
- `whole`: the real gateway with the group-committing writer, and a runner that starts nothing. `parallel` is the number
  of live runs that it allows: the default, and as many as a batch.
- `commits`, `appends`: what this disk does at most, one row a commit and one forced 4 KiB append at a time.

All of it in each round, one after the other. `python claims.py --profile` says where the time of one round goes.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import shutil
import time
from datetime import timedelta

import raw
from common import WORK, calm, record, run_part
from house import iso
from noop import OWNER, Noop, Shifted, fill, gateway, run_until

from horae.limits import CLAIM_BATCH_MAX, PARALLEL_DEFAULT
from horae.store.sqlite import SqliteStore

AHEAD = timedelta(hours=6)


class Scratch:
    """A store with `count` recurring jobs that are due as soon as the clock is shifted."""

    def __init__(self, count):
        self.folder = WORK / f"claims-{time.time_ns()}"
        self.clock = Shifted()
        self.store = SqliteStore(str(self.folder / "state" / "runtime.db"), self.clock)
        self.due = (self.clock.now() + AHEAD).replace(microsecond=0)
        fill(self.store, count, f"every 1 day from {iso(self.due.timestamp())}")

    def __enter__(self):
        self.clock.shift = self.due - Shifted().now() + timedelta(milliseconds=1)
        return self

    def __exit__(self, *_):
        self.store.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def claim(count):
    """Claims a second, and the CPU of them."""
    with Scratch(count) as scratch:
        store = scratch.store
        store.transact(lambda tx: tx.runs.sign_on(OWNER, "bench"))
        start, cpu, got = time.perf_counter(), time.process_time(), 0
        while claims := store.transact(lambda tx: tx.runs.claim_due(OWNER, CLAIM_BATCH_MAX)):
            got += len(claims)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {"n": count, "claimed": got, "wall_s": wall, "per_s": got / wall, "cpu_us_each": cpu / got * 1e6}


def whole(count, parallel):
    """Runs a second from due to settled."""
    with Scratch(count) as scratch:
        engine, writer = gateway(scratch.store, scratch.clock, parallel, Noop())
        start, cpu = time.perf_counter(), time.process_time()
        got = asyncio.run(run_until(engine, scratch.store, count, within_s=120))
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        writer.close()
        sql = "SELECT count(*) FROM occurrence WHERE state = 'settled' AND outcome = 'ran'"
        settled = scratch.store.db.execute(sql).fetchone()[0]
    figures = {"settled": settled, "wall_s": wall, "per_s": got / wall, "cpu_us_each": cpu / max(1, got) * 1e6}
    return {"n": count, "parallel": parallel, **figures}


def profiled(what, *args):
    """One call of `what` under the profiler, worst functions first."""
    profile = cProfile.Profile()
    print(profile.runcall(what, *args))
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--n", type=int, default=10_000)
    ask.add_argument("--rounds", type=int, default=5)
    ask.add_argument("--profile", action="store_true")
    options = ask.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    if options.profile:
        profiled(claim, options.n)
        profiled(whole, options.n, PARALLEL_DEFAULT)
        return
    for _ in range(options.rounds):
        calm()
        record("claims", "commits", **raw.commits())
        record("claims", "appends", **raw.appends())
        record("claims", "claim", **claim(options.n))
        record("claims", "whole", **whole(options.n, PARALLEL_DEFAULT))
        record("claims", "whole", **whole(options.n, CLAIM_BATCH_MAX))


if __name__ == "__main__":
    run_part(main)
