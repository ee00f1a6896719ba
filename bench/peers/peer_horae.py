"""Horae itself in the peers' terms: real job files with one-shots, `horae init`, `horae up`, `horae list`, `horae add`.

BENCH_MODE=engine is the engine alone, in process, with a runner that does the work as a function: what the peers
that run Python functions are compared with. A run is recorded when its occurrence is settled.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import threading
import time

import common
from house import HORAE, iso

DIR = os.environ["BENCH_DIR"]
HOME = f"{DIR}/home"
ENGINE = os.environ.get("BENCH_MODE") == "engine"
SETTLED = "SELECT count(*) FROM occurrence WHERE state = 'settled'"

if ENGINE:
    import noop

    from horae.clock import SystemClock
    from horae.limits import PARALLEL_DEFAULT
    from horae.store.sqlite import SqliteStore


def horae(*words):
    start = time.perf_counter()
    out = subprocess.run(
        [HORAE, "--home", HOME, *words], env=common.clean_env(), capture_output=True, text=True, check=True
    )
    return time.perf_counter() - start, out.stdout


def store():
    return SqliteStore(f"{HOME}/state/runtime.db", SystemClock())


def init():
    if not ENGINE:
        horae("init")


def fill(n, due):
    if ENGINE:
        made = store()
        noop.fill(made, int(n), iso(float(due)))
        made.close()
        return
    for i in range(int(n)):
        with open(f"{HOME}/scripts/s{i}.sh", "w", encoding="utf-8") as file:
            file.write(common.script(DIR, i))
        front = f"id: {i:012x}\nname: j{i}\nschedule: {iso(float(due))}\ntimezone: UTC\nagent: false\nscript: s{i}.sh\n"
        with open(f"{HOME}/jobs/j{i}.md", "w", encoding="utf-8") as file:
            file.write(f"---\n{front}---\n")


def serve():
    """Become the gateway; a process beside it says when the socket is there, which is when all files are taken in."""
    if ENGINE:
        serve_engine()
    elif os.fork():
        os.wait()
        os.execve(HORAE, [HORAE, "--home", HOME, "up"], common.clean_env())
    elif os.fork() == 0:
        common.until(lambda: os.path.exists(f"{HOME}/state/gateway.sock"), "the gateway is ready", 60, poll=0.005)
        common.ready(DIR)
    os._exit(0)


def serve_engine():
    made, clock = store(), SystemClock()
    runner = noop.Noop(lambda name: common.work(DIR, name[1:]))
    engine, _ = noop.gateway(made, clock, PARALLEL_DEFAULT, runner)
    threading.Timer(0.2, lambda: common.ready(DIR)).start()
    asyncio.run(engine.run())


def wait(n, timeout):
    db = sqlite3.connect(f"file:{HOME}/state/runtime.db?mode=ro", uri=True, timeout=10)
    at, count = common.wait_count(lambda: db.execute(SETTLED).fetchone()[0], int(n), float(timeout))
    return {"at": at, "count": count}


def listing():
    seconds, out = horae("list", "--limit", "50")
    return {"count": len(out.splitlines()), "seconds": seconds}


def create():
    return {"seconds": horae("add", "0 3 1 6 *", "--name", "new", "--script", "s0.sh")[0]}


if __name__ == "__main__":
    commands = {"init": init, "fill": fill, "serve": serve, "wait": wait, "list": listing, "create": create}
    common.adapter_main(commands)
