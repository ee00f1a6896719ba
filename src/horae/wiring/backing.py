"""What stands behind a home: its own file, or the database that many homes share. Everything that differs is here.

With a file the definitions are the files in `jobs/`, one gateway runs at a time, and the command line asks it over its
socket. With a shared database the definitions are rows, any number of gateways run, and everybody writes to the database
itself; so `jobs/` of such a home is only what `horae apply` was given.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from horae.errors import Trouble
from horae.ports import Clock, Folder, Past, Reader, Scripts, Settings, Store
from horae.store.cluster import adapter
from horae.store.database import connect
from horae.store.jobfolder import JobFolder
from horae.store.jobtable import JobTable
from horae.store.journalreader import JournalReader
from horae.store.queries import open_reader
from horae.store.scriptfolder import ScriptFolder
from horae.store.scripttable import ScriptTable
from horae.store.sqlite import BUSY_S, SqliteStore, alone
from horae.store.writer import Backend

PEOPLE = "people"
"""The journal's chain of everybody who is not a gateway."""


class OpenStore(Backend, Store, Protocol):
    """A store as an adapter opens it: its own transactions, or shared by a group."""

    def listen(self, listener: Callable[[list[Any]], None]) -> None: ...

    def close(self) -> None: ...


class Backing(Protocol):
    """One home's store, its readers, and where its definitions are."""

    @property
    def shared(self) -> bool: ...

    def open(self, clock: Clock, chain: str = ...) -> OpenStore:
        """The store, for one thread. `chain` is the journal's, of whoever writes."""
        ...

    def read(self) -> Reader: ...

    def past(self) -> Past: ...

    def folder(self, store: Store, actor: str) -> Folder: ...

    def scripts(self, store: Store, actor: str) -> Scripts: ...

    def alone(self) -> AbstractContextManager[None]:
        """Held by one process at a time."""
        ...

    def close(self) -> None: ...


class HomeFile:
    """`state/runtime.db` and `jobs/` of the home itself."""

    shared = False

    def __init__(self, home: str) -> None:
        self._home = home
        self.path = database(home)

    def open(self, clock: Clock, chain: str = PEOPLE) -> OpenStore:
        """The file; all who write to it take turns, and write one chain."""
        return SqliteStore(self.path, clock)

    def read(self) -> Reader:
        """A reader of its own."""
        found = open_reader(self.path)
        if found is None:
            raise Trouble(f"{self.path} is missing", "`horae doctor` says more", file=self.path)
        return found

    def past(self) -> Past:
        """The journal, on a connection of its own."""
        db = connect(self.path, BUSY_S)
        db.execute("PRAGMA query_only = ON")
        return JournalReader(db)

    def folder(self, store: Store, actor: str) -> Folder:
        """The files."""
        return JobFolder(os.path.join(self._home, "jobs"))

    def scripts(self, store: Store, actor: str) -> Scripts:
        """The files."""
        return ScriptFolder(os.path.join(self._home, "scripts"))

    def alone(self) -> AbstractContextManager[None]:
        """By a lock on the folder of the file."""
        return alone(os.path.dirname(self.path))

    def close(self) -> None:
        """Nothing is kept open here."""


class SharedDatabase:
    """A database of PostgreSQL, and the definitions in its tables."""

    shared = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._adapter = adapter()
        self._readers = self._adapter.Readers(url)

    def open(self, clock: Clock, chain: str = PEOPLE) -> OpenStore:
        """A connection that writes. The clock is the database's own, whatever this machine's says."""
        return self._adapter.PostgresStore(self._url, None, chain)

    def read(self) -> Reader:
        """A reader from those that are kept."""
        found = self._readers.open()
        if found is None:
            raise Trouble(f"{self._readers.path} has no tables of Horae, or older ones", "`horae up` makes them")
        return found

    def past(self) -> Past:
        """The journal, on a connection of its own."""
        with self._adapter.named(self._readers.path):
            return JournalReader(self._adapter.connect(self._url, reading=True), shared=True)

    def folder(self, store: Store, actor: str) -> Folder:
        """The table."""
        return JobTable(store, self._readers.path, actor)

    def scripts(self, store: Store, actor: str) -> Scripts:
        """The table; each machine keeps a copy of its own."""
        return ScriptTable(store, actor)

    def alone(self) -> AbstractContextManager[None]:
        """By a lock in the database."""
        return self._adapter.only_one(self._url)

    def listener(self, told: Callable[[], object]) -> Any:
        """Calls `told` when another process has written something that may be due; has a `close`."""
        return self._adapter.Listener(self._url, told)

    def close(self) -> None:
        """Close the readers that are kept."""
        self._readers.close()


def backing_of(settings: Settings) -> HomeFile | SharedDatabase:
    """What the settings say."""
    return HomeFile(settings.home) if settings.store is None else SharedDatabase(settings.store)


def database(home: str) -> str:
    """The file that holds the machine's half of a home."""
    return os.path.join(home, "state", "runtime.db")


__all__ = ["Backing", "HomeFile", "SharedDatabase", "backing_of", "database"]
