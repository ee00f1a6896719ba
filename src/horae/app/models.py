"""Providers, models, which jobs use which and from where; another default for new jobs; other models for jobs that are there.

A default counts for jobs that are made later, and for those that have no model at all. It stands in config.toml, which
whoever changes it writes; a gateway that runs has read that file at its start and goes by what it read. Moving jobs is a
decision like any other: planned, shown, and made only when it is confirmed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from horae.app.jobs import damage_of, find
from horae.core.agent import default_model, name_of_agent
from horae.core.definition import from_definition
from horae.core.modelchoice import Using, model_named, moves, provider_problems, resolve
from horae.errors import Conflict, NotFound, Refused
from horae.ports import Home, Record, Tx

Json = dict[str, Any]
PAGE = 1000
FLEET, GLOBAL = ("agents", "model"), ("model",)


def list_models(home: Home) -> Json:
    """What there is, what is in the way of each, and who uses it."""
    settings = home.settings.agents
    keys = [provider.key for provider in settings.providers.values() if provider.key is not None]
    places = _places(home, keys)
    jobs = [job for job in _jobs(home) if job is not None]
    return {
        "global": settings.model,
        "fleet": settings.fleet,
        "default": default_model(settings),
        "providers": [
            {
                "name": provider.name,
                "kind": provider.kind,
                "base_url": provider.base_url,
                "key": provider.key,
                "key_in": [*places.get(provider.key or "", ())],
                "problems": [*provider_problems(provider, lambda key: not places.get(key), is_absent)],
            }
            for provider in settings.providers.values()
        ],
        "models": [
            {
                "name": model.name,
                "provider": model.provider,
                "id": model.id,
                "input": model.price.input if model.price else None,
                "output": model.price.output if model.price else None,
                "cached": model.price.cached if model.price else None,
                "max_output": model.max_output,
                "context": model.context,
                "jobs": sum(job.model == model.name for job in jobs),
            }
            for model in settings.models.values()
        ],
        "jobs": [
            {
                "id": job.id,
                "slug": job.slug,
                "model": job.model,
                "source": job.source,
                "problem": found if isinstance(found := resolve(job, settings), str) else None,
            }
            for job in jobs
        ],
    }


def is_absent(module: str) -> bool:
    """Whether a library is not installed. It is not loaded."""
    return find_spec(module) is None


def plan_use(home: Home, *, model: str, jobs: Sequence[str], all: bool = False, everywhere: bool = False) -> Json:
    """What `model use` would do: a new default (`everywhere`: the global one), or these jobs (or all) to that model."""
    settings = home.settings.agents
    chosen = model_named(model, settings)
    moving = all or bool(jobs)
    using = [_named(home, name) for name in dict.fromkeys(jobs)] if jobs else [job for job in _jobs(home) if job]
    found = moves({job.id: job for job in using}.values(), model)
    steps: list[Json] = []
    if not moving:
        before = settings.model if everywhere else settings.fleet
        place = GLOBAL if everywhere else FLEET
        if before != model:
            steps.append(_step("default", ".".join(place), None, before, model))
    takes = found.moved if moving else tuple(job for job in found.moved if _gets(home, job, model, everywhere))
    steps += [_step("move", job.slug, job.id, job.frozen, model) for job in takes]
    unaffected = [
        _unaffected(job, model) for job in (*found.pinned, *(() if moving else found.moved)) if job not in takes
    ]
    return {
        "model": model,
        "plan": steps,
        "applied": [],
        "unaffected": unaffected,
        "did": _did(steps, model, done=False),
        "undo": None,
        "warnings": _warnings(home, chosen.provider, everywhere=everywhere, moving=moving),
    }


def _gets(home: Home, job: Using, model: str, everywhere: bool) -> bool:
    """Whether a job gets a new default: one that has no model and needs one, unless the fleet has another default."""
    return job.needs_one and (not everywhere or home.settings.agents.fleet in (None, model))


def _step(op: str, target: str, job_id: str | None, before: str | None, after: str) -> Json:
    return {"op": op, "target": target, "job": job_id, "before": before, "after": after}


def _unaffected(job: Using, to: str) -> Json:
    way = f"horae edit {job.slug} --model {to}" if job.pin else f"horae model use {to} {job.slug} --confirm"
    return {"job": job.id, "slug": job.slug, "model": job.model, "source": job.source, "way": way}


def _places(home: Home, keys: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Where these secrets have values. Nothing is asked where there are none: a keyring may take its time."""
    return home.vault().places(keys)[0] if keys else {}


