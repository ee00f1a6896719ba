"""Everything that can be known to be wrong before a run begins. No process is started and no token spent until it is empty.

Facts are gathered by the shell (does the file exist, is the program allowed); the judgement is pure, so that the same
one answers at creation, in `doctor` and directly before a run.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from horae.core.agentfacts import AgentFacts
from horae.core.exclusion import Calendar, unknown_calendars
from horae.core.model import Job
from horae.core.target import shown_target

SHOWN_CELLS = 60  # of a name in a reason


@dataclass(frozen=True, slots=True)
class Facts:
    """What a runner found on this machine for one job."""

    argv: tuple[str, ...] = ()
    cwd: str = ""
    problems: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Values that the run gets as environment variables."""
    agent: AgentFacts | None = None
    """Of a job with an agent."""


def preflight(
    job: Job, facts: Facts, unreachable: Callable[[str], str | None], calendars: Mapping[str, Calendar] | None = None
) -> tuple[str, ...]:
    """The reasons why this job cannot run now; empty means go.

    `unreachable(target)` says why a target cannot be reached; whoever makes it knows what `origin` means for this job.
    `calendars` are those that the settings have; None: they are not looked at.
    """
    reasons = [*facts.problems]
    reasons += [f"target {shown_target(target)}: {why}" for target in job.deliver if (why := unreachable(target))]
    others = [target for target in job.alerts if target not in job.deliver]  # a failure that nobody hears of is silent
    reasons += [f"target of alerts {shown_target(target)}: {why}" for target in others if (why := unreachable(target))]
    if calendars is not None:
        reasons += [_no_calendar(name, calendars) for name in unknown_calendars(calendars, job.exclude)]
        named = (calendars[name] for name in job.exclude if name in calendars)
        reasons += [_unread(calendar.name, calendar.unread) for calendar in named if calendar.unread is not None]
    return tuple(reasons)


def _unread(name: str, why: str) -> str:
    """Its file may exclude this very slot, and nobody knows."""
    return f"exclusion calendar {name} could not be read: {why}"


def _no_calendar(name: str, known: Mapping[str, Calendar]) -> str:
    """What runs on a holiday all the same is worse than what does not run: a calendar that is gone blocks."""
    says = f"exclusion calendar {name}: config.toml has no [calendars.{name}]"
    near = difflib.get_close_matches(name, known, 3, 0.6)
    if near:
        return f"{says} (did you mean {' or '.join(near)}?)"
    return f"{says} (it has {', '.join(sorted(known)[:10]) if known else 'none'})"
