"""The home: how it does, what is ahead, what waits, what goes wrong, whom it reaches, who may come in."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from horae.web import shapes
from horae.web.caller import Caller, GateOf
from horae.web.requests import Cursor, JobName, Key, Line, Said, Text, filtered

Json = dict[str, Any]
router = APIRouter(tags=["home"])


class Because(Said):
    """A reason, kept with what is decided."""

    reason: Line | None = None


class Snooze(Said):
    """For how long; without it, for ever."""

    snooze_s: Annotated[int, Query(ge=1, le=366 * 86400)] | None = None


class Entry(Said):
    """Which entry of the journal; without one, the newest that can be undone."""

    entry: Annotated[int, Query(ge=1, lt=2**53)] | None = None


class Token(Said):
    """A token for a program."""

    name: Text
    role: Literal["read", "operate", "admin"] = "read"
    days: Annotated[int, Query(ge=1, le=3650)] | None = None


class Message(Said):
    """What a test message says, if not the usual."""

    text: Line | None = None


class Prune(Said):
    """How much at most; and whether it is only counted."""

    dry_run: bool = False
    most: Annotated[int, Query(ge=1, le=100_000)] | None = None


@router.get("/status", response_model=shapes.Status, operation_id="status")
def status(who: Caller, gate: GateOf) -> Json:
    """Is the gateway alive, what is next, how late were the last runs, what waits for people."""
    return gate.do(who, "status")


@router.get("/doctor", response_model=shapes.Checks, operation_id="doctor")
def doctor(who: Caller, gate: GateOf) -> Json:
    """Everything that is known to be silently broken."""
    return gate.do(who, "doctor")


@router.get("/check", response_model=shapes.Checks, operation_id="check_all")
def check_all(who: Caller, gate: GateOf, probe: bool = False) -> Json:
    """Preflight of all jobs, without running."""
    return gate.do(who, "check", job=None, probe=probe)


@router.get("/next", response_model=shapes.Preview, operation_id="next")
def next_slots(
    who: Caller,
    gate: GateOf,
    schedule: Annotated[str | None, filtered("a schedule that no job has", 4096)] = None,
    timezone: Annotated[str | None, filtered("its zone")] = None,
    start: Annotated[str | None, filtered("the first instant that counts")] = None,
    count: Annotated[int, Query(ge=1, le=1000)] = 5,
) -> Json:
    """The next slot of each active job, or the slots of a schedule."""
    return gate.do(who, "next", schedule=schedule, timezone=timezone, start=start, count=count)


@router.get("/calendar", response_model=shapes.Anything, operation_id="calendar")
def calendar(
    who: Caller,
    gate: GateOf,
    job: Annotated[str | None, filtered("only this job")] = None,
    start: Annotated[str | None, filtered("the first day: a date, `today`, `tomorrow`")] = None,
    days: Annotated[int, Query(ge=1, le=366)] = 14,
    timezone: Annotated[str | None, filtered("the zone of the days")] = None,
) -> Json:
    """The coming days, with what runs on each of them."""
    return gate.do(who, "calendar", job=job, start=start, days=days, timezone=timezone)


@router.get("/agenda", response_model=shapes.Anything, operation_id="agenda")
def agenda(
    who: Caller,
    gate: GateOf,
    start: Annotated[str, filtered("from this instant on: a date, or an instant as ISO writes it")],
    end: Annotated[str, filtered("until before this one, at most 62 days later")],
    job: Annotated[str | None, filtered("only this job")] = None,
    timezone: Annotated[str | None, filtered("the zone of the days")] = None,
    listed: Annotated[int, Query(ge=1, le=2000, description="slots of a job on a day that are told one by one")] = 4,
    a_day: Annotated[int, Query(ge=2, le=2000, description="entries of a day; the rest is summed up")] = 200,
) -> Json:
    """What was and what will be between two instants."""
    return gate.do(who, "agenda", start=start, end=end, job=job, timezone=timezone, listed=listed, a_day=a_day)


@router.get("/trends", response_model=shapes.Anything, operation_id="trends")
def trends(
    who: Caller,
    gate: GateOf,
    days: Annotated[int, Query(ge=1, le=366)] = 30,
    job: Annotated[str | None, filtered("only this job")] = None,
) -> Json:
    """How runs went over days: outcomes, duration, lateness, cost."""
    return gate.do(who, "trends", days=days, job=job)


@router.get("/asks", response_model=shapes.Asks, operation_id="asks")
def asks(who: Caller, gate: GateOf, all: Annotated[bool, Query(description="what has waited too")] = False) -> Json:
    """What waits for a person's word: calls of agents, proposed jobs, drafted messages."""
    return gate.do(who, "asks", all=all)


@router.post("/asks/{ask}/approve", response_model=shapes.Changed, operation_id="approve")
def approve(who: Caller, gate: GateOf, ask: JobName, said: Because, key: Key = None) -> Json:
    """Let it be done. Only for people: it takes a session of the dashboard."""
    return gate.once(who, key, "approve", ask=ask, reason=said.reason)


