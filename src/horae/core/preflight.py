"""Everything that can be known to be wrong before a run begins. No process is started and no token spent until it is empty.

Facts are gathered by the shell (does the file exist, is the program allowed); the judgement is pure, so that the same
one answers at creation, in `doctor` and directly before a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from horae.core.model import Job


@dataclass(frozen=True, slots=True)
class Facts:
    """What a runner found on this machine for one job."""

    argv: tuple[str, ...] = ()
    cwd: str = ""
    problems: tuple[str, ...] = ()


def preflight(job: Job, facts: Facts, unreachable: Callable[[str], str | None]) -> tuple[str, ...]:
    """The reasons why this job cannot run now; empty means go. `unreachable(target)` says why a target cannot be reached."""
    reasons = [*facts.problems]
    reasons += [f"target {target}: {why}" for target in job.deliver if (why := unreachable(target))]
    return tuple(reasons)
