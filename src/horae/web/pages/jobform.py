"""Make a job, and edit one: a form and the file's text beside it, two views of the same thing.

The page holds the text; each look of the form is applied to the text as it was when the form was begun, so that what the
form does not know stays. Saving replaces a text that somebody has read: whoever was faster wins, and both texts are shown.
"""

from __future__ import annotations

import difflib
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field
from starlette.requests import Request

from horae.app.gate import Gate
from horae.app.usecases import permitted
from horae.core.access import Who
from horae.errors import Conflict, Invalid, Problem
from horae.limits import JOB_FILE_BYTES_MAX
from horae.web.caller import Caller, GateOf
from horae.web.pages.formvalues import NAMES, changed, shown
from horae.web.pages.render import render

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
EMPTY = "---\n---\n"
Text = Annotated[str, Field(max_length=JOB_FILE_BYTES_MAX)]


class Written(BaseModel):
    """What stands on the page."""

    job: str | None = Field(default=None, max_length=200)
    mode: str = Field(default="form", pattern="^(form|file)$")
    base: Text = EMPTY
    """The text to which the form is applied."""
    text: Text = ""
    """The text as somebody writes it, as a file."""
    saved: Text | None = None
    """The text that was read when the page was opened."""
    form: dict[str, Text] = Field(default_factory=dict, max_length=60)


@router.get("/jobs/new")
def new(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """An empty form."""
    permitted(who, "add")
    return _page(request, gate, who, None, "form")


@router.get("/jobs/{job}/edit")
def edit(
    request: Request,
    who: Caller,
    gate: GateOf,
    job: str,
    as_: Annotated[str, Query(alias="as", pattern="^(form|file)$")] = "form",
) -> HTMLResponse:
    """The form of a job that is there."""
    permitted(who, "replace")
    return _page(request, gate, who, job, as_)


@router.post("/jobs/draft")
def look(request: Request, who: Caller, gate: GateOf, written: Written) -> JSONResponse:
    """What it would be: the text, and what that means, as a part of the page."""
    return _answer(request, _drafted(gate, who, written))


@router.post("/jobs/save")
def save(request: Request, who: Caller, gate: GateOf, written: Written) -> JSONResponse:
    """Make the job, or put the new text in place of the old one."""
    made = _drafted(gate, who, written)
    wrong = [problem for problem in made["problems"] if problem["key"] or problem["line"]]
    if wrong:
        return _answer(request, made, status=422)
    if written.job is None:
        values = made["fields"]
        fields = {key: values[key] for key in ("name", "timezone") if values.get(key)}
        answer = gate.do(who, "add", schedule=str(values.get("schedule", "")), fields=fields, text=made["text"])
    else:
        slug = made["job"]["slug"]
        try:
            answer = gate.do(who, "replace", slug=slug, before=written.saved or "", after=made["text"])
        except Conflict as conflict:
            return _conflict(request, gate, who, written, made, conflict)
    told = {key: answer.get(key) for key in ("did", "entry", "undo", "warnings")}
    return JSONResponse({**told, "to": f"/jobs/{answer['job']['id']}"})


def _page(request: Request, gate: Gate, who: Who, job: str | None, mode: str) -> HTMLResponse:
    made = gate.do(who, "draft", job=job)
    broken = job is not None and not made["fields"] and made["saved"]
    form = shown(made["fields"])
    if job is None:
        form["timezone"] = made["timezone"]
    data = {"job": made["job"] and made["job"]["id"], "saved": made["saved"], "base": made["text"], "form": form}
    return render(
        request,
        "job_form.html",
        draft=made,
        job=made["job"],
        form=form,
        data=data,
        mode="file" if broken else mode,
        choices=gate.do(who, "choices"),
        wrong=_by_field(made["problems"]) if job is not None else {},
    )


def _drafted(gate: Gate, who: Who, written: Written) -> Json:
    """The text that is meant, and what it means."""
    if written.mode == "file":
        return gate.do(who, "draft", job=written.job, text=_line_ends(written.text, written.saved))
    was = gate.do(who, "draft", job=written.job, text=written.base)
    form = {name: value for name, value in written.form.items() if name in NAMES}
    try:
        fields = changed(was["fields"], form)
    except ValueError:
        hint = "close each quote, or leave them out"
        problem = {"message": "the command's quotes do not match", "hint": hint, "line": None, "key": "command"}
        return {**was, "problems": [problem]}
    return gate.do(who, "draft", job=written.job, text=written.base, fields=fields)


def _line_ends(text: str, saved: str | None) -> str:
    """A browser's text has ends of lines of its own; a file keeps those that it has."""
    plain = text.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if saved is not None and "\r\n" in saved else plain


def _answer(request: Request, made: Json, status: int = 200) -> JSONResponse:
    part = bytes(render(request, "job_meaning.html", draft=made).body).decode()
    return JSONResponse(
        {
            "text": made["text"],
            "form": shown(made["fields"]),
            "html": part,
            "wrong": _by_field(made["problems"]),
            "lines": [problem["line"] for problem in made["problems"] if problem["line"]],
        },
        status,
    )


def _by_field(problems: list[Json]) -> dict[str, str]:
    """By field of the form, what is wrong with it."""
    found: dict[str, str] = {}
    for problem in problems:
        key = str(problem["key"] or "")
        name = key.removeprefix("limits.") if key.startswith("limits.") else key.partition(".")[0]
        name = "kind" if name == "agent" else name
        if name in NAMES:
            found.setdefault(name, str(problem["message"]).removeprefix(f"`{key}`: "))
    return found


def _conflict(request: Request, gate: Gate, who: Who, written: Written, made: Json, conflict: Problem) -> JSONResponse:
    """Somebody was faster: their text, ours, and how they differ. Nothing is lost, and nothing was written."""
    theirs = gate.do(who, "draft", job=written.job)["saved"]
    if theirs is None:
        raise Invalid(conflict.message, "its file is gone; copy your text and make a new job of it")
    lines = difflib.unified_diff(
        theirs.splitlines(), made["text"].splitlines(), "the file now", "yours", lineterm="", n=3
    )
    diff = [{"sign": line[:1], "text": line} for line in lines]
    part = bytes(render(request, "job_conflict.html", diff=diff, says=conflict.message).body).decode()
    return JSONResponse({"conflict": part, "theirs": theirs, "mine": made["text"]}, 409)
