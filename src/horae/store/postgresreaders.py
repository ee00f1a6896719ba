"""Readers of a PostgreSQL store: the questions of `queries.py`, on connections that cannot write.

A connection costs more than most questions, so a few that were given back are kept. (A pool of the driver's makes its
connections on threads of its own, and loses the reason why one cannot be made.)
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg

from horae.store.database import Args
from horae.store.postgresdb import PostgresDb, connect
from horae.store.postgreserrors import named, shown
from horae.store.postgresschema import check, refuse_newer, steps
from horae.store.queries import Reader

KEPT = 4


class Readers:
    """Readers of one store, for many threads."""

    def __init__(self, url: str, kept: int = KEPT) -> None:
        self.path = shown(url)
        self._url = url
        self._keeps = kept
        self._idle: list[psycopg.Connection[Any]] = []
        self._closed = False

    def open(self) -> Reader | None:
        """A reader; its `close` gives it back. None when the schema must be migrated first."""
        with named(self.path):
            link = self._kept() or self._fresh()
        return None if link is None else Reader(_Lent(link, self))

    def close(self) -> None:
        """Close what lies here; what is lent is closed when it comes back."""
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def take_back(self, link: psycopg.Connection[Any]) -> None:
        """A reader was closed."""
        if self._closed or link.closed or len(self._idle) >= self._keeps:
            link.close()
        else:
            self._idle.append(link)

    def _kept(self) -> psycopg.Connection[Any] | None:
        """One that lies here and still answers. The server may have been restarted since."""
        with suppress(IndexError):  # several threads may take from the list at once
            while True:
                link = self._idle.pop()
                try:
                    link.execute("SELECT 1")
                    return link
                except psycopg.Error:
                    link.close()
        return None

    def _fresh(self) -> psycopg.Connection[Any] | None:
        db = connect(self._url, reading=True)
        try:
            check(db, self.path)
            if refuse_newer(db, self.path) == steps()[-1][0]:
                return db.link
        except BaseException:
            db.close()
            raise
        db.close()
        return None


class _Lent(PostgresDb):
    """A connection that goes back to where it came from. What it says of trouble is named here."""

    def __init__(self, link: psycopg.Connection[Any], owner: Readers) -> None:
        super().__init__(link)
        self._owner: Readers | None = owner
        self._path = owner.path

    def execute(self, sql: str, args: Args = (), /) -> psycopg.Cursor[Any]:
        with named(self._path):
            return super().execute(sql, args)

    def close(self) -> None:
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.take_back(self.link)


def open_reader(url: str) -> Reader | None:
    """A reader of its own, for a process that asks once. None when the schema must be migrated first."""
    return Readers(url, kept=0).open()
