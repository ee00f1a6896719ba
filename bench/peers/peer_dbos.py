"""DBOS 3: n delayed workflows on one queue, on SQLite or PostgreSQL (BENCH_DB=pg). A run is recorded when its
workflow's status is SUCCESS. The queue is without a limit and looked at once a second: its defaults."""

from __future__ import annotations

import os
import time
import uuid

import common
import sqlalchemy as sa
from dbos import DBOS, DBOSClient

DIR = os.environ["BENCH_DIR"]
PG = os.environ.get("BENCH_PG", "") if os.environ.get("BENCH_DB") == "pg" else ""
DB = "bench_dbos_" + DIR.rsplit("-", 1)[-1]
URL = f"postgresql://{PG}/{DB}" if PG else f"sqlite:///{DIR}/dbos.db"
CONFIG = {"name": "bench", "system_database_url": URL, "log_level": "ERROR", "application_version": "1"}
TABLE = "dbos.workflow_status" if PG else "workflow_status"


@DBOS.workflow(name="run_queued")
def run_queued(index):
    common.work(DIR, index)


def engine():
    return sa.create_engine(f"postgresql+psycopg://{PG}/{DB}" if PG else URL)


def client():
    return DBOSClient(system_database_url=URL, application_name="bench")


def launch():
    DBOS(config=CONFIG)
    DBOS.launch()
    DBOS.register_queue("bench")


def database(*statements):
    if PG:
        admin = sa.create_engine(f"postgresql+psycopg://{PG}/postgres", isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))


def init():
    clean()
    database(f"create database {DB}")
    launch()
    DBOS.destroy()


def clean():
    database(f"drop database if exists {DB} with (force)")


def options(delay):
    return {"workflow_name": "run_queued", "queue_name": "bench", "app_version": "1", "delay_seconds": delay}


def fill(n, due):
    """The first through the API; the rest are copies of the row that it wrote."""
    n, due, made = int(n), float(due), client()
    made.enqueue(options(max(0.001, due - time.time())), 0)
    serialize = made._sys_db.serializer.serialize  # noqa: SLF001 its own form of arguments
    with engine().begin() as connection:
        connection.execute(sa.text(f"update {TABLE} set delay_until_epoch_ms = {int(due * 1000)}"))
        first = dict(connection.execute(sa.text(f"select * from {TABLE}")).mappings().first())
        insert = sa.text(f"insert into {TABLE} ({', '.join(first)}) values ({', '.join(':' + name for name in first)})")
        for low in range(1, n, 5000):
            rows = [
                {**first, "workflow_uuid": str(uuid.uuid4()), "inputs": serialize({"args": (i,), "kwargs": {}})}
                for i in range(low, min(n, low + 5000))
            ]
            connection.execute(insert, rows)
    made.destroy()


def serve():
    launch()
    common.ready(DIR)
    while True:
        time.sleep(3600)


def wait(n, timeout):
    question, made = sa.text(f"select count(*) from {TABLE} where status = 'SUCCESS'"), engine()

    def done():
        with made.connect() as connection:
            return connection.execute(question).scalar()

    at, count = common.wait_count(done, int(n), float(timeout))
    return {"at": at, "count": count}


def listing():
    made, start = client(), time.perf_counter()
    return {"count": len(made.list_workflows()), "seconds": time.perf_counter() - start}


def create():
    made, start = client(), time.perf_counter()
    made.enqueue(options(10.0**7), 1)
    return {"seconds": time.perf_counter() - start}


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
