"""One thread writes; whoever wants to write hands it a function and waits.

Everything that is waiting when the thread looks is committed together, each member in a savepoint of its own: a burst of
a thousand transitions costs a few synchronous commits, and one member's error undoes that member only. While the group
is being forced to the disk the next one gathers, so a lone writer waits for one commit and nothing else. Members that
hand in one item each for the same verb (`together`) become one call of it.

Failure: when the disk is full, the file cannot be written or the server is away, the engine's members are tried again
until it can (`on_trouble` is told; nothing they decided has happened yet), and people's members fail at once with the
reason.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar

from horae.errors import Conflict, Problem, Stale, Trouble, Unavailable
from horae.ports import Tx
from horae.store.database import Db
from horae.store.doubt import InDoubt
from horae.store.journal import Entry
from horae.store.transaction import StoreTx

log = logging.getLogger("horae.store")

T = TypeVar("T")
Item = TypeVar("Item")
Verb = Callable[[Tx, Sequence[Any]], Sequence[Any]]
GROUP_MAX = 512  # members of one commit: bounds how long the first of them waits
RETRY_S = 1.0  # between attempts while the disk refuses


class Backend(Protocol):
    """A store whose transactions can be shared by a group."""

    @property
    def path(self) -> str: ...

    @property
    def db(self) -> Db: ...

    @property
    def wholesale(self) -> tuple[type[Exception], ...]:
        """Errors of the database that are nobody's in particular: the whole group is tried again."""
        ...

    def named(self) -> AbstractContextManager[None]:
        """Turns errors of the database that leave it into the project's own."""
        ...

    def explained(self, error: Exception) -> Exception:
        """The same for one error; others stay what they are."""
        ...

    def happened(self) -> bool:
        """Whether a commit that was in doubt was made after all. Raises what keeps that from being known."""
        ...

    def transaction(self) -> AbstractContextManager[StoreTx]: ...

    def nested(self, now: datetime) -> StoreTx: ...

    def publish(self, entries: list[Entry]) -> None: ...


@dataclass(slots=True)
class Member:
    """Somebody who waits for a commit: a function, or one item for a verb that takes many."""

    work: Callable[[Tx], Any] | None
    verb: Verb | None = None
    item: Any = None
    loop: asyncio.AbstractEventLoop | None = None
    future: asyncio.Future[Any] | None = None
    finished: threading.Event | None = None
    answer: Any = None
    error: BaseException | None = None

    @property
    def patient(self) -> bool:
        """Whether it is tried again while the disk refuses: the engine's are, people's are not."""
        return self.finished is None


@dataclass(slots=True)
class GroupWriter:
    """A `Store` whose transactions all run on one thread. `start` before use, `close` after."""

    store: Backend
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
        return await self._written(Member(work))

    async def together(self, verb: Callable[[Tx, Sequence[Item]], Sequence[T | Stale]], item: Item) -> T:
        """One item for a verb that takes many: those that wait at the same moment are given to it at once."""
        return await self._written(Member(None, verb, item))

    async def _written(self, member: Member) -> Any:
        self._must_be_open()
        member.loop = asyncio.get_running_loop()
        member.future = member.loop.create_future()
        self._queue.put(member)
        return await member.future

    def transact(self, work: Callable[[Tx], T]) -> T:
        """The same for a thread that may wait. Fails at once when the disk refuses."""
        self._must_be_open()
        member = Member(work, finished=(finished := threading.Event()))
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
                with self.store.named():
                    self._commit(group, entries := [])
                break
            except InDoubt as error:
                group, written = self._find_out(group, error)
                if written:
                    break
            except (Trouble, Conflict) as error:
                stay = self._refuse(group, error)
                group = [*stay, *self._gather(None)] if stay else []  # people who come meanwhile must hear of it too
        if self._troubled and group:  # written after all
            self._troubled = False
            self.on_trouble(None)
        _tell(group)
        try:  # it is on the disk: whatever a listener makes of it, nothing may be tried again
            self.store.publish(entries)
        except Exception:
            log.exception("what was written could not be told")

    def _refuse(self, group: list[Member], error: Problem) -> list[Member]:
        """Tell those who do not wait, and let some time pass for the others, who are returned."""
        self._troubled = True
        self.on_trouble(error)
        stay = [member for member in group if member.patient and not self._hurried.is_set()]
        leave = [member for member in group if member not in stay]
        for member in leave:
            member.error = error
        _tell(leave)
        self._hurried.wait(RETRY_S if stay else 0)
        return stay

    def _find_out(self, group: list[Member], doubt: InDoubt) -> tuple[list[Member], bool]:
        """Whether a commit was made whose answer was lost; nothing is written again before that is known."""
        while group:
            try:
                return group, self.store.happened()
            except (Trouble, Conflict):
                group = self._refuse(group, doubt)
        return group, False

    def _commit(self, group: list[Member], entries: list[Entry]) -> None:
        with self.store.transaction() as outer:
            parts = deque(_parts(group))
            while parts:
                part = parts.popleft()
                tx = self.store.nested(outer.now)
                self.store.db.execute("SAVEPOINT member")
                try:
                    _carry_out(part, tx)
                    tx.journal.flush()
                except self.store.wholesale:
                    raise  # the disk or the lock: the whole group is tried again
                except Exception as error:  # handed to the member that caused it, and to nobody else
                    self.store.db.execute("ROLLBACK TO member")
                    if len(part) > 1:  # one of several: each by itself, so that the others do not suffer for it
                        parts.extendleft([member] for member in reversed(part))
                    else:
                        part[0].error = self.store.explained(error)
                else:
                    entries += tx.journal.entries
                self.store.db.execute("RELEASE member")


def _parts(group: list[Member]) -> list[list[Member]]:
    """What shares a savepoint: a function by itself, all items for one verb together. In the order of their firsts."""
    parts: dict[object, list[Member]] = {}
    for member in group:
        parts.setdefault(id(member) if member.verb is None else member.verb, []).append(member)
    return list(parts.values())


def _carry_out(part: list[Member], tx: StoreTx) -> None:
    """Give each member of one part its answer, or its own refusal."""
    first = part[0]
    if first.verb is None:
        assert first.work is not None, "a member has a function or a verb"
        answers: Sequence[Any] = [first.work(tx)]
    else:
        answers = first.verb(tx, [member.item for member in part])
    for member, answer in zip(part, answers, strict=True):
        member.error = answer if isinstance(answer, Problem) else None
        member.answer = answer


def _tell(group: list[Member]) -> None:
    """Hand out answers: each event loop is woken once, however many wait on it."""
    loops: dict[asyncio.AbstractEventLoop, list[Member]] = {}
    for member in group:
        if member.loop is not None:
            loops.setdefault(member.loop, []).append(member)
        elif member.finished is not None:
            member.finished.set()
    for loop, members in loops.items():
        loop.call_soon_threadsafe(_resolve, members)


def _resolve(members: list[Member]) -> None:
    for member in members:
        assert member.future is not None, "it waits on a loop"
        if member.future.cancelled():
            continue
        if member.error is not None:
            member.future.set_exception(member.error)
        else:
            member.future.set_result(member.answer)
