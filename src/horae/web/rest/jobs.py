"""Jobs: list, make, look at, change, steer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from horae.app.expected import digest
from horae.app.gate import Gate
from horae.core.access import Who
from horae.errors import Conflict, NotFound
from horae.web import problem, shapes
from horae.web.caller import Caller, GateOf
from horae.web.requests import (
    Cursor,
    Fields,
    IfMatch,
    JobName,
    Key,
    Line,
    Long,
    Said,
    Text,
    etag,
    expected,
    filtered,
)

Json = dict[str, Any]
router = APIRouter(tags=["jobs"])


class New(Said):
    """A job that is to be made, or proposed."""

    schedule: Text
    fields: Fields
    paused: bool = False


class Proposed(Said):
    """A job for a person to decide on. Its fields may be `name`, `timezone` and `prompt`."""

    schedule: Text
    fields: Fields
    reason: Line | None = None


class Changes(Said):
    """Keys of a job file that change; null takes one away."""

    changes: Fields


class NewText(Said):
    """A whole job file."""

    text: Long


class Because(Said):
    """A reason, kept with what is done."""

    reason: Line | None = None


class With(Said):
    """What a run is given as HORAE_WITH."""

    input: Long | None = None


class SlotSaid(Said):
    """Which slot: an instant, `next`, or an occurrence key."""

    slot: Text = "next"


class Moved(Said):
    """Which slot, and where to: an instant, `tomorrow at 9am`, `in 2h`."""

    slot: Text
    to: Text


class Draft(Said):
    """A job that is being written: of which job, the text so far, and keys that are set in it."""

    job: Text | None = None
    text: Long | None = None
    fields: Annotated[Fields, Field(default_factory=dict[str, Any])]


@router.get("/jobs", response_model=shapes.Jobs, operation_id="jobs")
def list_jobs(
    who: Caller,
    gate: GateOf,
    all: Annotated[bool, Query(description="completed ones too")] = False,
    state: Annotated[str | None, filtered("active, paused, completed or quarantined")] = None,
    search: Annotated[str | None, filtered("what stands in the slug, name or schedule")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Cursor = None,
) -> Json:
    """Jobs by slug, one page."""
    return gate.do(who, "jobs", all=all, state=state, search=search, limit=limit, cursor=cursor)


@router.post("/jobs", response_model=shapes.Written, status_code=201, operation_id="add")
def add(who: Caller, gate: GateOf, said: New, key: Key = None) -> Json:
    """Make a job."""
    return gate.once(who, key, "add", schedule=said.schedule, fields=said.fields, paused=said.paused)


@router.post("/jobs/propose", response_model=shapes.Changed, status_code=201, operation_id="propose")
def propose(who: Caller, gate: GateOf, said: Proposed, key: Key = None) -> Json:
    """Propose a job, for a person to accept."""
    return gate.once(who, key, "propose", schedule=said.schedule, fields=said.fields, reason=said.reason)


@router.post("/jobs/draft", response_model=shapes.Anything, operation_id="draft")
def draft(who: Caller, gate: GateOf, said: Draft) -> Json:
    """What a job would be, before it is written. Nothing is written."""
    return gate.do(who, "draft", job=said.job, text=said.text, fields=said.fields)


@router.post("/jobs/pause", response_model=shapes.Changed, operation_id="pause_all")
def pause_all(who: Caller, gate: GateOf, said: Because, key: Key = None) -> Json:
    """Stop the slots of all active jobs."""
    return gate.once(who, key, "pause", job=None, reason=said.reason)


@router.post("/jobs/resume", response_model=shapes.Changed, operation_id="resume_all")
def resume_all(who: Caller, gate: GateOf, key: Key = None) -> Json:
    """Let the slots of all paused jobs run again."""
    return gate.once(who, key, "resume", job=None)


@router.get("/jobs/{job}", response_model=shapes.Whole, operation_id="job")
def show(
    who: Caller,
    gate: GateOf,
    job: JobName,
    prompt: Annotated[bool, Query(description="with exactly what an agent would be sent")] = False,
) -> Json:
    """One job: its definition, what it comes to, how it stands, its next slots."""
    return gate.do(who, "job", job=job, prompt=prompt)


@router.patch("/jobs/{job}", response_model=shapes.Written, operation_id="edit", responses={412: {}})
def edit(who: Caller, gate: GateOf, job: JobName, said: Changes, if_match: IfMatch = None, key: Key = None) -> Any:
    """Change keys of a job's file, and leave the rest of it alone, comments and all."""
    args: Json = {"job": job, "changes": said.changes, "expect": expected(if_match)}
    return _unless_changed(gate, who, key, "edit", args)


@router.delete("/jobs/{job}", response_model=shapes.Changed, operation_id="remove", responses={412: {}})
def remove(who: Caller, gate: GateOf, job: JobName, if_match: IfMatch = None, key: Key = None) -> Any:
    """Delete a job's file. Its history stays."""
    return _unless_changed(gate, who, key, "remove", {"job": job, "expect": expected(if_match)})


