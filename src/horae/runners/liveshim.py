"""One live shim, as its gateway sees it: a socket for orders, and its spool to read what comes of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from horae.limits import SPOOL_BYTES
from horae.runners.shim.spool import ENDED, RESULT, Damaged, Newer, records
from horae.runners.spools import READ_BYTES, Gathered, is_free

LOOK_EVERY_S = 0.02
FEW_BYTES = 16384  # most records of a run; a longer one is read again as a whole

log = logging.getLogger("horae.runners")


class LiveShim:
    """One shim, as its gateway sees it."""

    def __init__(self, stem: str, channel: socket.socket, spool: int, pid: int) -> None:
        self.path, self.folder = f"{stem}.log", f"{stem}.d"
        self.channel = channel
        self._pid = pid
        self.sound = True
        """Whether it may take another run."""
        self.left = False
        """Whether its run is left to itself: the next gateway needs its spool."""
        self.closed = False
        self.idle_since_s = 0.0
        self.run: Gathered | None = None
        """What is known of the run that it carries out."""
        self._over: asyncio.Future[None] | None = None
        self._started: Callable[[Gathered], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._spool = spool
        self._at = 0
        self._ordered = self._ended = 0
        """How many runs it was given, and of how many it has said that they are over."""
        self._sending = asyncio.Lock()
        """So that a message is not sent in the middle of another one, which is sent in parts."""

    @property
    def alive(self) -> bool:
        """Whether its end of the socket is open."""
        return is_open(self.channel)

    @property
    def is_watched(self) -> bool:
        """Whether its end would be noticed at once."""
        return self._loop is asyncio.get_running_loop()

    async def carry_out(
        self, order: dict[str, Any], started: Callable[[Gathered], None], *, collected: bool
    ) -> Gathered:
        """Give it an order, and gather what comes of it until its result is there or its spool will never have it.

        `collected` says whether nobody needs any more what its spool holds.
        """
        loop = asyncio.get_running_loop()
        if (
            self._loop is not loop
        ):  # for as long as it lives: to begin and end it with each run costs as much as the rest
            self._loop, self._sending = loop, asyncio.Lock()
            loop.add_reader(self.channel.fileno(), self._rung)
        gathered = self.run = Gathered(order["run"])
        self._over, self._started = loop.create_future(), started
        fresh = self._at > SPOOL_BYTES and collected
        if fresh:
            self._at = 0
        self._ordered += 1
        try:
            await self.tell({"run": {**order, "fresh": fresh}})
            await self._over
            while gathered.end is None and not is_free(self.path):  # noqa: ASYNC110  it is gone, and cleaned up after
                await asyncio.sleep(LOOK_EVERY_S)
            self._collect(gathered)
        finally:
            self.run = self._over = self._started = None
        if gathered.end is None or gathered.end.get("left") or not gathered.end.get("proved", True):
            self.sound = False
        return gathered

    async def tell(self, message: dict[str, Any]) -> None:
        """Send it a message. One that is gone is noticed elsewhere."""
        said = json.dumps(message, separators=(",", ":")).encode()
        data = len(said).to_bytes(4, "little") + said
        async with self._sending:
            with contextlib.suppress(OSError):
                await self._send(data)

    async def _send(self, data: bytes) -> None:
        try:
            sent = self.channel.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            await asyncio.get_running_loop().sock_sendall(self.channel, data[sent:])

    def go_on(self) -> None:
        """It should have ended its run by now: its program may have stopped it."""
        if not self.closed and self.alive:  # so its number is its own
            with contextlib.suppress(OSError):
                os.kill(self._pid, signal.SIGCONT)

    def close(self) -> None:
        """Let go of it: it ends after what it does."""
        if not self.closed:
            self._unwatch()
            self.sound, self.closed = False, True
            self.channel.close()
            os.close(self._spool)

    def remove(self) -> None:
        """Its spool has been collected."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)

    def _unwatch(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self.channel.fileno())
        self._loop = None

    def _rung(self) -> None:
        """It has written something, or is gone."""
        try:
            said = self.channel.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        there = said != b""
        self._ended += said.count(ENDED)
        gathered = self.run
        if gathered is not None:
            known = gathered.pid
            self._collect(gathered)
            if gathered.end is None and self._ended == self._ordered:
                self._damaged(gathered, "the result that was written is not to be found")
            if known is None and gathered.pid is not None and self._started is not None:
                self._started(gathered)
        if not there:
            self._unwatch()
            self.sound = False
        ended = not there or (gathered is not None and gathered.end is not None)
        if ended and self._over is not None and not self._over.done():
            self._over.set_result(None)

    def _collect(self, gathered: Gathered) -> None:
        """Take in what is new in the spool."""
        size = FEW_BYTES
        while gathered.end is None and (data := os.pread(self._spool, size, self._at)):
            read = 0
            try:
                for kind, payload, end in records(data):
                    gathered.take(kind, payload)
                    read = end
                    if kind == RESULT:
                        break
            except (Damaged, Newer) as error:
                self._damaged(gathered, f"{error}, counted from byte {self._at}")
                return
            self._at += read
            if read == 0 and (len(data) < size or size == READ_BYTES):
                return
            size = READ_BYTES if read == 0 else FEW_BYTES

    def _damaged(self, gathered: Gathered, why: str) -> None:
        """Nothing behind it can be believed: let the shim end after its run."""
        if gathered.damage is None:
            log.error("%s: %s", self.path, why)
            gathered.damage = f"its spool cannot be read to its end: {why}"
        self.sound = False
        with contextlib.suppress(OSError):
            self.channel.shutdown(socket.SHUT_WR)


def is_open(channel: socket.socket) -> bool:
    """Whether somebody holds the other end."""
    try:
        return channel.recv(4096, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
