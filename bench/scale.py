"""What a look, a claim, a list and a new job cost beside ever more jobs at rest: the cost must follow what is due.

The jobs at rest are clones, written with one statement: a daily schedule, one planned slot each, some days ahead. Those that
come due, a thousand, are made by the store's own verbs. The same on SQLite and on PostgreSQL (its own server, durable, on the
same disk). `grows` at the end is each figure at the most jobs against the least: 1 is what the promise says.
"""

from __future__ import annotations

import argparse
import time
from datetime import timedelta

from burst import AHEAD, OnPostgres, OnSqlite
from common import WORK, calm, median, record, run_part
from noop import Shifted, fill

from horae.core.instants import to_us
from horae.core.model import Job, Owner
from horae.limits import CLAIM_BATCH_MAX
from horae.store.queries import Reader

DUE = 1000
COLUMNS = (
    "id, slug, name, schedule, timezone, meaning, definition, cadence, digest, signature, anchor_at, cursor_at,"
    " created_at, changed_at"
)
SERIES = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
IDS = {"sqlite": "printf('%012x', {base} + i)", "postgres": "lpad(to_hex({base}::bigint + i), 12, '0')"}
KEYS = {"sqlite": "lower(hex(randomblob(16)))", "postgres": "md5(i::text)"}
SPACED = "CAST(i AS BIGINT) * 1000000"  # a second between two of them
REST = 10**13  # ids of the clones begin here


def at_rest(store, kind, count, now_us):
    """Clone `count` jobs, each with a planned slot some days ahead."""
    ident = IDS[kind].format(base=REST)
    later = now_us + 3 * 86_400 * 10**6
    with store.transaction():
        store.db.execute(
            f"{SERIES} INSERT INTO job ({COLUMNS}) SELECT {ident}, 'rest-' || {ident}, 'Rest', '0 9 * * *', 'UTC', 'daily',"
            " '{}', 'c', 'd', 's', 0, ?, ?, ? FROM n".replace("{}", '{"id": "x"}'),
            (count, later, now_us, now_us),
        )
        store.db.execute(
            f"{SERIES} INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, planned_at)"
            f" SELECT {KEYS[kind]}, {ident}, 'schedule', ? + {SPACED}, ? + {SPACED}, 0, ? FROM n",
            (count, later, later, now_us),
        )
    store.db.execute("ANALYZE")


def timed(call, times=9):
    """Median milliseconds of several calls, after one that warms up."""
    call()
    took = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        took.append((time.perf_counter() - start) * 1000)
    return median(took)


def measure(place, count):
    """One store with so many at rest."""
    clock = Shifted()
    store = place.open(clock, "bench")
    owner = Owner("scale", "host", "boot", 1, 1)
    store.transact(lambda tx: tx.runs.sign_on(owner, "bench"))
    due = (clock.now() + AHEAD).replace(microsecond=0)
    fill(store, DUE, f"every 1 day from {due.isoformat()}")
    at_rest(store, place.name, count, to_us(clock.now()))
    reader = Reader(store.db)
    number = iter(range(10**6))

    def add():
        n = next(number)
        job = Job(f"{n + 10**12:012x}", f"new-{n}", f"new-{n}", "0 9 * * *", "UTC", agent=False, command=("true",))
        store.transact(lambda tx: tx.jobs.upsert(job, signature="x", meaning="m", actor="bench"))

    figures = {
        "idle_look_ms": timed(lambda: store.transact(lambda tx: (tx.runs.claim_due(owner, 1000), tx.runs.next_due()))),
        "list_ms": timed(lambda: reader.list_jobs(all=False, state=None, limit=50, cursor=None)),
        "find_ms": timed(lambda: reader.find_job("j1")),
        "add_ms": timed(add),
    }
    clock.shift = due - Shifted().now() + timedelta(milliseconds=1)
    start, got = time.perf_counter(), 0
    while claims := store.transact(lambda tx: tx.runs.claim_due(owner, CLAIM_BATCH_MAX)):
        got += len(claims)
    figures["claim_us_each"] = (time.perf_counter() - start) / max(1, got) * 1e6
    store.close()
    return {"store": place.name, "at_rest": count, "claimed": got, **figures}


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--sqlite", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    ask.add_argument("--postgres", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    ask.add_argument("--rounds", type=int, default=1)
    options = ask.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    for _ in range(options.rounds):
        for kind, counts in ((OnSqlite, options.sqlite), (OnPostgres, options.postgres)):
            found = []
            for count in counts:
                calm()
                place = kind()
                try:
                    found.append(measure(place, count))
                finally:
                    place.close()
                record("scale", "at rest", **found[-1])
            grows = {key: found[-1][key] / found[0][key] for key in found[0] if key.endswith(("_ms", "_each"))}
            record("scale", "grows", store=found[0]["store"], least=counts[0], most=counts[-1], **grows)


if __name__ == "__main__":
    run_part(main)
