"""Come in by a link, and go: the key is behind the `#` of the link, so that no server, log or referrer ever sees it there.

The page takes it from its own address, sends it, and forgets it. A link that a chat program looks at beforehand is not used
up by that: looking runs no script.
"""

from __future__ import annotations

from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Body
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.requests import Request

from horae.core.access import NOBODY, PREFIX, SESSION_FOR
from horae.errors import Refused
from horae.web.caller import Caller, GateOf
from horae.web.guard import SECURE, cookie_name, is_local, too_many
from horae.web.pages.render import render

router = APIRouter(include_in_schema=False)
COOKIE_FOR_S = int(SESSION_FOR.total_seconds())
KEY_CHARS_MAX = 200


@router.get("/healthz")
def healthz() -> PlainTextResponse:
    """Whether it is there. Nothing else is told to whoever may not come in."""
    return PlainTextResponse("ok\n")


@router.get("/sign-in")
def sign_in_page(request: Request, who: Caller, next: str = "/") -> Response:
    """Where a link leads."""
    return render(request, "sign_in.html", next=next if is_local(next) else "/", signed_in=who.role is not None)


@router.post("/sign-in")
async def sign_in(request: Request, gate: GateOf, key: Annotated[str, Body(embed=True)]) -> Response:
    """Use a link up. Those that are none, or no more, are counted."""
    given = request.app.state.given
    try:
        if not key.startswith(PREFIX["link"]) or len(key) > KEY_CHARS_MAX:
            raise Refused("this is no key of a link", "`horae open` makes a link")
        made: dict[str, Any] = await anyio.to_thread.run_sync(lambda: gate.do(NOBODY, "sign_in", key=key))
    except Refused:
        refused = too_many(given, request.scope)
        if refused is None:
            raise
        return refused
    answer = JSONResponse({"name": made["name"], "role": made["role"]})
    name = cookie_name(given, request.headers)
    answer.set_cookie(
        name,
        made["session"],
        max_age=COOKIE_FOR_S,
        httponly=True,
        samesite="lax",
        secure=name.startswith(SECURE),
    )
    return answer


@router.post("/sign-out")
def sign_out(request: Request, who: Caller, gate: GateOf) -> Response:
    """End one's own session."""
    gate.do(who, "sign_out", session=who.id)
    answer = JSONResponse({"did": "signed out"})
    name = cookie_name(request.app.state.given, request.headers)
    answer.delete_cookie(name, httponly=True, samesite="lax", secure=name.startswith(SECURE))
    return answer


@router.get("/favicon.ico")
def icon() -> RedirectResponse:
    """Browsers ask for it by themselves."""
    return RedirectResponse("/static/icon.svg", 301)
