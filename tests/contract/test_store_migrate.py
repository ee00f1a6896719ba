"""Opening a database: a new one, many at once, one from the future, one that is none."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from horae.core.definition import definition
from horae.core.identity import slot_key
from horae.core.states import DELIVERY, OCCURRENCE, OUTCOMES, RUN, TRIGGERS, terminal
from horae.errors import Conflict, NewerStore, Trouble
from horae.store import sqlite
from horae.store.migrate import statements, steps
from horae.store.sqlite import SqliteStore, alone
from tests.support.builders import START, SetClock, a_job, an_owner, at, us
from tests.support.world import new_database

FORK = multiprocessing.get_context("fork")


def open_once(path: str, barrier: Any, answers: Any) -> None:
    barrier.wait()
    try:
        store = SqliteStore(path, SetClock())
        answers.put(store.schema)
        store.close()
    except BaseException as error:
        answers.put(repr(error))


def in_processes(count: int, work: Any, *args: Any) -> list[Any]:
    barrier, answers = FORK.Barrier(count), FORK.Queue()
    processes = [FORK.Process(target=work, args=(*args, barrier, answers), daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    found = [answers.get(timeout=30) for _ in processes]
    for process in processes:
        process.join(30)
    return found


def test_O20_ten_processes_that_open_a_new_database_at_once_migrate_it_once(tmp_path: Path) -> None:
    newest = steps()[-1][0]
    for attempt in range(3):
        assert in_processes(10, open_once, str(tmp_path / f"{attempt}" / "runtime.db")) == [newest] * 10


def test_one_opener_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"
    with ThreadPoolExecutor(1) as others:
        with alone(str(tmp_path)):
            opening = others.submit(lambda: SqliteStore(str(path), SetClock()).schema)
            with pytest.raises(TimeoutError):
                opening.result(0.2)
            assert not path.exists() or path.stat().st_size == 0  # not even the switch to the log has begun
        assert opening.result(10) == steps()[-1][0]


# ── a lock is waited for, so long and no longer


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_S", 0.03)


def begins(store: SqliteStore) -> list[str]:
    """What of a store's statements begins a transaction, from now on."""
    sent: list[str] = []
    store.db.set_trace_callback(lambda sql: sent.append(sql) if sql.startswith("BEGIN") else None)
    return sent


def test_O20_a_lock_is_waited_for_by_the_bound(tmp_path: Path) -> None:
    path = str(tmp_path / "runtime.db")
    new_database(path)
    store = SqliteStore(path, SetClock())
    assert store.db.execute("PRAGMA busy_timeout").fetchone()[0] == sqlite.BUSY_S * 1000 == 10_000
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    trying = Event()
    store.db.set_trace_callback(lambda sql: trying.set() if sql.startswith("BEGIN") else None)
    with ThreadPoolExecutor(1) as others:
        writing = others.submit(store.transact, lambda tx: tx.journal.append("waited", actor="test"))
        assert trying.wait(20)
        holder.execute("COMMIT")
        assert writing.result(20) == 1
    holder.close()
    store.close()


