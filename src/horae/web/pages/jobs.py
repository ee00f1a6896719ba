"""Jobs: the list, page by page, with what became of each; and the page of one job.

Each page of the list is a part of its own that knows its cursor: it looks again when something changes, and what somebody has
brought up with "more" stays. A job is addressed by its id, since a slug may be a word of ours (`new`).
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from starlette.requests import Request

from horae.app.gate import Gate
from horae.core.access import Who
from horae.errors import Problem
from horae.web.caller import Caller, GateOf
from horae.web.pages.render import render

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
PAGE = 50
STRIP = 16
SLOTS = 8
RUNS = 10
STATES = ("active", "paused", "quarantined", "completed")
DECISIONS = ("skip_planned", "moved")  # about a slot to come, with a way back
NO_MORE = 400  # characters of a search
State = Annotated[str, Query(max_length=20)]
Search = Annotated[str, Query(max_length=NO_MORE)]
Cursor = Annotated[str, Query(max_length=NO_MORE)]


@router.get("/jobs")
def jobs(request: Request, who: Caller, gate: GateOf, state: State = "", search: Search = "") -> HTMLResponse:
    """The page."""
    return render(request, "jobs.html", **_listed(gate, who, state, search, ""))


@router.get("/jobs/part")
def part(request: Request, who: Caller, gate: GateOf, state: State = "", search: Search = "") -> HTMLResponse:
    """The list, for what is being searched."""
    asked = _query({"state": state, "search": search})
    made = render(request, "jobs_list.html", **_listed(gate, who, state, search, ""))
    made.headers["HX-Replace-Url"] = f"/jobs?{asked}" if asked else "/jobs"
    return made


@router.get("/jobs/rows")
def rows(
    request: Request,
    who: Caller,
    gate: GateOf,
    state: State = "",
    search: Search = "",
    cursor: Cursor = "",
    more: bool = True,
) -> HTMLResponse:
    """One page of rows; with `more` what brings the next one, too."""
    return render(request, "jobs_rows.html", more=more, **_listed(gate, who, state, search, cursor))


@router.get("/jobs/{job}")
def job_page(request: Request, who: Caller, gate: GateOf, job: str) -> HTMLResponse:
    """The page of one job."""
    return render(request, "job.html", **_job(gate, who, job))


@router.get("/jobs/{job}/part")
def job_part(request: Request, who: Caller, gate: GateOf, job: str) -> HTMLResponse:
    """All that changes on it."""
    return render(request, "job_all.html", **_job(gate, who, job))


@router.get("/jobs/{job}/why")
def job_why(
    request: Request, who: Caller, gate: GateOf, job: str, slot: Annotated[str, Query(max_length=64)]
) -> HTMLResponse:
    """The decisions about one slot."""
    return render(request, "job_why.html", why=gate.do(who, "why", job=job, slot=slot))


@router.get("/jobs/{job}/check")
def job_check(request: Request, who: Caller, gate: GateOf, job: str) -> HTMLResponse:
    """Whether it could run now."""
    return render(request, "job_check.html", found=gate.do(who, "check", job=job))


def _listed(gate: Gate, who: Who, state: str, search: str, cursor: str) -> Json:
    known = state if state in STATES else ""
    asked: Json = {"all": True, "state": known or None, "search": search or None, "cursor": cursor or None}
    page = gate.do(who, "jobs", limit=PAGE, strip=STRIP, **asked)
    words = {"state": known, "search": search}
    return {
        "page": page,
        "jobs": page["jobs"],
        "counts": page["counts"],
        "total": sum(page["counts"].values()),
        "asked_state": known,
        "search": search,
        "cursor": cursor,
        "query": urlencode({**words, "cursor": cursor}),
        "beyond": urlencode({**words, "cursor": page["cursor"]}) if page["cursor"] else None,
        "tabs": {word: _query({**words, "state": word}) for word in ("", *STATES)},
    }


def _query(words: dict[str, str]) -> str:
    return urlencode({key: value for key, value in words.items() if value})


def _job(gate: Gate, who: Who, name: str) -> Json:
    found = gate.do(who, "job", job=name, full=True)
    own = found["job"]["id"]
    ahead = gate.do(who, "next", job=own, count=SLOTS)
    runs = gate.do(who, "runs", job=own, state=None, limit=RUNS, cursor=None)
    slots = [{**slot, "entry": _entry(gate, who, own, slot)} for slot in ahead["slots"]]
    return {
        "shown": found,
        "job": found["job"],
        "listed": found["state"],
        "ahead": {**ahead, "slots": slots},
        "runs": runs["runs"],
        "more_runs": runs["cursor"] is not None,
        "incidents": gate.do(who, "incidents", job=own)["incidents"],
        "live": [run for run in runs["runs"] if run["state"] in ("claimed", "running")],
    }


def _entry(gate: Gate, who: Who, job: str, slot: Json) -> int | None:
    """The entry by which a skip or a move of a slot is taken back; None where nobody has decided anything about it."""
    if not slot["note"] or not slot["note"].startswith(("skipped", "moved")):
        return None
    try:
        told = gate.do(who, "why", job=job, slot=slot["slot"])
    except Problem:
        return None
    entries = [
        decision["entry"]
        for occurrence in told["occurrences"]
        for decision in occurrence["decisions"]
        if decision["what"] in DECISIONS
    ]
    return max(entries, default=None)
