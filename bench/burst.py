"""Both stores under a burst: occurrences that are due at one instant, claimed; and claimed, started, finished and settled.

- `commits`: what the store does at most, one row a commit, in the same round.
- `claim`: `claim_due` in the gateway's own batches, one commit a batch: a run with its token, the job's next slot, and two
  entries of the journal for each.
- `whole`: real gateways, each a process of its own with its group-committing writer, and a runner that starts nothing. On
  SQLite there is one; on PostgreSQL there are as many as --gateways says.

The server of PostgreSQL is this program's own, with its data on the same disk and every commit forced to it (fsync and
synchronous_commit on). What it needs of the processors is not in `cpu_us_each`, which counts the gateways alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import raw
from common import HERE, WORK, calm, record, run_part
from noop import Noop, Shifted, fill, gateway

sys.path.insert(0, str(HERE.parent))  # the tests know how to start a server

from horae.core.model import Owner
from horae.limits import CLAIM_BATCH_MAX
from horae.store.postgres import PostgresStore
from horae.store.sqlite import SqliteStore
from tests.support.postgres import own_cluster

AHEAD = timedelta(hours=6)
SETTLED = "SELECT count(*) FROM occurrence WHERE state = 'settled' AND outcome = 'ran'"
READY = b"ready\n"


class OnSqlite:
    """A database in a file."""

    name = "sqlite"

    def __init__(self):
        self.folder = WORK / f"burst-{time.time_ns()}"
        self.place = str(self.folder / "state" / "runtime.db")

    def open(self, clock, chain="people"):
        return SqliteStore(self.place, clock)

    def commits(self):
        return raw.commits()

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class OnPostgres:
    """A server of its own, durable."""

    name = "postgres"

    def __init__(self):
        self.cluster = own_cluster(durable=True)
        self.place = self.cluster.url()

    def open(self, clock, chain="people"):
        return PostgresStore(self.place, clock, chain)

    def commits(self, seconds=2.0):
        store = self.open(None)
        store.db.execute("CREATE TABLE IF NOT EXISTS raw_row (id BIGINT)")
        took, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            store.db.execute("INSERT INTO raw_row VALUES (?)", (len(took),))
            took.append(time.perf_counter() - start)
        store.close()
        return {"per_s": len(took) / sum(took)}

    def close(self):
        self.cluster.stop()
        self.cluster.remove()


def claim(place, count):
    """Claims a second, and the CPU of them in this process."""
    clock = Shifted()
    store = place.open(clock, "bench")
    due = (clock.now() + AHEAD).replace(microsecond=0)
    fill(store, count, f"every 1 day from {due.isoformat()}")
    clock.shift = due - Shifted().now() + timedelta(milliseconds=1)
    owner = Owner("claims", "host", "boot", os.getpid(), 1)
    store.transact(lambda tx: tx.runs.sign_on(owner, "bench"))
    start, cpu, got = time.perf_counter(), time.process_time(), 0
    while claims := store.transact(lambda tx: tx.runs.claim_due(owner, CLAIM_BATCH_MAX)):
        got += len(claims)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    store.close()
    return {"n": count, "claimed": got, "wall_s": wall, "per_s": got / wall, "cpu_us_each": cpu / got * 1e6}


def whole(place, count, parallel, gateways):
    """Runs a second from due to settled, over several processes."""
    clock = Shifted()
    store = place.open(clock)
    seconds = 10 + count / 200  # to store them, which must be over by then
    due = (datetime.now(UTC) + timedelta(seconds=seconds)).replace(microsecond=0)
    fill(store, count, f"every 1 day from {due.isoformat()}")
    words = [sys.executable, str(HERE / "burst.py"), "--serve", place.name, place.place, str(parallel)]
    started = [subprocess.Popen([*words, f"g{n}"], stdout=subprocess.PIPE) for n in range(gateways)]
    try:
        assert all(process.stdout.readline() == READY for process in started)
        late = (datetime.now(UTC) - due).total_seconds()
        assert late < 0, f"storing the jobs took {late:.1f} s too long"
        time.sleep(-late)
        start = time.perf_counter()
        while (settled := store.db.execute(SETTLED).fetchone()[0]) < count and time.perf_counter() < start + 120:
            time.sleep(0.03)  # looking costs the server a millisecond
        wall = time.perf_counter() - start
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        cpu = [json.loads(process.communicate(timeout=60)[0])["cpu_s"] for process in started]
    shares = [row[0] for row in store.db.execute("SELECT count(*) FROM run GROUP BY gateway_id ORDER BY 1").fetchall()]
    store.close()
    figures = {"settled": settled, "wall_s": wall, "per_s": settled / wall, "cpu_us_each": sum(cpu) / count * 1e6}
    return {"n": count, "parallel": parallel, "gateways": gateways, "shares": shares, **figures}


def serve(kind, place, parallel, name):
    """One gateway, until it is told to stop; then what it needed of the processor."""
    clock = Shifted()
    store = SqliteStore(place, clock) if kind == "sqlite" else PostgresStore(place, None, name)
    engine, writer = gateway(store, clock, parallel, Noop(), owner=name, shared=kind == "postgres")
    cpu = time.process_time()

    async def main():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, engine.stop)
        os.write(1, READY)
        await engine.run()

    asyncio.run(main())
    writer.close()
    os.write(1, json.dumps({"cpu_s": time.process_time() - cpu}).encode())


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--n", type=int, default=10_000)
    ask.add_argument("--rounds", type=int, default=3)
    ask.add_argument("--gateways", type=int, default=2)
    ask.add_argument("--parallel", type=int, nargs="+", default=[16, 1000])
    ask.add_argument("--serve", nargs=4, metavar=("STORE", "PLACE", "PARALLEL", "NAME"), help=argparse.SUPPRESS)
    options = ask.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    if options.serve:
        kind, place, parallel, name = options.serve
        serve(kind, place, int(parallel), name)
        return
    for _ in range(options.rounds):
        for kind, gateways in ((OnSqlite, 1), (OnPostgres, options.gateways)):
            calm()
            for what in ("commits", "claim", *options.parallel):
                place = kind()
                try:
                    if what == "commits":
                        record("burst", "commits", store=place.name, **place.commits())
                    elif what == "claim":
                        record("burst", "claim", store=place.name, **claim(place, options.n))
                    else:
                        record("burst", "whole", store=place.name, **whole(place, options.n, what, gateways))
                finally:
                    place.close()


if __name__ == "__main__":
    Path(WORK).mkdir(parents=True, exist_ok=True)
    run_part(main)
