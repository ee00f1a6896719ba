"""Runs: list, look at, end, repeat, send again, resolve."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from horae.web import shapes
from horae.web.caller import Caller, GateOf
from horae.web.requests import Cursor, Key, Line, RunName, Said, Text, filtered

Json = dict[str, Any]
Trigger = Literal["schedule", "manual"]
State = Literal["claimed", "running", "completed", "failed", "cancelled", "unknown", "blocked", "released"]
router = APIRouter(tags=["runs"])


class Replayed(Said):
    """Another model than the job's."""

    model: Text | None = None


class Resent(Said):
    """To whom; without one, to all whom it did not reach."""

    target: Text | None = None


class Resolved(Said):
    """How a run ended of which nobody knows."""

    said: Literal["completed", "failed", "rerun"]
    reason: Line | None = None


@router.get("/runs", response_model=shapes.Runs, operation_id="runs")
def list_runs(
    who: Caller,
    gate: GateOf,
    job: Annotated[str | None, filtered("of this job")] = None,
    state: Annotated[State | None, Query(description="in this state")] = None,
    trigger: Annotated[Trigger | None, Query(description="begun by its schedule, or by a person or program")] = None,
    since: Annotated[str | None, filtered("claimed from this day or instant on; days are of the home's zone")] = None,
    until: Annotated[str | None, filtered("claimed until this day, with all its hours, or before this instant")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: Cursor = None,
) -> Json:
    """Runs, newest first, one page."""
    among = {"trigger": trigger, "since": since, "until": until}
    return gate.do(who, "runs", job=job, state=state, limit=limit, cursor=cursor, **among)


@router.get("/runs/{run}", response_model=shapes.Log, operation_id="log")
def log(
    who: Caller,
    gate: GateOf,
    run: RunName,
    prompt: Annotated[bool, Query(description="with what its agent was sent first")] = False,
) -> Json:
    """One run: what it said and did, and what became of its messages."""
    return gate.do(who, "log", run=run, prompt=prompt)


@router.post("/runs/{run}/cancel", response_model=shapes.Changed, status_code=202, operation_id="cancel")
def cancel(who: Caller, gate: GateOf, run: RunName, key: Key = None) -> Json:
    """End a running run."""
    return gate.once(who, key, "cancel", run=run)


@router.post("/runs/{run}/replay", response_model=shapes.Changed, status_code=202, operation_id="replay")
def replay(who: Caller, gate: GateOf, run: RunName, said: Replayed, key: Key = None) -> Json:
    """Run an agent once more with the prompt of this run."""
    return gate.once(who, key, "replay", run=run, model=said.model)


@router.get("/runs/{run}/compared/{other}", response_model=shapes.Anything, operation_id="compared")
def compared(who: Caller, gate: GateOf, run: RunName, other: RunName) -> Json:
    """How two runs of an agent differ."""
    return gate.do(who, "compared", before=run, after=other)


@router.post("/runs/{run}/resend", response_model=shapes.Changed, status_code=202, operation_id="resend")
def resend(who: Caller, gate: GateOf, run: RunName, said: Resent, key: Key = None) -> Json:
    """Send what a run said anew, to whom it did not reach."""
    return gate.once(who, key, "resend", run=run, target=said.target)


@router.post("/runs/{run}/resolve", response_model=shapes.Changed, operation_id="resolve")
def resolve(who: Caller, gate: GateOf, run: RunName, said: Resolved, key: Key = None) -> Json:
    """Say how a run ended of which nobody knows. Only for people: it takes a session of the dashboard."""
    return gate.once(who, key, "resolve", run=run, said=said.said, reason=said.reason)


@router.get("/occurrences/{key}", response_model=shapes.Anything, operation_id="awaited")
def awaited(who: Caller, gate: GateOf, key: RunName) -> Json:
    """How an occurrence stands, by its key: its outcome, its latest run, and what it waits for."""
    return gate.do(who, "awaited", key=key)
