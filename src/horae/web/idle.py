"""Whether anybody has visited lately: a process that nobody visits ends, and the next visitor has it started anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Idle:
    """Counts requests that are being answered; a stream is one for as long as it flows."""

    def __init__(self) -> None:
        self._open = 0
        self._last = 0.0

    def begin(self) -> None:
        """A request came."""
        self._open += 1

    def end(self) -> None:
        """It is answered."""
        self._open -= 1
        self._last = asyncio.get_running_loop().time()

    def watch(self, loop: asyncio.AbstractEventLoop, after_s: float, every_s: float, leave: Callable[[], None]) -> None:
        """Call `leave` once nobody has come for so long."""
        self._last = loop.time()

        def look() -> None:
            if self._open == 0 and loop.time() - self._last > after_s:
                leave()
            else:
                loop.call_later(every_s, look)

        loop.call_later(every_s, look)