@router.post("/asks/{ask}/deny", response_model=shapes.Changed, operation_id="deny")
def deny(who: Caller, gate: GateOf, ask: JobName, said: Because, key: Key = None) -> Json:
    """Let it not be done. Only for people: it takes a session of the dashboard."""
    return gate.once(who, key, "deny", ask=ask, reason=said.reason)


@router.get("/incidents", response_model=shapes.Anything, operation_id="incidents")
def incidents(
    who: Caller,
    gate: GateOf,
    job: Annotated[str | None, filtered("of this job")] = None,
    all: Annotated[bool, Query(description="those that are over too")] = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Json:
    """What goes wrong again and again."""
    return gate.do(who, "incidents", job=job, all=all, limit=limit)


@router.post("/incidents/{incident}/ack", response_model=shapes.Changed, operation_id="ack")
def ack(who: Caller, gate: GateOf, incident: JobName, said: Snooze, key: Key = None) -> Json:
    """Be reminded of an incident no more, or not for a while."""
    return gate.once(who, key, "ack", incident=incident, snooze_s=said.snooze_s)


@router.post("/undo", response_model=shapes.Changed, operation_id="undo")
def undo(who: Caller, gate: GateOf, said: Entry, key: Key = None) -> Json:
    """Take back what a person did."""
    return gate.once(who, key, "undo", entry=said.entry)


@router.get("/targets", response_model=shapes.Anything, operation_id="targets")
def targets(who: Caller, gate: GateOf) -> Json:
    """What messages can be sent to."""
    return gate.do(who, "targets")


@router.post("/targets/{target}/test", response_model=shapes.Anything, operation_id="test_target")
def test_target(who: Caller, gate: GateOf, target: JobName, said: Message) -> Json:
    """Send a test message to a target, and tell what became of it at each address."""
    return gate.do(who, "test_target", target=target, text=said.text)


@router.post("/targets/{target}/open", response_model=shapes.Changed, operation_id="open_target")
def open_target(who: Caller, gate: GateOf, target: JobName, key: Key = None) -> Json:
    """Send to an address again that said it takes nothing any more."""
    return gate.once(who, key, "open_target", target=target)


@router.get("/models", response_model=shapes.Anything, operation_id="models")
def models(who: Caller, gate: GateOf) -> Json:
    """Models, and who uses them."""
    return gate.do(who, "models")


@router.get("/choices", response_model=shapes.Anything, operation_id="choices")
def choices(who: Caller, gate: GateOf) -> Json:
    """What a job may name: scripts, models, skills, toolsets, targets, calendars, zones."""
    return gate.do(who, "choices")


@router.get("/skills", response_model=shapes.Anything, operation_id="skills")
def skills(who: Caller, gate: GateOf) -> Json:
    """Skills, and who uses them."""
    return gate.do(who, "skills")


@router.get("/secrets", response_model=shapes.Anything, operation_id="secrets")
def secrets(who: Caller, gate: GateOf) -> Json:
    """Names of secrets, and who uses them. Values are told to nobody."""
    return gate.do(who, "secrets")


@router.get("/journal/verify", response_model=shapes.Anything, operation_id="verify")
def verify(who: Caller, gate: GateOf) -> Json:
    """Check the journal's chains."""
    return gate.do(who, "verify")


@router.get("/journal", response_model=shapes.Anything, operation_id="journal")
def journal(
    who: Caller,
    gate: GateOf,
    job: Annotated[str | None, filtered("about this job")] = None,
    key: Annotated[str | None, filtered("about the occurrence with this key", 64)] = None,
    run: Annotated[str | None, filtered("about this run", 64)] = None,
    actor: Annotated[str | None, filtered("by this one")] = None,
    what: Annotated[str | None, filtered("of this kind: docs/reference/journal.md")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: Cursor = None,
) -> Json:
    """Decisions, the newest first, one page."""
    asked: Json = {"job": job, "key": key, "run": run, "actor": actor, "what": what}
    return gate.do(who, "journal", **asked, limit=limit, cursor=cursor)


@router.post("/prune", response_model=shapes.Anything, operation_id="prune")
def prune(who: Caller, gate: GateOf, said: Prune, key: Key = None) -> Json:
    """Take away what is older than the settings say."""
    return gate.once(who, key, "prune", dry_run=said.dry_run, most=said.most)


@router.get("/tokens", response_model=shapes.Anything, operation_id="tokens")
def tokens(who: Caller, gate: GateOf, all: Annotated[bool, Query(description="those that ended too")] = False) -> Json:
    """Who may come in."""
    return gate.do(who, "tokens", all=all)


@router.post("/tokens", response_model=shapes.Anything, status_code=201, operation_id="add_token")
def add_token(who: Caller, gate: GateOf, said: Token) -> Json:
    """Make a token for a program. It is shown this once."""
    return gate.do(who, "add_token", name=said.name, role=said.role, days=said.days)


@router.delete("/tokens/{token}", response_model=shapes.Changed, operation_id="end_token")
def end_token(who: Caller, gate: GateOf, token: JobName, key: Key = None) -> Json:
    """Revoke a token, or end a session."""
    return gate.once(who, key, "end_token", token=token)
