"""Both schemas are one schema: tables, columns, indexes, lists of states and guards; and each hot statement has its index."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from horae.core.states import DELIVERY, EXCEPTIONS, OCCURRENCE, OUTCOMES, RUN, TRIGGERS, terminal
from horae.store.migrate import steps as sqlite_steps
from horae.store.postgresschema import steps as postgres_steps
from tests.support.postgres import Database, take_database
from tests.support.servers import server_or_skip
from tests.support.stores import SqliteUnderTest as UnderTest
from tests.support.world import new_database

OF_SQLITE = {"fence"}  # a sequence on PostgreSQL
OF_POSTGRES = {"schema_version", "commit_mark"}  # a pragma on SQLite; commits there have an answer
TYPES = {"INTEGER": "bigint", "TEXT": "text", "REAL": "double precision"}
Column = tuple[str, bool, str | None]  # type, whether it must be given, default


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    new_database(str(tmp_path / "s.db"))
    db = sqlite3.connect(tmp_path / "s.db")
    yield db
    db.close()


@pytest.fixture
def postgres() -> Iterator[Database]:
    with server_or_skip():
        database = take_database()
    yield database
    database.give_back()


def default_of(text: str | None) -> str | None:
    """A default without quotes and casts."""
    return None if text is None else re.sub(r"::\w+", "", text).strip("'")


def of_sqlite(db: sqlite3.Connection) -> dict[str, dict[str, Column]]:
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found: dict[str, dict[str, Column]] = {}
    for table in set(names) - OF_SQLITE:
        found[table] = {
            name: (TYPES[kind], bool(must or key), default_of(default))
            for _, name, kind, must, default, key, _ in db.execute(f"PRAGMA table_xinfo({table})")
        }
    return found


def of_postgres(database: Database) -> dict[str, dict[str, Column]]:
    found: dict[str, dict[str, Column]] = {}
    rows = database.beside.execute(
        "SELECT table_name, column_name, data_type, is_nullable = 'NO', column_default FROM information_schema.columns"
        " WHERE table_schema = 'public' ORDER BY ordinal_position"
    )
    for table, name, kind, must, default in rows:
        if table not in OF_POSTGRES:
            found.setdefault(table, {})[name] = (kind, must, default_of(default))
    return found


def test_both_stores_have_the_same_tables_and_columns(sqlite: sqlite3.Connection, postgres: Database) -> None:
    ours, theirs = of_sqlite(sqlite), of_postgres(postgres)
    assert set(ours) == set(theirs)
    for table in ours:
        assert ours[table] == theirs[table], table


def test_both_stores_are_at_the_same_step() -> None:
    assert sqlite_steps()[-1][0] == postgres_steps()[-1][0]


def indexes(script: str) -> dict[str, str]:
    """name → what it is on, of the indexes that are there at the end of a script."""
    plain = " ".join(re.sub(r"--[^\n]*", "", script).split())
    there: dict[str, str] = {}
    for found in re.finditer(r"CREATE (?:UNIQUE )?INDEX (\w+) ON [^;]+|DROP INDEX (\w+)", plain):
        if found[2]:
            del there[found[2]]
        else:
            there[found[1]] = found[0].rstrip("; ")
    return there


def test_both_stores_have_the_same_indexes(sqlite: sqlite3.Connection, postgres: Database) -> None:
    rows = sqlite.execute("SELECT sql || ';' FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    script = "\n".join(Path(file).read_text(encoding="utf-8") for _, file in postgres_steps())
    theirs = {name: text.replace(", key) WHERE", ") WHERE") for name, text in indexes(script).items()}  # SQLite adds it
    assert theirs == indexes("\n".join(sql for (sql,) in rows))
    there = {
        name for (name,) in postgres.beside.execute("SELECT indexname FROM pg_indexes WHERE schemaname = 'public'")
    }
    assert set(indexes(script)) <= there


def test_all_text_of_postgresql_is_ordered_by_its_bytes(postgres: Database) -> None:
    rows = postgres.beside.execute(
        "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'public'"
        " AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'"
    )
    assert rows.fetchall() == []


CHECKS = [
    ("occurrence", "state", tuple(OCCURRENCE)),
    ("occurrence", "outcome", OUTCOMES),
    ("occurrence", "trigger", TRIGGERS),
    ("occurrence", "exception", EXCEPTIONS),
    ("run", "state", tuple(RUN)),
    ("delivery", "state", tuple(DELIVERY)),
]


@pytest.mark.parametrize(("table", "column", "values"), CHECKS)
def test_postgresql_allows_exactly_the_states_of_the_tables(
    postgres: Database, table: str, column: str, values: tuple[str, ...]
) -> None:
    rows = postgres.beside.execute(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'c' AND conrelid = %s::regclass", (table,)
    )
    lists = [set(re.findall(r"'(\w+)'", text)) for (text,) in rows if text.startswith(f"CHECK (({column} = ANY")]
    assert lists == [set(values)]


# ── the guards hold on every store


JOB = """
INSERT INTO job (id, slug, name, schedule, timezone, meaning, definition, cadence, digest, signature, anchor_at,
                 created_at, changed_at) VALUES ('j', 'j', 'j', '', '', '', '', '', '', '', 0, 0, 0)
