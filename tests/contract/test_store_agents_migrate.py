"""A store of the eighth schema, from before agents: nothing of it is lost, and files of agents are read again."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from horae.core.definition import cadence_digest, definition, digest
from horae.core.model import Job
from horae.store import postgresschema
from horae.store.migrate import statements, steps
from horae.store.postgres import PostgresStore
from horae.store.sqlite import SqliteStore
from tests.support.agentjobs import a_wish, an_agents_job
from tests.support.builders import START, SetClock, a_job, an_owner, at, us
from tests.support.postgres import shared_cluster
from tests.support.servers import server_or_skip

Row = dict[str, Any]
AGENT = an_agents_job("agent", schedule="* * * * *")
JOBS = (
    (AGENT, "s", ""),
    (an_agents_job("aside"), "parked", "parked"),
    (an_agents_job("held"), "gone", "gone"),
    (a_job("script", schedule="0 0 1 1 *"), "s", "s"),
)  # each with the signature of its file, before and after


def rows() -> Iterator[tuple[str, Row]]:
    yield "gateway", {"id": "g0", "host": "h", "boot": "b", "pid": 1, "pid_started": 1, "version": "1", "since_at": 5}
    for job, signature, _ in JOBS:
        yield "job", _job(job) | {"signature": signature}
    slot = {"job_id": AGENT.id, "trigger": "schedule", "offset_s": 0, "planned_at": us(START)}
    ran = {"key": "ran", "slot_at": us(START), "due_at": us(START), "state": "settled", "outcome": "ran", "reason": "r"}
    yield "occurrence", slot | ran
    yield "occurrence", slot | {"key": "next", "slot_at": us(at("08:01")), "due_at": us(at("08:01"))}
    run = {"key": "ran", "job_id": AGENT.id, "attempt": 1, "token": 7, "gateway_id": "g0", "state": "completed"}
    yield "run", run | {"id": "r1", "claimed_at": us(START), "finished_at": us(START), "tokens": 5, "cost_usd": 0.5}
    yield "output", {"run_id": "r1", "message": "m", "stdout": "", "stderr": "", "stdout_cut": 0, "stderr_cut": 0}


def _job(job: Job) -> Row:
    text = json.dumps(definition(job), ensure_ascii=False, sort_keys=True)
    return {
        "id": job.id,
        "slug": job.slug,
        "name": job.name,
        "schedule": job.schedule,
        "timezone": "UTC",
        "meaning": "m",
        "definition": text,
        "cadence": cadence_digest(job),
        "digest": digest(job),
        "anchor_at": us(START),
        "cursor_at": us(at("08:01")) if job is AGENT else None,
        "created_at": us(START),
        "changed_at": us(START),
    }


def columns(row: Row) -> str:
    return ", ".join(row)


def in_sqlite(folder: Path) -> SqliteStore:
    path = folder / "runtime.db"
    db = sqlite3.connect(path, isolation_level=None)
    for number, file in steps():
        if number <= 8:
            for statement in statements(Path(file).read_text(encoding="utf-8")):
                db.execute(statement)
    db.execute("PRAGMA user_version = 8")
    for table, row in rows():
        marks = ", ".join("?" * len(row))
        db.execute(f"INSERT INTO {table} ({columns(row)}) VALUES ({marks})", tuple(row.values()))
    db.close()
    return SqliteStore(str(path), SetClock(at("08:01")))


def in_postgres(url: str, folder: Path, then: pytest.MonkeyPatch) -> PostgresStore:
    with then.context() as before:
        for number, file in postgresschema.steps():
            if number <= 8:
                shutil.copy(file, folder)
        before.setattr(postgresschema, "FOLDER", str(folder))
        old = PostgresStore(url)
        assert old.schema == 8
        old.close()
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("SELECT setval('fence_token', 7)")
        for table, row in rows():
            marks = ", ".join(["%s"] * len(row))
            link.execute(f"INSERT INTO {table} ({columns(row)}) VALUES ({marks})".encode(), [*row.values()])
    return PostgresStore(url, SetClock(at("08:01")))


@pytest.fixture(params=["sqlite", "postgres"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SqliteStore | PostgresStore]:
    if request.param == "sqlite":
        made: SqliteStore | PostgresStore = in_sqlite(tmp_path)
        yield made
        made.close()
        return
    with server_or_skip():
        cluster = shared_cluster()
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as server:
        name = f"of_eight_{server.info.backend_pid}"
        server.execute(f"CREATE DATABASE {name}".encode())
        made = in_postgres(cluster.url(name), tmp_path, monkeypatch)
        yield made
        made.close()
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def test_O2_a_store_from_before_agents_loses_nothing(store: SqliteStore | PostgresStore) -> None:
    for table, row in rows():
        key = "key" if "key" in row and table == "occurrence" else "run_id" if table == "output" else "id"
        found: Any = store.db.execute(f"SELECT * FROM {table} WHERE {key} = ?", (row[key],)).fetchone()
        kept = {name: value for name, value in row.items() if name != "signature"}
        assert {name: found[name] for name in kept} == kept, table
    old: Any = store.db.execute("SELECT * FROM run").fetchone()
    names = ("model", "turns", "tokens_in", "equipped_at", "reserved_tokens")
    assert [old[name] for name in names] == [None] * 5
    assert old["held"] == 0


def test_files_of_agents_are_read_again_so_that_their_models_are_frozen(store: SqliteStore | PostgresStore) -> None:
    signatures = store.transact(lambda tx: tx.jobs.signatures())
    assert signatures == {job.slug: after for job, _, after in JOBS}
    given: Any = {"signature": "s", "meaning": "m", "actor": "jobs folder", "frozen": "small"}
    assert store.transact(lambda tx: tx.jobs.upsert(AGENT, **given)) == "unchanged"
    owner = an_owner("g1")
    store.transact(lambda tx: tx.runs.sign_on(owner, "test"))
    (claim,) = store.transact(lambda tx: tx.runs.claim_due(owner, 10))
    assert (claim.key, claim.job.model) == ("next", "small")
    given_now = store.transact(lambda tx: tx.agents.equip(claim, a_wish()))
    assert not given_now.reasons
