"""The gateway's half of the dashboard: it holds the listening socket, and starts what serves it when somebody knocks.

A home that nobody visits pays nothing for it. What serves is a process of its own (`wiring/serving.py`), so that a page which
is drawn never delays a run, and a fault there never ends the gateway. When it has had no visitor for a while it ends, and
when it ends for whatever reason the next visitor has it started anew; one that ends at once again and again is left alone
for a while.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address

from horae.app.access import make_link
from horae.core.webform import PORT, PORT_TRIES, Web
from horae.errors import Refused, Unavailable
from horae.ports import Home
from horae.runners.attendant import Attendant

REST_S = 30.0  # after it ended at once, time after time
AT_ONCE_S = 5.0
SHORT_MAX = 3
BACKLOG = 128

log = logging.getLogger("horae.web")


def listen(web: Web) -> socket.socket:
    """The listening socket. Raises Unavailable when its address or port is not to be had."""
    host = "127.0.0.1" if web.host == "localhost" else web.host
    family = socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET
    ports = range(PORT, PORT + PORT_TRIES) if web.port is None else (web.port,)
    why: OSError | None = None
    for port in ports:
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, port))
            made.listen(BACKLOG)
        except OSError as error:
            made.close()
            why = error
            continue
        made.setblocking(False)  # noqa: FBT003  the name is the system's
        return made
    says = f"the dashboard cannot be served at {host}, port {ports[0]}: {why.strerror if why else 'no port'}"
    raise Unavailable(says, "`horae up --port N` takes another port, `[web]` in config.toml for good") from why


def address_of(sock: socket.socket) -> str:
    """Where it is, as a URL without a slash at its end."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Doorway:
    """Made and closed on the gateway's event loop."""

    def __init__(self, sock: socket.socket, argv: tuple[str, ...], env: Mapping[str, str]) -> None:
        self.address = address_of(sock)
        self._sock = sock
        self._argv = argv
        self._env = env
        self._loop = asyncio.get_running_loop()
        self._attendant: Attendant | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._short = 0  # times in a row that it ended at once
        self._watch()

    def close(self) -> None:
        """Nobody is let in any more, and what serves ends."""
        self._closed = True
        self._loop.remove_reader(self._sock)
        if self._attendant is not None:
            self._attendant.end()
        self._sock.close()

    def _watch(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._sock, self._knocked)

    def _knocked(self) -> None:
        self._loop.remove_reader(self._sock)  # what serves takes the visitors now
        self._task = self._loop.create_task(self._served())

    async def _served(self) -> None:
        fd = os.dup(self._sock.fileno())
        begun, status = self._loop.time(), 1
        try:
            self._attendant = Attendant((*self._argv, "--fd", str(fd)), self._env, (fd,))
        except OSError as error:
            log.warning("the dashboard could not be started: %s", error.strerror)
        finally:
            os.close(fd)
        if self._attendant is not None:
            status = await asyncio.to_thread(self._attendant.wait)
        self._attendant = None
        if status and not self._closed:
            log.warning("the dashboard ended with status %d; the next visitor has it started anew", status)
            self._short = self._short + 1 if self._loop.time() - begun < AT_ONCE_S else 0
            if self._short >= SHORT_MAX:
                self._loop.call_later(REST_S, self._watch)
                return
        self._watch()


def refuse_open_door(web: Web, home: Home) -> None:
    """Where others than this machine reach it, somebody must have thought of who may. Raises Refused."""
    if web.loopback:
        return
    reader = home.read()
    try:
        known = any(one["kind"] == "token" for one in reader.credentials(all=False))
    finally:
        reader.close()
    if not known:
        says = f"the dashboard would be reached from outside at {web.host}, and nobody has a token"
        raise Refused(says, "make one first: `horae tokens add NAME`; see docs/guide/access.md")
    log.warning("the dashboard is served at %s, unencrypted: put a proxy with TLS before it", web.host)


def doorway(web: Web, home: Home, tell: Callable[[str], object], visitor: str | None) -> Doorway | None:
    """What `horae up` opens. None where the settings say so, or where it cannot be had: then the work goes on without.

    `visitor` is who looks on: a link is told that lets that one in. None where it would be written down somewhere.
    """
    if not web.serve:
        return None
    try:
        refuse_open_door(web, home)
        sock = listen(web)
    except (Unavailable, Refused) as error:
        log.warning("%s (%s)", error.message, error.hint)
        return None
    argv = (sys.executable, "-m", "horae", "--home", home.settings.home, "web")
    made = Doorway(sock, argv, home.settings.env)
    with suppress(OSError):
        tell(f"dashboard at {_entrance(made.address, home, visitor)}")
    return made


def _entrance(address: str, home: Home, visitor: str | None) -> str:
    if visitor is None:
        return f"{address}: `horae open` lets you in"
    link = make_link(replace(home, actor=visitor))
    return f"{home.settings.link or address}/sign-in#{link['key']} (for one visit; `horae open` makes another)"
