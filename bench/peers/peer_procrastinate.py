"""Procrastinate 3 on PostgreSQL: one worker, concurrency 8, n jobs with `schedule_at`, which its worker sees by polling
every 5 s (the default). A run is recorded when its job's row says that it succeeded."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime

import common
import procrastinate
import psycopg

DIR = os.environ["BENCH_DIR"]
PG = os.environ.get("BENCH_PG", "")
DB = "bench_procrastinate_" + DIR.rsplit("-", 1)[-1]
URL = f"postgresql://{PG}/{DB}"
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=URL))


@app.task(name="run_job")
def run_job(index):
    common.work(DIR, index)


def database(*statements):
    with psycopg.connect(f"postgresql://{PG}/postgres", autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def opened(work):
    """Run `work()` with the app open; what it returns."""

    async def go():
        async with app.open_async():
            return await work()

    return asyncio.run(go())


def at(instant):
    return run_job.configure(schedule_at=datetime.fromtimestamp(instant, UTC))


def init():
    clean()
    database(f"create database {DB}")
    opened(app.schema_manager.apply_schema_async)


def clean():
    database(f"drop database if exists {DB} with (force)")


def fill(n, due):
    n, due = int(n), float(due)

    async def work():
        for low in range(0, n, 1000):
            await at(due).batch_defer_async(*[{"index": i} for i in range(low, min(n, low + 1000))])

    opened(work)


def serve():
    async def work():
        common.ready(DIR)
        await app.run_worker_async(concurrency=8)

    opened(work)


def wait(n, timeout):
    with psycopg.connect(URL, autocommit=True) as connection:
        question = "select count(*) from procrastinate_jobs where status = 'succeeded'"
        at, count = common.wait_count(lambda: connection.execute(question).fetchone()[0], int(n), float(timeout))
    return {"at": at, "count": count}


def listing():
    async def work():
        start = time.perf_counter()
        jobs = list(await app.job_manager.list_jobs_async())
        return {"count": len(jobs), "seconds": time.perf_counter() - start}

    return opened(work)


def create():
    async def work():
        await app.job_manager.list_jobs_async(id=1)  # the connection is there
        start = time.perf_counter()
        await at(time.time() + 10**7).defer_async(index=10**7)
        return {"seconds": time.perf_counter() - start}

    return opened(work)


if __name__ == "__main__":
    commands = {
        "init": init,
        "fill": fill,
        "serve": serve,
        "wait": wait,
        "list": listing,
        "create": create,
        "clean": clean,
    }
    common.adapter_main(commands)
