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

    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=dict(env),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Ended(None, "", "", ms(), f"{argv[0]}: {getattr(error, 'strerror', None) or error}")
    out, err = _Kept(), _Kept()
    readers = [
        asyncio.ensure_future(_read(stream, kept))
        for stream, kept in ((process.stdout, out), (process.stderr, err))
        if stream is not None
    ]
    why = ""
    try:
        try:
            await asyncio.wait_for(process.wait(), timeout_s)
        except TimeoutError:
            why = f"it was ended: it had not finished after {timeout_s:g} s"
        await asyncio.wait(readers, timeout=LAST_WORDS_S)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        for reader in readers:
            reader.cancel()
    return Ended(None if why else process.returncode, out.text(), err.text(), ms(), why)


async def _read(stream: asyncio.StreamReader, kept: _Kept) -> None:
    while data := await stream.read(65536):
        kept.take(data)