@router.get("/jobs/{job}/file", response_model=shapes.File, operation_id="file", responses={304: {"model": None}})
def file(
    who: Caller,
    gate: GateOf,
    job: JobName,
    response: Response,
    if_none_match: Annotated[str | None, Header(alias="If-None-Match", max_length=400)] = None,
) -> Any:
    """The text of a job's file, with an ETag."""
    slug, text = _text(gate, who, job)
    tag = etag(digest(text))
    if if_none_match is not None and tag in [each.strip().removeprefix("W/") for each in if_none_match.split(",")]:
        return Response(status_code=304, headers={"etag": tag})
    response.headers["etag"] = tag
    return {"slug": slug, "text": text}


@router.put("/jobs/{job}/file", response_model=shapes.Written, operation_id="replace", responses={412: {}, 428: {}})
def replace(who: Caller, gate: GateOf, job: JobName, said: NewText, if_match: IfMatch = None, key: Key = None) -> Any:
    """Put a new text in place of a job's file. The ETag of the one that was read has to come along, in If-Match."""
    if if_match is None:
        return problem.answer(
            428, "unconditional", "If-Match is missing", "GET the file, and send its ETag as If-Match"
        )
    slug, _ = _text(gate, who, job)
    return _unless_changed(gate, who, key, "replace", {"slug": slug, "after": said.text, "expect": expected(if_match)})


@router.post("/jobs/{job}/run", response_model=shapes.Changed, status_code=202, operation_id="run")
def run(who: Caller, gate: GateOf, job: JobName, said: With, key: Key = None) -> Json:
    """Order a run. `key` of the answer is that of its occurrence; see /occurrences/{key}."""
    return gate.once(who, key, "run", job=job, input=said.input)


@router.post("/jobs/{job}/rehearse", response_model=shapes.Anything, operation_id="rehearse")
def rehearse(who: Caller, gate: GateOf, job: JobName, said: With) -> Json:
    """What a run would start. Nothing is started."""
    return gate.do(who, "rehearse", job=job, input=said.input)


@router.post("/jobs/{job}/pause", response_model=shapes.Changed, operation_id="pause")
def pause(who: Caller, gate: GateOf, job: JobName, said: Because, key: Key = None) -> Json:
    """Stop a job's slots."""
    return gate.once(who, key, "pause", job=job, reason=said.reason)


@router.post("/jobs/{job}/resume", response_model=shapes.Changed, operation_id="resume")
def resume(who: Caller, gate: GateOf, job: JobName, key: Key = None) -> Json:
    """Let a job's slots run again."""
    return gate.once(who, key, "resume", job=job)


@router.post("/jobs/{job}/skip", response_model=shapes.Changed, operation_id="skip")
def skip(who: Caller, gate: GateOf, job: JobName, said: SlotSaid, key: Key = None) -> Json:
    """Skip one slot."""
    return gate.once(who, key, "skip", job=job, slot=said.slot)


@router.post("/jobs/{job}/move", response_model=shapes.Changed, operation_id="move")
def move(who: Caller, gate: GateOf, job: JobName, said: Moved, key: Key = None) -> Json:
    """Move one slot. Its key stays the same."""
    return gate.once(who, key, "move", job=job, slot=said.slot, to=said.to)


@router.get("/jobs/{job}/check", response_model=shapes.Checks, operation_id="check")
def check(
    who: Caller,
    gate: GateOf,
    job: JobName,
    probe: Annotated[bool, Query(description="ask providers too; it costs nothing")] = False,
) -> Json:
    """Preflight, without running."""
    return gate.do(who, "check", job=job, probe=probe)


@router.get("/jobs/{job}/why", response_model=shapes.Why, operation_id="why")
def why(
    who: Caller,
    gate: GateOf,
    job: JobName,
    slot: Annotated[str | None, filtered("an instant, `next`, or an occurrence key")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 10,
) -> Json:
    """The decisions about a job's slots, newest first."""
    return gate.do(who, "why", job=job, slot=slot, limit=limit)


@router.get("/jobs/{job}/next", response_model=shapes.Preview, operation_id="next_of_job")
def next_of_job(
    who: Caller,
    gate: GateOf,
    job: JobName,
    start: Annotated[str | None, filtered("the first instant that counts")] = None,
    count: Annotated[int, Query(ge=1, le=1000)] = 5,
) -> Json:
    """The coming slots of a job."""
    return gate.do(who, "next", job=job, start=start, count=count)


def _text(gate: Gate, who: Who, job: str) -> tuple[str, str]:
    """A job's slug, and the text of its file."""
    found = gate.do(who, "job", job=job, full=True)
    slug = str((found["file"] or "").removeprefix("jobs/").removesuffix(".md"))
    if found["text"] is None:
        raise NotFound(f"the file of {job} is gone, or is no text", "`horae doctor` says more")
    return slug, found["text"]


def _unless_changed(gate: Gate, who: Who, key: str | None, name: str, args: Json) -> Any:
    """Do it, where the file is still the one that was read."""
    try:
        return gate.once(who, key, name, **args)
    except Conflict as conflict:
        if "expected" not in conflict.details:
            raise
        return _changed_meanwhile(str(args.get("job") or args.get("slug")))


def _changed_meanwhile(job: str) -> JSONResponse:
    hint = "GET its file again, and send that ETag as If-Match"
    return problem.answer(412, "conflict", f"the file of {job} was changed meanwhile", hint)
