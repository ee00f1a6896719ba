"""What only PostgreSQL has: a server to reach, a schema that many open at once, and connections that are lost."""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

from horae.core.instants import from_us
from horae.core.model import Owner
from horae.errors import Conflict, NewerStore, Problem, Refused, Trouble
from horae.store import postgresschema
from horae.store import writer as writing
from horae.store.doubt import InDoubt
from horae.store.postgres import PostgresStore
from horae.store.postgresbulk import bulk
from horae.store.postgreslisten import Listener
from horae.store.postgresreaders import Readers, open_reader
from horae.store.postgresschema import steps
from horae.store.writer import GroupWriter
from tests.contract.test_store_migrate import ROWS
from tests.support.builders import START, SetClock, a_job, addressed, an_ending, an_owner, at, us
from tests.support.postgres import (
    GUARDED,
    PASSWORD,
    Cluster,
    Database,
    NoServer,
    shared_cluster,
    short_folder,
    take_database,
)
from tests.support.servers import server_or_skip

FORK = multiprocessing.get_context("fork")
NEWEST = steps()[-1][0]
GATEWAY = "g1"


@pytest.fixture
def database() -> Iterator[Database]:
    with server_or_skip():
        found = take_database()
    yield found
    found.give_back()


@pytest.fixture
def store(database: Database) -> Iterator[PostgresStore]:
    made = PostgresStore(database.url, chain=GATEWAY)
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[psycopg.Connection[Any]]:
    """The server itself, for databases and roles of one test."""
    with server_or_skip():
        cluster = shared_cluster()
    with psycopg.connect(cluster.url(), autocommit=True) as link:
        yield link


@pytest.fixture
def empty(server: psycopg.Connection[Any]) -> Iterator[Callable[..., str]]:
    """Makes databases without tables; they are gone afterwards."""
    made: list[str] = []

    def make(words: str = "") -> str:
        name = f"e{server.info.backend_pid}_{len(made)}"
        server.execute(f"CREATE DATABASE {name} {words}".encode())
        made.append(name)
        return shared_cluster().url(name)

    yield make
    for name in made:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def said(what: str) -> Any:
    return lambda tx: tx.journal.append(what, actor="test")


def whats(database: Database) -> list[str]:
    return [what for (what,) in database.beside.execute("SELECT what FROM journal ORDER BY seq")]


def cut(database: Database, store: PostgresStore) -> None:
    """The server ends this store's connection, as a restart would."""
    pid = store.db.link.info.backend_pid
    database.beside.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


# ── opening


def open_once(url: str, barrier: Any, answers: Any) -> None:
    barrier.wait()
    try:
        store = PostgresStore(url)
        answers.put(store.schema)
        store.close()
    except BaseException as error:
        answers.put(repr(error))


def ten_at_once(url: str) -> list[Any]:
    barrier, answers = FORK.Barrier(10), FORK.Queue()
    processes = [FORK.Process(target=open_once, args=(url, barrier, answers), daemon=True) for _ in range(10)]
    for process in processes:
        process.start()
    found = [answers.get(timeout=30) for _ in processes]
    for process in processes:
        process.join(30)
    return found


def test_O20_ten_processes_that_open_an_empty_database_at_once_migrate_it_once(empty: Callable[..., str]) -> None:
    assert ten_at_once(empty()) == [NEWEST] * 10