def _warnings(home: Home, provider: str, *, everywhere: bool, moving: bool) -> list[str]:
    settings = home.settings.agents
    key = settings.providers[provider].key
    places = _places(home, [] if key is None else [key])
    problems = provider_problems(settings.providers[provider], lambda name: not places.get(name), is_absent)
    found = [f"provider {provider}: {problem}" for problem in problems]
    if everywhere and not moving and settings.fleet is not None:
        found.append(f"jobs get {settings.fleet}: agents.model in config.toml counts before the global default")
    if not moving and home.gateway:
        found.append(
            "a gateway reads config.toml when it starts: until it is started anew, new jobs get the old default"
        )
    if not moving and home.settings.store is not None:
        found.append("each machine has a config.toml of its own: say the same on the others")
    return found


def set_default(home: Home, *, model: str, everywhere: bool = False) -> Json:
    """Write the default into config.toml. It goes on record with what `use_model` does."""
    model_named(model, home.settings.agents)
    home.configure(GLOBAL if everywhere else FLEET, model)
    return {"did": f"new jobs get {model}"}


def use_model(home: Home, *, model: str, steps: Sequence[Json]) -> Json:
    """Carry out the steps of a plan: jobs are moved, and a default that was written is put on record."""
    defaults = [step for step in steps if step["op"] == "default"]
    moved = [str(step["job"]) for step in steps if step["op"] == "move"]
    warnings: list[str] = []
    if moved and model not in home.settings.agents.models:
        says = f"the gateway does not know the model {model}: it has read config.toml before that was there"
        if not defaults:
            raise Refused(says, "start the gateway anew, then say it again", model=model)
        warnings.append(f"{says}; jobs without a model get it once you start it anew and say this again")
        moved = []

    def work(tx: Tx) -> list[str]:
        for step in defaults:
            tx.journal.append(
                "model_default", actor=home.actor, setting=step["target"], model=model, was=step["before"]
            )
        return tx.agents.freeze(moved, model, actor=home.actor)

    changed = home.store.transact(work)
    applied = [*defaults, *(step for step in steps if step["job"] in changed)]
    if steps and not applied:
        raise Conflict("nothing was changed: somebody was faster", "`horae model` shows what is so now")
    home.wake()
    return {"applied": applied, "did": _did(applied, model, done=True), "undo": _undo(applied), "warnings": warnings}


def _undo(applied: Sequence[Json]) -> str | None:
    """The command that takes it back, where one command does."""
    if len(applied) != 1 or applied[0]["before"] is None:
        return None
    whom = {"agents.model": "", "model": " --global"}.get(applied[0]["target"], f" {applied[0]['target']}")
    return f"horae model use {applied[0]['before']}{whom} --confirm"


def _did(steps: Sequence[Json], model: str, *, done: bool) -> str:
    moved = sum(step["op"] == "move" for step in steps)
    parts = (
        [f"new jobs {'get' if done else 'would get'} {model}"] if any(step["op"] == "default" for step in steps) else []
    )
    if moved:
        words = f"{moved} job{'' if moved == 1 else 's'}"
        verb = f"use{'s' if moved == 1 else ''}" if done else "would use"
        parts.append(f"{words} {verb} {model}")
    return "; ".join(parts) or f"nothing is changed: {model} is used there already"


def _jobs(home: Home) -> Iterator[Using | None]:
    """Each job that is not completed: as an agent's job, or None."""
    reader = home.read()
    try:
        cursor: str | None = None
        while True:
            page = reader.list_jobs(all=False, state=None, limit=PAGE, cursor=cursor)
            for listed in page["jobs"]:
                try:
                    yield _using(home, reader.find_job(listed["id"]))
                except NotFound:  # removed since
                    continue
            cursor = page["cursor"]
            if cursor is None:
                return
    finally:
        reader.close()


def _using(home: Home, row: Record) -> Using | None:
    if not row["definition"] or damage_of(row) is not None:
        return None
    job = from_definition(json.loads(row["definition"]))
    agent = home.settings.agents.named.get(name_of_agent(job, home.settings.agents))
    own = agent is not None and not agent.is_metered
    return None if job.agent is False else Using(job.id, job.slug, job.model, row["model"], has_own=own)


def _named(home: Home, name: str) -> Using:
    """A job that a person names. Raises NotFound, Ambiguous, Refused for one without an agent."""
    row = find(home, name).row
    using = _using(home, row)
    if using is None:
        says = f"{row['slug']} has no agent, so it uses no model"
        if not row["definition"] or damage_of(row) is not None:
            says = f"nobody knows what {row['slug']} is: it is not valid"
        raise Refused(says, f"`horae show {row['slug']}` shows it", job=row["id"])
    return using
