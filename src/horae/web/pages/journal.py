"""The journal: who decided what and when, newest first; and whether it is whole."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from starlette.requests import Request

from horae.app.gate import Gate
from horae.core.access import Who
from horae.web.caller import Caller, GateOf
from horae.web.pages.render import render

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
PAGE = 100
Short = Annotated[str, Query(max_length=300)]


@router.get("/journal")
def journal(
    request: Request, who: Caller, gate: GateOf, job: Short = "", actor: Short = "", what: Short = ""
) -> HTMLResponse:
    """The page."""
    return render(request, "journal.html", **_page(gate, who, {"job": job, "actor": actor, "what": what}, ""))


@router.get("/journal/rows")
def rows(
    request: Request,
    who: Caller,
    gate: GateOf,
    job: Short = "",
    actor: Short = "",
    what: Short = "",
    cursor: Short = "",
) -> HTMLResponse:
    """One page of entries, and what brings the next one."""
    return render(request, "journal_rows.html", **_page(gate, who, {"job": job, "actor": actor, "what": what}, cursor))


@router.get("/journal/verified")
def verified(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """Whether the chains of the journal are whole. It may take a while."""
    return render(request, "journal_verified.html", found=gate.do(who, "verify"))


def _page(gate: Gate, who: Who, asked: dict[str, str], cursor: str) -> Json:
    given: Json = {name: value or None for name, value in asked.items()}
    page = gate.do(who, "journal", limit=PAGE, cursor=cursor or None, **given)
    query = urlencode({name: value for name, value in asked.items() if value})
    return {**page, "asked": asked, "query": query}
