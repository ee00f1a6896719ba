"""Server-sent events: what a stream is made of, and when it ends.

A stream ends when its reader goes, when the process stops, and when whoever reads may not any more: that is looked at every
few seconds, so a revoked token reads no further.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

from fastapi.responses import StreamingResponse
from starlette.requests import Request

MEDIA = "text/event-stream"
BEAT = b": still here\n\n"
BEAT_EVERY_S = 5.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy that collects would hold news back


def event(kind: str, data: Any, number: int | None = None) -> bytes:
    """One event."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def stream(pieces: AsyncGenerator[bytes]) -> StreamingResponse:
    """The answer."""
    return StreamingResponse(pieces, media_type=MEDIA, headers=HEADERS)


async def closes_within(request: Request, seconds: float) -> bool:
    """Wait a moment; True when the process stops meanwhile."""
    with suppress(TimeoutError):
        await asyncio.wait_for(request.app.state.closing.wait(), seconds)
        return True
    return False


class Pulse:
    """Every few seconds, however much is told meanwhile: a sign of life, and a look whether it may go on."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.time() + BEAT_EVERY_S

    @property
    def left_s(self) -> float:
        """Until the next one; 0 when it is due."""
        return max(0.0, self._next - self._loop.time())

    async def goes_on(self) -> bool:
        """Whether somebody still reads, and still may. It is due again in a while."""
        self._next = self._loop.time() + BEAT_EVERY_S
        return await goes_on(self._request)


async def goes_on(request: Request) -> bool:
    """Whether somebody still reads, and still may."""
    if await request.is_disconnected():
        return False
    return await request.state.still() is not None
