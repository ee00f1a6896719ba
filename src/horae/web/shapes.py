"""Answers of REST, described: the fields on which programs may rely. Fields may be added, so what is more is let through.

They are the shapes of the command line's JSON (docs/reference/cli.md); a test compares them with real answers.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

Instant = str  # RFC 3339
Maybe = str | None


class Shape(BaseModel):
    """Something that is answered."""

    model_config = ConfigDict(extra="allow")


class Refusal(Shape):
    """`application/problem+json`: what was wrong and what to do. `code` is one of docs/reference/errors.md."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: Maybe
    details: dict[str, Any]


class Slot(Shape):
    """One planned instant. `due` differs from `slot` where it was moved."""

    slot: Instant
    slot_utc: Instant
    due: Instant
    key: Maybe
    note: Maybe


class Job(Shape):
    """A job, as lists show it."""

    id: str
    slug: str
    name: str
    state: str
    schedule: Maybe
    meaning: Maybe
    timezone: Maybe
    next_slot: Instant | None
    last_outcome: Maybe
    last_run_state: Maybe
    last_slot: Instant | None
    completed_reason: Maybe
    problem: dict[str, Any] | None


class Jobs(Shape):
    """One page of jobs; `cursor` leads to the next one, null at the end."""

    jobs: list[Job]
    cursor: Maybe


class Whole(Shape):
    """One job: what its file says, what that comes to, and how it stands."""

    job: dict[str, Any]
    resolved: dict[str, Any]
    state: dict[str, Any]
    slots: list[Slot]
    file: Maybe


class File(Shape):
    """The text of a job's file. Its ETag goes into If-Match."""

    slug: str
    text: str


class Changed(Shape):
    """What was done, and the entry of the journal by which it can be undone."""

    did: str
    undo: Maybe = None
    entry: int | None = None
    warnings: list[str] = []


class Written(Changed):
    """A job that was made or changed, with what its schedule means and its next slots."""

    job: dict[str, Any]
    meaning: Maybe
    slots: list[Slot]


class Delivery(Shape):
    """The sending of a result to one target."""

    target: str
    state: str
    reason: Maybe
    evidence: Maybe


class Run(Shape):
    """One attempt. Durations are seconds, cost is US dollars."""

    id: str
    job_id: str
    job: str
    slot: Instant
    slot_utc: Instant
    key: str
    trigger: str
    attempt: int
    state: str
    outcome: Maybe
    reason: Maybe
    claimed_at: Instant | None
    started_at: Instant | None
    finished_at: Instant | None
    lateness_s: float | None
    duration_s: float | None
    exit_code: int | None
    tokens: int | None
    cost_usd: float | None
    deliveries: list[Delivery]


class Runs(Shape):
    """One page of runs, newest first."""

    runs: list[Run]
    cursor: Maybe


class Log(Shape):
    """A run with what it said and did."""

    run: Run
    message: Maybe
    stdout: Maybe
    stderr: Maybe
    activity: list[dict[str, Any]]


class Occurrence(Shape):
    """What became of one slot, with every decision about it."""

    key: Maybe
    slot: Instant
    slot_utc: Instant
    state: str
    outcome: Maybe
    reason: Maybe
    decisions: list[dict[str, Any]]


class Why(Shape):
    """The decisions about a job's slots, newest first."""

    job: Any
    occurrences: list[Occurrence]


class Preview(Shape):
    """Slots that will come."""

    schedule: Maybe
    meaning: Maybe
    timezone: Maybe
    tzdata: str
    slots: list[Slot]


class Ask(Shape):
    """What waits, or has waited, for a person's word."""

    id: str
    kind: str
    body: dict[str, Any]


class Asks(Shape):
    """The newest first."""

    asks: list[Ask]


class Status(Shape):
    """How the home is doing."""

    gateway: dict[str, Any]
    next_due: Instant | None
    lateness_ms: dict[str, Any]
    live_runs: list[dict[str, Any]]
    waiting: list[dict[str, Any]]
    problems: list[str]


class Checks(Shape):
    """Findings; those that are not ok have a remedy."""

    ok: bool
    checks: list[dict[str, Any]]


class Anything(Shape):
    """As the command line's JSON has it."""
