"""Tools that do something: run, skip, move; propose, make and change jobs."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from horae.app.gate import Gate
from horae.core.access import allows
from horae.mcp.looking import Fields, Name, RunName
from horae.mcp.server import CALLER, Tool, answered

STEERS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
Reason = Annotated[str | None, Field(max_length=400, description="kept with it, for whoever asks why")]
Slot = Annotated[str, Field(min_length=1, max_length=100, description="an instant, `next`, or an occurrence key")]
Once = Annotated[
    str | None,
    Field(min_length=1, max_length=200, description="of your own making: a call repeated with it is not done again"),
]


class Steering:
    """What does something. Each method is a tool."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def run_job(
        self,
        job: Name,
        input: Annotated[str | None, Field(max_length=100_000, description="given to the run as data")] = None,
        idempotency_key: Once = None,
    ) -> CallToolResult:
        """Order a run of a job now, besides its slots. Answers the run's id: follow it with get_run."""
        return answered(self._gate.once(CALLER.get(), idempotency_key, "run", job=job, input=input))

    def cancel_run(self, run: RunName) -> CallToolResult:
        """End a running run: its processes are asked to end, and killed if they do not."""
        return answered(self._gate.do(CALLER.get(), "cancel", run=run))

    def replay_run(self, run: RunName, model: Annotated[str | None, Field(max_length=100)] = None) -> CallToolResult:
        """Run an agent once more with exactly the prompt of an earlier run, with the same or another model."""
        return answered(self._gate.do(CALLER.get(), "replay", run=run, model=model))

    def pause_job(self, job: Name, reason: Reason = None) -> CallToolResult:
        """Stop a job's slots until it is resumed. A run that goes on is not touched."""
        return answered(self._gate.do(CALLER.get(), "pause", job=job, reason=reason))

    def resume_job(self, job: Name) -> CallToolResult:
        """Let a job's slots run again, from the next one on."""
        return answered(self._gate.do(CALLER.get(), "resume", job=job))

    def skip_slot(self, job: Name, slot: Slot = "next") -> CallToolResult:
        """Skip one slot of a job. The schedule stays as it is; undo takes it back."""
        return answered(self._gate.do(CALLER.get(), "skip", job=job, slot=slot))

    def move_slot(
        self,
        job: Name,
        slot: Slot,
        to: Annotated[str, Field(min_length=1, max_length=100, description="an instant, `tomorrow at 9am`, `in 2h`")],
    ) -> CallToolResult:
        """Move one slot of a job to another time. The schedule stays as it is; undo takes it back."""
        return answered(self._gate.do(CALLER.get(), "move", job=job, slot=slot, to=to))

    def undo(
        self,
        entry: Annotated[int, Field(ge=1, lt=2**53, description="as the answer of what did it says")],
    ) -> CallToolResult:
        """Take back something that was done, by its entry in the journal."""
        return answered(self._gate.do(CALLER.get(), "undo", entry=entry))

    def resend_run(self, run: RunName, target: Annotated[str | None, Field(max_length=400)] = None) -> CallToolResult:
        """Send what a run said anew, to whom it did not reach. What has arrived is never sent twice."""
        return answered(self._gate.do(CALLER.get(), "resend", run=run, target=target))

    def acknowledge_incident(
        self,
        incident: Annotated[str, Field(min_length=1, max_length=64)],
        snooze_s: Annotated[int | None, Field(ge=1, le=366 * 86400, description="only for so many seconds")] = None,
    ) -> CallToolResult:
        """Have nobody reminded of an incident any more, or not for a while."""
        return answered(self._gate.do(CALLER.get(), "ack", incident=incident, snooze_s=snooze_s))

    def create_job(
        self,
        schedule: Annotated[str, Field(min_length=1, max_length=4096, description="see preview_schedule")],
        fields: Fields,
        reason: Reason = None,
        idempotency_key: Once = None,
    ) -> CallToolResult:
        """Make a job, or propose one: that depends on your role.

        With the role admin it is made and runs. With the role operate it is a draft: it may have `name`, `timezone` and
        `prompt`, and nothing happens until a person accepts it. The answer says which it was.
        """
        who = CALLER.get()
        if allows(who.role, "admin"):
            made = self._gate.once(who, idempotency_key, "add", schedule=schedule, fields=fields)
            return answered({**made, "live": True})
        made = self._gate.once(who, idempotency_key, "propose", schedule=schedule, fields=fields, reason=reason)
        waits = "it is a draft: it does not run, and waits for a person to accept it"
        return answered({**made, "live": False, "note": waits})

    def edit_job(
        self,
        job: Name,
        changes: Annotated[dict[str, Any], Field(description="keys of the job file; null takes one away")],
        idempotency_key: Once = None,
    ) -> CallToolResult:
        """Change keys of a job's file; the rest of it stays, comments and all. A new schedule revives a completed job."""
        return answered(self._gate.once(CALLER.get(), idempotency_key, "edit", job=job, changes=changes))

    def remove_job(self, job: Name) -> CallToolResult:
        """Delete a job's file: nothing of it runs any more. Its history stays; undo brings it back."""
        return answered(self._gate.do(CALLER.get(), "remove", job=job))


def steering(gate: Gate) -> list[Tool]:
    """The tools, over a gate."""
    of = Steering(gate)
    return [
        Tool("run", of.run_job, STEERS),
        Tool("cancel", of.cancel_run, ENDS),
        Tool("replay", of.replay_run, STEERS),
        Tool("pause", of.pause_job, STEERS),
        Tool("resume", of.resume_job, STEERS),
        Tool("skip", of.skip_slot, STEERS),
        Tool("move", of.move_slot, STEERS),
        Tool("undo", of.undo, STEERS),
        Tool("resend", of.resend_run, STEERS),
        Tool("ack", of.acknowledge_incident, STEERS),
        Tool("propose", of.create_job, STEERS),
        Tool("edit", of.edit_job, ENDS),
        Tool("remove", of.remove_job, ENDS),
    ]
