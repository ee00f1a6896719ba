"""From a claim to an agent's task: what it is told, may use, and is given. Pure; the keys are those of `agents/task.py`.

Nothing of the job's own secrets reaches the agent: they are for its script. The environment of what the agent starts is
that of any run, without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from horae.core.agentfacts import AgentFacts, Argv, Reached, Served
from horae.core.equipment import Earlier, Given
from horae.core.hookform import hook_of
from horae.core.model import Claim, Job
from horae.core.prompting import lateness_words
from horae.limits import SCRIPT_OF_AGENT_S

Json = dict[str, Any]


def task_for(claim: Claim, facts: AgentFacts, given: Given, secrets: Mapping[str, str], env: Mapping[str, str]) -> Json:
    """Everything that an agent's process needs, decided. `env` is the run's environment without `secrets`."""
    job = claim.job
    own = {**env, **secrets}
    called = hook_of(claim.cause)
    return {
        "run": claim.run_id,
        "job": claim.job_id,
        "name": job.name,
        "kind": facts.kind,
        "agent": _program(facts),
        "prompt": job.prompt,
        "extra": claim.input if called is None else None,
        "payload": None if called is None or claim.input is None else [called[0], claim.input],
        "lateness": lateness_words(max(0.0, (claim.claimed_at - claim.due).total_seconds()), claim.missed),
        "skills": [
            {"name": skill.name, "text": skill.text, "folder": skill.folder, "sha256": skill.sha256}
            for skill in facts.skills
        ],
        "context": [_earlier(earlier) for earlier in given.context],
        "script": _own(job, job.script, facts.script, own),
        "watch_url": job.watch if job.watch is not None and "://" in job.watch else None,
        "watch_script": _own(job, job.watch, facts.watch, own),
        "baseline": None if given.baseline is None else [*given.baseline],
        "replay": given.prompt,
        "state": given.state,
        "decision": None if given.decision is None else dict(given.decision),
        "held": given.held,
        "models": [_model(reached) for reached in facts.models],
        "allow": {
            "turns": given.allowance.turns,
            "tokens": given.allowance.tokens,
            "usd": given.allowance.usd,
        },
        "tools": [*facts.tools],
        "approve": [*job.approve],
        "mcp": [_served(served) for served in facts.servers],
        "notes": dict(given.notes),
        "folder": facts.folder,
        "walls": None,
        "env": dict(env),
        "schema": job.schema,
        "empty": job.empty,
    }


def _program(facts: AgentFacts) -> Json | None:
    program = facts.program
    if program is None:
        return None
    return {
        "name": program.name,
        "command": [*program.command],
        "env": dict(facts.env),
        "api": program.api,
        "metered": program.is_metered,
    }


def _own(job: Job, name: str | None, argv: Argv | None, env: Mapping[str, str]) -> Json | None:
    """A script of the job's."""
    if argv is None:
        return None
    return {
        "name": name,
        "argv": [*argv[0]],
        "cwd": argv[1],
        "env": dict(env),
        "landlock": job.landlock,
        "sandbox": job.sandbox,
        "timeout_s": job.limits.script_s or SCRIPT_OF_AGENT_S,
    }


def _earlier(earlier: Earlier) -> Json:
    at = earlier.at.strftime("%Y-%m-%d %H:%M UTC")
    return {"job": earlier.job, "run": earlier.run_id, "at": at, "text": earlier.text}


def _model(reached: Reached) -> Json:
    model, price = reached.model, reached.model.price
    return {
        "name": model.name,
        "id": model.id,
        "kind": reached.provider.kind,
        "base_url": reached.provider.base_url,
        "key": reached.key,
        "price": None
        if price is None
        else [price.input, price.output, price.input if price.cached is None else price.cached],
        "max_output": model.max_output,
        "context": model.context,
    }


def _served(served: Served) -> Json:
    server = served.server
    return {
        "name": server.name,
        "command": [*server.command],
        "url": server.url,
        "env": dict(served.env),
        "token": served.token,
        "tools": None if server.tools is None else [*server.tools],
    }
