"""Who may come in: tokens of programs and sessions of browsers, with what makes and ends them.

A token's secret is in the answer to the deed that made it, and nowhere else: the page shows it once, without an address that
could be opened again.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from fastapi.responses import HTMLResponse
from starlette.requests import Request

from horae.core.access import ROLES
from horae.core.webform import Web
from horae.errors import Invalid
from horae.web.caller import Caller, GateOf
from horae.web.pages.render import render

Json = dict[str, Any]
Gone = Annotated[bool, Query(alias="all")]
router = APIRouter(include_in_schema=False)


@router.get("/access")
def access(request: Request, who: Caller, gate: GateOf, gone: Gone = False) -> HTMLResponse:
    """The page. Who is no admin sees oneself."""
    return render(request, "access.html", **_all(request, who, gate, gone=gone))


@router.get("/access/part")
def part(request: Request, who: Caller, gate: GateOf, gone: Gone = False) -> HTMLResponse:
    """Its lists, anew."""
    return render(request, "access_lists.html", **_all(request, who, gate, gone=gone))


@router.post("/access/tokens")
def add(who: Caller, gate: GateOf, said: Annotated[Json, Body()]) -> Json:
    """Make a token."""
    name, role, days = said.get("name"), said.get("role", "read"), said.get("days") or None
    if not isinstance(name, str) or not isinstance(role, str):
        raise Invalid("a token has a name and a role", "write both, then make it again", field="name")
    if days is not None:
        if not str(days).isascii() or not str(days).isdecimal() or len(str(days)) > 6:
            raise Invalid(f"{days!r} is no number of days", "leave it empty for a token without an end", field="days")
        days = int(str(days))
    return gate.do(who, "add_token", name=name, role=role, days=days)


@router.post("/access/end")
def end(who: Caller, gate: GateOf, credential: Annotated[str, Body(embed=True)]) -> Json:
    """Revoke a token, or end a session."""
    return gate.do(who, "end_token", token=credential)


def _all(request: Request, who: Caller, gate: GateOf, *, gone: bool) -> Json:
    listed: list[Json] = []
    if who.role == "admin":
        listed = gate.do(who, "tokens", all=gone)["credentials"]
    given = request.app.state.given
    return {
        "tokens": [one for one in listed if one["kind"] == "token"],
        "sessions": [one for one in listed if one["kind"] == "session"],
        "gone": gone,
        "roles": ROLES,
        "address": given.link or given.address,
        "outside": not Web(host=given.hosts[0]).loopback,
    }