"""
GATEWAY = "INSERT INTO gateway (id, host, boot, pid, pid_started, version, since_at) VALUES ('g', '', '', 1, 1, '', 0)"
SLOT = """
INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, planned_at, state, outcome)
VALUES (?, 'j', 'schedule', ?, 0, 0, 0, ?, ?)
"""
ATTEMPT = """
INSERT INTO run (id, key, job_id, attempt, token, gateway_id, state, claimed_at) VALUES (?, 'k0', 'j', ?, 1, 'g', ?, 0)
"""
SENDING = """
INSERT INTO delivery (run_id, target, address, state, title, alert, due_at, expires_at, created_at, changed_at)
VALUES ('r0', ?, ?, ?, '', 0, 0, 0, 0, 0)
"""


def changes(s: UnderTest, table: str, key: str, value: str, column: str, to: str) -> bool:
    """Whether one row's state can be changed; anything but the guard's refusal is an error."""
    extra = ", outcome = CASE WHEN ? = 'settled' THEN 'ran' END" if table == "occurrence" else ""
    args = (to, to, value) if extra else (to, value)
    try:
        s.damage(f"UPDATE {table} SET {column} = ?{extra} WHERE {key} = ?", *args)
    except Exception as error:
        if "immutable" not in str(error):
            raise
        return False
    return True


def test_P3_a_terminal_run_stays_as_it_is_but_for_a_word_on_an_unknown_one(s: UnderTest) -> None:
    for sql in (JOB, GATEWAY):
        s.damage(sql)
    s.damage(SLOT, "k0", 0, "claimed", None)
    for n, (before, after) in enumerate(product(RUN, RUN)):
        s.damage(ATTEMPT, f"r{n}", n, before)
        allowed = before not in terminal(RUN) and (before != "unknown" or after in RUN["unknown"].values())
        assert changes(s, "run", "id", f"r{n}", "state", after) == allowed, (before, after)


def test_P1_a_settled_occurrence_stays_as_it_is(s: UnderTest) -> None:
    s.damage(JOB)
    for n, (before, after) in enumerate(product(OCCURRENCE, OCCURRENCE)):
        s.damage(SLOT, f"k{n}", n, before, "ran" if before == "settled" else None)
        assert changes(s, "occurrence", "key", f"k{n}", "state", after) == (before != "settled"), (before, after)


def test_P5_a_finished_delivery_stays_as_it_is(s: UnderTest) -> None:
    for sql in (JOB, GATEWAY):
        s.damage(sql)
    s.damage(SLOT, "k0", 0, "claimed", None)
    s.damage(ATTEMPT, "r0", 1, "running")
    for n, (before, after) in enumerate(product(DELIVERY, DELIVERY)):
        s.damage(SENDING, f"t{n}", f"t{n}", before)
        assert changes(s, "delivery", "target", f"t{n}", "state", after) == (before not in terminal(DELIVERY))


@pytest.mark.parametrize(("table", "column", "values"), CHECKS)
def test_no_store_takes_a_word_that_is_in_no_table(
    s: UnderTest, table: str, column: str, values: tuple[str, ...]
) -> None:
    for sql in (JOB, GATEWAY):
        s.damage(sql)
    s.damage(SLOT, "k0", 0, "planned", None)
    s.damage(ATTEMPT, "r0", 1, "running")
    s.damage(SENDING, "t", "t", "pending")
    with pytest.raises(Exception, match=r"(?i)check"):
        s.damage(f"UPDATE {table} SET {column} = 'lost'")


def test_an_outcome_comes_with_the_settled_state_and_with_no_other(s: UnderTest) -> None:
    s.damage(JOB)
    for n, (state, outcome) in enumerate(product(OCCURRENCE, (None, *OUTCOMES))):
        if (state == "settled") == (outcome is not None):
            s.damage(SLOT, f"k{n}", n, state, outcome)
        else:
            with pytest.raises(Exception, match=r"(?i)check"):
                s.damage(SLOT, f"k{n}", n, state, outcome)


def test_slugs_are_ordered_by_their_bytes_on_every_store(s: UnderTest) -> None:
    names = ["a", "B", "ä", "a-b", "ab", "a b", "Z", "z", "é", "\U0001f600", "\uffee"]
    for name in names:
        s.damage(JOB.replace("('j', 'j'", "(?, ?"), name, name)
    listed: list[Any] = s.rows("SELECT slug FROM job ORDER BY slug")
    assert [row["slug"] for row in listed] == sorted(names, key=lambda name: name.encode())
