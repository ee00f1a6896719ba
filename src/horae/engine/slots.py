"""The bound on live runs: `async with slots.turn(priority)` waits for a free one, the highest priority first.

Of equal priorities whoever asked first goes first.

Closing it (a gateway that drains) makes everybody who still waits, and everybody who comes later, fail with `Closed`:
a queued run never starts after the drain began.

Where a holder fails because the machine is exhausted, those who wait are sent away too, since they would fare no better:
nothing is let in for a while, then one to see how it fares, and when it does not fail all are again.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count

from horae.errors import Exhausted
from horae.limits import PROBE_S, REST_MAX_S, REST_S

STOPPING = "the gateway is stopping"

log = logging.getLogger("horae.gateway")


class Closed(Exception):
    """No run may start any more, or for now; the text says why."""


class Slots:
    """At most `limit` holders at a time."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._asked = count()
        self._waiting: list[
            tuple[int, int, asyncio.Future[None]]
        ] = []  # a heap: least priority value, then who asked first
        self._closed = False
        self._refusals = 0
        """How often in a row the machine was exhausted; while there are any, one goes first."""
        self._refused_for = ""
        self._rests_until_s = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._first: asyncio.TimerHandle | None = None
        """Of who goes first: when it is known to fare well."""
        self.held = 0

    @asynccontextmanager
    async def turn(self, priority: int = 0) -> AsyncGenerator[None]:
        """Hold a slot. Raises Closed when there will be none any more, or none for now."""
        await self._take(priority)
        self.held += 1
        if self._refusals and self._first is None:
            self._first = asyncio.get_running_loop().call_later(PROBE_S, self._fare_well)
        try:
            yield
        except Exhausted as refusal:
            self._rest(refusal.message)
            raise
        else:
            self._fare_well()
        finally:
            self.held -= 1
            self._give_back()

    def close(self) -> None:
        """Let nobody in from now on."""
        self._closed = True
        self._send_away(STOPPING)

    def offered(self, room: int, waiting: int) -> int:
        """How many runs may be claimed, of so many for which there is room, while others wait for their turn."""
        if self.rests_s > 0:
            return 0
        if self._refusals:
            return min(room, int(self._first is None and waiting == 0))
        return room

    @property
    def rests_s(self) -> float:
        """How long nobody is let in."""
        if self._loop is None:  # never yet
            return 0.0
        return max(0.0, self._rests_until_s - self._loop.time())

    @property
    def rests(self) -> str | None:
        """Why nothing is let in, and for how long; None while something is."""
        return f"{self._refused_for}: nothing is started for {self.rests_s:.0f} s" if self.rests_s > 0 else None

    @property
    def asks_in_s(self) -> float | None:
        """When something else may be offered; None while all is."""
        return max(self.rests_s, PROBE_S) if self._refusals else None

    def _rest(self, reason: str) -> None:
        if self.rests_s > 0:
            return  # one of several that failed at once
        self._forget_first()
        self._refusals += 1
        self._refused_for = reason
        pause_s = min(REST_MAX_S, REST_S * 2.0 ** min(self._refusals - 1, 10))
        self._loop = asyncio.get_running_loop()  # whose time others may ask for too
        self._rests_until_s = self._loop.time() + pause_s
        self._send_away(reason)
        log.warning("! %s", self.rests)

    def _fare_well(self) -> None:
        if self.rests_s == 0:
            self._forget_first()
            self._refusals = 0

    def _forget_first(self) -> None:
        if self._first is not None:
            self._first.cancel()
        self._first = None

    def _send_away(self, reason: str) -> None:
        waiting, self._waiting = self._waiting, []
        for _, _, turn in waiting:
            if not turn.done():
                turn.set_exception(Closed(reason))

    async def _take(self, priority: int) -> None:
        if self._closed:
            raise Closed(STOPPING)
        if self.rests_s > 0:
            raise Closed(self._refused_for)
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
            raise Closed(STOPPING)

    def _give_back(self) -> None:
        self._free += 1
        while self._free > 0 and self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self._free -= 1
                turn.set_result(None)
