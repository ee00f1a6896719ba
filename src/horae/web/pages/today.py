"""Today: what runs, what is next, what failed, what waits."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse

from horae.core.access import NOBODY
from horae.web.caller import Caller, GateOf
from horae.web.guard import COOKIE

router = APIRouter(include_in_schema=False)


@router.get("/")
def today(who: Caller, gate: GateOf) -> HTMLResponse:
    return HTMLResponse(f"<p>{who.name}: {gate.do(who, 'status')['next_due']}")


@router.get("/sign-in")
def sign_in(gate: GateOf, k: str = "") -> RedirectResponse:
    made = gate.do(NOBODY, "sign_in", key=k)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(COOKIE, made["session"], httponly=True, samesite="lax")
    return answer
