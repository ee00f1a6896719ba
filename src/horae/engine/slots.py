"""The bound on live runs: `async with slots` waits for a free one, in order of asking.

Closing it (a gateway that drains) makes everybody who still waits, and everybody who comes later, fail with `Closed`:
a queued run never starts after the drain began.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType


class Closed(Exception):
    """No run may start any more."""


class Slots:
    """At most `limit` holders at a time."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self.held = 0

    async def __aenter__(self) -> None:
        if self._closed:
            raise Closed
        if self._free <= 0 or self._waiting:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn  # `_hand_on` has counted us in already
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled() and turn.exception() is None:
                    self._give_back()  # we were let in, and left at the same moment
                raise
            if self._closed:
                self._give_back()
                raise Closed
        else:
            self._free -= 1
        self.held += 1

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.held -= 1
        self._give_back()

    def close(self) -> None:
        """Let nobody in from now on."""
        self._closed = True
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(Closed())

    def _give_back(self) -> None:
        self._free += 1
        self._hand_on()

    def _hand_on(self) -> None:
        while self._free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                self._free -= 1
                turn.set_result(None)
