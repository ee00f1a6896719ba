"""Today: what runs, what is next, what failed, what waits."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.requests import Request

from horae.core.access import NOBODY
from horae.web.caller import GateOf
from horae.web.guard import COOKIE
from horae.web.pages.render import render

router = APIRouter(include_in_schema=False)


@router.get("/")
def today(request: Request) -> HTMLResponse:
    return render(request, "today.html")


@router.get("/sign-in")
def sign_in(gate: GateOf, k: str = "") -> RedirectResponse:
    made = gate.do(NOBODY, "sign_in", key=k)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(COOKIE, made["session"], httponly=True, samesite="lax")
    return answer
