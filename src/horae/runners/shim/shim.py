"""The shim: it takes an order, carries it out, writes what came of it into its spool, and takes the next one.

It is a session of its own, below the template process, and does not need its gateway: where that is gone it finishes its
run, writes the result and ends. It holds a lock on its spool for as long as it lives, so that whoever can lock the file
knows that nothing more will be written to it.

Orders come over a socket, each as four bytes of length and JSON. One byte goes back whenever something was written.
TERM asks for the end of the run.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import stat
import struct
import time
from functools import partial

from horae.runners.shim.bound import Bound
from horae.runners.shim.cgroup import Box, own_group, prepare
from horae.runners.shim.landlock import Walls, WallsError, version
from horae.runners.shim.run import Run, refused
from horae.runners.shim.spool import ENDED, OPENED, VERSION, WRITTEN, told
from horae.runners.shim.tree import become_subreaper, born

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LENGTH = struct.Struct("<I")
ORDER_BYTES_MAX = 64 * 1024 * 1024
READ_BYTES = 65536  # what is larger is taken from the system and given back each time
RETRY_S = 0.2  # between tries to write to a disk that is full


# The end of the main process is told by a descriptor of it where there is such a thing: a signal is dear, and only the main
# thread can take it.
SIGNALS = (signal.SIGTERM,) if hasattr(os, "pidfd_open") else (signal.SIGTERM, signal.SIGCHLD)


class Wake:
    """Signals as something to poll: each one that arrives makes `fd` readable."""

    def __init__(self, *numbers: int) -> None:
        self.fd, self._end = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._end, False)
        for number in numbers:
            signal.signal(number, _noted)
        signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)

    def close(self) -> None:
        """What was forked has signals of its own."""
        signal.set_wakeup_fd(-1)
        os.close(self.fd)
        os.close(self._end)

    def take(self) -> bytes:
        """The numbers of the signals that have arrived."""
        try:
            return os.read(self.fd, 4096)
        except BlockingIOError:
            return b""


def _noted(_number: int, _frame: object) -> None:
    """Its arrival is in the pipe."""


class Orders:
    """The shim's end of the socket."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        channel.settimeout(0)
        self.fd = channel.fileno()
        self._data = b""
        self.open = True

    def read(self) -> list[dict[str, Any]]:
        """What has arrived. Nobody at the other end makes `open` false."""
        try:
            data = self._channel.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.open = False
            return []
        self._data += data
        found: list[dict[str, Any]] = []
        while len(self._data) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._data)
            if len(self._data) < LENGTH.size + length:
                break
            found.append(json.loads(self._data[LENGTH.size : LENGTH.size + length]))
            self._data = self._data[LENGTH.size + length :]
        return found

    def ring(self, word: bytes) -> None:
        """Say that there is something new in the spool, if anybody is there."""
        try:
            self._channel.send(word)
        except OSError:
            return


