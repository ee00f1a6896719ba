"""The bound on live runs: `async with slots.turn(priority)` waits for a free one, the highest priority first.

Of equal priorities whoever asked first goes first.

Closing it (a gateway that drains) makes everybody who still waits, and everybody who comes later, fail with `Closed`:
a queued run never starts after the drain began.

Where the machine has no room for one more process (`Exhausted`), the bound sinks to as many as are live, and every
`GROW_S` without another refusal it grows by a quarter, up to what it was. Where nothing is live that could make room,
those who wait are sent away too, so that others may have what they claimed, and nobody is let in for a while that
doubles each time.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count

from horae.limits import GROW_S, REST_MAX_S, REST_S
from horae.ports import Closed

STOPPING = "the gateway is stopping"

log = logging.getLogger("horae.gateway")


class Slots:
    """At most `limit` holders at a time."""

    def __init__(self, limit: int) -> None:
        self._limit = self._bound = limit
        self._given = 0
        self._asked = count()
        self._waiting: list[
            tuple[int, int, asyncio.Future[None]]
        ] = []  # a heap: least priority value, then who asked first
        self._closed = False
        self.posts = True
        """Whether another message may be begun: for as long as a gateway that stops still waits."""
        self._refusals = 0
        """How often in a row there was no room, although nothing was live."""
        self._refused_for = ""
        self._rests_until_s = 0.0
        self._grows: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.held = 0

    @asynccontextmanager
    async def turn(self, priority: int = 0) -> AsyncGenerator[None]:
        """Hold a slot. Raises Closed when there will be none any more, or none for now."""
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
        self._send_away(STOPPING)

    def check(self) -> None:
        """Raises Closed when it was closed: also for whoever holds a slot, and has not begun."""
        if self._closed:
            raise Closed(STOPPING)

    # ── a machine without room

    def refused(self, reason: str) -> None:
        """The machine had no room for one more, beside those that hold a slot."""
        self._loop = asyncio.get_running_loop()  # whose time others may ask for too
        if self.rests_s > 0:
            return  # one of several that failed at once
        self._bound = max(1, self.held)
        self._refused_for = reason
        if self.held == 0:
            self._rests_until_s = self._loop.time() + min(REST_MAX_S, REST_S * 2.0 ** min(self._refusals, 10))
            self._refusals += 1
            self._send_away(reason)
        log.warning("! %s", self.short_of)
        self._grow_later()

    def offered(self, room: int, owned: int) -> int:
        """How many runs may be claimed, of so many for which there is room, beside those that are on their way.

        While the bound is low only what can begin now.
        """
        if self.rests_s > 0:
            return 0
        return room if self._bound == self._limit else max(0, min(room, self._bound - owned))

    @property
    def short_of(self) -> str | None:
        """What the machine has no room for, and what follows; None while it has. May be asked on any thread."""
        if self.rests_s > 0:
            return f"{self._refused_for}: nothing is started for {self.rests_s:.0f} s"
        if self._bound < self._limit:
            return f"{self._refused_for}: {self._bound} at a time for now, instead of {self._limit}"
        return None

    @property
    def rests_s(self) -> float:
        """How long nobody is let in, in whole microseconds: a wait for less would be over at once, again and again."""
        return 0.0 if self._loop is None else max(0.0, round(self._rests_until_s - self._loop.time(), 6))

    @property
    def changes_in_s(self) -> float | None:
        """When more may be offered; None while all is."""
        if self.rests_s > 0:
            return self.rests_s
        return GROW_S if self._bound < self._limit else None

    def _grow_later(self) -> None:
        if self._grows is not None:
            self._grows.cancel()
        self._grows = asyncio.get_running_loop().call_later(self.rests_s + GROW_S, self._grow)

    def _grow(self) -> None:
        self._refusals, self._grows = 0, None
        self._bound = min(self._limit, self._bound + max(1, self._bound // 4))
        if self._bound < self._limit:
            self._grow_later()
        self._let_in()

    def _send_away(self, reason: str) -> None:
        waiting, self._waiting = self._waiting, []
        for _, _, turn in waiting:
            if not turn.done():
                turn.set_exception(Closed(reason))

    # ── taking turns

    async def _take(self, priority: int) -> None:
        if self._closed:
            raise Closed(STOPPING)
        if self.rests_s > 0:
            raise Closed(self._refused_for)
        if self._given < self._bound and not self._waiting:
            self._given += 1
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (-priority, next(self._asked), turn))
        try:
            await turn  # `_let_in` has counted us already
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._give_back()  # we were let in, and left at the same moment
            raise
        if self._closed or self.rests_s > 0:
            self._give_back()
            raise Closed(STOPPING if self._closed else self._refused_for)

    def _give_back(self) -> None:
        self._given -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._given < self._bound and self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self._given += 1
                turn.set_result(None)
