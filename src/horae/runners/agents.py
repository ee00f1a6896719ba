"""What there is on this machine for an agent's job: keys, programs, skills, packages. Looked at before anything is loaded.

Nothing of an agent's libraries is imported here; whether they are installed is asked of the import system alone. No model
is called, and no server is asked.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec

from horae.core.agent import MCP, NamedAgent, granted
from horae.core.agentfacts import AgentFacts, Argv, Reached, Served, SkillText, agent_of, rules, unknown_model, unspoken
from horae.core.agentform import KINDS
from horae.core.guard import refusal, scan
from horae.core.model import Job
from horae.core.preflight import Facts
from horae.ports import Settings
from horae.runners.sandbox import problem as sandbox_problem
from horae.runners.scripts import Lookup, script_facts, working_folder

INSTALL = "`pip install 'horae[agents]'` installs it"
NEEDS = {"builtin": ("pydantic_ai",), "acp": ("pydantic_ai", "acp"), "command": ("pydantic_ai",)}
KEPT_MAX = 1000


Skills = Callable[[Job, Sequence[str]], tuple[Sequence[SkillText], Sequence[str]]]
"""The skills that a job names, where it may use these toolsets; and why some cannot be used."""


def no_skills(job: Job, _tools: Sequence[str]) -> tuple[Sequence[SkillText], Sequence[str]]:
    """Of a runner that was given no folder of skills."""
    return (), [f"skill {name} is not there: nothing here reads skills" for name in job.skills]


def agent_facts(job: Job, settings: Settings, scripts: str, secrets: Lookup, skills: Skills) -> Facts:
    """What is to be started for an agent's job, and what stands against it."""
    agents, path = settings.agents, settings.env.get("PATH", os.defpath)
    shared = settings.store is not None
    kind, program, wrong = agent_of(job, agents)
    problems = [wrong] if wrong else [*rules(job, agents, program)]
    tools = granted(job, agents)
    problems += _missing(kind, tools, path)
    models, why = _models(job, settings, program, secrets)
    problems += why
    env, why = _environment(program, settings, secrets, path)
    problems += why
    servers, why = _servers(tools, settings, secrets, path)
    problems += why
    own: list[Argv | None] = []
    for name in (job.script, job.watch if job.watch is not None and "://" not in job.watch else None):
        found = Facts() if name is None else script_facts(name, scripts, path, shared=shared)
        problems += found.problems
        own.append((found.argv, found.cwd) if found.argv else None)
    problems += _in_prompt(job.prompt)
    problems += _schema(job.schema)
    found_skills, why = skills(job, tools) if job.skills else ((), ())
    problems += why
    values: Mapping[str, str] = {}
    if job.secrets:
        values, why = secrets(job.secrets)
        problems += why
    folder = ""
    if job.workdir is not None:
        folder, odd = working_folder(job.workdir)
        problems += [odd] if odd else []
    facts = AgentFacts(kind, program, env, models, tools, servers, tuple(found_skills), own[0], own[1], folder)
    return Facts(cwd=scripts, problems=tuple(problems), secrets=values, agent=facts)


def _missing(kind: str, tools: Sequence[str], path: str) -> Iterator[str]:
    """Packages and programs that the agent itself needs."""
    for package in NEEDS[kind]:
        if not _is_there(package):
            yield f"the {kind} agent needs the package {package}, which is not installed; {INSTALL}"
    if "shell" in tools and kind != "command" and (why := sandbox_problem("strict", path)) is not None:
        yield f"toolset shell: {why}"


