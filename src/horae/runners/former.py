"""Runs that a gateway before us has begun: their shims live on, or have left their results in their spools.

- Its record is in a spool, and the shim lives: it is waited for. It keeps the limits by itself; TERM asks it to end.
- Its result is there: it is collected.
- The shim is gone and there is no result: nobody can say how the run ended. What is left of it is killed.
- No spool knows it: a shim of that gateway that is alive and has nothing to do may have the order in its hands. It ends as
  soon as it sees that its gateway is gone; only then it is certain that nothing will begin any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Collection, Iterator, Sequence

from horae.core.activity import Work
from horae.core.model import Bounds, Result
from horae.ports import Orphan
from horae.runners.liveness import remains, started_at
from horae.runners.room import no_room
from horae.runners.shim.spool import OPENED, RESULT, STARTED
from horae.runners.spools import Gathered, history, is_free, lost, read
from horae.runners.windows import end_tree

LOOK_EVERY_S = 0.05  # while a shim that has just lost its gateway ends, or one that was killed is cleaned up after
NET_S = 2.0  # the net below the notice that a shim has ended
UNTOLD_S = 60.0  # a shim that does not end, and says nothing, for so long: somebody has stopped it
GONE = "its shim ended before it"
NEVER = "no shim has begun it, or it was lost with its spool"


class Former:
    """Spools of the gateways before us in one folder."""

    def __init__(self, folder: str, mine: Sequence[str]) -> None:
        """`mine` are the names of pools of this gateway."""
        self._folder = folder
        self._mine = tuple(f"{name}-" for name in mine)
        self._adopted: dict[str, str] = {}
        self._read: dict[str, str] = {}
        self._reasons: dict[str, str] = {}

    async def result(self, orphan: Orphan, bounds: Bounds) -> tuple[Result, str | None]:
        """How a run has ended, once that is known, and the folder of its shim. Raises Exhausted."""
        run_id = orphan.run_id
        path = await self._find(orphan)
        if path is None:
            await end_marked(orphan)
            return lost(Gathered(run_id), NEVER), None
        self._adopted[run_id] = path
        if orphan.asked is not None:  # before it became ours
            self.cancel(run_id, orphan.asked)
        try:
            gathered = await self._ended(path, run_id)
        finally:
            del self._adopted[run_id]
        reason = self._reasons.pop(run_id, None)
        self._read[run_id] = path
        if gathered.end is None:
            await end_marked(orphan)
            return lost(gathered, f"{GONE}; {reason}" if reason else GONE), None
        if (refusal := no_room(gathered)) is not None:
            raise refusal
        return gathered.result(bounds, reason), f"{path[: -len('.log')]}.d"

    def collected(self, run_id: str) -> None:
        """The way of a run is over here: its spool is needed no more, if nobody else of it is."""
        path = self._read.pop(run_id, None)
        if path is not None and path not in (*self._read.values(), *self._adopted.values()):
            self._clear(path, set())

    def cancel(self, run_id: str, reason: str) -> bool:
        """Ask a run to end. False when it is none of these."""
        if run_id in self._reasons:
            return True
        path = self._adopted.get(run_id)
        if path is not None:
            self._reasons[run_id] = reason
            self._ask(path)
        return path is not None

    def ask(self, run_id: str) -> bool:
        """Ask a run to end that no gateway watches. False when no shim has it."""
        for path in self._spools(self._folder):
            if not is_free(path) and is_free(_gate(path)) and _busy_with(path) == run_id:
                self._ask(path)
                return True
        return False

    def so_far(self, run_id: str) -> tuple[str, str] | None:
        """What it has printed until now."""
        path = self._adopted.get(run_id)
        found = None if path is None else read(path, run_id)
        return None if found is None else found.so_far()

    def work_so_far(self, run_id: str) -> Work | None:
        """What its agent has done until now."""
        path = self._adopted.get(run_id)
        found = None if path is None else read(path, run_id)
        return None if found is None else found.work

    def sweep(self, keep: Collection[str]) -> None:
        """Take away the spools of gateways that are gone, but for those that know a run of `keep`."""
        for path in list(self._spools(self._folder)):
            self._clear(path, {*keep, *self._adopted})
        for name in self._names(self._folder):
            gate = os.path.join(self._folder, name)
            if name.endswith(".gate") and is_free(gate):
                with contextlib.suppress(OSError):
                    os.unlink(gate)

    @staticmethod
    def _clear(path: str, keep: Collection[str]) -> None:
        """Take a spool away that nobody writes to any more, and that knows no run of `keep`."""
        if not is_free(_gate(path)) or not is_free(path):
            return
        if not {run for run, kind, _ in history(path) if kind in (STARTED, RESULT)} & {*keep}:
            _remove(path)

    async def _find(self, orphan: Orphan) -> str | None:
        """The spool that knows a run; None once it is certain that none ever will."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + UNTOLD_S
        folders = {self._folder, *orphan.spools}
        while True:
            waits = False
            for path in (path for folder in folders for path in self._spools(folder)):
                free = is_free(path)  # looked at first: what is written after it is not missed
                if any(run == orphan.run_id for run, _, _ in history(path)):
                    return path
                waits = waits or (not free and _busy_with(path) is None and is_free(_gate(path)))
            if not waits or loop.time() > until_s:
                return None
            await asyncio.sleep(LOOK_EVERY_S)

    async def _ended(self, path: str, run_id: str) -> Gathered:
        while True:
            free = is_free(path)
            gathered = read(path, run_id) or Gathered(run_id)
            if free or (gathered.end is not None and not is_free(_gate(path))):
                return gathered
            await _until_gone(*_shim_of(path))

    @staticmethod
    def _ask(path: str) -> None:
        """TERM to the shim, and to nobody who has got its number since."""
        pid, born = _shim_of(path)
        if pid is None or started_at(pid) != born:
            return
        with contextlib.suppress(OSError):
            if sys.platform != "linux":
                os.kill(pid, signal.SIGTERM)
                return
            fd = os.pidfd_open(pid)
            try:
                if started_at(pid) == born:
                    signal.pidfd_send_signal(fd, signal.SIGTERM)
            finally:
                os.close(fd)

    @staticmethod
    def _names(folder: str) -> list[str]:
        try:
            return sorted(os.listdir(folder))
        except OSError:
            return []

    def _spools(self, folder: str) -> Iterator[str]:
        """Those that are not ours."""
        for name in self._names(folder):
            if name.endswith(".log") and "-" in name and not name.startswith(self._mine):
                yield os.path.join(folder, name)


