"""Today: what runs, what is next, what failed, what waits for a person, what is spent.

One part of the page holds all of it and asks for itself anew when something changes, so that a burst of changes costs one
answer. What a live run does is in no journal; while something runs, its list looks every few seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from starlette.requests import Request

from horae.app.gate import Gate
from horae.core.access import Who
from horae.errors import Problem
from horae.web.caller import Caller, GateOf
from horae.web.pages.render import render, status_of

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
NEXT = 8
FAILED = 6
LIVE = 20
LOOKED_INTO = 8  # live runs whose last activity is asked for
DID = {  # the kinds of activity of agents, in words
    "model": "asks the model", "tool": "uses {name}", "text": "writes", "usage": "counts what it used",
    "started": "has begun", "script": "runs its script",
}  # fmt: skip


@router.get("/")
def today(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """The page."""
    return render(request, "today.html", **_all(request, gate, who))


@router.get("/today")
def part(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """All that changes on it."""
    return render(request, "today_all.html", **_all(request, gate, who))


@router.get("/today/now")
def now(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """What runs now."""
    return render(request, "today_now.html", live=_live(gate, who))


def _all(request: Request, gate: Gate, who: Who) -> Json:
    status = status_of(request)
    jobs = gate.do(who, "jobs", all=True, limit=1, strip=1)
    incidents = gate.do(who, "incidents", limit=10)["incidents"]
    failed = gate.do(who, "runs", job=None, state="failed", limit=FAILED, cursor=None)["runs"]
    told = {incident["job_id"] for incident in incidents}
    asks = gate.do(who, "asks")["asks"]
    waiting = [item for item in status["waiting"] if item["kind"] not in ("approval", "failing")]
    return {
        "doing": status,
        "counts": jobs["counts"],
        "live": _live(gate, who),
        "next": gate.do(who, "next", count=NEXT),
        "incidents": incidents,
        "failed": [run for run in failed if run["job_id"] not in told],
        "asks": asks,
        "waiting": waiting,
        "waits": len(asks) + len(waiting),
    }


def _live(gate: Gate, who: Who) -> list[Json]:
    """Live runs, with what each one did last."""
    found: list[Json] = []
    for state in ("running", "claimed"):
        found += gate.do(who, "runs", job=None, state=state, limit=LIVE, cursor=None)["runs"]
    return [{**run, "last": _last(gate, run) if at < LOOKED_INTO else None} for at, run in enumerate(found)]


def _last(gate: Gate, run: Mapping[str, Any]) -> str | None:
    """The last thing that a live run said or did, in a line."""
    try:
        seen = gate.live(run["id"])
    except Problem:
        return None
    if not seen or not seen.get("live"):
        return None
    events = seen.get("events") or ()
    if events:
        event = events[-1]
        words = DID.get(str(event.get("kind")), str(event.get("kind")))
        return words.format(name=event.get("name") or event.get("toolset") or "a tool")
    lines = str(seen.get("stdout") or seen.get("stderr") or "").strip().splitlines()
    return lines[-1][:160] if lines else None
