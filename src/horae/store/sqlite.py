"""SQLite: one file, one writer at a time, every commit on the disk before anybody acts on it.

Invariants: WAL, `synchronous=FULL`, foreign keys on; every transaction begins IMMEDIATE, so that it never fails halfway
for a lock; `now` is read inside it. Failure cases are named once, here: a full disk, a folder that cannot be written, a
damaged file, a file that is no database, a lock held too long.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar

from horae.core.chain import HOME, Head
from horae.core.instants import to_us
from horae.errors import Conflict, Problem, Trouble
from horae.ports import Clock, Tx
from horae.store.database import connect
from horae.store.journal import Journal
from horae.store.migrate import migrate, refuse_newer
from horae.store.opened import OpenedStore
from horae.store.transaction import StoreTx

T = TypeVar("T")
BUSY_S = 10.0
RESTORE = "stop the gateway, move it away and restore a backup; the job files in jobs/ are not affected"


class SqliteStore(OpenedStore):
    """The store of one home. Not thread-safe: one thread owns it (see `writer.py`)."""

    def __init__(self, path: str, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._heads: dict[str, Head] = {}
        super().__init__()
        with named(path):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            self.db = connect(path, BUSY_S)
            try:
                with alone(os.path.dirname(path)):
                    refuse_newer(self.db, path)  # before anything is set, so that such a file is not touched
                    prepare(self.db)
                    self.schema = migrate(self.db, path)
            except BaseException:
                self.db.close()
                raise

    wholesale = (sqlite3.OperationalError,)
    """The disk or the lock: nobody's error in particular."""

    @contextmanager
    def named(self) -> Generator[None]:
        """Errors that leave it are the project's own.

        Whoever tries again after a text that is not UTF-8 reads such texts as what their bytes are shown as: then only the
        record that holds one is damaged, and not every group of writes that passes by it.
        """
        try:
            with named(self.path):
                yield
        except Trouble as trouble:
            if "column" in trouble.details:
                self.db.text_factory = escaped
            raise

    def explained(self, error: Exception) -> Exception:
        """One error of SQLite in the words of the tree; others stay what they are."""
        return explain(error, self.path) if isinstance(error, sqlite3.Error) else error

    def happened(self) -> bool:
        """A file answers before it is written, or not at all: a commit that fails was not made."""
        return False

    def transact(self, work: Callable[[Tx], T]) -> T:
        """Run `work` in one transaction of its own."""
        with named(self.path), self.transaction() as tx:
            answer = work(tx)
            tx.journal.flush()
        self.publish(tx.journal.entries)
        return answer

    @contextmanager
    def transaction(self) -> Generator[StoreTx]:
        """An immediate transaction; the caller flushes the journal."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.nested(self._clock.now())
            self.db.execute("COMMIT")
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise

    def nested(self, now: datetime) -> StoreTx:
        """The verbs for one member of a group that commits together."""
        return StoreTx(self.db, now, Journal(self.db, to_us(now), HOME, self._heads))

    def close(self) -> None:
        """Close the connection; the last one out removes the write-ahead log."""
        self.db.close()


def prepare(db: sqlite3.Connection) -> None:
    """Make a connection fit for writing."""
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA cache_size = -8000")


@contextmanager
def alone(folder: str) -> Generator[None]:
    """One opener at a time. SQLite does not wait for its turn when it switches to the write-ahead log."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def named(path: str) -> Generator[None]:
    """Turn what SQLite and the system say into errors that tell a person what to do."""
    try:
        yield
    except Problem:
        raise
    except sqlite3.Error as error:
        raise explain(error, path) from error
    except OSError as error:
        raise Trouble(
            f"{path}: {error.strerror}", "check the folder's owner, its mode and the disk", file=path
        ) from error


def escaped(data: bytes) -> str:
    """A text, with bytes that are not UTF-8 as a backslash and their digits: no JSON, so a definition is seen to be damaged."""
    return data.decode(errors="backslashreplace")


def undecodable(error: sqlite3.Error) -> str | None:
    """The column with a text that is not UTF-8, which the driver tells by its words alone; None for other errors."""
    found = re.match("Could not decode to UTF-8 column '([^']*)'", str(error))
    return None if found is None else found[1]


def explain(error: sqlite3.Error, path: str) -> Problem:
    """One error of SQLite in the words of the tree."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    if "FULL" in name or "full" in text:
        return Trouble(
            f"the disk that holds {path} is full; nothing was changed", "free some space, then try again", file=path
        )
    if "READONLY" in name or "CANTOPEN" in name or "IOERR" in name:
        hint = "check the folder's owner, its mode, and whether the disk is mounted read-only"
        return Trouble(f"{path} cannot be written ({text}); nothing was changed", hint, file=path)
    if "NOTADB" in name or "CORRUPT" in name:
        return Trouble(f"{path} is damaged or no database ({text})", RESTORE, file=path)
    if (column := undecodable(error)) is not None:  # the text itself is left out: it may be long, or hold anything
        says = f"{path} is damaged: a text in its column `{column}` is not UTF-8"
        return Trouble(says, RESTORE, file=path, column=column)
    if "BUSY" in name or "LOCKED" in name:
        return Conflict(
            f"{path} is locked by another process for over {BUSY_S:.0f} s", "try again in a moment", file=path
        )
    return Trouble(
        f"{path}: {text}", "this is likely a fault of Horae; `horae doctor` checks the database", file=path, sqlite=name
    )
