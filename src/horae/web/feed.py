"""News for whoever watches: what was appended to the journal, read once for all of them.

One look, some times a second and only while anybody watches, serves every subscriber. Each has a queue of its own; one that
does not keep up loses its place, is told so, and comes back with the number of the last entry that it has seen. Nothing is
made up here: an event is an entry of the journal.

Where gateways share a database, an entry may become visible after one with a higher number. So the last ones are looked at
again, and what was handed out already is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio.to_thread

from horae.app.gate import Gate
from horae.errors import Problem

Json = dict[str, Any]
LOOK_EVERY_S = 0.2
LOOK_MAX = 1000  # entries of one look; more come with the next
BEHIND_MAX = 2000  # of a subscriber, then it has lost its place
BACK = 256  # numbers that are looked at again


class Subscriber:
    """One who watches. `lost` is set once it did not keep up."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Json | None] = asyncio.Queue(BEHIND_MAX)
        self.lost = False

    def offer(self, entry: Json | None) -> None:
        """Hand it an entry; None: there will be no more."""
        try:
            self.queue.put_nowait(entry)
        except asyncio.QueueFull:
            self.lost = True


class Feed:
    """Of one process that serves; used on its event loop alone."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._subscribers: set[Subscriber] = set()
        self._task: asyncio.Task[None] | None = None
        self._nobody = asyncio.Event()
        self._beginning = asyncio.Lock()
        self._given_out: dict[int, None] = {}

    @property
    def watched(self) -> int:
        """How many watch."""
        return len(self._subscribers)

    @asynccontextmanager
    async def subscribed(self) -> AsyncGenerator[Subscriber]:
        """Watch for the length of a block. What is appended from here on is in the queue."""
        subscriber = Subscriber()
        self._subscribers.add(subscriber)
        try:
            await self._begin()
            yield subscriber
        finally:
            self._subscribers.discard(subscriber)
            if not self._subscribers:
                self._nobody.set()

    def close(self) -> None:
        """The process stops: nobody waits for more."""
        for subscriber in self._subscribers:
            subscriber.offer(None)
        self._nobody.set()

    async def since(self, after: int, limit: int) -> Sequence[Json]:
        """What was appended behind a number, in order."""
        return await anyio.to_thread.run_sync(self._gate.changes, after, limit)

    async def newest(self) -> int:
        """The number of the newest entry."""
        return await anyio.to_thread.run_sync(self._gate.newest)

    async def _begin(self) -> None:
        async with self._beginning:
            self._nobody.clear()  # the last one may have gone just now, and it has not been noticed yet
            if self._task is not None and not self._task.done():
                return
            at = await self.newest()
            known = await self.since(max(0, at - BACK), BACK)
            self._given_out = {entry["id"]: None for entry in known if entry["id"] <= at}
            self._task = asyncio.get_running_loop().create_task(self._look_on(at))

    async def _look_on(self, at: int) -> None:
        while not self._nobody.is_set():
            with suppress(Problem, OSError):  # the store is busy or gone for a moment: the next look tells
                for entry in await self.since(max(0, at - BACK), LOOK_MAX):
                    if entry["id"] not in self._given_out:
                        self._hand_out(entry)
                        at = max(at, entry["id"])
            with suppress(TimeoutError):
                await asyncio.wait_for(self._nobody.wait(), LOOK_EVERY_S)

    def _hand_out(self, entry: Json) -> None:
        self._given_out[entry["id"]] = None
        while len(self._given_out) > 2 * LOOK_MAX:
            del self._given_out[next(iter(self._given_out))]
        for subscriber in self._subscribers:
            subscriber.offer(entry)
