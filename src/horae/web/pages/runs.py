"""Runs: the list, page by page; the page of one run; two runs side by side; files that a run has kept.

What a live run prints comes over the stream of `rest/events.py`, and `run.js` writes it down. All else on the page looks again
when something changes.
"""

from __future__ import annotations

import os
import re
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse, HTMLResponse
from starlette.requests import Request

from horae.app.gate import Gate
from horae.core.access import Who
from horae.core.activitywords import activity_words
from horae.core.timeline import timeline
from horae.errors import NotFound, Problem
from horae.web.caller import Caller, GateOf
from horae.web.pages.render import render

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
PAGE = 50
STATES = ("running", "completed", "failed", "blocked", "cancelled", "unknown", "claimed", "released")
LIVE = ("claimed", "running")
OCCURRENCES = 3
SHOWN_CHARS = 200_000  # of each stream; the files of a run have all that was kept
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")  # colours and the like
Short = Annotated[str, Query(max_length=300)]


@router.get("/runs")
def runs(request: Request, who: Caller, gate: GateOf, job: Short = "", state: Short = "") -> HTMLResponse:
    """The page."""
    return render(request, "runs.html", **_listed(gate, who, job, state, ""))


@router.get("/runs/rows")
def rows(
    request: Request,
    who: Caller,
    gate: GateOf,
    job: Short = "",
    state: Short = "",
    cursor: Short = "",
    more: bool = True,
) -> HTMLResponse:
    """One page of rows; with `more` what brings the next one, too."""
    return render(request, "runs_rows.html", more=more, **_listed(gate, who, job, state, cursor))


@router.get("/runs/{run}")
def run_page(request: Request, who: Caller, gate: GateOf, run: str) -> HTMLResponse:
    """The page of one run."""
    return render(request, "run.html", **_run(gate, who, run))


@router.get("/runs/{run}/part")
def run_part(request: Request, who: Caller, gate: GateOf, run: str) -> HTMLResponse:
    """All that changes on it but its output."""
    return render(request, "run_all.html", **_run(gate, who, run))


@router.get("/runs/{run}/file")
def file(request: Request, who: Caller, gate: GateOf, run: str, name: Short) -> FileResponse:
    """A file that a run has kept: one that its record names, and that lies in its own folder. Raises NotFound."""
    found = gate.do(who, "log", run=run)["run"]
    folder = os.path.realpath(os.path.join(request.app.state.given.home, "state", "output", found["id"]))
    path = os.path.realpath(os.path.join(request.app.state.given.home, name))
    named = name in (*found["files"], *found["attachments"])
    if not named or not path.startswith(folder + os.sep) or not os.path.isfile(path):
        hint = "its page lists what there is; on a cluster a file lies where its run was"
        raise NotFound(f"run {found['id']} has no such file here", hint)
    safe = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox", "Cache-Control": "no-store"}
    return FileResponse(path, media_type="application/octet-stream", filename=os.path.basename(path), headers=safe)


@router.get("/runs/{run}/compare/{other}")
def compare(request: Request, who: Caller, gate: GateOf, run: str, other: str) -> HTMLResponse:
    """Two runs of an agent side by side."""
    return render(request, "compare.html", found=gate.do(who, "compared", before=run, after=other))


def _listed(gate: Gate, who: Who, job: str, state: str, cursor: str) -> Json:
    asked: Json = {"job": job or None, "state": state if state in STATES else None, "cursor": cursor or None}
    page = gate.do(who, "runs", limit=PAGE, **asked)
    kept = {name: value for name, value in (("job", job), ("state", state)) if value}
    name = gate.do(who, "job", job=job)["job"]["name"] if job else None
    return {
        "runs": page["runs"],
        "next": page["cursor"],
        "asked": {"job": job, "state": state, "cursor": cursor},
        "query": urlencode(kept),
        "states": STATES,
        "of": name,
    }


def _run(gate: Gate, who: Who, run: str) -> Json:
    log = gate.do(who, "log", run=run, prompt=True)
    found = log["run"]
    told = _why(gate, who, found)
    decisions = [each for each in told["decisions"] if _about(each, found)] if told else []
    others = gate.do(who, "runs", job=found["job_id"], state=None, limit=PAGE, cursor=None)["runs"]
    return {
        "run": found,
        "log": log,
        "live": found["state"] in LIVE,
        "stdout": _shown(log["stdout"]),
        "stderr": _shown(log["stderr"]),
        "steps": timeline(found, decisions),
        "why": told,
        "attempts": sorted((each for each in others if each["key"] == found["key"]), key=lambda each: each["attempt"]),
        "replays": [each for each in others if each["replay_of"] == found["id"]],
        "events": [{**event, "words": activity_words(event)} for event in log["activity"]],
        "asks": [ask for ask in gate.do(who, "asks")["asks"] if ask["run"] == found["id"]],
    }


def _why(gate: Gate, who: Who, run: Json) -> Json | None:
    """What was decided about its slot; None where nothing of it is on record any more."""
    try:
        found = gate.do(who, "why", job=run["job_id"], slot=run["key"], limit=OCCURRENCES)["occurrences"]
    except Problem:
        return None
    return found[0] if found else None


def _about(decision: Json, run: Json) -> bool:
    """Whether a decision is about this attempt, or about all of them."""
    return decision.get("run_id") in (None, run["id"])


def _shown(text: str | None) -> str:
    """What was printed, without what would colour it; of very much the middle is left out, and that is said."""
    whole = ESCAPES.sub("", text or "").replace("\r\n", "\n")
    if len(whole) <= SHOWN_CHARS:
        return whole
    half = SHOWN_CHARS // 2
    return f"{whole[:half]}\n… {len(whole) - 2 * half:,} characters are not shown …\n{whole[-half:]}"
