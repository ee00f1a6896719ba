"""Programs as direct children of the gateway, each in a session of its own.

A run ends when its main process does, even if something it left behind still holds its pipes; what is left of its
process group is then killed. A wall limit, a cancel and a forced stop go TERM, grace, KILL over the group. Children that
started sessions of their own are not followed here, and a gateway that is killed cannot learn how its runs ended: both
belong to the shims (docs/promises.md, P7). Until then a run whose gateway was killed is unknown, never guessed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from horae.core.model import Job, Order, Owner, Result
from horae.core.preflight import Facts
from horae.errors import Problem
from horae.limits import KILL_GRACE_S
from horae.ports import Orphan, Settings
from horae.runners.capture import Capture
from horae.runners.liveness import HOST, gone, host_id, remains, started_at
from horae.runners.room import exhausted
from horae.runners.scripts import facts_for
from horae.timing.durations import duration_words

READ_BYTES = 65536
DRAIN_READS_MAX = 64  # after the end: what is in the pipe, but not for ever from a child that goes on writing
OVER = "its wall limit passed, so what was left of it was ended"
NOTED_AFTER_S = 0.2  # a run that ends sooner is not worth a write that says which process it was


@dataclass(slots=True)
class Live:
    """One process and everything that is open for it."""

    process: subprocess.Popen[bytes]
    out: Capture
    err: Capture
    grace_s: float
    ended_by: str | None = None
    timers: list[asyncio.TimerHandle] = field(default_factory=list[asyncio.TimerHandle])


class ProcessRunner:
    """The runner of scripts and commands."""

    def __init__(self, settings: Settings, scripts: str | None = None) -> None:
        self._settings = settings
        self._scripts = scripts or os.path.join(settings.home, "scripts")
        self._live: dict[str, Live] = {}
        self._orphans: dict[str, asyncio.Future[str]] = {}
        self._notes: set[asyncio.Task[None]] = set()
        self._stopped: str | None = None

    def facts(self, job: Job) -> Facts:
        """What is to be started, and what stands against it."""
        path = self._settings.env.get("PATH", os.defpath)
        return facts_for(job, self._scripts, self._settings.commands, path, shared=self._settings.store is not None)

    async def run(self, order: Order, started: Callable[[int, int], Awaitable[None]]) -> Result:
        """Start it, watch it to its end."""
        try:
            process = subprocess.Popen(
                order.argv,
                cwd=order.cwd,
                env=order.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            if (refusal := exhausted(error)) is not None:
                raise refusal from error
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return Result(None, None, "", "", 0, 0, refused=why)
        loop = asyncio.get_running_loop()
        live = Live(process, Capture(order.output_bytes), Capture(order.output_bytes), order.grace_s)
        self._live[order.run_id] = live
        limit = f"wall limit of {duration_words(round(order.wall_s))} reached"
        live.timers.append(loop.call_later(order.wall_s, self._end, live, limit))
        live.timers.append(loop.call_later(NOTED_AFTER_S, self._note, live, started))
        if self._stopped is not None:
            self._end(live, self._stopped)
        try:
            await self._watch(live)
        finally:
            for timer in live.timers:
                timer.cancel()
            del self._live[order.run_id]
            _kill_group(process.pid, signal.SIGKILL)  # before it is reaped: until then nobody else can have its number
            process.poll()
        return _result(live)

    def stop_all(self, reason: str) -> None:
        """End every live run, and those that are about to start; each says why."""
        self._stopped = reason
        for live in self._live.values():
            self._end(live, reason)

    def cancel(self, run_id: str, reason: str) -> bool:
        """End one run, or what is left of one that another gateway started. False when it is not here.

        Asked again it does nothing: the engine asks at every look until the run has ended, and its grace must be its own.
        """
        live, orphan = self._live.get(run_id), self._orphans.get(run_id)
        if live is not None and live.ended_by is None:
            self._end(live, reason)
        if orphan is not None and not orphan.done():
            orphan.set_result(reason)
        return live is not None or orphan is not None

    def so_far(self, run_id: str) -> tuple[str, str] | None:
        """What a live run has printed until now: standard output and error."""
        live = self._live.get(run_id)
        return None if live is None else (live.out.text()[0], live.err.text()[0])

    def gone(self, owner: Owner) -> bool:
        """Whether a gateway's process is proven to be no more (see `liveness.py`)."""
        return gone(owner, host_id(self._settings.env.get(HOST)))

    async def outlived(self, orphan: Orphan, left_s: float) -> str | None:
        """Return once no process of this run is left on this machine. After `left_s`, or when asked: TERM, grace, KILL."""
        if orphan.host != host_id(self._settings.env.get(HOST)):
            return None  # on another machine: there is nothing that could be seen from here
        loop = asyncio.get_running_loop()
        asked = self._orphans[orphan.run_id] = loop.create_future()
        ended: list[int] = []
        timers = [loop.call_later(left_s, lambda: asked.done() or asked.set_result(OVER))]

        def end(_asked: asyncio.Future[str]) -> None:
            _end_orphan(orphan, signal.SIGTERM, ended)
            timers.append(loop.call_later(KILL_GRACE_S, _end_orphan, orphan, signal.SIGKILL, ended))

        asked.add_done_callback(end)
        try:
            while pids := remains(orphan):
                await asyncio.gather(*(_gone(pid) for pid in pids))
        finally:
            asked.remove_done_callback(end)
            del self._orphans[orphan.run_id]
            for timer in timers:
                timer.cancel()
        return asked.result() if ended else None

    async def _watch(self, live: Live) -> None:
        """Read both pipes until the main process ends."""
        loop = asyncio.get_running_loop()
        pipes = [(live.process.stdout, live.out), (live.process.stderr, live.err)]
        fds = {pipe.fileno(): capture for pipe, capture in pipes if pipe is not None}
        for fd, capture in fds.items():
            os.set_blocking(fd, False)
            loop.add_reader(fd, _read, loop, fd, capture)
        try:
            await _gone(live.process.pid, live.process)
            for fd, capture in fds.items():
                for _ in range(DRAIN_READS_MAX):
                    if not _read(loop, fd, capture):
                        break
        finally:
            for fd in fds:
                loop.remove_reader(fd)
            for pipe, _ in pipes:
                if pipe is not None:
                    pipe.close()

    def _end(self, live: Live, reason: str) -> None:
        """TERM now, KILL after the grace. Asking again kills at once."""
        again, live.ended_by = live.ended_by is not None, live.ended_by or reason
        _kill_group(live.process.pid, signal.SIGKILL if again else signal.SIGTERM)
        later = asyncio.get_running_loop().call_later(live.grace_s, _kill_group, live.process.pid, signal.SIGKILL)
        live.timers.append(later)

    def _note(self, live: Live, started: Callable[[int, int], Awaitable[None]]) -> None:
        async def note() -> None:
            with contextlib.suppress(Problem):  # progress: a disk that is full has more to say than this
                await started(live.process.pid, started_at(live.process.pid) or 0)

        task = asyncio.get_running_loop().create_task(note())
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)


