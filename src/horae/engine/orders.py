"""From a claim to what a runner starts: the environment that a program finds, and its limits. Pure.

A run sees an allow-listed part of the gateway's environment, what its job names, and the `HORAE_` variables of
docs/reference/environment.md; nothing else of the gateway's own environment reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta, timezone
from typing import Any

from horae.core.equipment import Given
from horae.core.hookform import hook_of
from horae.core.model import Bounds, Claim, Job, Order
from horae.core.preflight import Facts
from horae.core.tracing import traceparent
from horae.engine.tasks import task_for
from horae.limits import (
    AGENT_IDLE_DEFAULT_S,
    KEPT_BYTES_MAX,
    KILL_GRACE_S,
    OUTPUT_BYTES_DEFAULT,
    PROCESSES_DEFAULT,
    WALL_DEFAULT_S,
)
from horae.ports import Settings

PASSED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR")
PASSED_PREFIX = "LC_"


def order_for(claim: Claim, facts: Facts, settings: Settings, given: Given | None = None) -> Order:
    """Everything that the runner needs, decided. `given` is what an agent gets."""
    task: dict[str, Any] | None = None
    if facts.agent is not None and given is not None:
        task = task_for(claim, facts.agent, given, facts.secrets, environment(claim, settings, {}))
    return Order(
        run_id=claim.run_id,
        argv=facts.argv,
        cwd=facts.cwd,
        env=environment(claim, settings, facts.secrets if task is None else {}),
        bounds=bounds_of(claim.job),
        landlock=claim.job.landlock and settings.landlock,
        sandbox=claim.job.sandbox,
        secrets=claim.job.secrets,
        task=task,
    )


def bounds_of(job: Job) -> Bounds:
    """What a run of the job may use."""
    limits = job.limits
    wall = limits.wall_s if limits.wall_s is not None else WALL_DEFAULT_S
    by_script = job.script is not None and not job.agent and limits.script_s is not None and limits.script_s < wall
    return Bounds(
        wall_s=limits.script_s if by_script and limits.script_s is not None else wall,
        grace_s=KILL_GRACE_S,
        kept_bytes=KEPT_BYTES_MAX,
        output_bytes=limits.output_bytes or OUTPUT_BYTES_DEFAULT,
        processes=limits.processes or PROCESSES_DEFAULT,
        idle_s=limits.idle_s or (AGENT_IDLE_DEFAULT_S if job.agent else None),
        memory_bytes=limits.memory_bytes,
        cpu_s=limits.cpu_s,
        by_script=by_script,
        tight=(limits.memory_bytes, limits.cpu_s, limits.processes) != (None, None, None),
    )


def environment(claim: Claim, settings: Settings, secrets: Mapping[str, str]) -> dict[str, str]:
    """The environment of a run. `secrets` are the values of those that its job names."""
    wanted = {*PASSED, *settings.pass_env, *claim.job.env}
    env = {name: value for name, value in settings.env.items() if name in wanted or name.startswith(PASSED_PREFIX)}
    env |= secrets
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
        "TRACEPARENT": traceparent(claim.key, claim.run_id),
    }
    if claim.input is not None:
        env["HORAE_WITH"] = claim.input
    called = hook_of(claim.cause)
    if called is not None:
        env |= {"HORAE_TRIGGER": "hook", "HORAE_HOOK": called[0], "HORAE_WITH_FORM": called[1]}
    return env
