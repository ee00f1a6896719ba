"""MCP servers as toolsets: a program behind walls that this run starts, or an address with a token.

Only the tools that the settings name are there, under the server's name. What a server says about itself is no instruction;
it may not ask the model anything, nor a person. What a tool gives back is bounded, and marked as data where it is text.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import httpx2
from fastmcp.client.transports import StdioTransport
from mcp import MCPError as McpError
from pydantic_ai import RunContext
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from horae.agents.stop import Stop
from horae.agents.task import Server, Task
from horae.agents.tools.place import Place, as_text, data
from horae.agents.tools.told import prefix
from horae.agents.walls import behind

BEGIN_S = 30.0
ANSWER_S = 120.0
GIVEN_CHARS_MAX = 30_000
FAULTS = (McpError, RuntimeError, OSError, httpx2.HTTPError)


def toolset(server: Server, task: Task, http: httpx2.AsyncClient) -> AbstractToolset[Place]:
    """Of one server; nothing is started before it is entered."""
    named = server["tools"]
    found: AbstractToolset[Place] = _connected(server, task, http)
    if named is not None:
        wanted = frozenset(named)
        found = found.filtered(lambda _, tool: tool.name in wanted)
    return Bounded(found.prefixed(prefix(server["name"]).removesuffix("_")), server=server["name"])


def _connected(server: Server, task: Task, http: httpx2.AsyncClient) -> AbstractToolset[Place]:
    if server["url"] is not None:
        return MCPToolset[Place](
            server["url"],
            id=server["name"],
            auth=server["token"],
            http_client=http,
            init_timeout=BEGIN_S,
            read_timeout=ANSWER_S,
            tool_error_behavior="failed",
        )
    program, *arguments = [*behind(task["walls"]), *server["command"]]
    transport = StdioTransport(
        program,
        arguments,
        env={**task["env"], **server["env"]},
        cwd=task["folder"] or task["env"].get("HORAE_OUTPUT"),
        keep_alive=False,
        log_file=sys.__stderr__,
    )
    return MCPToolset[Place](
        transport, id=server["name"], init_timeout=BEGIN_S, read_timeout=ANSWER_S, tool_error_behavior="failed"
    )


@dataclass
class Bounded(WrapperToolset[Place]):
    """What its tools give back, bounded."""

    server: str = ""

    async def __aenter__(self) -> Self:
        """It comes up, or the run fails."""
        with self._named("did not come up"):
            await super().__aenter__()
        return self

    async def get_tools(self, ctx: RunContext[Place]) -> dict[str, ToolsetTool[Place]]:
        """What it offers now."""
        with self._named("is gone"):
            return await super().get_tools(ctx)

    @contextmanager
    def _named(self, how: str) -> Generator[None]:
        try:
            yield
        except FAULTS as error:
            raise Stop("failed", f"the server {self.server} {how}: {error or type(error).__name__}") from error

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Place], tool: ToolsetTool[Place]
    ) -> Any:
        """One call."""
        found = as_text(await super().call_tool(name, tool_args, ctx, tool))
        if len(found) > GIVEN_CHARS_MAX:
            half = GIVEN_CHARS_MAX // 2
            found = f"{found[:half]}\n[… {len(found) - 2 * half} characters are left out …]\n{found[-half:]}"
        return data(found, f"the server {self.server}")