def _read(loop: asyncio.AbstractEventLoop, fd: int, capture: Capture) -> bool:
    """Take what is there; False when there is nothing or the writer has gone."""
    try:
        data = os.read(fd, READ_BYTES)
    except BlockingIOError:
        return False
    if not data:
        loop.remove_reader(fd)
        return False
    capture.feed(data)
    return True


async def _gone(pid: int, child: subprocess.Popen[bytes] | None = None) -> None:
    """Wait for a process to end, ours or not. On Linux a child of ours is left to be reaped."""
    loop = asyncio.get_running_loop()
    if sys.platform != "linux":
        if child is not None:
            await loop.run_in_executor(None, child.wait)
        return
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = loop.create_future()
    loop.add_reader(fd, lambda: ended.done() or ended.set_result(None))
    try:
        await ended
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def _end_orphan(orphan: Orphan, number: int, ended: list[int]) -> None:
    for pid in remains(orphan):
        ended.append(pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _kill_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _result(live: Live) -> Result:
    code = live.process.returncode
    stdout, stdout_cut = live.out.text()
    stderr, stderr_cut = live.err.text()
    return Result(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        stdout=stdout,
        stderr=stderr,
        stdout_cut=stdout_cut,
        stderr_cut=stderr_cut,
        ended_by=live.ended_by,
    )
