"""May this due occurrence start? A pure choice between three answers: claim it, settle it unrun, or let it wait.

Rules, first match wins:
1. A slot of a job that was removed is `void`; of one whose file is broken, `blocked`: other jobs never notice.
2. A slot that a person skipped is `skipped`; so is one that was closed, for the reason that its row gives.
3. A slot beyond the job's `repeat` is `void`: an undone skip may have left one.
4. A paused (or disabled) job skips its slots, and says who paused it. Manual runs of it are allowed.
5. While a scheduled run of the same job is live, a slot is `skipped`: two at once is what no script expects.
   While a *manual* run is live, a slot waits for it, because a manual run never eats a slot.
   A manual run that comes due while anything of its job is live waits too.
6. Of several slots that could start now, the latest one does, and the others end as `MISSED`: nothing ran them in time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the choice depends on."""

    trigger: str
    exception: str | None
    removed: bool
    problem: str | None
    paused: str | None
    """Who paused the job and why, in words; None when it is not paused."""
    live: str | None
    """The trigger of a live occurrence of the same job, or None."""
    closed: str | None = None
    """Why the slot is skipped when no person said so."""
    spent: int | None = None
    """How often the job has run, when that is as often as `repeat` allows; else None."""


@dataclass(frozen=True, slots=True)
class Admission:
    """`outcome` is None for an occurrence to be claimed; `wait` leaves it planned."""

    outcome: str | None
    reason: str | None
    wait: bool = False


CLAIM = Admission(None, None)
MISSED = Admission("missed", "nothing was running to start it in time")
WAIT = Admission(None, "waits for the run that is live", wait=True)


def admit(c: Candidate) -> Admission:
    """Decide about one due occurrence."""
    if c.removed:
        return Admission("void", "the job was removed")
    if c.problem is not None:
        return Admission("blocked", f"the job's file is broken: {c.problem}")
    if c.exception == "skip":
        return Admission("skipped", c.closed or "skipped by a person in advance")
    if c.trigger == "manual":
        return CLAIM if c.live is None else WAIT
    if c.spent is not None:
        return Admission("void", f"it has run {c.spent} times, as often as it was to")
    if c.paused is not None:
        return Admission("skipped", c.paused)
    if c.live == "manual":
        return WAIT
    if c.live is not None:
        return Admission("skipped", "the previous run was still going")
    return CLAIM
