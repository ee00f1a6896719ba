"""Bring a database to the schema that this version knows, or refuse.

Writers are serialised by an exclusive transaction; a version that is already there costs one SELECT. A newer schema is
refused untouched. Steps are files `NNNN_name.sql` in `migrations/`; each is applied in the same transaction as the
number that records it, so a crash leaves the old schema or the new one.
"""

from __future__ import annotations

import os
from sqlite3 import Connection, complete_statement

from horae.errors import NewerStore

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")


def steps() -> list[tuple[int, str]]:
    """All known steps as (number, path), in order."""
    names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".sql"))
    return [(int(name.split("_", 1)[0]), os.path.join(FOLDER, name)) for name in names]


def version(db: Connection) -> int:
    """The number of the last applied step; 0 for an empty database."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: Connection, path: str) -> int:
    """Apply what is missing. Returns the version. The connection must be in autocommit mode."""
    known = steps()
    newest = known[-1][0]
    found = refuse_newer(db, path)
    if found == newest:
        return found
    db.execute("BEGIN EXCLUSIVE")
    try:
        found = version(db)  # another process may have been first
        for number, file in known:
            if number > found:
                with open(file, encoding="utf-8") as text:
                    for statement in statements(text.read()):
                        db.execute(statement)
                db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    return newest


def refuse_newer(db: Connection, path: str) -> int:
    """The version, if this Horae knows it."""
    found, newest = version(db), steps()[-1][0]
    if found > newest:
        raise newer(path, found, newest)
    return found


def newer(path: str, found: int, known: int) -> NewerStore:
    """The refusal of a database from the future."""
    return NewerStore(
        f"{path} has schema {found}, this version of Horae knows {known}",
        "upgrade Horae, or point --home at another home; nothing was changed",
        file=path,
        schema=found,
        known=known,
    )


def statements(script: str) -> list[str]:
    """Split a migration into its statements; SQLite itself says where one ends, so triggers stay whole."""
    found: list[str] = []
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if complete_statement(text):
            found.append(text)
            text = ""
    return found
