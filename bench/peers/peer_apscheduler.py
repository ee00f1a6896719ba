"""APScheduler 3: a BackgroundScheduler with the SQLAlchemy job store on SQLite, 10 threads (its default).

It keeps no history: a run counts as recorded when its row has left the job store and its line is on the disk. The
misfire grace is lifted, since the default of one second drops whatever starts later.
"""

from __future__ import annotations

import os
import pickle
import time
from datetime import UTC, datetime

import common
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger
from sqlalchemy import create_engine, text

DIR = os.environ["BENCH_DIR"]
URL = f"sqlite:///{DIR}/aps.db"


def run_job(folder, index):
    common.work(folder, index)


def scheduler():
    return BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url=URL)},
        job_defaults={"misfire_grace_time": None},
        timezone=UTC,
    )


def paused():
    made = scheduler()
    made.start(paused=True)
    return made


def add(made, index, due):
    when = DateTrigger(datetime.fromtimestamp(due, UTC))
    return made.add_job("peer_apscheduler:run_job", when, args=(DIR, index), id=f"j{index}")


def fill(n, due):
    """The first 100 through the API; the rest are copies of what it wrote, since each add commits."""
    n, due, made = int(n), float(due), paused()
    for i in range(min(n, 100)):
        add(made, i, due)
    store = made._jobstores["default"]  # noqa: SLF001 the store that holds what add_job wrote
    state, rows = store.lookup_job("j0").__getstate__(), []
    for i in range(100, n):
        state |= {"id": f"j{i}", "args": (DIR, i)}
        pickled = pickle.dumps(state, pickle.HIGHEST_PROTOCOL)
        rows.append({"id": f"j{i}", "next_run_time": due, "job_state": pickled})
    if rows:
        with store.engine.begin() as connection:
            connection.execute(store.jobs_t.insert(), rows)
    made.shutdown()


def serve():
    scheduler().start()
    common.ready(DIR)
    while True:
        time.sleep(3600)


def wait(n, timeout):
    engine, goal = create_engine(URL), int(n)

    def done():
        if (lines := common.count_lines(DIR)) < goal:
            return lines
        with engine.connect() as connection:
            return goal - connection.execute(text("select count(*) from apscheduler_jobs")).scalar()

    at, count = common.wait_count(done, goal, float(timeout))
    return {"at": at, "count": count}


def listing():
    made, start = paused(), time.perf_counter()
    return {"count": len(made.get_jobs()), "seconds": time.perf_counter() - start}


def create():
    made, start = paused(), time.perf_counter()
    add(made, 10**7 + int(time.time()), time.time() + 10**7)
    return {"seconds": time.perf_counter() - start}


if __name__ == "__main__":
    common.adapter_main({"fill": fill, "serve": serve, "wait": wait, "list": listing, "create": create})
