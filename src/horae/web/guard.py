"""Who may come in, before any route is reached.

In this order, and each refusal says what to do:

1. The host that was asked for is one of ours: a page of somebody else's that has its own name point here (DNS rebinding)
   asks for that name.
2. Not more is read than a request may have.
3. A token (`Authorization: Bearer`) or a session (a cookie); a token is none of a session, nor the other way round. Who sends
   a token that is not good is refused, whatever cookie comes with it.
4. Writes with a cookie come from our own pages: their origin is ours, and they carry the session's mark. A token needs
   neither, since no browser sends it by itself.

Wrong secrets are counted; right ones are never refused for their sake. Cookies do not know ports, so the name of ours has
the port in it: two homes of one machine do not sign each other out.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, urlsplit

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from horae.core.access import NOBODY, PREFIX, Who
from horae.errors import Problem, Unavailable
from horae.web import problem
from horae.web.bounds import BODY_BYTES_MAX, HOOK_BYTES_MAX, Bounded, TooLarge, says_too_much
from horae.web.given import Given
from horae.web.headers import dress

SAFE = ("GET", "HEAD", "OPTIONS")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
OPEN = ("/sign-in", "/healthz", "/favicon.ico")
OPEN_BELOW = ("/static/", "/hooks/")
FOR_PROGRAMS = ("/api/", "/mcp", "/metrics", "/hooks/", "/do/")
MARK = "x-horae-csrf"
SECURE = "__Host-"
SECRET_CHARS_MAX = 200
CLOSED = (  # not why: nobody is known yet
    "who asks cannot be looked up now: the home is in trouble",
    "`horae doctor` on the machine where Horae runs says what is wrong; then ask again",
)
Told = Callable[[Request, Exception], Awaitable[Response]]


class Guard:
    """ASGI middleware around all routes."""

    def __init__(self, app: ASGIApp, given: Given, told: Told) -> None:
        self._app = app
        self._given = given
        self._told = told
        names = (*LOOPBACK, *given.hosts, urlsplit(given.link or "").hostname or "")
        self._hosts = {_bracketed(name.lower()) for name in names if name}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in, or answer in the place of whoever is behind."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there is nothing of that kind
        self._given.idle.begin()
        lasting = scope["path"].startswith("/static/") and b"v=" in scope["query_string"]

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                dress(MutableHeaders(scope=message), lasting=lasting and message["status"] == 200)
            await send(message)

        try:
            await self._guarded(scope, receive, dressed)
        finally:
            self._given.idle.end()

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        state = scope.setdefault("state", {})
        state["who"], state["csrf"] = NOBODY, ""
        most = HOOK_BYTES_MAX if scope["path"].startswith("/hooks/") else BODY_BYTES_MAX
        refused = self._foreign(headers) or _too_long(headers, most)
        if refused is None:
            refused = await self._come_in(scope, headers)
        if refused is not None:
            await refused(scope, receive, send)
            return
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, Bounded(receive, most), noted)
        except TooLarge as error:
            if not begun:
                await problem.answer(413, "too_large", error.detail, "send less")(scope, receive, send)

    def _foreign(self, headers: Headers) -> Response | None:
        """What is asked for by another name than ours."""
        asked = headers.getlist("host")
        host = _host_of(asked[0]) if len(asked) == 1 else None
        if host is not None and host in self._hosts:
            return None
        says = f"this is not {host or 'a host that is served here'}"
        hint = "ask for 127.0.0.1, or add the name to hosts in [web] of config.toml"
        return problem.answer(421, "wrong_host", says, hint)

    async def _come_in(self, scope: Scope, headers: Headers) -> Response | None:
        """Find out who it is. None when the way is free."""
        path, state = scope["path"], scope["state"]
        free = path in OPEN or path.startswith(OPEN_BELOW)
        sent = headers.getlist("authorization")
        session = cookies_of(headers).get(cookie_name(self._given, headers))
        if sent and not path.startswith("/hooks/"):
            face = "mcp" if path.startswith("/mcp") else "rest"
            asked = (_bearer(sent), "token", face)
        else:
            asked = (None if path.startswith("/mcp") else session, "session", "dashboard")
        try:
            who = await self._known(*asked)
        except Problem:  # the settings are broken, the store is locked: nobody can be told from anybody
            if not free:
                return await self._told(Request(scope), Unavailable(*CLOSED))
            who = None
        else:
            if who is None and asked[1] == "token":
                return self._wrong(scope, unsaid=asked[0] is None)
            if who is None and session is not None and not free:
                self._wrong(scope)  # counted; an old session is answered like none
        if who is not None:
            state["who"] = who
            state["still"] = partial(self._known, *asked)
            state["csrf"] = mark_of(session) if who.person and session else ""
        elif not free:
            return _signed_out(scope)
        if scope["method"] in SAFE or (who is not None and not who.person) or path.startswith("/hooks/"):
            return None
        return _not_ours(headers, state["csrf"], secure=cookie_name(self._given, headers).startswith(SECURE))

    async def _known(self, secret: str | None, kind: str, face: str) -> Who | None:
        if secret is None or not secret.startswith(PREFIX[kind]) or len(secret) > SECRET_CHARS_MAX:
            return None
        return await anyio.to_thread.run_sync(self._given.gate.who, secret, face)

    def _wrong(self, scope: Scope, *, unsaid: bool = False) -> Response:
        says, hint = "this token is not good (any more)", "`horae tokens add NAME` makes one"
        if unsaid:
            says, hint = "this way of saying who one is is not known here", "send `Authorization: Bearer ht_…`, once"
        return too_many(self._given, scope) or _unauthorized(says, hint)


def cookie_name(given: Given, headers: Mapping[str, str]) -> str:
    """The name of our cookie, where it was asked for by that host: one that only encrypted ways carry, where there is one."""
    link = urlsplit(given.link or "")
    if link.scheme == "https" and _host_of(headers.get("host", "")) == (link.hostname or "").lower():
        return f"{SECURE}horae"
    return f"horae_{urlsplit(given.address).port or 80}"


def too_many(given: Given, scope: Scope) -> Response | None:
    """A wrong secret came: the answer where too many did lately, else None."""
    client = scope.get("client") or ("", 0)
    wait_s = given.attempts.wrong(str(client[0]), asyncio.get_running_loop().time())
    if wait_s == 0:
        return None
    made = problem.answer(
        429, "too_many", "too many wrong tokens or links came from there", "wait, then send a good one"
    )
    made.headers["retry-after"] = str(int(wait_s) + 1)
    return made


def mark_of(session: str) -> str:
    """What pages of a session send along with each write; no other site can read it."""
    return hmac.new(session.encode(), b"horae: a write from our own page", sha256).hexdigest()[:40]


def cookies_of(headers: Mapping[str, str]) -> dict[str, str]:
    """The cookies that came. Of two with one name neither counts: one may have been put there by another site."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for part in headers.get("cookie", "").split(";"):
        try:
            for name, morsel in SimpleCookie(part.strip()).items():
                twice |= {name} if name in found else set()
                found[name] = morsel.value
        except CookieError:
            continue
    return {name: value for name, value in found.items() if name not in twice}


