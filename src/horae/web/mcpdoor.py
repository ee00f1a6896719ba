"""`/mcp`: the server for agents, loaded when the first one calls, since its library takes a second to load.

It is an application with a lifespan of its own, which runs in a task from then on. Who calls is what the guard has found out;
the server reads it from a context variable, which each request has for itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import anyio.to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from horae.core.access import Who
from horae.errors import Trouble

Load = Callable[[], tuple[ASGIApp, ContextVar[Who]]]


class McpDoor:
    """ASGI application in its place."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._lock = asyncio.Lock()
        self._app: ASGIApp | None = None
        self._caller: ContextVar[Who] | None = None
        self._life: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, in the name of whoever sent it."""
        async with self._lock:
            if self._app is None:
                self._app, self._caller = await anyio.to_thread.run_sync(self._load)
                await self._begin(self._app)
        assert self._caller is not None
        given = self._caller.set(scope["state"]["who"])
        try:
            await self._app({**scope, "path": "/mcp", "root_path": ""}, receive, send)
        finally:
            self._caller.reset(given)

    async def _begin(self, app: ASGIApp) -> None:
        """Start its lifespan, and wait until it has begun."""
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def receive() -> Message:
            if not begun.done():
                return {"type": "lifespan.startup"}
            await asyncio.Event().wait()  # it lasts as long as the process
            raise AssertionError

        async def send(_message: Message) -> None:
            if not begun.done():
                begun.set_result(None)

        scope: dict[str, Any] = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}

        async def live() -> None:
            await app(scope, receive, send)

        self._life = asyncio.get_running_loop().create_task(live())
        await asyncio.wait({self._life, begun}, return_when=asyncio.FIRST_COMPLETED)
        if self._life.done():  # it has not begun: whoever comes next tries again
            self._app = None
            self._life.result()
            raise Trouble("the server for agents could not be started", "state/web.log has the details")
