"""An agent as a client of the Model Context Protocol: the official one, over HTTP or over pipes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.support.loops import run_to_end
from tests.support.process import ENDED, TestHome

Json = dict[str, Any]
PATIENCE_S = 20.0


def together(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Let a coroutine be a test. What fails in it is told by itself, without the groups that the client puts around it."""

    @wraps(test)
    def run(**given: Any) -> None:
        try:
            run_to_end(test(**given))
        except BaseExceptionGroup as error:
            raise leaf(error) from None

    return run


def leaf(error: BaseException) -> BaseException:
    """The first failure in a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@dataclass
class Agent:
    """A client that is connected."""

    client: Client

    async def tools(self) -> set[str]:
        """The names of what it sees."""
        return {tool.name for tool in (await self.client.list_tools()).tools}

    async def ask(self, tool: str, /, **args: Any) -> Json:
        """What a tool answers, which is no refusal. Its text says the same as its structure."""
        found: Any = await self.client.call_tool(tool, args)
        assert not found.is_error, (tool, args, found.content)
        (text,) = found.content
        assert json.loads(text.text) == found.structured_content
        return found.structured_content

    async def refused(self, tool: str, /, **args: Any) -> Json:
        """The refusal of a tool: its code, message and hint."""
        found: Any = await self.client.call_tool(tool, args)
        assert found.is_error, (tool, args, found.structured_content)
        assert list(found.structured_content or {}) == ["error"], found
        error = found.structured_content["error"]
        assert list(error) == ["code", "message", "hint"]
        (text,) = found.content
        assert error["message"] in text.text
        assert "Traceback" not in text.text
        return error

    async def read(self, uri: str) -> str:
        """The text of a resource."""
        found: Any = await self.client.read_resource(uri)
        (content,) = found.contents
        return str(content.text)

    async def unread(self, uri: str) -> str:
        """The refusal of a resource."""
        with pytest.raises(MCPError) as error:
            await self.client.read_resource(uri)
        assert "Traceback" not in str(error.value)
        return str(error.value)

    async def ended(self, run: str) -> Json:
        """A run at its end, as get_run tells it."""

        async def look() -> Json | None:
            found = await self.client.call_tool("get_run", {"run": run})
            whole: Json = found.structured_content or {}
            return whole if not found.is_error and whole["run"]["state"] in ENDED and whole["run"]["outcome"] else None

        return await soon(look, f"run {run} ends")


async def soon(look: Callable[[], Awaitable[Any]], what: str) -> Any:
    """The first answer of `look` that is true."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await look()
            if found:
                return found
            await asyncio.sleep(0.03)
    raise AssertionError(what)


@asynccontextmanager
async def over_http(address: str, token: str, *, mode: Any = "auto") -> AsyncIterator[Agent]:
    """An agent with a token."""
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=30) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
    ):
        yield Agent(client)


@asynccontextmanager
async def over_pipes(home: TestHome, *words: str, log: Path, mode: Any = "auto", **env: str) -> AsyncIterator[Agent]:
    """An agent that has started `horae mcp`. What that prints besides goes to a log."""
    command, *args = home.words("mcp", *words)
    server = StdioServerParameters(command=command, args=args, env=home.environment(env))
    with log.open("w", encoding="utf-8") as errors:
        async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
            yield Agent(client)
