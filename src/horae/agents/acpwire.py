"""A program that speaks the Agent Client Protocol: JSON messages, one a line, over its standard input and output.

It may write other lines too, as some do when they start: a few are passed over. One that writes no end of them, or a line
that has none, does not speak it: its stream is taken as ended, and `garbage` says what it wrote. Of its errors the last
are kept, for whoever has to say why it failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from horae.agents.piped import Piped

LINE_BYTES_MAX = 32 * 1024 * 1024
GARBAGE_MAX = 50  # lines
ERRORS_CHARS = 2000
GRACE_S = 2.0  # to end after its input has ended, and again after it was told to


class AgentProcess:
    """One such program. Also the transport that the library takes."""

    def __init__(self, piped: Piped) -> None:
        assert piped.into is not None
        self._piped, self._process, self._in, self._out = piped, piped.process, piped.into, piped.out
        self._errors = bytearray()
        self._reader = asyncio.ensure_future(self._read_errors())
        self._wrong, self._first = 0, ""

    @classmethod
    async def start(cls, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> Self:
        """Raises Stop."""
        return cls(await Piped.start(argv, cwd=cwd, env=env, limit=LINE_BYTES_MAX))

    # --- the transport

    async def send(self, message: dict[str, Any]) -> None:
        """Raises OSError when it is gone."""
        self._in.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._in.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while self._wrong < GARBAGE_MAX:
            try:
                line = await self._out.readline()
            except (ValueError, OSError):  # a line without an end
                self._wrong = GARBAGE_MAX
                break
            if not line:
                return None
            if (message := _object(line)) is not None:
                return message
            if line.strip():
                self._first = self._first or line.strip()[:200].decode("utf-8", "replace")
                self._wrong += 1
        return None

    async def close(self) -> None:
        """Nothing more is sent."""
        self._in.close()

    # --- the process

    @property
    def garbage(self) -> str | None:
        """What it wrote that is no message; None: nothing."""
        return f"it wrote what is no message: {self._first!r}" if self._wrong else None

    @property
    def speaks(self) -> bool:
        """Whether what it writes can be read."""
        return self._wrong < GARBAGE_MAX

    async def last_words(self) -> str:
        """How it ended, if it has, and the end of what it wrote as errors."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), GRACE_S / 4)
        await asyncio.wait([self._reader], timeout=GRACE_S / 4)
        code = self._process.returncode
        how = "" if code is None else f"it ended with status {code}" if code >= 0 else f"it was ended by signal {-code}"
        errors = bytes(self._errors).decode("utf-8", "replace").strip()
        return "; ".join(
            part for part in (how, self.garbage or "", f"its errors end with: {errors}" if errors else "") if part
        )

    async def end(self) -> None:
        """Have it end: by the end of its input, else by being told, else by being killed."""
        with contextlib.suppress(OSError):
            self._in.close()
        for step in (lambda: None, self._process.terminate, self._process.kill):
            with contextlib.suppress(ProcessLookupError):
                step()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), GRACE_S)
                break
        self._reader.cancel()
        self._piped.close()

    async def _read_errors(self) -> None:
        while data := await self._piped.err.read(65536):
            self._errors += data
            del self._errors[:-ERRORS_CHARS]


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
