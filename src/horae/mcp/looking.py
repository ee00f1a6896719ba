"""Tools that look."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from horae.app.gate import Gate
from horae.mcp.server import CALLER, Tool, answered

LOOKS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
Name = Annotated[
    str, Field(min_length=1, max_length=300, description="id, unique prefix of one, slug, or name of a job")
]
RunName = Annotated[str, Field(min_length=1, max_length=64, description="a run's id, or a unique beginning of it")]
Cursor = Annotated[str | None, Field(max_length=400, description="from the page before")]
Limit = Annotated[int, Field(ge=1, le=200)]
Fields = Annotated[
    dict[str, Any],
    Field(
        description='keys of a job file: {"name": "Tides", "prompt": "Report the tides.", "timezone": "Europe/Paris"}'
    ),
]


class Looking:
    """What looks. Each method is a tool."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def get_status(self) -> CallToolResult:
        """Is the gateway alive, what is due next, how late were the last runs, what waits for people, what is wrong."""
        return answered(self._gate.do(CALLER.get(), "status"))

    def list_jobs(
        self,
        all: Annotated[bool, Field(description="also completed jobs, with why they are completed")] = False,
        state: Literal["active", "paused", "completed", "quarantined"] | None = None,
        search: Annotated[str | None, Field(max_length=300, description="stands in the name or schedule")] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> CallToolResult:
        """List jobs with their state, schedule in words, next slot and last outcome. Pages by cursor."""
        asked = {"all": all, "state": state, "search": search, "limit": limit, "cursor": cursor}
        return answered(self._gate.do(CALLER.get(), "jobs", **asked))

    def get_job(self, job: Name) -> CallToolResult:
        """One job: its definition, what that comes to (model, tools, targets, limits, problems), state and next slots."""
        return answered(self._gate.do(CALLER.get(), "job", job=job))

    def preview_schedule(
        self,
        schedule: Annotated[
            str,
            Field(
                min_length=1,
                max_length=4096,
                description='"weekdays at 9am", "every 90 minutes", a cron line, an RRULE',
            ),
        ],
        timezone: Annotated[
            str | None, Field(max_length=100, description="IANA zone; that of the home, if none")
        ] = None,
        fields: Fields | None = None,
    ) -> CallToolResult:
        """What a schedule, or a whole new job, would mean: in words, with its next slots, warnings and problems.

        Nothing is written. Use it before create_job.
        """
        zone = {} if timezone is None else {"timezone": timezone}
        return answered(self._gate.do(CALLER.get(), "draft", fields={**(fields or {}), "schedule": schedule, **zone}))

    def list_choices(self) -> CallToolResult:
        """What a job may name: scripts, models, skills, toolsets, targets, calendars, zones."""
        return answered(self._gate.do(CALLER.get(), "choices"))

    def get_calendar(
        self,
        start: Annotated[
            str | None, Field(max_length=100, description="first day: a date, `today`, `tomorrow`")
        ] = None,
        days: Annotated[int, Field(ge=1, le=62)] = 7,
        job: Name | None = None,
    ) -> CallToolResult:
        """The coming days, with what runs on each of them, clock changes and what is skipped or moved."""
        return answered(self._gate.do(CALLER.get(), "calendar", start=start, days=days, job=job))

    def list_runs(
        self,
        job: Name | None = None,
        state: Literal["claimed", "running", "completed", "failed", "cancelled", "unknown", "blocked", "released"]
        | None = None,
        trigger: Annotated[
            Literal["schedule", "manual"] | None, Field(description="begun by its schedule, or by a person or program")
        ] = None,
        since: Annotated[str | None, Field(max_length=100, description="claimed from this day or instant on")] = None,
        until: Annotated[
            str | None, Field(max_length=100, description="claimed until this day, all of it, or before this instant")
        ] = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> CallToolResult:
        """Runs, newest first: state, outcome, reason, lateness, duration, cost, and what became of their messages."""
        among = {"job": job, "state": state, "trigger": trigger, "since": since, "until": until}
        return answered(self._gate.do(CALLER.get(), "runs", **among, limit=limit, cursor=cursor))

    def get_run(self, run: RunName) -> CallToolResult:
        """One run with its result: the message, both streams, what an agent did, deliveries.

        Long texts are cut; the resource horae://runs/{run}/stdout has all of what was printed.
        """
        return answered(self._gate.do(CALLER.get(), "log", run=run))

    def get_why(
        self,
        job: Name,
        slot: Annotated[
            str | None, Field(max_length=100, description="an instant, `next`, or an occurrence key")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 5,
    ) -> CallToolResult:
        """Why slots of a job ran, or did not: every decision about them, as a story. Newest first."""
        return answered(self._gate.do(CALLER.get(), "why", job=job, slot=slot, limit=limit))

    def list_asks(self, all: Annotated[bool, Field(description="also what is decided")] = False) -> CallToolResult:
        """What waits for a person's word: calls of agents, proposed jobs, drafted messages. You cannot answer them."""
        return answered(self._gate.do(CALLER.get(), "asks", all=all))

    def list_incidents(self, job: Name | None = None, all: bool = False) -> CallToolResult:
        """What goes wrong again and again, with its cause."""
        return answered(self._gate.do(CALLER.get(), "incidents", job=job, all=all))

    def check(self, job: Name | None = None) -> CallToolResult:
        """Preflight of a job, or of all: what would keep it from running, with what mends it. Nothing is started."""
        return answered(self._gate.do(CALLER.get(), "check", job=job))

    def run_doctor(self) -> CallToolResult:
        """Everything that is known to be silently broken in this home, with what mends it."""
        return answered(self._gate.do(CALLER.get(), "doctor"))


def looking(gate: Gate) -> list[Tool]:
    """The tools, over a gate."""
    of = Looking(gate)
    return [
        Tool("status", of.get_status, LOOKS),
        Tool("jobs", of.list_jobs, LOOKS),
        Tool("job", of.get_job, LOOKS),
        Tool("draft", of.preview_schedule, LOOKS),
        Tool("choices", of.list_choices, LOOKS),
        Tool("calendar", of.get_calendar, LOOKS),
        Tool("runs", of.list_runs, LOOKS),
        Tool("log", of.get_run, LOOKS),
        Tool("why", of.get_why, LOOKS),
        Tool("asks", of.list_asks, LOOKS),
        Tool("incidents", of.list_incidents, LOOKS),
        Tool("check", of.check, LOOKS),
        Tool("doctor", of.run_doctor, LOOKS),
    ]