def _is_there(module: str) -> bool:
    """Whether it can be imported. Nothing of it is, but for what stands before its last dot."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _models(
    job: Job, settings: Settings, program: NamedAgent | None, secrets: Lookup
) -> tuple[tuple[Reached, ...], list[str]]:
    agents, problems, found = settings.agents, list[str](), list[Reached]()
    if program is not None and not program.is_metered and job.model is None:
        return (), []  # it has a model of its own
    if job.model is None:
        hint = "name one: `model:` in the job, or `horae model use NAME` for all that have none"
        return (), [f"no model: {hint}" if agents.models else "no model: config.toml has no [models.NAME] yet"]
    for name in (job.model, *job.fallbacks):
        model = agents.models.get(name)
        if model is None:
            problems.append(unknown_model(name, agents.models))
            continue
        provider = agents.providers[model.provider]
        kind = KINDS.get(provider.kind)
        if program is None and kind is not None and not _is_there(kind.module):
            problems.append(
                f"provider {provider.name}: its kind {provider.kind} needs a package; pip install '{kind.package}'"
            )
        key = None
        if provider.key is not None:
            values, why = secrets((provider.key,))
            problems += [f"provider {provider.name}: {reason}" for reason in why]
            key, odd = _for_a_header(provider.key, values)
            problems += [f"provider {provider.name}: {reason}" for reason in odd]
        reached = Reached(model, provider, key)
        found.append(reached)
        if program is not None and (foreign := unspoken(program, reached)) is not None:
            problems.append(foreign)
    return tuple(found), problems


def _environment(
    program: NamedAgent | None, settings: Settings, secrets: Lookup, path: str
) -> tuple[dict[str, str], list[str]]:
    if program is None:
        return {}, []
    problems: list[str] = []
    if shutil.which(program.command[0], path=path) is None:
        problems.append(f"agent {program.name}: its program {program.command[0]} is not on this machine")
    env = {name: settings.env[name] for name in program.pass_env if name in settings.env}
    if program.secrets:
        values, why = secrets(program.secrets)
        problems += [f"agent {program.name}: {reason}" for reason in why]
        env |= values
    return env | dict(program.env), problems


def _servers(
    tools: Sequence[str], settings: Settings, secrets: Lookup, path: str
) -> tuple[tuple[Served, ...], list[str]]:
    problems, found = list[str](), list[Served]()
    for name in tools:
        server = settings.agents.mcp.get(name.removeprefix(MCP)) if name.startswith(MCP) else None
        if server is None:
            continue
        if server.command and shutil.which(server.command[0], path=path) is None:
            problems.append(f"toolset {name}: its program {server.command[0]} is not on this machine")
        values: Mapping[str, str] = {}
        if server.secrets:
            values, why = secrets(server.secrets)
            problems += [f"toolset {name}: {reason}" for reason in why]
        token = None
        if server.url and server.secrets:
            token, odd = _for_a_header(server.secrets[0], values)
            problems += [f"toolset {name}: {reason}" for reason in odd]
        found.append(Served(server, {**server.env, **({} if server.url else values)}, token))
    return tuple(found), problems


def _for_a_header(name: str, values: Mapping[str, str]) -> tuple[str | None, list[str]]:
    """A secret that goes into a header, without the line end of a file. Others are refused by libraries that then show them."""
    value = values.get(name)
    if value is None:
        return None, []
    if not (value := value.strip()):
        return None, [f"secret {name} is empty (`horae secrets set {name}`)"]
    if not (value.isascii() and value.isprintable()):
        return None, [f"secret {name} has characters that no key has: set it anew (`horae secrets set {name}`)"]
    return value, []


def _in_prompt(prompt: str) -> list[str]:
    return [*_found(prompt)]


@lru_cache(KEPT_MAX)
def _found(prompt: str) -> tuple[str, ...]:
    definite = [item for item in scan(prompt, "prompt") if item.severity == "refuse"]
    return tuple(refusal(item, f"the prompt, line {item.line}", "edit the job's prompt") for item in definite)


@lru_cache(KEPT_MAX)
def _schema(schema: str | None) -> tuple[str, ...]:
    """Whether it is a schema. Its library is loaded only for jobs that have one."""
    if schema is None or not _is_there("jsonschema"):
        return ()
    why: str | None = import_module("horae.core.answerform").problem(schema)
    return () if why is None else (f"schema: {why}",)
