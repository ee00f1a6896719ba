"""Runs: the list, page by page; the page of one run; two runs side by side; files that a run has kept.

What a live run prints comes over the stream of `rest/events.py`, and `run.js` writes it down. All else on the page looks again
when something changes.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from fastapi.responses import FileResponse, HTMLResponse
from starlette.requests import Request

from horae.app.gate import Gate
from horae.core.access import Who
from horae.core.activitywords import activity_words
from horae.core.timeline import timeline
from horae.errors import Invalid, NotFound, Problem
from horae.web.caller import Caller, GateOf
from horae.web.pages.prose import prose
from horae.web.pages.render import may, render

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
PAGE = 50
STATES = ("running", "completed", "failed", "blocked", "cancelled", "unknown", "claimed", "released")
TRIGGERS = {"schedule": "by schedule", "manual": "by hand or program"}
LIVE = ("claimed", "running")
OCCURRENCES = 3
SHOWN_CHARS = 200_000  # of each stream; the files of a run have all that was kept
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")  # colours and the like
Short = Annotated[str, Query(max_length=300)]


@dataclass(frozen=True)
class Asked:
    """What a list of runs is narrowed by."""

    job: Short = ""
    state: Short = ""
    trigger: Short = ""
    since: Short = ""
    until: Short = ""

    def kept(self, **other: str) -> str:
        """The part of an address that asks for the same, or for the same but in something."""
        return urlencode({name: value for name, value in {**asdict(self), **other}.items() if value})


@router.get("/runs")
def runs(request: Request, who: Caller, gate: GateOf, asked: Annotated[Asked, Depends()]) -> HTMLResponse:
    """The page."""
    return render(request, "runs.html", **_listed(gate, who, asked, ""))


@router.get("/runs/rows")
def rows(
    request: Request,
    who: Caller,
    gate: GateOf,
    asked: Annotated[Asked, Depends()],
    cursor: Short = "",
    more: bool = True,
) -> HTMLResponse:
    """One page of rows; with `more` what brings the next one, too."""
    return render(request, "runs_rows.html", more=more, **_listed(gate, who, asked, cursor))


@router.get("/runs/{run}")
def run_page(request: Request, who: Caller, gate: GateOf, run: str) -> HTMLResponse:
    """The page of one run."""
    return render(request, "run.html", **_run(request, who, gate, run))


@router.get("/runs/{run}/part")
def run_part(request: Request, who: Caller, gate: GateOf, run: str) -> HTMLResponse:
    """All that changes on it but its output."""
    return render(request, "run_all.html", **_run(request, who, gate, run))


@router.get("/runs/{run}/file")
def file(request: Request, who: Caller, gate: GateOf, run: str, name: Short) -> FileResponse:
    """A file that a run has kept: one that its record names, and that lies in its own folder. Raises NotFound."""
    found = gate.do(who, "log", run=run)["run"]
    path = _own(request, found, name)
    if path is None:
        hint = "its page lists what there is; on a cluster a file lies where its run was"
        raise NotFound(f"run {found['id']} has no such file here", hint)
    safe = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox", "Cache-Control": "no-store"}
    return FileResponse(path, media_type="application/octet-stream", filename=os.path.basename(path), headers=safe)


@router.get("/runs/{run}/compare/{other}")
def compare(request: Request, who: Caller, gate: GateOf, run: str, other: str) -> HTMLResponse:
    """Two runs of an agent side by side."""
    return render(request, "compare.html", found=gate.do(who, "compared", before=run, after=other))


def _listed(gate: Gate, who: Who, asked: Asked, cursor: str) -> Json:
    """Runs as they were asked for. A day that is none is told in the form, and what a list has to begin with it has not."""
    among: Json = {name: value or None for name, value in asdict(asked).items()}
    among["state"] = asked.state if asked.state in STATES else None
    among["trigger"] = asked.trigger if asked.trigger in TRIGGERS else None
    refused: Invalid | None = None
    page: Json
    try:
        page = gate.do(who, "runs", limit=PAGE, cursor=cursor or None, **among)
    except Invalid as refusal:
        if refusal.details.get("field") not in ("since", "until"):
            raise
        page, refused = {"runs": [], "cursor": None}, refusal
    name = gate.do(who, "job", job=asked.job)["job"]["name"] if asked.job else None
    return {
        "runs": page["runs"],
        "next": page["cursor"],
        "asked": asked,
        "cursor": cursor,
        "narrowed": bool(asked.kept(job="", state="")),
        "refused": refused,
        "states": STATES,
        "triggers": TRIGGERS,
        "of": name,
    }


def _run(request: Request, who: Who, gate: Gate, run: str) -> Json:
    log = gate.do(who, "log", run=run, prompt=True, kin=True)
    found = log["run"]
    told = _why(gate, who, found)
    live = found["state"] in LIVE
    replayable = found["model"] is not None and log["prompt"] is not None and not live and may(who)("replay")
    return {
        "run": found,
        "log": log,
        "live": live,
        "stdout": _shown(log["stdout"]),
        "stderr": _shown(log["stderr"]),
        "answer": prose(log["message"], "What it said") if found["model"] and log["message"] else None,
        "prompt": _shown(log["prompt"]),
        "steps": timeline(found, told["decisions"] if told else []),
        "why": told,
        "attempts": log["attempts"],
        "replays": log["replays"],
        "models": [model["name"] for model in gate.do(who, "models")["models"]] if replayable else None,
        "events": [{**event, "words": activity_words(event)} for event in log["activity"]],
        "asks": [ask for ask in gate.do(who, "asks")["asks"] if ask["run"] == found["id"]],
        "files": [(name, _place(request, found, name)) for name in found["files"]],
        "attached": [(name, _place(request, found, name)) for name in found["attachments"]],
    }


def _place(request: Request, run: Json, name: str) -> os.stat_result | None:
    """A file of a run: how it lies here; None where it does not, or is none of its own."""
    path = _own(request, run, name)
    return None if path is None else os.stat(path)


def _own(request: Request, run: Json, name: str) -> str | None:
    """Where a file is that the record of a run names; None unless it is a file, in the folder of that run.

    A link that leads out of the folder is none of its files, wherever in the path it is.
    """
    home = request.app.state.given.home
    folder = os.path.join(os.path.realpath(os.path.join(home, "state", "output")), run["id"])
    path = os.path.realpath(os.path.join(home, name))
    named = name in (*run["files"], *run["attachments"])
    return path if named and path.startswith(folder + os.sep) and os.path.isfile(path) else None


def _why(gate: Gate, who: Who, run: Json) -> Json | None:
    """What was decided about its slot; None where nothing of it is on record any more."""
    try:
        found = gate.do(who, "why", job=run["job_id"], slot=run["key"], limit=OCCURRENCES)["occurrences"]
    except Problem:
        return None
    return found[0] if found else None


def _shown(text: str | None) -> str:
    """What was printed, without what would colour it; of very much the middle is left out, and that is said."""
    whole = ESCAPES.sub("", text or "").replace("\r\n", "\n")
    if len(whole) <= SHOWN_CHARS:
        return whole
    half = SHOWN_CHARS // 2
    return f"{whole[:half]}\n… {len(whole) - 2 * half:,} characters are not shown …\n{whole[-half:]}"
