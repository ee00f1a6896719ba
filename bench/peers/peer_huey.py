"""huey 3: SqliteHuey and its consumer with 8 threads; it looks at its schedule once a second. A run is recorded when
its result is stored."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

import common
from huey import SqliteHuey

DIR = os.environ["BENCH_DIR"]
huey = SqliteHuey("bench", filename=f"{DIR}/huey.db", results=True)


@huey.task()
def run_job(index):
    common.work(DIR, index)
    return index


def eta(due):
    return datetime.fromtimestamp(due, UTC).replace(tzinfo=None)


def fill(n, due):
    """The first through the API; the rest are copies of what it wrote."""
    n, due = int(n), float(due)
    huey.storage.add_to_schedule(huey.serialize_task(run_job.s(0, eta=eta(due))), eta(due))
    with huey.storage.db(commit=True) as cursor:
        stored = cursor.execute("select timestamp from schedule limit 1").fetchone()[0]
        rows = [(huey.storage.name, huey.serialize_task(run_job.s(i, eta=eta(due))), stored) for i in range(1, n)]
        cursor.executemany("insert into schedule (queue, data, timestamp) values (?, ?, ?)", rows)


def serve():
    consumer = huey.create_consumer(workers=8, worker_type="thread", scheduler_interval=1)
    common.ready(DIR)
    consumer.run()


def wait(n, timeout):
    at, count = common.wait_count(huey.storage.result_store_size, int(n), float(timeout))
    return {"at": at, "count": count}


def listing():
    start = time.perf_counter()
    return {"count": len(huey.scheduled()), "seconds": time.perf_counter() - start}


def create():
    start = time.perf_counter()
    run_job.schedule(args=(10**7,), eta=eta(time.time() + 10**7))
    return {"seconds": time.perf_counter() - start}


if __name__ == "__main__":
    common.adapter_main({"fill": fill, "serve": serve, "wait": wait, "list": listing, "create": create})
