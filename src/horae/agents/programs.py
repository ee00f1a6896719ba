"""Runs a program of an agent to its end: with a time limit, without input, and with what it prints bounded.

Of each stream the beginning and the end are kept: a program says what it does first and how it went last. A program that is
over its time is ended with its group; what left the group is ended with the run, by its shim. Who still holds its output
when it has ended is not waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from horae.clock import SystemClock

KEPT_BYTES_MAX = 64 * 1024  # of each stream
LAST_WORDS_S = 0.3  # for what it wrote directly before its end


@dataclass(frozen=True, slots=True)
class Ended:
    """How it went. `code` is None where it was not started, or was ended for its time; `why` says which."""

    code: int | None
    out: str
    err: str
    ms: int
    why: str = ""


class _Kept:
    """The beginning and the end of a stream."""

    def __init__(self) -> None:
        self._head, self._tail, self._total = bytearray(), bytearray(), 0

    def take(self, data: bytes) -> None:
        half = KEPT_BYTES_MAX // 2
        self._total += len(data)
        room = half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * half:
            del self._tail[:-half]

    def text(self) -> str:
        half = KEPT_BYTES_MAX // 2
        tail = self._tail[-half:]
        left_out = self._total - len(self._head) - len(tail)
        gap = f"\n[… {left_out:,} bytes are left out here …]\n".encode() if left_out else b""
        return (bytes(self._head) + gap + bytes(tail)).decode("utf-8", "replace")


async def run(argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout_s: float) -> Ended:
    """What became of it."""
    clock = SystemClock()
    began = clock.reading().steady_s

    def ms() -> int:
        return round((clock.reading().steady_s - began) * 1000)

    heard = _Heard(asyncio.get_running_loop())
    try:
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: heard,
            *argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Ended(None, "", "", ms(), f"{argv[0]}: {getattr(error, 'strerror', None) or error}")
    why = ""
    try:
        await asyncio.wait((heard.ended,), timeout=timeout_s)
        if not heard.ended.done():
            why = f"it was ended: it had not finished after {timeout_s:g} s"
        else:
            await asyncio.wait((heard.silent,), timeout=LAST_WORDS_S)
    finally:
        if transport.get_returncode() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
            await heard.ended
        transport.close()
    code = None if why else transport.get_returncode()
    return Ended(code, heard.kept[1].text(), heard.kept[2].text(), ms(), why)


class _Heard(asyncio.SubprocessProtocol):
    """What it printed, and when it ended. `wait` of the library's own process waits for whoever holds its output."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.kept = {1: _Kept(), 2: _Kept()}
        self.ended: asyncio.Future[None] = loop.create_future()
        self.silent: asyncio.Future[None] = loop.create_future()
        self._open = {1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.kept[fd].take(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open and not self.silent.done():
            self.silent.set_result(None)

    def process_exited(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)
