"""Who may come in, before any route is reached: the host that was asked for, the session or token, the origin of writes."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from horae.core.access import NOBODY
from horae.web import problem
from horae.web.given import Given

COOKIE = "horae_session"
OPEN = ("/static/", "/sign-in", "/healthz")


class Guard:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, given: Given) -> None:
        self._app = app
        self._given = given

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in, or answer in the place of whoever is behind."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._given.idle.begin()
        try:
            request = Request(scope)
            secret = request.cookies.get(COOKIE)
            bearer = request.headers.get("authorization", "")
            who = None
            if bearer.lower().startswith("bearer "):
                who = self._given.gate.who(bearer[7:].strip(), "rest")
            elif secret:
                who = self._given.gate.who(secret, "dashboard")
            scope.setdefault("state", {})["who"] = who or NOBODY
            if who is None and not scope["path"].startswith(OPEN):
                if scope["path"].startswith("/api/"):
                    refused = problem.answer(401, "signed_out", "nobody is signed in", "send a token")
                else:
                    refused = RedirectResponse("/sign-in", 303)
                await refused(scope, receive, send)
                return
            await self._app(scope, receive, send)
        finally:
            self._given.idle.end()
