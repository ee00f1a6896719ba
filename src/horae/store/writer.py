"""One thread writes; whoever wants to write hands it a function and waits.

Everything that is waiting when the thread looks is committed together, each member in a savepoint of its own: a burst of
a thousand transitions costs a few synchronous commits, and one member's error undoes that member only. While the group
is being forced to the disk the next one gathers, so a lone writer waits for one commit and nothing else.

Failure: when the disk is full or the file cannot be written, the engine's members are tried again until it can
(`on_trouble` is told; nothing they decided has happened yet), and people's members fail at once with the reason.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from horae.errors import Conflict, Problem, Trouble, Unavailable
from horae.ports import Tx
from horae.store.journal import Entry
from horae.store.sqlite import SqliteStore, explain, named

log = logging.getLogger("horae.store")

T = TypeVar("T")
GROUP_MAX = 512  # members of one commit: bounds how long the first of them waits
RETRY_S = 1.0  # between attempts while the disk refuses


@dataclass(slots=True)
class Member:
    """One function that waits for its commit."""

    work: Callable[[Tx], Any]
    done: Callable[[Any, BaseException | None], object]
    patient: bool
    answer: Any = None
    error: BaseException | None = None


@dataclass(slots=True)
class GroupWriter:
    """A `Store` whose transactions all run on one thread. `start` before use, `close` after."""

    store: SqliteStore
    on_trouble: Callable[[Problem | None], None] = lambda _problem: None
    _queue: queue.SimpleQueue[Member | None] = field(default_factory=queue.SimpleQueue[Member | None])
    _closing: threading.Event = field(default_factory=threading.Event)
    _hurried: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _troubled: bool = False

    def start(self) -> None:
        """Begin to write."""
        self._thread = threading.Thread(target=self._loop, name="horae-writer", daemon=True)
        self._thread.start()

    def hurry(self) -> None:
        """From now on nobody waits for a disk that refuses: a gateway that is told to stop at once must be able to."""
        self._hurried.set()

    def close(self) -> None:
        """Write what was handed in, then stop."""
        self._closing.set()
        self._hurried.set()
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()

    async def commit(self, work: Callable[[Tx], T]) -> T:
        """Run `work` in a transaction; returns when it is on the disk."""
        self._must_be_open()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put(Member(work, lambda a, e: loop.call_soon_threadsafe(_resolve, future, a, e), patient=True))
        return await future

    def transact(self, work: Callable[[Tx], T]) -> T:
        """The same for a thread that may wait. Fails at once when the disk refuses."""
        self._must_be_open()
        finished = threading.Event()
        member = Member(work, lambda _a, _e: finished.set(), patient=False)
        self._queue.put(member)
        while not finished.wait(1.0):
            if self._thread is None or not self._thread.is_alive():
                raise Unavailable("the gateway is stopping", "try again once it is down, or after its restart")
        if member.error is not None:
            raise member.error
        return member.answer

    def _must_be_open(self) -> None:
        if self._closing.is_set():  # nobody would ever answer
            raise Unavailable("the gateway is stopping", "try again once it is down, or after its restart")

    def _loop(self) -> None:
        while True:
            first = self._queue.get()
            group = self._gather(first)
            if group:
                self._write(group)
            if first is None or (self._closing.is_set() and self._queue.empty()):
                return

    def _gather(self, first: Member | None) -> list[Member]:
        group = [first] if first is not None else []
        while len(group) < GROUP_MAX:
            try:
                member = self._queue.get_nowait()
            except queue.Empty:
                break
            if member is not None:
                group.append(member)
        return group

    def _write(self, group: list[Member]) -> None:
        """Commit a group; on trouble fail the impatient and try the patient ones again."""
        entries: list[Entry] = []
        while group:
            try:
                with named(self.store.path):
                    entries = self._commit(group)
                break
            except (Trouble, Conflict) as error:
                self._troubled = True
                self.on_trouble(error)
                stay = [member for member in group if member.patient and not self._hurried.is_set()]
                for member in group:
                    if member not in stay:
                        member.error = error
                        member.done(None, error)
                self._hurried.wait(RETRY_S if stay else 0)
                group = [*stay, *self._gather(None)] if stay else []  # people who come meanwhile must hear of it too
        if self._troubled and group:  # written after all
            self._troubled = False
            self.on_trouble(None)
        for member in group:
            member.done(member.answer, member.error)
        try:  # it is on the disk: whatever a listener makes of it, nothing may be tried again
            self.store.publish(entries)
        except Exception:
            log.exception("what was written could not be told")

    def _commit(self, group: list[Member]) -> list[Entry]:
        entries: list[Entry] = []
        with self.store.transaction() as outer:
            for member in group:
                member.error = None
                tx = self.store.nested(outer.now)
                self.store.db.execute("SAVEPOINT member")
                try:
                    member.answer = member.work(tx)
                    tx.journal.flush()
                except sqlite3.OperationalError:
                    raise  # the disk or the lock: the whole group is tried again
                except Exception as error:  # handed to the member that caused it, and to nobody else
                    member.error = explain(error, self.store.path) if isinstance(error, sqlite3.Error) else error
                    self.store.db.execute("ROLLBACK TO member")
                else:
                    entries += tx.journal.entries
                self.store.db.execute("RELEASE member")
        return entries


def _resolve(future: asyncio.Future[Any], answer: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(answer)
