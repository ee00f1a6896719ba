"""Tell systemd that the gateway is ready, that it stops, and that it is alive.

The protocol is one datagram of lines to the socket that NOTIFY_SOCKET names. Where no such manager started us, and
whatever the socket does, nothing happens: a gateway that works must not end because nobody listens to it. The watchdog is
fed from the engine's own loop: a loop that is stuck feeds nothing, and neither does an engine that says it is not well;
systemd then ends the gateway and starts another, which adopts what runs.

There is no library for it here: sdnotify, the usual one, had its last release in 2017 and does not know the watchdog's
interval, and what binds libsystemd needs a compiler.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

ADDRESS, INTERVAL, WATCHED_PID = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"
STATUS_BYTES_MAX = 512
FEEDS = 3  # in one interval: one that is lost or late must not cost the gateway its life


class Notifier:
    """The line to whoever started this process, if anybody listens."""

    def __init__(self, env: Mapping[str, str], pid: int | None = None) -> None:
        self._address = _address(env.get(ADDRESS, ""))
        self.interval_s = _interval_s(env, os.getpid() if pid is None else pid) if self._address else None
        """Within which the watchdog wants to be fed; None when there is none."""

    def ready(self, status: str = "") -> bool:
        """Everything works that was asked for at the start."""
        return self.tell("READY=1", *_status(status))

    def stopping(self, status: str = "") -> bool:
        """It was asked to stop, and is doing so."""
        return self.tell("STOPPING=1", *_status(status))

    def status(self, text: str) -> bool:
        """A line for `systemctl status`."""
        return self.tell(*_status(text))

    def feed(self) -> bool:
        """It is alive."""
        return self.tell("WATCHDOG=1")

    def tell(self, *lines: str) -> bool:
        """Send these lines; False when nobody took them. Never waits, never raises."""
        if self._address is None or not lines:
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
                line.settimeout(0)
                line.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)
        except OSError:
            return False
        return True

    @asynccontextmanager
    async def watched(self, alive: Callable[[], bool]) -> AsyncGenerator[None]:
        """For as long as this is entered, feed the watchdog from this loop while `alive()` says so."""
        if self.interval_s is None:
            yield
            return
        loop, every_s = asyncio.get_running_loop(), self.interval_s / FEEDS
        timer: asyncio.TimerHandle | None = None

        def feed() -> None:
            nonlocal timer
            timer = loop.call_later(
                every_s, feed
            )  # first: an answer that is an error must not end the feeding for ever
            if alive():
                self.feed()

        feed()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()


def _status(text: str) -> tuple[str, ...]:
    line = " ".join(text.split())
    return (f"STATUS={line.encode('utf-8', 'replace')[:STATUS_BYTES_MAX].decode('utf-8', 'ignore')}",) if line else ()


def _address(text: str) -> str | None:
    """The socket's address: a path, or with @ a name in the abstract space. Anything else is none that we can reach."""
    if not text or text[0] not in "/@" or len(text) < 2:
        return None
    return "\0" + text[1:] if text[0] == "@" else text


def _interval_s(env: Mapping[str, str], pid: int) -> float | None:
    """How often this very process has to be heard of."""
    told, meant = env.get(INTERVAL, ""), env.get(WATCHED_PID, "")
    if not (told.isascii() and told.isdigit()) or int(told) == 0 or (meant and meant != str(pid)):
        return None
    return int(told) / 1e6
