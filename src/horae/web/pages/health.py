"""Health: everything that is known to be broken, and what mends it; incidents, targets, models, skills."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from starlette.requests import Request

from horae.app.gate import Gate
from horae.core.access import Who
from horae.web.caller import Caller, GateOf
from horae.web.pages.render import may, render, status_of

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
INCIDENTS = 50


@router.get("/health")
def health(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """The page: what takes a while is looked up by itself."""
    return render(request, "health.html", doing=status_of(request), **_house(gate, who))


@router.get("/health/doctor")
def doctor(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """What the doctor finds."""
    return render(request, "health_checks.html", found=gate.do(who, "doctor"), which="doctor")


@router.get("/health/check")
def check(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """Preflight of all jobs."""
    return render(request, "health_checks.html", found=gate.do(who, "check", job=None), which="check")


@router.get("/health/part")
def part(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """What changes by itself."""
    return render(request, "health_house.html", doing=status_of(request), **_house(gate, who))


def _house(gate: Gate, who: Who) -> Json:
    can = may(who)
    return {
        "incidents": gate.do(who, "incidents", all=True, limit=INCIDENTS)["incidents"],
        "targets": gate.do(who, "targets"),
        "models": gate.do(who, "models"),
        "skills": gate.do(who, "skills"),
        "secrets": gate.do(who, "secrets") if can("secrets") else None,
    }
