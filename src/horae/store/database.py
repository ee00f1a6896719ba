"""What the verbs are given: one connection that takes the same SQL whichever store is behind it.

SQL is written once, in SQLite's form (`?` or `:name` for values) and in the part of the language that both know.
PostgreSQL's half (`postgres.py`) translates the marks. Rows are read by index or by column name. What differs for a
reason is a method here: where numbers come from that must only rise, how a row is kept from others, and whom to tell.

- On SQLite one writer is in a transaction at a time, so nothing that was read can change before it commits.
- On PostgreSQL others write beside us: whoever decides about a job locks its row first (`for_update`), and claims skip
  rows that are locked instead of waiting for them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

Args = Sequence[object] | Mapping[str, object]


class Rows(Protocol):
    """The answer to a statement: rows by index and by name, which may be taken apart like tuples."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Looks(Protocol):
    """A connection that only reads."""

    def execute(self, sql: str, args: Args = (), /) -> Rows: ...

    def trouble(self) -> str | None:
        """What the database itself finds wrong with its files, or None."""
        ...

    def close(self) -> None: ...


class Db(Protocol):
    """One connection."""

    @property
    def shared(self) -> bool:
        """Whether others may write at the same time."""
        ...

    @property
    def clash(self) -> type[Exception]:
        """What is raised when a row would break a constraint of the schema."""
        ...

    @property
    def for_update(self) -> str:
        """What a SELECT ends with that must keep its row as it is until the commit."""
        ...

    @property
    def if_free(self) -> str:
        """The same, but rows that somebody else keeps are left out instead of waited for."""
        ...

    def execute(self, sql: str, args: Args = (), /) -> Rows: ...

    def executemany(self, sql: str, rows: Sequence[Sequence[object]], /) -> Rows: ...

    def next_tokens(self, count: int) -> list[int]:
        """Fencing numbers, rising, none of them given out before."""
        ...

    def next_entries(self, count: int) -> list[int]:
        """Numbers for the journal, rising, none of them given out before."""
        ...

    def reserve(self, name: str) -> bool:
        """Be the only transaction, until its end, that works on what has this name. False when another one does."""
        ...

    def end_writer(self, name: str) -> None:
        """Have what a writer holds open let go, whose turn is over: it may be suspended in the middle of a statement."""
        ...

    def notify(self) -> None:
        """When this transaction is committed, tell gateways elsewhere that there may be something to do."""
        ...

    def among(self, column: str) -> str:
        """The condition that a column has one of the values of one mark, which is given `listed(values)`."""
        ...

    def listed(self, values: Sequence[object]) -> object: ...


class SqliteDb(sqlite3.Connection):
    """A connection to SQLite, as `sqlite3.connect(…, factory=SqliteDb)` makes it."""

    shared = False
    clash = sqlite3.IntegrityError
    for_update = if_free = ""

    def next_tokens(self, count: int) -> list[int]:
        """From the one row that holds the last one."""
        (last,) = self.execute(
            "INSERT INTO fence (id, token) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET token = token + excluded.token"
            " RETURNING token",
            (count,),
        ).fetchone()
        return list(range(last - count + 1, last + 1))

    def next_entries(self, count: int) -> list[int]:
        """The next ones: writers take turns, so they have no gaps."""
        (last,) = self.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()
        return list(range(last + 1, last + 1 + count))

    def reserve(self, name: str) -> bool:
        """Always: writers take turns."""
        return True

    def end_writer(self, name: str) -> None:
        """Whoever holds the file is waited for: a process that is gone holds none."""

    def notify(self) -> None:
        """There is nobody else: a home has one gateway, and whoever writes beside it tells it over its socket."""

    def among(self, column: str) -> str:
        """SQLite takes a list as a JSON text."""
        return f"{column} IN (SELECT value FROM json_each(?))"

    def listed(self, values: Sequence[object]) -> object:
        """That text."""
        return json.dumps(values)


def connect(path: str, timeout_s: float) -> SqliteDb:
    """Open a file of SQLite: every statement by itself until a transaction is begun, rows by name."""
    db = sqlite3.connect(path, timeout=timeout_s, isolation_level=None, check_same_thread=False, factory=SqliteDb)
    db.row_factory = sqlite3.Row
    return db
