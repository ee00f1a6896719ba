"""The dashboard as a process: its own half of `wiring/doorway.py`, or by itself with `horae web`.

It ends when it is asked to, when the gateway that started it is gone (its standard input is closed then), and when nobody
has visited it for a while.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import uvicorn
from fastapi import FastAPI

from horae import config
from horae.control.place import serving_at
from horae.errors import Problem
from horae.log import set_up
from horae.settings import load
from horae.web.app import create_app
from horae.web.given import Given
from horae.web.guard import CLOSED
from horae.wiring import House
from horae.wiring import load as load_by_name
from horae.wiring.doorway import address_of, listen, refuse_open_door
from horae.wiring.gate import HomeGate

IDLE_S = 900.0
LOOK_EVERY_S = 5.0
GRACEFUL_S = 2
KNOCK_S = 5.0  # a visitor has so long to say what is wanted
LINE_BYTES_MAX = 65_536

log = logging.getLogger("horae.web")


def serve_web(home: str, *, fd: int | None, host: str | None, port: int | None, echo: Callable[[str], object]) -> int:
    """Serve until stopped. `fd` is a listening socket that somebody else holds; without one it makes its own."""
    try:
        settings = load(home, config.environment())
    except Problem as problem:
        if fd is None:
            raise
        set_up(home, terminal=False, file="web.log")
        log.warning("nobody is let in: %s (%s)", problem.message, problem.hint)
        return _turn_away(fd)
    web = replace(settings.web, host=host or settings.web.host, port=settings.web.port if port is None else port)
    sock = listen(web) if fd is None else socket.socket(fileno=fd)
    sock.set_inheritable(False)  # what is handed over would else be handed on to whatever is started here
    gate = HomeGate(home)
    given = Given(
        gate=gate,
        mcp=lambda: (load_by_name("wiring.mcpserver", "application")(gate), load_by_name("mcp.server", "CALLER")),
        home=home,
        hosts=(web.host, *web.hosts),
        link=settings.link,
        timezone=settings.timezone,
        address=address_of(sock),
    )
    set_up(home, terminal=False, file="web.log")
    for name in ("uvicorn.error", "mcp"):  # where servers tell of what no route, and no tool, has answered
        faults = logging.getLogger(name)
        faults.handlers, faults.propagate = logging.getLogger("horae").handlers, False
        faults.setLevel(logging.WARNING)
    notice = None
    if fd is None:
        house = House(home)
        refuse_open_door(web, house.home)
        notice = serving_at(home, given.address)
        echo(given.address)
    asyncio.run(_serve(given, sock, attended=fd is not None))
    if notice is not None:
        os.close(notice)
    return 0


def _turn_away(fd: int) -> int:
    """The settings were spoilt while the gateway ran on: who knocks is told so, and not kept waiting.

    What is wrong stands in the log: nobody is known yet, and the settings are not for everybody. One visitor is answered.
    Nobody else's connection is taken from the socket, so the next one finds what has been mended.
    """
    said = "; ".join(CLOSED).encode() + b"\n"

    class Refusal(BaseHTTPRequestHandler):
        timeout = KNOCK_S

        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(LINE_BYTES_MAX)
            if self.raw_requestline and self.parse_request():
                self.send_response_only(503)
                self.send_header("Content-Type", "text/plain; charset=utf-8")
                self.send_header("Content-Length", str(len(said)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("X-Content-Type-Options", "nosniff")
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(said if self.command != "HEAD" else b"")

    server = HTTPServer(("", 0), Refusal, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=fd)
    server.timeout = KNOCK_S
    server.handle_request()
    return 0


class Server(uvicorn.Server):
    """Tells its streams that it stops: whoever watches would keep it waiting."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        if isinstance(self.config.app, FastAPI):
            self.config.app.state.closing.set()
            self.config.app.state.feed.close()
        await super().shutdown(sockets)


async def _serve(given: Given, sock: socket.socket, *, attended: bool) -> None:
    app = create_app(given)
    server = Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACEFUL_S,
        )
    )

    def leave() -> None:
        server.should_exit = True

    loop = asyncio.get_running_loop()
    if attended:
        loop.add_reader(sys.stdin.fileno(), leave)  # nothing is ever written to it
        given.idle.watch(loop, IDLE_S, LOOK_EVERY_S, leave)
    await server.serve(sockets=[sock])
