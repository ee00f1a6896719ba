"""Health: everything that is known to be broken, and what mends it; incidents, targets, models, skills, the house itself."""

from __future__ import annotations

import os
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from starlette.requests import Request

from horae.app.gate import Gate
from horae.core.access import Who
from horae.timing.zones import version as zone_data
from horae.web.caller import Caller, GateOf
from horae.web.pages.render import may, render, status_of

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
INCIDENTS = 50
DATABASE = ("runtime.db", "runtime.db-wal")
SNOOZES = ((4 * 3600, "4 hours"), (86400, "1 day"), (7 * 86400, "1 week"))


@router.get("/health")
def health(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """The page: what takes a while is looked up by itself."""
    return render(request, "health.html", **_house(request, gate, who))


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
    return render(request, "health_house.html", **_house(request, gate, who))


@router.post("/health/tested")
def tested(
    request: Request, who: Caller, gate: GateOf, target: Annotated[str, Query(min_length=1, max_length=300)]
) -> HTMLResponse:
    """Send a test message, and show what each address answered."""
    found = gate.do(who, "test_target", target=target, text=None)
    return render(request, "health_tested.html", found=found)


def _house(request: Request, gate: Gate, who: Who) -> Json:
    can = may(who)
    return {
        "doing": status_of(request),
        "incidents": gate.do(who, "incidents", all=True, limit=INCIDENTS)["incidents"],
        "targets": gate.do(who, "targets"),
        "models": gate.do(who, "models"),
        "skills": gate.do(who, "skills"),
        "secrets": gate.do(who, "secrets") if can("secrets") else None,
        "store": _store(request.app.state.given.home),
        "zone_data": zone_data(),
        "snoozes": SNOOZES,
    }


def _store(home: str) -> int | None:
    """How large the file of the store is, with what is not yet written into it; None where it is a server's."""
    paths = [os.path.join(home, "state", name) for name in DATABASE]
    return sum(os.path.getsize(path) for path in paths if os.path.exists(path)) if os.path.exists(paths[0]) else None
