"""The schema of a PostgreSQL store: which version is there, and how it comes to be the one that we know.

Steps are numbered like SQLite's and begin with the number at which this store joined in. Whoever finds an older schema
takes an advisory lock, looks again and applies what is missing in one transaction: of ten processes that open an old
database at once one migrates, and the others find its work. A newer schema is refused untouched.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import psycopg

from horae.errors import Refused, Trouble
from horae.store.database import Db, Rows
from horae.store.migrate import newer
from horae.store.postgresdb import PostgresDb

FOLDER = os.path.join(os.path.dirname(__file__), "migrations", "postgres")
OLDEST_SERVER = 130000
MIGRATIONS = 0x686F_7261_65  # the advisory lock of whoever changes the schema
MIGRATION_S = 60
LARGE = ("job", "occurrence", "run", "output", "delivery", "journal")  # tables that grow
STOCK_MS = 500


def one(answer: Rows) -> Any:
    """The value of an answer that has one."""
    (value,) = answer.fetchone()
    return value


def steps() -> list[tuple[int, str]]:
    """All known steps as (number, path), in order."""
    names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".sql"))
    return [(int(name.split("_", 1)[0]), os.path.join(FOLDER, name)) for name in names]


def check(db: PostgresDb, path: str) -> None:
    """Refuse a server that cannot hold a store."""
    info = db.link.info
    if info.server_version < OLDEST_SERVER:
        raise Refused(
            f"{path} is PostgreSQL {info.server_version // 10000}; Horae needs {OLDEST_SERVER // 10000} or newer",
            "upgrade the server, or use the store of a home (SQLite)",
            file=path,
        )
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Refused(
            f"{path} keeps its text as {encoding}, which cannot hold every name",
            "make a database for Horae with ENCODING 'UTF8' TEMPLATE template0",
            file=path,
        )


def version(db: Db) -> int:
    """The number of the last applied step; 0 where there is no schema yet."""
    found = db.execute(  # the catalogue's rows: `to_regclass` may remember what it was before others migrated
        "SELECT 1 FROM pg_class WHERE relname = 'schema_version' AND relkind = 'r'"
        " AND relnamespace = ANY (current_schemas(false)::regnamespace[])"
    )
    return int(one(db.execute("SELECT version FROM schema_version"))) if found.fetchone() else 0


def refuse_newer(db: Db, path: str) -> int:
    """The version, if this Horae knows it."""
    found, newest = version(db), steps()[-1][0]
    if found > newest:
        raise newer(path, found, newest)
    return found


def migrate(db: PostgresDb, path: str) -> int:
    """Apply what is missing, one process at a time. Returns the version."""
    known = steps()
    newest = known[-1][0]
    if refuse_newer(db, path) == newest:
        return newest
    with db.link.transaction():
        db.at_once("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")  # so that we see what others did before us
        db.at_once(f"SET LOCAL lock_timeout = '{MIGRATION_S}s'", f"SELECT pg_advisory_xact_lock({MIGRATIONS})")
        found = refuse_newer(db, path)  # another process may have been first
        if found == 0:
            _begin_schema(db, path)
        for number, file in known:
            if number > found:
                with open(file, encoding="utf-8") as text:
                    db.at_once(text.read())
                db.execute("UPDATE schema_version SET version = ?", (number,))
    return newest


def take_stock(db: PostgresDb) -> None:
    """Have our tables counted that the server takes for empty and that are not: it would go on planning as if they were.

    It counts them by itself within a minute or so, which is too late for thousands of jobs that were just stored. Nothing
    depends on it: whatever is in the way, such as a lock that somebody else has, it is left to the server.
    """
    with suppress(psycopg.Error), db.link.transaction():
        db.at_once(f"SET LOCAL lock_timeout = '{STOCK_MS}ms'")
        unknown = db.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
            " AND reltuples <= 0 AND relname = ANY(?) AND pg_relation_size(oid) > 0 ORDER BY relname",
            (list(LARGE),),
        ).fetchall()
        for (name,) in unknown:
            db.at_once(f"ANALYZE {name}")


def _begin_schema(db: PostgresDb, path: str) -> None:
    """A schema without a step, where nothing of another program lies."""
    schema = one(db.execute("SELECT current_schema()"))
    if schema is None:
        raise Trouble(
            f"the schema that {path} names does not exist",
            "make it with CREATE SCHEMA, or correct the search_path of the URL",
            file=path,
        )
    taken = db.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname IN"
        " ('job', 'occurrence', 'run', 'journal', 'gateway', 'output', 'delivery', 'document') ORDER BY relname LIMIT 1"
    ).fetchone()
    if taken is not None:
        raise Refused(
            f"the schema {schema} of {path} has a table {taken[0]} that is not Horae's; nothing was changed",
            "give Horae a database or a schema of its own: postgresql://…/DATABASE?options=-csearch_path%3Dhorae",
            file=path,
        )
    db.at_once("CREATE TABLE schema_version (version BIGINT NOT NULL)", "INSERT INTO schema_version VALUES (0)")
