"""What every store does alike around its transactions: one at a time for the engine, and telling what was decided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from horae.errors import Stale
from horae.ports import Tx
from horae.store.journal import Entry

T = TypeVar("T")
Item = TypeVar("Item")


class OpenedStore(ABC):
    """A store over one connection. Not thread-safe: one thread owns it (see `writer.py`)."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[list[Entry]], None]] = []

    @abstractmethod
    def transact(self, work: Callable[[Tx], T]) -> T:
        """Run `work` in one transaction of its own."""

    async def commit(self, work: Callable[[Tx], T]) -> T:
        """The same for the engine, where no writer thread is wanted: tests and simulation."""
        return self.transact(work)

    async def together(self, verb: Callable[[Tx, Sequence[Item]], Sequence[T | Stale]], item: Item) -> T:
        """One item by itself: who would be collected with it waits for a writer thread."""
        (answer,) = self.transact(lambda tx: verb(tx, [item]))
        if isinstance(answer, Stale):
            raise answer
        return answer

    def listen(self, listener: Callable[[list[Entry]], None]) -> None:
        """Call `listener(entries)` after each commit that wrote to the journal."""
        self._listeners.append(listener)

    def publish(self, entries: list[Entry]) -> None:
        """Tell the listeners what was decided. Only after the commit: before it, it has not happened."""
        if entries:
            for listener in self._listeners:
                listener(entries)