@pytest.mark.usefixtures("impatient")
def test_O20_a_database_that_stays_locked_is_told_and_not_tried_for_ever(tmp_path: Path) -> None:
    path = str(tmp_path / "runtime.db")
    new_database(path)
    store = SqliteStore(path, SetClock())
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    sent = begins(store)
    with pytest.raises(Conflict, match="is locked by another process") as told:
        store.transact(lambda tx: tx.journal.append("said", actor="test"))
    assert (told.value.details["file"], told.value.hint) == (path, "try again in a moment")
    assert sent == ["BEGIN IMMEDIATE"], "once: SQLite itself has waited"
    holder.execute("ROLLBACK")
    assert store.transact(lambda tx: tx.journal.append("said", actor="test")) == 1
    holder.close()
    store.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_O20_an_old_database_that_stays_locked_is_told_and_left_as_it_was(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "runtime.db"
    a_database_of_schema(1, path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute(f"PRAGMA journal_mode = {mode}")
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Conflict, match="is locked by another process"):
        SqliteStore(str(path), SetClock())
    assert holder.execute("PRAGMA user_version").fetchone() == (1,)
    holder.execute("ROLLBACK")
    holder.close()
    store = SqliteStore(str(path), SetClock())
    assert store.schema == steps()[-1][0]
    store.close()


def claim_all(path: str, barrier: Any, answers: Any) -> None:
    clock = SetClock(at("08:01"))
    store = SqliteStore(path, clock)
    owner = an_owner(f"g{os.getpid()}")
    store.transact(lambda tx: tx.runs.sign_on(owner, "test"))
    barrier.wait()
    mine: list[str] = []
    while claims := store.transact(lambda tx: tx.runs.claim_due(owner, 7)):
        mine += [claim.key for claim in claims]
    store.close()
    answers.put(mine)


def with_jobs(path: str, count: int) -> None:
    new_database(path)
    store = SqliteStore(path, SetClock())
    for n in range(count):
        store.transact(lambda tx, n=n: tx.jobs.upsert(a_job(f"job{n}"), signature="s", meaning="m", actor="test"))
    store.close()


def test_S8_O23_processes_that_claim_at_once_share_the_due_rows_out(tmp_path: Path) -> None:
    path = str(tmp_path / "runtime.db")
    with_jobs(path, 60)
    shares = in_processes(3, claim_all, path)
    keys = [key for share in shares for key in share]
    assert len(keys) == len(set(keys)) == 60


def test_S8_threads_that_claim_at_once_share_the_due_rows_out(tmp_path: Path) -> None:
    path = str(tmp_path / "runtime.db")
    with_jobs(path, 40)
    barrier = Barrier(3)

    def work(name: str) -> list[str]:
        store = SqliteStore(path, SetClock(at("08:01")))
        owner = an_owner(name)
        store.transact(lambda tx: tx.runs.sign_on(owner, "test"))
        barrier.wait()
        mine: list[str] = []
        while claims := store.transact(lambda tx: tx.runs.claim_due(owner, 3)):
            mine += [claim.key for claim in claims]
        store.close()
        return mine

    with ThreadPoolExecutor(3) as pool:
        shares = list(pool.map(work, ("g1", "g2", "g3")))
    keys = [key for share in shares for key in share]
    assert len(keys) == len(set(keys)) == 40


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_newer_schema_is_refused_and_not_touched(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "runtime.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA journal_mode = {mode}")
    db.execute("CREATE TABLE of_the_future (x)")
    db.execute("PRAGMA user_version = 9999")
    db.close()
    before = path.read_bytes()
    with pytest.raises(NewerStore) as refused:
        SqliteStore(str(path), SetClock())
    assert refused.value.details["schema"] == 9999
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["runtime.db"]


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"
    path.write_bytes(b"hello, I am a text file\n" * 100)
    with pytest.raises(Trouble, match="damaged or no database"):
        SqliteStore(str(path), SetClock())
    assert path.read_bytes().startswith(b"hello")


def test_a_migration_that_fails_leaves_the_old_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "9998_bad.sql"
    bad.write_text("CREATE TABLE half (x);\nCREATE TABLE half (x);\n")
    path = tmp_path / "runtime.db"
    new_database(str(path))
    monkeypatch.setattr("horae.store.migrate.steps", lambda: [*steps(), (9998, str(bad))])
    with pytest.raises(Trouble):
        SqliteStore(str(path), SetClock())
    monkeypatch.undo()
    store = SqliteStore(str(path), SetClock())
    assert store.db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone()[0] == 0
    store.close()


# ── an old database


ROWS: dict[str, list[dict[str, Any]]] = {  # of each table, as the first schema had them
    "fence": [{"id": 1, "token": 7}],
    "gateway": [
        {"id": "g0", "host": "h", "boot": "b", "pid": 1, "pid_started": 1, "version": "0.1", "since_at": 5, "stopped_at": 6}
    ],
    "job": [
        {
            "id": name * 12, "slug": name, "name": name.upper(), "schedule": "* * * * *", "timezone": "UTC", "meaning": "m",
            "definition": json.dumps(definition(a_job(name, id=name * 12, schedule="* * * * *"))), "cadence": "c",
            "digest": "d", "signature": "s", "anchor_at": us(START), "cursor_at": us(at("08:01")), "enabled": 1,
            "repeat_max": None, "counted": 2, "ending": None, "problem": None, "paused_at": None, "paused_by": None,
            "paused_reason": None, "completed_at": None, "completed_reason": None, "removed_at": None,
            "created_at": us(START), "changed_at": us(START),
        }
        | given
        for name, given in (
            ("a", {}),
            ("b", {"paused_at": us(START), "paused_by": "person", "paused_reason": "rest"}),
            ("c", {"completed_at": us(START), "completed_reason": "done", "cursor_at": None}),
            ("d", {"removed_at": us(START), "problem": "{}", "cursor_at": None}),
        )
    ],
    "occurrence": [
        {
            "key": key, "job_id": "a" * 12, "trigger": "schedule", "slot_at": us(slot), "due_at": us(slot), "offset_s": 0,
            "state": "planned", "outcome": None, "reason": None, "exception": None, "attempts": 0, "missed": 0,
            "run_id": None, "input": None, "span_to": None, "span_count": None, "planned_at": us(START),
            "settled_at": None,
        }
        | given
        for key, slot, given in (
            ("ran", START, {"state": "settled", "outcome": "ran", "reason": "r", "attempts": 1, "settled_at": us(START)}),
            (slot_key("a" * 12, at("08:01")), at("08:01"), {}),
            (slot_key("a" * 12, at("08:05")), at("08:05"), {"exception": "skip"}),
        )
    ],
    "run": [
        {
            "id": "r1", "key": "ran", "job_id": "a" * 12, "attempt": 1, "token": 7, "gateway_id": "g0",
            "state": "completed", "reason": "exit status 0", "claimed_at": us(START), "started_at": us(START),
            "finished_at": us(START), "pid": 9, "pid_started": 9, "exit_code": 0, "signal": None, "tokens": None,
            "cost_usd": None,
        }
    ],
    "output": [
        {"run_id": "r1", "message": "m", "stdout": "o", "stderr": "e", "stdout_cut": 0, "stderr_cut": 1}
    ],
    "delivery": [
        {
            "id": 3, "run_id": "r1", "target": "local", "state": "delivered", "title": "t", "alert": 0, "attempts": 1,
            "reason": None, "evidence": "e", "created_at": us(START), "changed_at": us(START),
        }
    ],
    "journal": [
        {"seq": 1, "at": 5, "actor": "gateway", "what": "created", "job_id": "a" * 12, "key": None, "run_id": None,
         "detail": "{}"}
    ],
}  # fmt: skip


def a_database_of_schema(number: int, path: Path) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for step, file in steps():
        if step <= number:
            for statement in statements(Path(file).read_text(encoding="utf-8")):
                db.execute(statement)
    db.execute(f"PRAGMA user_version = {number}")
    for table, rows in ROWS.items():
        for row in rows:
            db.execute(
                f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
            )
    db.close()


NEW_OF_DELIVERY: dict[str, Any] = {  # what the eighth schema makes of one that had arrived
    **dict.fromkeys(("incident_id", "body", "batch", "token", "gateway_id", "seen_at")),
    "job_id": "a" * 12,
    "kind": "result",
    "address": "local",
    "round": 0,
    "format": "text",
    "digest": 0,
    "doubt": 0,
    "due_at": us(START),
    "expires_at": us(START + timedelta(days=30)),
    "followed_at": us(START),
}


def test_P4_what_an_older_version_was_sending_when_it_ended_is_unknown(tmp_path: Path) -> None:
    """What it had not begun to send is sent."""
    path = tmp_path / "runtime.db"
    a_database_of_schema(7, path)
    db = sqlite3.connect(path, isolation_level=None)
    for number, state in ((4, "sending"), (5, "pending")):
        db.execute(
            "INSERT INTO delivery (id, run_id, target, state, title, alert, created_at, changed_at)"
            " VALUES (?, 'r1', ?, ?, 't', 0, ?, ?)",
            (number, state, state, us(START), us(START)),
        )
    db.close()
    store = SqliteStore(str(path), SetClock(at("08:02:10")))
    found = store.db.execute("SELECT target, state FROM delivery ORDER BY id").fetchall()
    assert [tuple(row) for row in found] == [("local", "delivered"), ("sending", "unknown"), ("pending", "pending")]
    (parcel,) = store.transact(lambda tx: tx.outbox.take_due(an_owner("g1"), 10))
    assert (parcel.address, [item.body for item in parcel.items]) == ("pending", ["m"])
    store.close()


def test_O2_a_database_of_the_first_schema_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runtime.db"
    a_database_of_schema(1, path)
    store = SqliteStore(str(path), SetClock(at("08:02:10")))
    assert store.schema == steps()[-1][0]
    for table, rows in ROWS.items():
        found = [dict(row) for row in store.db.execute(f"SELECT * FROM {table} ORDER BY 1")]
        old = [{name: row[name] for name in rows[0]} for row in found]
        assert old == sorted(rows, key=lambda row: str(next(iter(row.values())))), table
        assert all(row.get("cadence_at") == row.get("anchor_at") for row in found), "until then one column said both"
        known = {*rows[0], "state", "cadence_at"}
        new = {name: value for row in found for name, value in row.items() if name not in known}
        if table == "delivery":
            assert new == NEW_OF_DELIVERY
            continue
        assert set(new.values()) <= {None, 0, ""}, f"{table} must mean what it meant before"
    fresh = master(tmp_path)
    assert dict(store.db.execute("SELECT name, sql FROM sqlite_master")) == fresh
    owner = an_owner("g1")
    store.transact(lambda tx: tx.runs.sign_on(owner, "test"))
    (claim,) = store.transact(lambda tx: tx.runs.claim_due(owner, 10))
    assert (claim.job_id, claim.slot, claim.missed, claim.token) == ("a" * 12, at("08:02"), 1, 8)
    assert store.transact(lambda tx: tx.runs.next_due()) == at("08:03")
    store.close()


# ── the schema says what core/states.py says


def quoted(states: tuple[str, ...]) -> str:
    return ", ".join(f"'{state}'" for state in states)


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("occurrence", "state", tuple(OCCURRENCE)),
        ("occurrence", "outcome", OUTCOMES),
        ("occurrence", "trigger", TRIGGERS),
        ("run", "state", tuple(RUN)),
        ("delivery", "state", tuple(DELIVERY)),
    ],
)
def test_the_newest_schema_allows_exactly_the_states_of_the_tables(
    tmp_path: Path, table: str, column: str, values: tuple[str, ...]
) -> None:
    sql = master(tmp_path)[table]
    assert f"CHECK ({column} IN ({quoted(values)}))" in " ".join(sql.split()).replace("IN ( ", "IN (")


@pytest.mark.parametrize(
    ("trigger", "table"), [("occurrence_settled", OCCURRENCE), ("run_terminal", RUN), ("delivery_terminal", DELIVERY)]
)
def test_the_newest_schema_guards_exactly_the_terminal_states(tmp_path: Path, trigger: str, table: Any) -> None:
    assert f"OLD.state IN ({quoted(terminal(table))})" in " ".join(master(tmp_path)[trigger].split())


def master(folder: Path) -> dict[str, str]:
    path = folder / "m.db"
    new_database(str(path))
    db = sqlite3.connect(path)
    found = dict(db.execute("SELECT name, sql FROM sqlite_master"))
    db.close()
    return found