def is_local(path: str) -> bool:
    """Whether a path leads to a page of ours, and nowhere else."""
    plain = path.isprintable() and path.isascii() and "\\" not in path
    return plain and path.startswith("/") and not path.startswith("//") and urlsplit(path).netloc == ""


def _bearer(sent: list[str]) -> str | None:
    scheme, _, secret = sent[0].partition(" ")
    return secret.strip() if len(sent) == 1 and scheme.lower() == "bearer" else None


def _host_of(text: str) -> str | None:
    """A host without its port, in small letters; None for what is none."""
    if not text or not text.isascii() or any(char in text for char in " /\\@,?#"):
        return None
    try:
        parts = urlsplit(f"//{text}")
        parts.port  # noqa: B018  it raises for what is no port
    except ValueError:
        return None
    return _bracketed(parts.hostname.rstrip(".")) if parts.hostname else None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _too_long(headers: Headers, most: int) -> Response | None:
    if says_too_much(headers.get("content-length"), most):
        return problem.answer(413, "too_large", f"a request may have {most} bytes", "send less")
    return None


def _not_ours(headers: Headers, mark: str, *, secure: bool) -> Response | None:
    """A write with a cookie, or without anything, must come from one of our own pages.

    Where the way is encrypted, a page that came unencrypted is somebody else's: whoever sits in between can make one.
    """
    hint = "reload the page and try again; programs send a token instead"
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None:
        ours = origin in ((f"https://{host}",) if secure else (f"http://{host}", f"https://{host}"))
    else:
        ours = headers.get("sec-fetch-site") == "same-origin"
    if not ours:
        return problem.answer(403, "foreign_origin", "this write does not come from a page of this dashboard", hint)
    if mark and not hmac.compare_digest(headers.get(MARK, "").encode(), mark.encode()):
        return problem.answer(403, "no_mark", "this write lacks the mark of your session", hint)
    return None


def _signed_out(scope: Scope) -> Response:
    path = scope["path"]
    accepts = Headers(scope=scope).get("accept", "")
    if path.startswith(FOR_PROGRAMS) or scope["method"] not in SAFE or "text/html" not in accepts:
        return _unauthorized(
            "nobody is signed in", "send `Authorization: Bearer …`; `horae tokens add NAME` makes a token"
        )
    wanted = path + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
    back = f"?next={quote(wanted, safe='/')}" if is_local(wanted) and wanted != "/" else ""
    return RedirectResponse(f"/sign-in{back}", 303)


def _unauthorized(says: str, hint: str) -> Response:
    made = problem.answer(401, "signed_out", says, hint)
    made.headers["www-authenticate"] = 'Bearer realm="horae"'
    return made
