"""A program with three pipes that are ours: its end is its own end, whoever still holds the other ends of them.

The library's own pipes would have it wait for all that the program has started and left behind.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Self

from horae.agents.stop import Stop


class Piped:
    """One such program. `close` it when it has ended."""

    def __init__(self, process: asyncio.subprocess.Process, limit: int) -> None:
        self.process = process
        self.out, self.err = asyncio.StreamReader(limit), asyncio.StreamReader()
        self.into: asyncio.StreamWriter | None = None
        """Its input; None: it has none."""
        self._transports: list[asyncio.BaseTransport] = []

    @classmethod
    async def start(
        cls, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], feeds: bool = True, limit: int = 65536
    ) -> Self:
        """Raises Stop. `limit` bounds a line of its output."""
        with ExitStack() as ours, ExitStack() as its:
            out, its_out = _pipe(ours, its)
            err, its_err = _pipe(ours, its)
            its_in, into = _pipe(its, ours) if feeds else (asyncio.subprocess.DEVNULL, -1)
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv, cwd=cwd, env=dict(env), stdin=its_in, stdout=its_out, stderr=its_err
                )
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                raise Stop("failed", f"{argv[0]} cannot be started: {why}; look at its `command`") from error
            ours.pop_all()
            one = cls(process, limit)
            await one._connect(out, err, into)
            return one

    async def _connect(self, out: int, err: int, into: int) -> None:
        loop = asyncio.get_running_loop()
        for fd, reader in ((out, self.out), (err, self.err)):
            protocol = asyncio.StreamReaderProtocol(reader)
            transport, _ = await loop.connect_read_pipe(lambda found=protocol: found, os.fdopen(fd, "rb", 0))
            self._transports.append(transport)
        if into >= 0:
            flow = asyncio.StreamReaderProtocol(asyncio.StreamReader())
            writing, _ = await loop.connect_write_pipe(lambda: flow, os.fdopen(into, "wb", 0))
            self._transports.append(writing)
            self.into = asyncio.StreamWriter(writing, flow, None, loop)

    def close(self) -> None:
        """Nothing more is read or written."""
        for transport in self._transports:
            if not isinstance(transport, asyncio.WriteTransport):
                transport.close()
            elif not transport.is_closing() or transport.get_write_buffer_size():
                transport.abort()


def _pipe(reads_by: ExitStack, writes_by: ExitStack) -> tuple[int, int]:
    reads, writes = os.pipe()
    reads_by.callback(os.close, reads)
    writes_by.callback(os.close, writes)
    return reads, writes
