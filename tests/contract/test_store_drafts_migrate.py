"""A store of the ninth schema, from before drafts that no run has made: what waits in it waits on, and is decided as ever."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from horae.errors import Conflict
from horae.store import postgresschema
from horae.store.migrate import statements, steps
from horae.store.postgres import PostgresStore
from horae.store.sqlite import SqliteStore
from tests.support.builders import START, SetClock, a_job, at, us
from tests.support.postgres import shared_cluster
from tests.support.servers import server_or_skip

Row = dict[str, Any]
Store = SqliteStore | PostgresStore
OLD = 9
JOB = a_job("asks", schedule="every 1h")
ASKED: Row = {"job_id": JOB.id, "run_id": "r1", "key": "k1", "asked_at": us(START)}
DECIDED: Row = {"decided_at": us(START), "decision": "denied", "decided_by": "ann", "reason": "no"}
ASKS: tuple[Row, ...] = (
    {**ASKED, "id": "a1", "kind": "job", "body": '{"name": "Moon — 🌙"}', "expires_at": None},
    {**ASKED, "id": "a2", "kind": "call", "body": "{}", "expires_at": us(at("09:00"))},
    {**ASKED, "id": "a3", "kind": "message", "body": '{"text": "\\u0000"}', **DECIDED},
)


def rows() -> Iterator[tuple[str, Row]]:
    job = {"id": JOB.id, "slug": JOB.slug, "name": JOB.name, "schedule": JOB.schedule, "timezone": "UTC"}
    kept = {"meaning": "m", "definition": "", "cadence": "", "digest": "", "signature": "s"}
    times = dict.fromkeys(("anchor_at", "created_at", "changed_at"), us(START))
    yield "job", {**job, **kept, **times}
    for ask in ASKS:
        yield "ask", ask


def in_sqlite(folder: Path) -> SqliteStore:
    path = folder / "runtime.db"
    db = sqlite3.connect(path, isolation_level=None)
    for number, file in steps():
        if number <= OLD:
            for statement in statements(Path(file).read_text(encoding="utf-8")):
                db.execute(statement)
    db.execute(f"PRAGMA user_version = {OLD}")
    for table, row in rows():
        db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
    db.close()
    return SqliteStore(str(path), SetClock(at("08:01")))


def in_postgres(url: str, folder: Path, then: pytest.MonkeyPatch) -> PostgresStore:
    with then.context() as before:
        for number, file in postgresschema.steps():
            if number <= OLD:
                shutil.copy(file, folder)
        before.setattr(postgresschema, "FOLDER", str(folder))
        old = PostgresStore(url)
        assert old.schema == OLD
        old.close()
    with psycopg.connect(url, autocommit=True) as link:
        for table, row in rows():
            marks = ", ".join(["%s"] * len(row))
            link.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})".encode(), [*row.values()])
    return PostgresStore(url, SetClock(at("08:01")))


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    if request.param == "sqlite":
        made: Store = in_sqlite(tmp_path)
        yield made
        made.close()
        return
    with server_or_skip():
        cluster = shared_cluster()
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as server:
        name = f"of_nine_{server.info.backend_pid}"
        server.execute(f"CREATE DATABASE {name}".encode())
        made = in_postgres(cluster.url(name), tmp_path, monkeypatch)
        yield made
        made.close()
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def test_O2_what_waits_for_a_word_waits_on(store: Store) -> None:
    for ask in ASKS:
        found: Any = store.db.execute("SELECT * FROM ask WHERE id = ?", (ask["id"],)).fetchone()
        assert {name: found[name] for name in ask} == ask
        assert found["asked_by"] is None, "a run has asked"
    decided = store.transact(lambda tx: tx.agents.decide("a1", approved=True, actor="ann", reason=None))
    assert (decided["job_id"], decided["run_id"], decided["body"]) == (JOB.id, "r1", {"name": "Moon — 🌙"})
    with pytest.raises(Conflict, match="denied"):
        store.transact(lambda tx: tx.agents.decide("a3", approved=True, actor="ann", reason=None))
    given: Any = {"id": "d1", "actor": "token ann (mcp)", "expires": at("09:00"), "most": 1}
    store.transact(lambda tx: tx.doors.drafts.propose({"name": "Tides"}, **given))
    new: Any = store.db.execute("SELECT * FROM ask WHERE id = 'd1'").fetchone()
    assert [new[name] for name in ("job_id", "run_id", "key", "asked_by")] == [None, None, None, "token ann (mcp)"]


@pytest.mark.parametrize("who", ["neither", "both"])
def test_P11_a_draft_is_of_a_run_or_of_somebody_and_never_of_neither(store: Store, who: str) -> None:
    run, by = (None, None) if who == "neither" else ("r1", "ann")
    put = "INSERT INTO ask (id, kind, body, run_id, asked_by, asked_at) VALUES ('x', 'job', '{}', ?, ?, 0)"
    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.CheckViolation)):
        store.db.execute(put, (run, by))
