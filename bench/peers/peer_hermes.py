"""Hermes: no-agent script jobs through its own cron tick; HERMES_HOME is the run's folder.

A run is recorded when its row in executions.db is completed; that table keeps only the newest 1,000, so the lines
are counted past that. A tick starts exactly at the due instant, in a warm process: its best case. As deployed, its
ticker looks once a minute, which adds up to 60 s.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import threading
import time
from datetime import UTC, datetime

import common

DIR = os.environ["BENCH_DIR"]
os.environ["HERMES_HOME"] = f"{DIR}/home"

from cron import jobs, scheduler  # noqa: E402 it reads HERMES_HOME when it is imported
from cron.scheduler_provider import InProcessCronScheduler  # noqa: E402


def init():
    for name in ("scripts", "cron"):
        os.makedirs(f"{DIR}/home/{name}", exist_ok=True)


def made(when, script, schedule):
    return jobs.create_job(
        prompt=None, schedule=schedule, name=f"job {when}", script=script, no_agent=True, deliver="local"
    )


def fill(n, due):
    """The first through the API; the others are copies of the record that it stored."""
    n, when = int(n), datetime.fromtimestamp(float(due), UTC).astimezone()
    for i in range(n):
        with open(f"{DIR}/home/scripts/s{i}.sh", "w", encoding="utf-8") as file:
            file.write(common.script(DIR, i))
    made(0, "s0.sh", f"{when.minute} {when.hour} * * *")
    text = json.dumps(jobs.load_jobs()[0] | {"next_run_at": when.isoformat()})
    own = [{"id": f"{i:012x}", "name": f"job {i}", "script": f"s{i}.sh"} for i in range(n)]
    jobs.save_jobs([json.loads(text) | each for each in own])


def serve(due="0"):
    provider = InProcessCronScheduler()
    provider.recover_interrupted()
    if float(due) - time.time() > 1:
        scheduler.tick(verbose=False)  # a gateway that has ticked before
    common.ready(DIR)
    common.sleep_until(float(due))
    provider.start(threading.Event(), interval=1)


def finished():
    try:
        db = sqlite3.connect(f"file:{DIR}/home/cron/executions.db?mode=ro", uri=True, timeout=5)
        rows = db.execute("select count(*) from executions where status = 'completed'").fetchone()[0]
        db.close()
    except sqlite3.Error:
        return 0
    return rows if rows < 1000 else max(rows, common.count_lines(DIR))


def wait(n, timeout):
    at, count = common.wait_count(finished, int(n), float(timeout))
    return {"at": at, "count": count}


def listing():
    start = time.perf_counter()
    return {"count": len(jobs.list_jobs()), "seconds": time.perf_counter() - start}


def create():
    with open(f"{DIR}/home/scripts/new.sh", "w", encoding="utf-8") as file:
        file.write("true\n")
    start = time.perf_counter()
    made("new", "new.sh", "0 0 1 1 *")
    return {"seconds": time.perf_counter() - start}


def tick(n="3"):
    """One tick with nothing due: as deployed, this is its CPU a minute."""
    scheduler.tick(verbose=False)
    cpu, start = time.process_time(), time.perf_counter()
    for _ in range(int(n)):
        scheduler.tick(verbose=False)
    each = {"cpu": (time.process_time() - cpu) / int(n), "seconds": (time.perf_counter() - start) / int(n)}
    return {**each, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


if __name__ == "__main__":
    commands = {
        "init": init,
        "fill": fill,
        "serve": serve,
        "wait": wait,
        "list": listing,
        "create": create,
        "tick": tick,
    }
    common.adapter_main(commands)
