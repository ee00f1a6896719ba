"""What an agent's job comes to: its model and where that is from, what it may use, what it would be sent. Nothing is started.

The prompt is put together by the same function and from the same parts as in a run. Only what a run itself brings about
cannot be known before it: the output of a script, and what is watched. In their places stands a sentence that says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from horae.core.agent import BUILTIN, MCP, default_model, granted, is_disabled, name_of_agent
from horae.core.equipment import Wish
from horae.core.guard import scan, warning_words
from horae.core.model import Job
from horae.core.prompting import Parts, assemble, digest
from horae.core.wish import wish_of
from horae.errors import Ambiguous, NotFound, Problem
from horae.ports import Home, Record

Json = dict[str, Any]
LATER = "(the output of {}, which is run first, will stand here)"
LATER_DIFF = "(how {} differs from what it was will stand here; as long as it is the same, no model is called)"


def resolved(home: Home, job: Job) -> Job:
    """The job with the model that its runs use: its pin, what it was frozen at, or what it would be frozen at now."""
    if not job.agent or job.model is not None:
        return job
    return replace(job, model=frozen_model(home, job.id) or default_model(home.settings.agents))


def frozen_model(home: Home, job_id: str) -> str | None:
    """What a job was frozen at; None for one that is not known yet, or never was."""
    reader = home.read()
    try:
        return reader.find_job(job_id)["model"]
    except (NotFound, Ambiguous):
        return None
    finally:
        reader.close()


def lacking(home: Home, job: Job) -> list[str]:
    """Jobs that it names and that are not there."""
    problems: list[str] = []
    reader = home.read()
    try:
        named = [("after", job.after)] if job.after is not None else []
        named += [("context_from", ref) for ref in job.context_from if ref != "self"]
        for key, ref in named:
            try:
                reader.find_job(ref, removed=key == "context_from")
            except Ambiguous as error:
                problems.append(f"{key}: {error.message}; write its id or slug")
            except NotFound:
                problems.append(f"{key}: there is no job {ref!r} (`horae list --all` shows them all)")
    finally:
        reader.close()
    return problems


def odd(home: Home, job: Job) -> Iterator[str]:
    """What holds, and may not be what its author means."""
    if not job.agent:
        return
    settings = home.settings.agents
    for name in job.tools or ():
        if is_disabled(name, settings):
            yield f"toolset {name} is disabled in config.toml (agents.disabled_toolsets): runs do not get it"
    if "shell" in granted(job, settings) and "shell" not in job.approve:
        yield "it may run shell commands in the sandbox by itself; `approve: [shell]` has a person asked first"
    model = settings.models.get(job.model or "")
    if model is not None and model.price is None:
        yield f"model {model.name} has no price in config.toml: its cost will not be known"
    yield from _noticed(home, job)


def _noticed(home: Home, job: Job) -> Iterator[str]:
    """What the guards warn of in its prompt and in its skills. What refuses is a reason against it, and told as such."""
    yield from (warning_words(item, "prompt") for item in scan(job.prompt, "prompt") if item.severity == "warn")
    for name in job.skills:
        try:
            kept = home.shelf().load(name)
        except Problem:
            continue  # the same
        for file, item in kept.found:
            if item.severity == "warn":
                yield warning_words(item, f"skill {name}, {file}")


def agent_view(home: Home, job: Job, pinned: bool) -> Json:
    """What it resolves to. `job` is `resolved`."""
    settings, wish = home.settings.agents, wish_in(home, job)
    model = settings.models.get(job.model or "")
    named = settings.named.get(name_of_agent(job, settings))
    tools = () if named is not None and named.kind == "command" else granted(job, settings)  # it has tools of its own
    return {
        "agent": name_of_agent(job, settings),
        "kind": BUILTIN if named is None else named.kind,
        "model": job.model,
        "model_from": None if job.model is None else "pin" if pinned else "frozen",
        "provider": None if model is None else model.provider,
        "tools": [*tools],
        "tools_by_default": job.tools is None,
        "mcp": {
            name: list(settings.mcp[name.removeprefix(MCP)].tools or ()) for name in tools if _is_served(name, home)
        },
        "approve": [*job.approve],
        "turns": wish.run.turns,
        "tokens": wish.run.tokens,
        "usd": wish.run.usd,
    }


def wish_in(home: Home, job: Job) -> Wish:
    """What a run of the job would ask for now."""
    return wish_of(job, home.settings.agents, home.settings.timezone, home.clock.now())


def has_agents(home: Home) -> bool:
    """Whether any job is an agent's."""
    reader = home.read()
    try:
        return reader.has_agents()
    finally:
        reader.close()


def freeze_unset(home: Home) -> list[str]:
    """Agents' jobs that were made before there was any model use the default from now on. Returns their ids."""
    model = default_model(home.settings.agents)
    if model is None:
        return []
    reader = home.read()
    try:
        unset = reader.unfrozen()
    finally:
        reader.close()
    return home.store.transact(lambda tx: tx.agents.freeze(unset, model, actor=home.actor)) if unset else []


def _is_served(name: str, home: Home) -> bool:
    return name.startswith(MCP) and name.removeprefix(MCP) in home.settings.agents.mcp


def prompt_of(home: Home, row: Record, job: Job, *, extra: str | None = None) -> Json:
    """Exactly what would be sent now, its length and digest, and what of it only a run can know."""
    facts = home.facts(job)
    skills = [] if facts.agent is None else [(skill.name, skill.text) for skill in facts.agent.skills]
    wish = wish_in(home, job)
    earlier = home.store.transact(lambda tx: tx.agents.context(row["id"], job.context_from, wish))
    open_parts = [name for name in (job.script, job.watch) if name is not None]
    parts = Parts(
        prompt=job.prompt,
        skills=skills,
        context=[(item.job, f"{item.at:%Y-%m-%d %H:%M UTC}", item.text) for item in earlier],
        script=None if job.script is None else (job.script, LATER.format(job.script)),
        watched=None if job.watch is None else (job.watch, LATER_DIFF.format(job.watch), LATER.format(job.watch)),
        extra=extra,
    )
    text = assemble(parts)
    return {"prompt": text, "chars": len(text), "sha256": None if open_parts else digest(text), "open": open_parts}
