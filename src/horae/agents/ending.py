"""What may end the work of a program from elsewhere: the meter, on threads of its own, and whoever ends the run."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import suppress

from horae.agents.proxy import Proxy
from horae.agents.stop import Stop


class Ending:
    """Of one run, on its event loop. The first end counts."""

    def __init__(self, proxy: Proxy | None) -> None:
        self._loop = asyncio.get_running_loop()
        self.came: asyncio.Future[Stop] = self._loop.create_future()
        self._hears = threading.current_thread() is threading.main_thread()
        if proxy is not None:
            proxy.stopped = self._from_elsewhere
        if self._hears:
            self._loop.add_signal_handler(signal.SIGTERM, self.end, Stop("failed", "it was told to stop"))

    def end(self, stop: Stop) -> None:
        """It ends by this."""
        if not self.came.done():
            self.came.set_result(stop)

    def close(self) -> None:
        """Signals do again what they did."""
        if self._hears:
            self._loop.remove_signal_handler(signal.SIGTERM)

    def _from_elsewhere(self, stop: Stop) -> None:
        with suppress(RuntimeError):  # it is over already
            self._loop.call_soon_threadsafe(self.end, stop)