async def end_marked(orphan: Orphan) -> None:
    """End what carries the mark of a run that nobody watches any more."""
    until_s = asyncio.get_running_loop().time() + UNTOLD_S
    if sys.platform == "win32" and orphan.pid is not None:
        await asyncio.to_thread(end_tree, orphan.pid, UNTOLD_S)
    while (pids := remains(orphan)) and asyncio.get_running_loop().time() < until_s:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(LOOK_EVERY_S)


def _gate(path: str) -> str:
    """What the gateway holds that made this shim."""
    return f"{path.rsplit('-', 1)[0]}.gate"


def _busy_with(path: str) -> str | None:
    """The run that has begun and has no result yet."""
    busy: str | None = None
    for run, kind, _ in history(path):
        busy = None if kind == RESULT else run
    return busy


def _shim_of(path: str) -> tuple[int | None, int | None]:
    """Which process writes a spool."""
    for _, kind, payload in history(path):
        if kind == OPENED:
            with contextlib.suppress(ValueError, LookupError, TypeError):
                told = json.loads(payload)
                return told["pid"], told["born"]
    return None, None


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(f"{path[: -len('.log')]}.d", ".beat"))
    with contextlib.suppress(OSError):
        os.rmdir(f"{path[: -len('.log')]}.d")  # what is not empty holds files of a run, and stays


async def _until_gone(pid: int | None, born: int | None) -> None:
    """Until a process has ended, at most for a while."""
    fd = None
    if sys.platform == "linux" and pid is not None and started_at(pid) == born:
        with contextlib.suppress(OSError):
            fd = os.pidfd_open(pid)
    if fd is None:
        await asyncio.sleep(LOOK_EVERY_S)
        return
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    loop.add_reader(fd, lambda: ended.done() or ended.set_result(None))
    try:
        await asyncio.wait((ended,), timeout=NET_S)
    finally:
        loop.remove_reader(fd)
        os.close(fd)
