"""Opening a database: a new one, many at once, one from the future, one that is none."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from horae.core.states import DELIVERY, OCCURRENCE, OUTCOMES, RUN, TRIGGERS, terminal
from horae.errors import NewerStore, Trouble
from horae.store.migrate import steps
from horae.store.sqlite import SqliteStore, alone
from tests.support.builders import SetClock, a_job, an_owner, at
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


def test_ten_processes_that_open_a_new_database_at_once_migrate_it_once(tmp_path: Path) -> None:
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


def test_S8_processes_that_claim_at_once_share_the_due_rows_out(tmp_path: Path) -> None:
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
    assert store.db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)
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
