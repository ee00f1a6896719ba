"""HTTP requests to the outside, for webhooks and the gateway's heartbeat: guarded, bounded, and with no proxy in between.

The address that a request goes to is judged, and not its name: a name is resolved here, every address of it is looked at
(see `core/reach.py`), and the connection goes to one of those that were looked at. A name that is resolved again and says
something else by then has nothing to say. Redirects are not followed, nothing of the environment is used, and
certificates are verified against the system's.

The library comes with the extra `delivery`: whoever imports this by name is told so by ImportError.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

import httpcore2
import httpx2

from horae import __version__
from horae.aside import aside
from horae.core.reach import why_not

AGENT = f"Horae/{__version__}"
CONNECT_MAX_S = 10.0
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # each URL would be logged, and what it holds may be a secret


class Forbidden(Exception):
    """The name leads to an address that nothing is sent to. Nothing was connected."""


class Guarded(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that may be reached, and to no others."""

    def __init__(self, *, allow_private: bool) -> None:
        self._any = allow_private
        self._inner: Any = httpcore2.AnyIOBackend()  # a stand-in to type checkers, since anyio may be missing

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the library's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Each address of the name in turn, within the time-out for all."""
        failed: Exception = httpcore2.ConnectError(f"{host} has no address")
        try:
            async with asyncio.timeout(timeout):
                for address in await self._addresses(host, port):
                    try:
                        return await self._inner.connect_tcp(address, port, None, local_address, socket_options)
                    except httpcore2.ConnectError as error:
                        failed = httpcore2.ConnectError(_first_cause(error))
        except TimeoutError:
            raise httpcore2.ConnectTimeout("no connection in time") from None
        raise failed

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            found = await aside(socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(
                f"the name is not found: {getattr(error, 'strerror', None) or error}"
            ) from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not self._any:
            for address in addresses:
                if (why := why_not(ip_address(address.partition("%")[0]))) is not None:
                    raise Forbidden(f"{host} is {why}")
        return addresses

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """No URL leads there."""
        raise Forbidden("a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        """Asked for between attempts to connect, of which there is one."""


def _first_cause(error: BaseException) -> str:
    """What the system said, below what libraries made of it."""
    said = str(error)
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and below.errno is not None:
            said = os.strerror(below.errno)
        below = below.__cause__ or below.__context__
    return said


class _Transport(httpx2.AsyncHTTPTransport):
    def __init__(self, *, allow_private: bool) -> None:
        context = _context()
        super().__init__(verify=context, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=1,
            max_keepalive_connections=0,
            network_backend=Guarded(allow_private=allow_private),
        )


def _context() -> ssl.SSLContext:
    """The system's certificates: reading them takes some 20 ms, so they are kept until they have changed."""
    paths = ssl.get_default_verify_paths()
    places = (paths.cafile, paths.capath)
    return _read(*places, *(os.stat(place).st_mtime_ns for place in places if place))


@lru_cache(maxsize=1)
def _read(*_: object) -> ssl.SSLContext:
    return ssl.create_default_context()


def client(*, allow_private: bool, timeout_s: float) -> httpx2.AsyncClient:
    """A client for one request. `timeout_s` bounds each step: who waits for all of them bounds their sum."""
    return httpx2.AsyncClient(
        transport=_Transport(allow_private=allow_private),
        trust_env=False,
        follow_redirects=False,
        timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, CONNECT_MAX_S)),
        headers={"user-agent": AGENT, "accept": "*/*", "accept-encoding": "identity"},
    )
