"""From a claim to what a runner starts: the environment that a program finds, and its limits. Pure.

A run sees an allow-listed part of the gateway's environment, what its job names, and the `HORAE_` variables of
docs/reference/environment.md; nothing else of the gateway's own environment reaches it.
"""

from __future__ import annotations

from datetime import timedelta, timezone

from horae.core.model import Claim, Job, Order
from horae.core.preflight import Facts
from horae.limits import KILL_GRACE_S, OUTPUT_BYTES_MAX, WALL_DEFAULT_S
from horae.ports import Settings

PASSED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR")
PASSED_PREFIX = "LC_"


def order_for(claim: Claim, facts: Facts, settings: Settings) -> Order:
    """Everything that the runner needs, decided."""
    limits = claim.job.limits
    return Order(
        run_id=claim.run_id,
        argv=facts.argv,
        cwd=facts.cwd,
        env=environment(claim, settings),
        wall_s=wall_of(claim.job),
        grace_s=KILL_GRACE_S,
        output_bytes=min(limits.output_bytes or OUTPUT_BYTES_MAX, OUTPUT_BYTES_MAX),
    )


def wall_of(job: Job) -> float:
    """How long a run of the job may take, in seconds."""
    limits = job.limits
    wall = limits.wall_s if limits.wall_s is not None else WALL_DEFAULT_S
    return min(wall, limits.script_s) if job.script is not None and limits.script_s is not None else wall


def environment(claim: Claim, settings: Settings) -> dict[str, str]:
    """The environment of a run."""
    wanted = {*PASSED, *settings.pass_env, *claim.job.env}
    env = {name: value for name, value in settings.env.items() if name in wanted or name.startswith(PASSED_PREFIX)}
    slot = claim.slot.astimezone(timezone(timedelta(seconds=claim.offset_s)))
    late = max(0.0, (claim.claimed_at - claim.due).total_seconds())
    env |= {
        "HORAE_HOME": settings.home,
        "HORAE_JOB_ID": claim.job_id,
        "HORAE_JOB_NAME": claim.job.name,
        "HORAE_RUN_ID": claim.run_id,
        "HORAE_ATTEMPT": str(claim.attempt),
        "HORAE_OCCURRENCE_KEY": claim.key,
        "HORAE_SLOT": slot.isoformat(timespec="seconds"),
        "HORAE_LATENESS_S": f"{late:.3f}",
        "HORAE_MISSED": str(claim.missed),
        "HORAE_TRIGGER": claim.trigger,
    }
    if claim.input is not None:
        env["HORAE_WITH"] = claim.input
    return env
