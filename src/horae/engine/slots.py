"""The bound on live runs: `async with slots.turn(priority)` waits for a free one, the highest priority first.

Of equal priorities whoever asked first goes first.

Closing it (a gateway that drains) makes everybody who still waits, and everybody who comes later, fail with `Closed`:
a queued run never starts after the drain began.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count


class Closed(Exception):
    """No run may start any more."""


class Slots:
    """At most `limit` holders at a time."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._asked = count()
        self._waiting: list[
            tuple[int, int, asyncio.Future[None]]
        ] = []  # a heap: least priority value, then who asked first
        self._closed = False
        self.held = 0

    @asynccontextmanager
    async def turn(self, priority: int = 0) -> AsyncGenerator[None]:
        """Hold a slot. Raises Closed when there will be none any more."""
        await self._take(priority)
        self.held += 1
        try:
            yield
        finally:
            self.held -= 1
            self._give_back()

    def close(self) -> None:
        """Let nobody in from now on."""
        self._closed = True
        waiting, self._waiting = self._waiting, []
        for _, _, turn in waiting:
            if not turn.done():
                turn.set_exception(Closed())

    async def _take(self, priority: int) -> None:
        if self._closed:
            raise Closed
        if self._free > 0 and not self._waiting:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (-priority, next(self._asked), turn))
        try:
            await turn  # `_give_back` has counted us in already
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._give_back()  # we were let in, and left at the same moment
            raise
        if self._closed:
            self._give_back()
            raise Closed

    def _give_back(self) -> None:
        self._free += 1
        while self._free > 0 and self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self._free -= 1
                turn.set_result(None)