def test_O20_ten_processes_that_open_an_old_database_at_once_migrate_it_once(
    database: Database, empty: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = empty()
    PostgresStore(url).close()
    shutil.copytree(postgresschema.FOLDER, tmp_path / "steps")
    (tmp_path / "steps" / "9000_more.sql").write_text("CREATE TABLE more (x BIGINT); INSERT INTO more VALUES (1);")
    monkeypatch.setattr(postgresschema, "FOLDER", str(tmp_path / "steps"))
    assert open_reader(url) is None, "whoever only reads does not migrate"
    assert ten_at_once(url) == [9000] * 10
    with psycopg.connect(url) as link:
        assert link.execute("SELECT * FROM more").fetchall() == [(1,)]


NEW_IN_5: dict[str, dict[str, Any]] = {  # what rows of the first schema may have besides, by the fifth
    "gateway": {"lease_until": 11, "lost_at": 12, "labels": "gpu", "draining": 1},
    "job": {
        "clock_gap": "after", "clock_repeat": "both", "cadence_at": 13, "starts_at": us(at("07:00")),
        "ends_at": us(at("12:00")), "spread_s": 7, "runs_on": "gpu", "concurrency_group": "g", "priority": 3,
    },
    "occurrence": {"priority": 3, "waits_for": None},
    "run": {"cancel_reason": "enough", "resolved_by": "anna", "resolved_at": 15, "pruned": 1},
    "output": {"pruned_at": 16},
    "journal": {"chain": "g0", "number": 1, "hash": "h", "undoable": 1, "undoes": None, "redo": 0, "was_key": "w"},
}  # fmt: skip
TABLES_OF_5: dict[str, list[dict[str, Any]]] = {
    "journal_chain": [{"chain": "g0", "number": 1, "hash": "h"}],
    "journal_marker": [{"chain": "g0", "number": 1, "hash": "h", "count": 1, "at": 5, "signer": "s", "signature": "x"}],
    "zone_data": [{"id": 1, "version": "2025b"}],
    "document": [
        {"kind": "job", "name": "a", "digest": "d", "text": "t", "mode": 420, "changed_at": 5, "changed_by": "anna"}
    ],
}
CATALOGUE = (
    "SELECT table_name, column_name, data_type, is_nullable, column_default, generation_expression, ordinal_position"
    " FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"
)
INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"


def of_schema_5() -> dict[str, list[dict[str, Any]]]:
    """Rows of every table, with a value in every column that the fifth schema had."""
    rows = {table: [row | NEW_IN_5.get(table, {}) for row in of_1] for table, of_1 in ROWS.items() if table != "fence"}
    rows["occurrence"].append(
        rows["occurrence"][1] | {"key": "w", "slot_at": 1, "run_id": "m" * 16, "waits_for": "run"}
    )
    rows["occurrence"][-1] |= {"trigger": "manual", "input": "text", "due_at": 2**60}
    return rows | TABLES_OF_5


def test_O2_a_store_of_the_fifth_schema_loses_nothing(
    empty: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one that PostgreSQL had."""
    url, fresh, kept = empty(), empty(), of_schema_5()
    with monkeypatch.context() as then:
        ((number, first), *_) = steps()
        (tmp_path / "steps").mkdir()
        shutil.copy(first, tmp_path / "steps")
        then.setattr(postgresschema, "FOLDER", str(tmp_path / "steps"))
        old = PostgresStore(url)
        assert old.schema == number == 5
        old.close()
    with psycopg.connect(url, autocommit=True) as link:
        for table, rows in kept.items():
            for row in rows:
                marks = ", ".join(["%s"] * len(row))
                link.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})".encode(), [*row.values()])
        link.execute("SELECT setval('fence_token', 7), setval('journal_seq', 1)")
        before = {table: link.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall() for table in kept}
        store = PostgresStore(url, SetClock(at("08:02:10")))
        assert store.schema == NEWEST > 5
        for table, rows in before.items():
            found = link.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall()
            assert [row[: len(rows[0])] for row in found] == rows, table
            new = {value for row in found for value in row[len(rows[0]) :]}
            then = {us(START), us(START + timedelta(days=30))}
            of_eight = {"a" * 12, "result", "local", "text", *then} if table == "delivery" else set()
            assert new <= {None, 0, "", *of_eight}, "as it was before"
        PostgresStore(fresh).close()
        with psycopg.connect(fresh) as newly:
            for question in (CATALOGUE, INDEXES):
                assert link.execute(question).fetchall() == newly.execute(question).fetchall()
    owner = an_owner("g1")
    store.transact(lambda tx: tx.runs.sign_on(owner, "test"))
    assert store.transact(lambda tx: tx.runs.claim_due(owner, 10)) == [], "it asks for labels that this one has not"
    (claim,) = store.transact(lambda tx: tx.runs.claim_due(Owner("g2", "h", "b", 1, 1, frozenset({"gpu"})), 10))
    assert (claim.job_id, claim.slot, claim.missed, claim.token) == ("a" * 12, at("08:02"), 1, 8)
    store.close()


def test_a_step_that_fails_leaves_the_schema_as_it_was(
    empty: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = empty()
    PostgresStore(url).close()
    shutil.copytree(postgresschema.FOLDER, tmp_path / "steps")
    (tmp_path / "steps" / "9000_more.sql").write_text("CREATE TABLE half (x BIGINT); SELEKT;")
    monkeypatch.setattr(postgresschema, "FOLDER", str(tmp_path / "steps"))
    with pytest.raises(Trouble, match="SELEKT"):
        PostgresStore(url)
    with psycopg.connect(url) as link:
        assert link.execute("SELECT to_regclass('half'), version FROM schema_version").fetchone() == (None, NEWEST)


def test_a_newer_schema_is_refused_and_not_touched(database: Database) -> None:
    database.beside.execute("UPDATE schema_version SET version = 9999")
    try:
        for opening in (PostgresStore, open_reader):
            with pytest.raises(NewerStore) as refused:
                opening(database.url)
            assert refused.value.details["schema"] == 9999
    finally:
        database.beside.execute("UPDATE schema_version SET version = %s", (NEWEST,))


def test_a_schema_that_was_migrated_meanwhile_is_noticed_by_whoever_comes_back(
    database: Database, store: PostgresStore
) -> None:
    database.beside.execute("UPDATE schema_version SET version = 9999")
    cut(database, store)
    with pytest.raises(NewerStore):
        store.transact(said("late"))
    database.beside.execute("UPDATE schema_version SET version = %s", (NEWEST,))
    store.transact(said("after"))
    assert whats(database) == ["after"]


def test_a_schema_of_its_own_in_a_database_of_others(empty: Callable[..., str]) -> None:
    url = empty()
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("CREATE TABLE job (of_another BIGINT)")
        link.execute("CREATE SCHEMA its_own")
        with pytest.raises(Refused, match="table job that is not Horae's") as refused:
            PostgresStore(url)
        assert "search_path" in str(refused.value.hint)
        own = f"{url}&options=-csearch_path%3Dits_own"
        store = PostgresStore(own)
        store.transact(said("there"))
        store.close()
        assert link.execute("SELECT what FROM its_own.journal").fetchall() == [("there",)]
        assert link.execute(
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
        ).fetchone() == (1,)


# ── what is in the way is named


def refusal(url: str) -> Problem:
    with pytest.raises(Problem) as raised:
        PostgresStore(url)
    assert "secret" not in str(raised.value.as_json())
    assert raised.value.hint
    return raised.value


def role(server: psycopg.Connection[Any], name: str, words: str) -> None:
    with suppress(errors.DuplicateObject, errors.UniqueViolation):  # another worker's test was first
        server.execute(f"CREATE ROLE {name} LOGIN {words}".encode())


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    problem = refusal(f"postgresql://horae:secret@/horae?host={tmp_path}")
    assert isinstance(problem, Trouble)
    assert "cannot be reached" in problem.message


def test_a_database_that_is_not_there(server: psycopg.Connection[Any]) -> None:
    problem = refusal(shared_cluster().url("nowhere"))
    assert 'database "nowhere" does not exist' in problem.message
    assert "createdb" in str(problem.hint)


def test_a_schema_that_is_not_there(database: Database) -> None:
    problem = refusal(f"{database.url}&options=-csearch_path%3Dnowhere")
    assert "CREATE SCHEMA" in str(problem.hint)


def test_a_wrong_password(server: psycopg.Connection[Any], database: Database) -> None:
    role(server, GUARDED, f"PASSWORD '{PASSWORD}'")
    problem = refusal(database.cluster.url(database.name, GUARDED, "secret"))
    assert f'password authentication failed for user "{GUARDED}"' in problem.message
    assert "pgpass" in str(problem.hint)
    right = database.cluster.url(database.name, GUARDED, PASSWORD)
    assert "does not permit" in refusal(right).message  # it is let in, and has no rights to the tables


def test_a_role_without_rights(server: psycopg.Connection[Any], empty: Callable[..., str]) -> None:
    role(server, "plain", "")
    problem = refusal(empty().replace("horae@", "plain@"))
    assert "permission denied for schema public" in problem.message
    assert "GRANT" in str(problem.hint)


def test_a_role_without_connections_left(server: psycopg.Connection[Any], database: Database) -> None:
    role(server, "lonely", "CONNECTION LIMIT 0")
    problem = refusal(database.url.replace("horae@", "lonely@"))
    assert "no more connections" in problem.message
    assert "max_connections" in str(problem.hint)


def test_an_encoding_that_cannot_hold_every_name(empty: Callable[..., str]) -> None:
    problem = refusal(empty("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0 LOCALE_PROVIDER libc"))
    assert isinstance(problem, Refused)
    assert "LATIN1" in problem.message


def test_an_old_server(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresschema, "OLDEST_SERVER", 990000)
    assert "needs 99 or newer" in refusal(database.url).message


def test_a_database_that_is_read_only(empty: Callable[..., str], server: psycopg.Connection[Any]) -> None:
    url = empty()
    store = PostgresStore(url)
    server.execute(f"ALTER DATABASE {store.db.link.info.dbname} SET default_transaction_read_only = on".encode())
    store.db.link.close()
    with pytest.raises(Trouble, match="read-only"):
        store.transact(said("no"))
    reader = open_reader(url)
    assert reader is not None
    assert reader.counts() == {}
    reader.close()
    store.close()


def test_a_lock_that_is_held_too_long_is_a_conflict(database: Database) -> None:
    database.beside.execute("INSERT INTO zone_data VALUES (1, 'x')")
    store = PostgresStore(f"{database.url}&options=-clock_timeout%3D50")
    with psycopg.connect(database.url) as holder:
        holder.execute("SELECT 1 FROM zone_data FOR UPDATE")
        with pytest.raises(Conflict, match="held a lock"):
            store.transact(lambda tx: tx.zones.record(0))
    store.transact(lambda tx: tx.zones.record(0))
    store.close()


def test_of_two_that_wait_for_each_other_one_gives_way(database: Database) -> None:
    for n in (1, 2):
        database.beside.execute("INSERT INTO journal_chain VALUES (%s, 0, '')", (f"c{n}",))
    touch = "UPDATE journal_chain SET number = number + 1 WHERE chain = ?"
    meeting = threading.Barrier(2)

    def work(first: str, second: str) -> str:
        store = PostgresStore(f"{database.url}&options=-cdeadlock_timeout%3D20")
        try:
            with store.named(), store.transaction():
                store.db.execute(touch, (first,))
                meeting.wait(10)
                store.db.execute(touch, (second,))
        except Conflict as error:
            return error.message
        finally:
            store.close()
        return "written"

    with ThreadPoolExecutor(2) as pool:
        answers = sorted(pool.map(work, ("c1", "c2"), ("c2", "c1")))
    assert answers[1] == "written"
    assert "waited for each other" in answers[0]
    assert database.beside.execute("SELECT sum(number) FROM journal_chain").fetchone() == (2,)


# ── one transaction


def test_now_is_the_databases_clock_in_the_transaction(store: PostgresStore) -> None:
    seen = [store.transact(lambda tx: tx.now) for _ in range(3)]
    ((theirs,),) = store.db.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").fetchall()
    assert seen == sorted(set(seen)), "read anew each time"
    assert timedelta(0) <= from_us(theirs) - seen[-1] < timedelta(seconds=60)
    assert seen[0].tzinfo is UTC


def test_a_clock_that_is_given_is_used(database: Database) -> None:
    store = PostgresStore(database.url, SetClock(datetime(2030, 1, 1, tzinfo=UTC)))
    assert store.transact(lambda tx: tx.now) == datetime(2030, 1, 1, tzinfo=UTC)
    store.close()


def test_what_a_program_prints_can_be_kept_whatever_it_is(database: Database) -> None:
    store = PostgresStore(database.url, clock := SetClock())
    owner = an_owner()
    store.transact(lambda tx: tx.runs.sign_on(owner, "test"))
    store.transact(lambda tx: tx.jobs.upsert(a_job(), signature="s", meaning="m", actor="test"))
    clock.time = at("08:01")
    (claim,) = store.transact(lambda tx: tx.runs.claim_due(owner, 10))
    store.transact(lambda tx: tx.runs.start_all([claim]))
    text = "a\0b 100 % ? :x \\ ' \" \U0001f600 \x1b[0m"
    store.transact(lambda tx: tx.runs.finish(claim, an_ending(message=text, reason=text), addressed(claim)))
    reader = open_reader(database.url)
    assert reader is not None
    assert reader.output(claim.run_id)["message"] == text.replace("\0", "\u2400")
    reader.close()
    store.close()


def test_values_keep_their_kind_whatever_their_size(store: PostgresStore) -> None:
    for value in (0, 1, -1, 2**15, 2**31, 2**62, -(2**63), True, False):
        ((kind, found),) = store.db.execute("SELECT pg_typeof(v)::text, v FROM (SELECT ? AS v) x", (value,)).fetchall()
        assert (kind, found) == ("bigint", int(value))
    assert store.db.execute(f"SELECT 2 WHERE {store.db.among('2')}", (store.db.listed([1, 2]),)).fetchall() == [(2,)]
    assert store.db.execute(f"SELECT 2 WHERE {store.db.among('2')}", (store.db.listed([]),)).fetchall() == []
    words = store.db.listed(["a", "b", "c"])
    assert store.db.execute(f"SELECT 1 WHERE {store.db.among(chr(39) + 'b' + chr(39))}", (words,)).rowcount == 1


PUT = "INSERT INTO document (kind, name, digest, text, mode, changed_at, changed_by) VALUES ('job', ?, ?, ?, ?, ?, 'test')"
TEXTS = [
    "",
    "NULL",
    "a,b",
    '{"a": "b\\\\c"}',
    "it's ? :x %s %",
    "a\nb\tc",
    "\u2028 \U0001f600 ä",
    "\\",
    '"',
    "a\0b",
    " {}",
]


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "one by one"])
def test_many_rows_arrive_as_they_were_whichever_way_they_go(store: PostgresStore, at_once: bool) -> None:
    rows = [(f"n{n}", text, text, n - 5, 2**62 - n) for n, text in enumerate(TEXTS)]
    with store.transaction():
        for part in [rows] if at_once else [[row] for row in rows]:
            assert store.db.executemany(PUT, part).rowcount == len(part)
    found = store.db.execute("SELECT name, digest, text, mode, changed_at FROM document ORDER BY mode").fetchall()
    assert found == [(name, *[text.replace("\0", "\u2400")] * 2, *numbers) for name, text, _, *numbers in rows]


def test_an_update_of_many_says_how_many_it_met_and_keeps_the_order_where_it_counts(store: PostgresStore) -> None:
    move = "UPDATE journal_chain SET number = ?, hash = coalesce(?, hash) WHERE chain = ? AND number < ?"
    assert bulk(move) is None, "of this nothing says that it meets a row once: it goes row by row"
    start = "UPDATE gateway SET draining = ?, host = coalesce(?, host) WHERE id = ? AND pid < ?"
    for name in ("g1", "g2", "g3"):
        store.transact(lambda tx, name=name: tx.runs.sign_on(an_owner(name), "test"))
    met = store.db.executemany(
        start, [(7, "a", "g1", 9999), (8, None, "g2", 9999), (9, "c", "g3", 0), (9, "c", "no", 9999)]
    )
    assert met.rowcount == 2
    assert store.db.execute("SELECT draining, host FROM gateway ORDER BY id").fetchall() == [
        (7, "a"),
        (8, "host"),
        (0, "host"),
    ]
    twice = store.db.executemany(start, [(1, "x", "g1", 9999), (2, "y", "g1", 9999)])
    assert twice.rowcount == 2
    assert store.db.execute("SELECT draining, host FROM gateway WHERE id = 'g1'").fetchall() == [(2, "y")]


def test_a_clash_among_many_takes_none_of_them(store: PostgresStore) -> None:
    rows = [("a", "d", "t", 1, 1), ("b", "d", "t", 1, 1), ("a", "d", "t", 1, 1)]
    with pytest.raises(store.db.clash, match="document_pkey"):
        store.db.executemany(PUT, rows)
    assert store.db.execute("SELECT * FROM document").fetchall() == []


def test_numbers_that_rise_are_given_to_nobody_twice(database: Database) -> None:
    def take(_: int) -> list[int]:
        store = PostgresStore(database.url)
        try:
            return [n for _ in range(5) for n in store.transact(lambda tx: store.db.next_tokens(7))]
        finally:
            store.close()

    with ThreadPoolExecutor(3) as pool:
        shares = list(pool.map(take, range(3)))
    assert all(share == sorted(share) for share in shares)
    assert sorted(n for share in shares for n in share) == list(range(1, 106))


def test_S8_gateways_that_claim_at_once_share_the_due_rows_out(database: Database) -> None:
    clock = SetClock()
    setup = PostgresStore(database.url, clock)
    for n in range(60):
        setup.transact(lambda tx, n=n: tx.jobs.upsert(a_job(f"job{n}"), signature="s", meaning="m", actor="test"))
    setup.close()
    clock.time = at("08:01")
    meeting = threading.Barrier(3)

    def work(name: str) -> list[tuple[str, int]]:
        store, owner = PostgresStore(database.url, clock, chain=name), an_owner(name)
        store.transact(lambda tx: tx.runs.sign_on(owner, "test"))
        mine: list[tuple[str, int]] = []
        meeting.wait(10)
        while True:
            claims, due = store.transact(lambda tx: (tx.runs.claim_due(owner, 7), tx.runs.next_due()))
            mine += [(claim.key, claim.token) for claim in claims]
            if due is not None and due >= at("08:02"):  # nothing was left out because another was at it
                store.close()
                return mine

    with ThreadPoolExecutor(3) as pool:
        shares = list(pool.map(work, ("g1", "g2", "g3")))
    claimed = [each for share in shares for each in share]
    assert len(claimed) == len({key for key, _ in claimed}) == len({token for _, token in claimed}) == 60
    rows = database.beside.execute(
        "SELECT chain, max(number), count(*) FROM journal WHERE chain <> 'people' GROUP BY chain"
    )
    assert all(last == count for _, last, count in rows), "each gateway has a chain of its own, without gaps"


def test_a_transaction_that_fails_leaves_nothing_and_the_next_one_works(
    database: Database, store: PostgresStore
) -> None:
    def work(tx: Any) -> None:
        said("half")(tx)
        tx.journal.flush()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        store.transact(work)
    with pytest.raises(Trouble, match="SELEKT"):
        store.transact(lambda tx: store.db.execute("SELEKT"))
    store.transact(said("whole"))
    assert whats(database) == ["whole"]


# ── connections that are lost


def test_a_connection_that_was_lost_between_two_transactions_is_not_even_noticed(
    database: Database, store: PostgresStore
) -> None:
    for n in range(3):
        store.transact(said(f"n{n}"))
        cut(database, store)
    store.transact(said("last"))
    assert whats(database) == ["n0", "n1", "n2", "last"]


def test_one_that_was_lost_in_a_transaction_takes_it_along(database: Database, store: PostgresStore) -> None:
    def work(tx: Any) -> None:
        said("half")(tx)
        tx.journal.flush()
        cut(database, store)
        said("other half")(tx)

    with pytest.raises(Trouble, match="cannot be reached") as lost:
        store.transact(work)
    assert not isinstance(lost.value, InDoubt), "the COMMIT was not even sent"
    store.transact(said("after"))
    assert whats(database) == ["after"]


def test_a_gateways_writer_does_again_what_was_lost_and_only_that(
    database: Database, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "RETRY_S", 0.01)
    troubles: list[Problem | None] = []
    writer = GroupWriter(store, troubles.append)
    writer.start()
    losses = iter([True, False])

    def work(tx: Any) -> int:
        entry = tx.journal.append("done", actor="test")
        if next(losses, False):
            cut(database, store)
            tx.journal.flush()
        return entry

    asyncio.run(writer.commit(work))
    writer.close()
    assert whats(database) == ["done"]


class Cable:
    """Between the store and its server: cut before or after the server has seen the COMMIT."""

    def __init__(self, database: Database, store: PostgresStore, *, arrives: bool) -> None:
        self.database, self.store, self.arrives = database, store, arrives
        self.sent: tuple[str, ...] = ()
        self.whole = store.db.at_once
        store.db.at_once = self.at_once  # pyright: ignore[reportAttributeAccessIssue]

    def at_once(self, *statements: str) -> Any:
        if statements[-1] != "COMMIT":
            return self.whole(*statements)
        self.sent = statements
        if self.arrives:
            self.whole(*statements)
        cut(self.database, self.store)
        self.store.db.at_once = self.whole
        return self.whole("SELECT 1")  # which notices that the connection is gone


def test_a_commit_that_arrived_and_whose_answer_was_lost_is_made_once(database: Database, store: PostgresStore) -> None:
    for n in range(3):
        Cable(database, store, arrives=True)
        assert store.transact(said(f"n{n}")) > 0
    assert whats(database) == ["n0", "n1", "n2"]


def test_a_commit_that_never_arrived_is_in_doubt_and_then_known_not_to_have_been_made(
    database: Database, store: PostgresStore
) -> None:
    Cable(database, store, arrives=False)
    with pytest.raises(InDoubt) as doubt:
        store.transact(said("lost"))
    assert "horae list" in str(doubt.value.hint)
    assert store.happened() is False, "it has been asked already"
    store.transact(said("again"))
    assert whats(database) == ["again"]


@pytest.mark.parametrize("arrives", [True, False])
def test_a_gateways_writer_finds_out_and_writes_once(database: Database, store: PostgresStore, arrives: bool) -> None:
    writer = GroupWriter(store)
    told: list[str] = []
    store.listen(lambda entries: told.extend(entry.what for entry in entries))
    Cable(database, store, arrives=arrives)
    writer.start()
    asyncio.run(writer.commit(said("once")))
    writer.close()
    assert whats(database) == ["once"]
    assert told == ["once"], "and everybody hears of it once"


def test_a_commit_that_was_asked_about_cannot_arrive_later(database: Database, store: PostgresStore) -> None:
    """The old connection may still hold the message: as if the network delivered it after the answer was given."""
    cable = Cable(database, store, arrives=False)
    with pytest.raises(InDoubt):
        store.transact(said("late"))
    with psycopg.connect(database.url, autocommit=True) as old:
        old.execute("BEGIN")
        old.execute("INSERT INTO zone_data VALUES (1, 'late')")
        with pytest.raises(errors.SerializationFailure):
            old.execute("; ".join(cable.sent).encode())
    assert database.beside.execute("SELECT * FROM zone_data").fetchall() == []


def test_an_answer_that_is_lost_itself_is_asked_for_again(database: Database, store: PostgresStore) -> None:
    Cable(database, store, arrives=True)

    def work() -> None:
        with store.transaction() as tx:
            said("once")(tx)
            tx.journal.flush()

    with pytest.raises(InDoubt):
        work()
    database.beside.execute("UPDATE commit_mark SET mark = mark + 2")  # asked, and the answer was lost
    assert store.happened() is True
    store.transact(said("next"))
    assert whats(database) == ["once", "next"]


def test_a_transaction_that_wrote_nothing_leaves_no_mark(database: Database, store: PostgresStore) -> None:
    def mark() -> Any:
        return database.beside.execute("SELECT mark FROM commit_mark").fetchall()

    store.transact(said("x"))
    before = mark()
    store.transact(lambda tx: tx.runs.next_due())
    assert mark() == before == [(1,)]
    store.transact(said("y"))
    assert mark() == [(2,)]


def test_people_leave_no_mark_and_are_told_to_look(database: Database) -> None:
    store = PostgresStore(database.url)
    Cable(database, store, arrives=True)
    with pytest.raises(InDoubt, match="may have been, or not"):
        store.transact(said("x"))
    store.close()
    assert database.beside.execute("SELECT * FROM commit_mark").fetchall() == []
    assert whats(database) == ["x"]


def test_a_gateway_that_closes_takes_its_mark_along(database: Database) -> None:
    store = PostgresStore(database.url, chain=GATEWAY)
    store.transact(said("x"))
    store.close()
    assert database.beside.execute("SELECT * FROM commit_mark").fetchall() == []


# ── readers


def test_readers_are_lent_again_and_survive_their_connection(database: Database) -> None:
    readers = Readers(database.url)
    pids = set()
    for _ in range(3):
        reader = readers.open()
        assert reader is not None
        pids.add(reader._db.link.info.backend_pid)  # pyright: ignore[reportAttributeAccessIssue]
        reader.close()
        reader.close()  # twice does no harm
    assert len(pids) == 1
    database.beside.execute("SELECT pg_terminate_backend(%s, 5000)", (pids.pop(),))
    reader = readers.open()
    assert reader is not None
    assert reader.counts() == {}
    several = [readers.open() for _ in range(6)]
    for each in (reader, *several):
        assert each is not None
        each.close()
    assert len(readers._idle) == 4
    readers.close()
    assert readers._idle == []


def test_a_reader_whose_connection_is_lost_says_so(database: Database) -> None:
    readers = Readers(database.url)
    reader = readers.open()
    assert reader is not None
    database.beside.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with pytest.raises(Trouble, match="cannot be reached"):
        reader.counts()
    reader.close()
    readers.close()


def test_many_threads_read_at_once(database: Database, store: PostgresStore) -> None:
    store.transact(lambda tx: tx.jobs.upsert(a_job(), signature="s", meaning="m", actor="test"))
    readers = Readers(database.url)

    def read(_: int) -> int:
        total = 0
        for _ in range(10):
            reader = readers.open()
            assert reader is not None
            total += reader.counts()["active"]
            reader.close()
        return total

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(read, range(6))) == [10] * 6
    readers.close()


# ── being told


def test_whoever_listens_is_told_of_commits_that_may_make_something_due(
    database: Database, store: PostgresStore
) -> None:
    told = threading.Semaphore(0)
    listener = Listener(database.url, told.release)
    try:
        assert told.acquire(timeout=20), "once at the beginning, for whatever came before"

        def quietly(tx: Any) -> None:
            tx.journal.append("nothing due", actor="gateway")

        def aloud(tx: Any) -> None:
            for _ in range(100):
                store.db.notify()

        store.transact(quietly)
        assert not told.acquire(timeout=0.2)
        store.transact(aloud)
        assert told.acquire(timeout=20)
        assert not told.acquire(timeout=0.2), "a hundred calls in one transaction are one notification"
        store.transact(quietly)
        assert not told.acquire(timeout=0.2), "and it does not stick"
    finally:
        listener.close()


def test_a_rolled_back_transaction_tells_nobody(database: Database, store: PostgresStore) -> None:
    told = threading.Semaphore(0)
    listener = Listener(database.url, told.release)
    try:
        assert told.acquire(timeout=20)

        def work(tx: Any) -> None:
            store.db.notify()
            raise RuntimeError("no")

        with pytest.raises(RuntimeError):
            store.transact(work)
        store.transact(lambda tx: tx.journal.append("x", actor="gateway"))
        assert not told.acquire(timeout=0.2)
    finally:
        listener.close()


def test_a_listener_that_was_cut_off_comes_back_and_looks(database: Database, store: PostgresStore) -> None:
    told = threading.Semaphore(0)
    listener = Listener(database.url, told.release)
    try:
        assert told.acquire(timeout=20)
        listening = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        ((pid,),) = database.beside.execute(listening).fetchall()
        database.beside.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        assert told.acquire(timeout=20), "it may have missed something"
        store.transact(lambda tx: store.db.notify())
        assert told.acquire(timeout=20)
    finally:
        listener.close()


def test_a_listener_without_a_server_ends_at_once_when_it_is_closed(tmp_path: Path) -> None:
    listener = Listener(f"postgresql://horae@/horae?host={tmp_path}", lambda: None)
    listener.close()
    listener.close()
    assert not listener._thread.is_alive()


def test_a_listener_whose_loop_is_closed_does_not_die_loudly(database: Database, store: PostgresStore) -> None:
    asked = threading.Semaphore(0)

    def told() -> None:
        asked.release()
        raise RuntimeError("Event loop is closed")

    listener = Listener(database.url, told)
    try:
        assert asked.acquire(timeout=20)
        store.transact(lambda tx: store.db.notify())
        assert asked.acquire(timeout=20)
    finally:
        listener.close()


def test_a_cluster_that_cannot_be_had_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(short_folder())
    monkeypatch.setattr("tests.support.postgres.binaries", lambda: cluster.folder)
    initdb = Path(cluster.folder, "initdb")
    initdb.write_text("#!/bin/sh\necho 'initdb (PostgreSQL) 14.0'\necho 'no room' >&2\n[ $1 = --version ]\n")
    initdb.chmod(0o755)
    try:
        with pytest.raises(NoServer, match="no room"):
            cluster.make()
    finally:
        cluster.remove()


def test_a_store_that_was_filled_a_moment_ago_is_not_planned_for_as_if_it_were_empty(
    empty: Callable[..., str],
) -> None:
    """Else a gateway without room would look at every due row for each of its runs."""
    people_url = empty()
    people = PostgresStore(people_url)
    for table in ("job", "occurrence"):
        people.db.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")  # which would get there later

    def known_after(jobs: int) -> set[float]:
        for n in range(jobs - 300, jobs):
            people.transact(lambda tx, n=n: tx.jobs.upsert(a_job(f"job{n}"), signature="s", meaning="m", actor="test"))
        PostgresStore(people_url, chain=f"g{jobs}").close()
        counted = people.db.execute("SELECT reltuples FROM pg_class WHERE relname IN ('job', 'occurrence')")
        return {count for (count,) in counted.fetchall()}

    assert known_after(300) == {300}
    assert known_after(600) == {300}, "what it knows something about it counts by itself"
    people.close()


def test_what_else_is_in_the_schema_keeps_no_gateway_from_starting(empty: Callable[..., str]) -> None:
    """Tables of other programs are not ours to count, and ours may be locked by whoever saves them."""
    url = empty()
    people = PostgresStore(url)
    people.transact(lambda tx: tx.jobs.upsert(a_job(), signature="s", meaning="m", actor="test"))
    people.db.at_once('CREATE TABLE "Order Lines" (x int)', 'INSERT INTO "Order Lines" VALUES (1)')
    with psycopg.connect(url) as saver:
        saver.execute("LOCK TABLE run, job IN SHARE UPDATE EXCLUSIVE MODE")
        saver.execute('LOCK TABLE "Order Lines" IN ACCESS EXCLUSIVE MODE')
        gateway = PostgresStore(url, chain="g1")
        assert gateway.transact(lambda tx: tx.jobs.by_slug("tides")) is not None
        gateway.close()
    people.close()