class Shim:
    """One shim's life."""

    def __init__(self, channel: socket.socket, spool: int, base: dict[str, Any]) -> None:
        self._orders = Orders(channel)
        self._spool = spool
        self._base = base
        self._pending = b""
        self._waiting: list[dict[str, Any]] = []
        self._asked: dict[str, str] = {}
        """Runs that are to end, and whose order was not carried out yet."""
        self._ends = False
        self._group: str | None = None
        """The control group, its own, in which there is a box for each run."""
        self._bound: Bound | None = None
        """The thread that works now, where it is not the main one."""
        self._wake = Wake(*SIGNALS)
        self._poll = select.poll()
        self._poll.register(self._wake.fd, select.POLLIN)
        self._poll.register(self._orders.fd, select.POLLIN)
        self._walls = Walls(base["home"], [base["folder"], *base["own"]], base["hidden"]) if version() else None

    def serve(self) -> None:
        """Until nobody gives orders any more, or it must not take another."""
        _make_folder(self._base["folder"])
        self._open()
        while not self._ends and (self._waiting or self._orders.open):
            self._work()
            if self._waiting and not self._ends and self._walls is not None:  # its first one is not for this thread
                self._work_behind(self._walls)
        try:
            os.rmdir(self._base["folder"])
        except OSError:
            return  # a run has left something in it

    def _work(self) -> None:
        """Carry orders out, until there is one that is not for this thread."""
        while not self._ends:
            if not self._waiting:
                if not self._orders.open:
                    return
                self._look(None, None)
                continue
            message = self._waiting[0]
            if "run" in message and not self._is_here(message["run"]):
                return
            self._waiting.pop(0)
            if "run" in message:
                self._carry_out(message["run"])
            elif "scope" in message:
                self._group = own_group()
                if self._group is not None:
                    prepare(self._group)

    def _work_behind(self, walls: Walls) -> None:
        """The same on a thread that is bound."""
        try:
            self._bound = Bound(walls)
            self._bound.work(self._work)
        except WallsError as error:
            self._settle(refused(self._waiting.pop(0)["run"]["run"], f"Landlock: {error}", None))
        finally:
            self._bound = None

    def _is_here(self, order: dict[str, Any]) -> bool:
        """Whether this thread is the one to start a program for it."""
        walls, bound = self._walls, self._bound
        if walls is None or not order["landlock"]:
            return bound is None
        if bound is None or (bound.used and bound.key != walls.key()):
            return False
        bound.used = True
        return True

    def _free(self, call: Callable[[], int | None]) -> int | None:
        """Do what a bound thread may not."""
        return call() if self._bound is None else self._bound.free(call)

    def _open(self) -> None:
        pid = os.getpid()
        self._write(told(OPENED, version=VERSION, name=self._base["name"], pid=pid, born=born(pid)))

    def _look(self, run: Run | None, timeout_ms: int | None) -> None:
        """Wait for whatever happens, and take it in."""
        for fd, _ in self._poll.poll(timeout_ms):
            if fd == self._orders.fd:
                for message in self._orders.read():
                    if "end" in message:
                        if run is not None and message["end"] == run.id:
                            run.end("asked", message["why"])
                        else:
                            self._asked[message["end"]] = message["why"]
                    else:
                        self._waiting.append(message)
                if not self._orders.open:
                    self._poll.unregister(fd)
            elif fd == self._wake.fd:
                self._heard(self._wake.take(), run)
            elif run is not None and fd == run.pidfd:
                run.reap()
                run.forget(self._poll)
            elif run is not None:
                run.read(fd, self._poll)

    def _heard(self, numbers: bytes, run: Run | None) -> None:
        if run is not None:
            run.reap()
            if signal.SIGTERM in numbers:
                run.end("asked")
        elif signal.SIGTERM in numbers:
            self._ends = True

    def _carry_out(self, order: dict[str, Any]) -> None:
        if order["fresh"]:
            os.ftruncate(self._spool, 0)
            self._open()
        box = Box.make(self._group, order["run"]) if self._group is not None else None
        run = Run(order, self._base["folder"], self._base["output"], self._free, box)
        failed = run.begin(self._poll)
        asked = self._asked.pop(run.id, None)
        self._asked.clear()
        if failed is not None:
            self._settle(failed)
            return
        if asked is not None:
            run.end("asked", asked)
        while not run.over():
            if news := run.news():
                self._write(news)
            self._look(run, int(RETRY_S * 1000) if self._pending else run.timeout_ms())
        run.forget(self._poll)
        for fd in run.pipes:
            self._poll.unregister(fd)
        last, left = run.finish()
        if not left and not run.tidy:  # before the end is told: a sandbox needs it
            self._free(partial(_make_folder, self._base["folder"]))
        self._ends = self._ends or left or not run.proved
        self._settle(last)

    def _settle(self, data: bytes) -> None:
        """Write it, however long that takes: what has happened must not be lost because a disk is full."""
        self._write(data, ENDED)
        while self._pending:
            time.sleep(RETRY_S)
            self._write(b"", ENDED)

    def _write(self, data: bytes, word: bytes = WRITTEN) -> None:
        """Append to the spool, or keep it until there is room."""
        self._pending += data
        while self._pending:
            try:
                done = os.write(self._spool, self._pending)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                    return
                raise
            self._pending = self._pending[done:]
        self._orders.ring(word)


def _make_folder(folder: str) -> None:
    """The folder that runs may write to, whatever one of them has made of it."""
    try:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            os.unlink(folder)
    except FileNotFoundError:
        pass
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
    except OSError:
        return  # a disk that is full; the next run sees it


def live(channel: socket.socket, spool: int, base: dict[str, Any]) -> None:
    """A shim, from its fork to its end. Never returns to the template's own code."""
    os.setsid()
    become_subreaper(b"horae-shim")
    Shim(channel, spool, base).serve()
