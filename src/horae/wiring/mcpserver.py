"""The server for agents, over a home: on standard input and output, or as an application of the web process."""

from __future__ import annotations

from typing import Any

from horae import config
from horae.app.gate import Gate
from horae.core.access import Role, Who
from horae.mcp.looking import looking
from horae.mcp.resources import offer
from horae.mcp.server import CALLER, Server, over_http
from horae.mcp.steering import steering
from horae.wiring.gate import HomeGate


def made(gate: Gate) -> Server:
    """A server with all tools."""
    server = Server(gate, (looking, steering))
    offer(server, gate)
    return server


def serve_stdio(home: str, role: Role) -> int:
    """Serve whoever started this process, until its end of the pipe is closed."""
    CALLER.set(Who(config.actor(), role, "mcp"))
    made(HomeGate(home)).run()
    return 0


def application(gate: Gate) -> Any:
    """An ASGI application at `/mcp`, with a lifespan of its own."""
    return over_http(made(gate))
