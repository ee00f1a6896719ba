"""The template process: small, of one thread, with everything loaded, so that a shim is a fork of a millisecond.

It is a subreaper too. Where a shim is killed, what that had started becomes the template's own, and is killed at once;
then `CLEARED` is written into the dead shim's spool, and only then its lock is let go. Until then nobody takes the run
for over.

It outlives its gateway: it takes no more orders then, and ends when its last shim has.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

from horae.runners.shim import shim
from horae.runners.shim.agent import Agent
from horae.runners.shim.spool import CLEARED, told
from horae.runners.shim.tree import Tree, become_subreaper, born, calm, children

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REQUEST_BYTES_MAX = 65536
CLEAR_S = 60.0  # so long what a dead shim has left may take to be gone


class Template:
    """The process that forks shims."""

    def __init__(self, gateway: socket.socket) -> None:
        self._gateway: socket.socket | None = gateway
        self._shims: dict[int, int] = {}
        self._dead: list[tuple[int, int]] = []
        self._wake = shim.Wake(signal.SIGCHLD)
        self._poll = select.poll()
        self._poll.register(self._wake.fd, select.POLLIN)
        self._poll.register(gateway, select.POLLIN)

    def serve(self) -> None:
        """Until the gateway is gone and no shim is left."""
        while self._gateway is not None or self._shims:
            for fd, _ in self._poll.poll():
                if fd == self._wake.fd:
                    self._wake.take()
                    self._look_after()
                elif self._gateway is not None:
                    self._answer(self._gateway)

    def _answer(self, gateway: socket.socket) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(gateway, REQUEST_BYTES_MAX, 2)
            for fd in fds:
                os.set_inheritable(fd, False)  # noqa: FBT003  what comes over a socket would be
        except OSError:
            data, fds = b"", []
        if not data:
            self._poll.unregister(gateway)
            gateway.close()
            self._gateway = None
            return
        orders, spool = fds
        try:
            pid = os.fork()
        except OSError as error:
            os.close(orders)
            os.close(spool)
            gateway.sendall(json.dumps({"errno": error.errno}).encode() + b"\n")
            return
        if pid == 0:
            self._become_shim(gateway, orders, spool, json.loads(data))
        os.close(orders)
        self._shims[pid] = spool
        gateway.sendall(json.dumps({"pid": pid, "born": born(pid)}).encode() + b"\n")

    def _become_shim(self, gateway: socket.socket, orders: int, spool: int, base: dict[str, Any]) -> None:
        status = 1
        try:
            gateway.close()
            for other in self._shims.values():  # or their locks would live as long as we do
                os.close(other)
            self._wake.close()
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            shim.live(socket.socket(fileno=orders), spool, base)
            status = 0
        finally:
            if status:
                sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
                sys.stderr.flush()
            os._exit(status)

    def _look_after(self) -> None:
        """Whatever is no shim was a dead one's: kill it, and say so."""
        if self._reap() and not self._dead:
            return
        tree = Tree(self._shims)
        killed, proved = tree.clear(None, self._reap, CLEAR_S)
        calm()
        dead, self._dead = self._dead, []
        for spool, status in dead:
            record = told(CLEARED, status=status, killed=killed[:20], survivors=len(killed), proved=proved)
            with contextlib.suppress(OSError):  # a full disk; the lock that is let go says enough
                os.write(spool, record)
            os.close(spool)

    def _reap(self) -> bool:
        """Take note of what has ended. Whether nothing but shims is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return all(child in self._shims for child in children(os.getpid()))
            if pid in self._shims:
                self._dead.append((self._shims.pop(pid), status))


def main(fd: int, preload: str | None = None) -> None:
    """The template, on the socket with that number. `preload` names the module whose `main` works for agents."""
    os.closerange(fd + 1, 1 << 20)  # what the gateway was given by whoever started it: shims outlive both
    os.setsid()
    become_subreaper(b"horae-template")
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    if preload is not None:
        Agent.work = importlib.import_module(preload).main
    gc.collect()
    gc.disable()
    gc.freeze()
    Template(socket.socket(fileno=fd)).serve()
    os._exit(0)
