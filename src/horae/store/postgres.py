"""PostgreSQL: one database for many gateways, each of which writes through one connection.

Invariants: READ COMMITTED, every statement names the state and token that it expects; `now` is the database's
(`clock_timestamp()`), read when a transaction begins, so that gateways whose clocks differ agree about leases. What only
one may do (migrate) is done under an advisory lock of the transaction.

A connection that was lost is opened again by the next transaction. If it was lost while the COMMIT was under way, what
was to be written may have been: each transaction of a gateway therefore moves its *mark* by one, in the same message as
the COMMIT and only from where the writer believes it to be. `happened` moves it by two: the mark then says whether the
transaction came before (an odd distance), and if it did not, it never will, however late the message arrives.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from typing import TypeVar

import psycopg

from horae.core.chain import Head
from horae.core.instants import from_us, to_us
from horae.errors import Trouble
from horae.ports import Clock, Tx
from horae.store.doubt import InDoubt
from horae.store.journal import Journal
from horae.store.opened import OpenedStore
from horae.store.postgresdb import CHANNEL, connect
from horae.store.postgreserrors import OF_ALL, explain, named, shown
from horae.store.postgreslisten import Listener
from horae.store.postgresreaders import Readers
from horae.store.postgresschema import check, migrate, one, refuse_newer, take_stock
from horae.store.postgresturn import only_one
from horae.store.transaction import StoreTx

__all__ = ["Listener", "PostgresStore", "Readers", "connect", "named", "only_one"]

T = TypeVar("T")

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
MARKS_KEPT = "7 days"
PEOPLE = "people"
"""The chain of whoever is not a gateway: several processes write to it, and wait for each other to."""


class PostgresStore(OpenedStore):
    """The store of a cluster, as one process sees it. Not thread-safe: one thread owns it (see `writer.py`)."""

    def __init__(self, url: str, clock: Clock | None = None, chain: str = PEOPLE) -> None:
        self.path = shown(url)
        """The address for eyes."""
        self._url = url
        self._clock = clock
        self.chain = chain
        self._heads: dict[str, Head] = {}
        super().__init__()
        self._writer = secrets.token_hex(8) if chain != PEOPLE else None
        self._mark = 0
        self._doubt: int | None = None
        with named(self.path):
            self.db = connect(url, short=chain == PEOPLE)
            try:
                check(self.db, self.path)
                self.schema = migrate(self.db, self.path)
                if chain != PEOPLE:
                    self.db.call_it(chain)
                    take_stock(self.db)
                self._begin_to_mark()
            except BaseException:
                self.db.close()
                raise

    wholesale = OF_ALL
    """Errors that no member of a group caused: the connection, a lock, the server."""

    def named(self) -> AbstractContextManager[None]:
        """Errors that leave it are the project's own."""
        return named(self.path)

    def explained(self, error: Exception) -> Exception:
        """One error of the driver in the words of the tree; others stay what they are."""
        return explain(error, self.path) if isinstance(error, psycopg.Error) else error

    def transact(self, work: Callable[[Tx], T]) -> T:
        """Run `work` in one transaction of its own."""
        with named(self.path):
            now = self._begin()
            tx = self.nested(now)
            try:
                answer = work(tx)
                tx.journal.flush()
            except BaseException:
                self._roll_back()
                raise
            try:
                self._commit()
            except InDoubt:
                if not self.happened():
                    raise
        self.publish(tx.journal.entries)
        return answer

    @contextmanager
    def transaction(self) -> Generator[StoreTx]:
        """One transaction; the caller flushes the journal. Raises InDoubt when nobody knows whether it was committed."""
        now = self._begin()
        try:
            yield self.nested(now)
        except BaseException:
            self._roll_back()
            raise
        self._commit()

    def nested(self, now: datetime) -> StoreTx:
        """The verbs for one member of a group that commits together."""
        return StoreTx(self.db, now, Journal(self.db, to_us(now), self.chain, self._heads))

    def close(self) -> None:
        """Close the connection."""
        if self._writer is not None and self._doubt is None:
            with suppress(psycopg.Error):
                self.db.execute("DELETE FROM commit_mark WHERE writer = ?", (self._writer,))
        self.db.close()

    # ── one transaction ─────────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self) -> datetime:
        """Begin, on a new connection if the old one is gone. Nothing has been written yet, so that may be tried twice."""
        if self._doubt is not None:
            self.happened()  # whoever wanted to know has asked before
        if not self.db.link.closed:
            with suppress(psycopg.OperationalError):
                return self._now()
        self._reopen()
        return self._now()

    def _now(self) -> datetime:
        """BEGIN and the clock, in one message."""
        self.db.telling = False
        if self._clock is not None:
            self.db.at_once(BEGIN)
            return self._clock.now()
        answers = self.db.at_once(BEGIN, NOW)
        answers.nextset()
        return from_us(one(answers))

    def _commit(self) -> None:
        """Everything that belongs to the end, in one message: the notification, the mark, the COMMIT."""
        move = [f"SELECT move_mark('{self._writer}', {self._mark})"] if self._writer is not None else []
        tell = [f"SELECT pg_notify('{CHANNEL}', '')"] if self.db.telling else []
        try:
            answers = self.db.at_once(*move, *tell, "COMMIT")
        except psycopg.Error as error:
            if not self.db.link.closed:  # it said no, so it did not
                self._roll_back()
                raise
            raise self._in_doubt(error) from error
        except BaseException:
            self.db.close()
            raise
        if move:
            self._mark = one(answers)

    def _in_doubt(self, error: psycopg.Error) -> InDoubt:
        if self._writer is not None:
            self._doubt = self._mark
        return InDoubt(
            f"the connection to {self.path} was lost in the middle of a commit ({str(error).splitlines()[0]});"
            " what was to be written may have been, or not",
            "look before you repeat it: `horae list`, `horae runs` and `horae why` show what is there",
            file=self.path,
        )

    def happened(self) -> bool:
        """Whether the commit that was in doubt was made after all. Raises what keeps the database from answering."""
        if self._doubt is None:
            return False
        with named(self.path):
            self._reopen()
            row = self.db.execute(
                "UPDATE commit_mark SET mark = mark + 2 WHERE writer = ? RETURNING mark", (self._writer,)
            ).fetchone()
            found = row is not None and (row[0] - self._doubt) % 2 == 1
            if row is None:
                self._begin_to_mark()
            else:
                self._mark = row[0]
            self._doubt = None
            return found

    def _begin_to_mark(self) -> None:
        """A gateway's row among the marks. Those of processes that were killed go after some days."""
        if self._writer is None:
            return
        self.db.execute(f"DELETE FROM commit_mark WHERE at < now() - interval '{MARKS_KEPT}'")
        self.db.execute("INSERT INTO commit_mark (writer, mark) VALUES (?, 0)", (self._writer,))
        self._mark = 0

    def _roll_back(self) -> None:
        """Take everything back; a connection that does not even take that is of no use any more."""
        try:
            if not self.db.link.closed:
                self.db.at_once("ROLLBACK")
        except psycopg.Error:
            self.db.close()

    def _reopen(self) -> None:
        """A new connection to a schema that must still be the one that we know."""
        self.db.close()
        db = connect(self._url, short=self.chain == PEOPLE)
        try:
            check(db, self.path)
            found = refuse_newer(db, self.path)
            if found < self.schema:
                raise Trouble(
                    f"{self.path} has schema {found} now, and had {self.schema}: was it replaced or emptied?",
                    "restore it, or start Horae anew to make its tables",
                    file=self.path,
                )
            if self.chain != PEOPLE:
                db.call_it(self.chain)
        except BaseException:
            db.close()
            raise
        self.db = db
