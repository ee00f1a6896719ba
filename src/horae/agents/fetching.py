"""Gets a page by HTTP: from public addresses only, by way of redirects that are judged one by one, bounded in size and time.

The address is judged to which the connection is made (`outward.py`), so no name and no redirect leads into this machine's
network. `own` is for an address that a person has written into a job: its host may be anywhere, and it alone.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import httpx2

from horae.outward import Forbidden, client

TIME_S = 30.0
BYTES_MAX = 256 * 1024
REDIRECTS_MAX = 5
MOVED = (301, 302, 303, 307, 308)


class Unreachable(Exception):
    """Nothing came: the message says why."""


class Barred(Unreachable):
    """It leads where nothing may go."""


@dataclass(frozen=True, slots=True)
class Page:
    """What came."""

    url: str
    """Where it was in the end."""
    status: int
    kind: str
    body: bytes
    cut: bool
    """Whether there was more."""
    charset: str


async def fetched(url: str, *, own: bool = False, any_status: bool = False) -> Page:
    """The page. Raises `Unreachable`, also for a status that is no success unless `any_status`."""
    try:
        async with asyncio.timeout(TIME_S):
            page = await _followed(url, own=own)
    except TimeoutError:
        raise Unreachable(f"{url}: no answer within {TIME_S:g} s") from None
    if not any_status and not 200 <= page.status < 300:
        raise Unreachable(f"{page.url}: the server answered with status {page.status}")
    return page


async def _followed(url: str, *, own: bool) -> Page:
    first = _address(url)
    at = first
    for _ in range(REDIRECTS_MAX + 1):
        here = own and at.host == first.host
        page, target = await _got(at, allow_private=here)
        if target is None:
            return page
        at = _address(str(at.join(target)))
    raise Unreachable(f"{url}: more than {REDIRECTS_MAX} redirects")


def _address(url: str) -> httpx2.URL:
    try:
        found = httpx2.URL(url.strip())
    except (httpx2.InvalidURL, ValueError) as error:
        raise Barred(f"{url[:200]!r} is no address: {error}") from error
    if found.scheme not in ("http", "https") or not found.host:
        raise Barred(f"{url[:200]!r} is not fetched: only http and https addresses are")
    return found.copy_with(username=None, password=None) if found.userinfo else found


async def _got(url: httpx2.URL, *, allow_private: bool) -> tuple[Page, str | None]:
    try:
        async with (
            client(allow_private=allow_private, timeout_s=TIME_S) as http,
            http.stream("GET", url) as response,
        ):
            target = response.headers.get("location")
            body = bytearray()
            if response.status_code in MOVED and target:
                return Page(str(url), response.status_code, "", b"", cut=False, charset="utf-8"), target
            if response.headers.get("content-encoding", "identity") != "identity":
                raise Unreachable(f"{url}: the server sends it compressed, though it was not asked to")
            async for piece in response.aiter_raw():
                body += piece
                if len(body) > BYTES_MAX:
                    break
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            charset = response.charset_encoding or "utf-8"
            cut = len(body) > BYTES_MAX
            return Page(str(url), response.status_code, kind, bytes(body[:BYTES_MAX]), cut, charset), None
    except Forbidden as error:
        raise Barred(f"{url} is not fetched: {error}") from error
    except httpx2.HTTPError as error:
        raise Unreachable(f"{url}: {error or type(error).__name__}") from error
