"""What was found on this machine for an agent's job, and what can be judged of it at once. Pure values and rules.

Gathered by the shell (`runners/agents.py`): which keys have values, which programs are there, what the skills say. What
stands against a run is a list of sentences, and empty means that it may begin.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from horae.core.agent import (
    BUILTIN,
    MCP,
    AgentKind,
    AgentSettings,
    McpServer,
    Model,
    NamedAgent,
    Provider,
    granted,
    is_disabled,
    name_of_agent,
)
from horae.core.model import Job

Argv = tuple[tuple[str, ...], str]
"""A program with its arguments, and the folder in which it starts."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A model, its provider, and the provider's key."""

    model: Model
    provider: Provider
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SkillText:
    """A skill as the prompt gets it."""

    name: str
    text: str
    folder: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Served:
    """A server of tools with what it needs."""

    server: McpServer
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """All of it."""

    kind: AgentKind = "builtin"
    program: NamedAgent | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Of the agent's own program: variables and secrets that the settings give it."""
    models: tuple[Reached, ...] = ()
    tools: tuple[str, ...] = ()
    servers: tuple[Served, ...] = ()
    skills: tuple[SkillText, ...] = ()
    script: Argv | None = None
    watch: Argv | None = None
    """Of a script that is watched; a URL stands in the job."""
    folder: str = ""
    """Where it works, as its job says; empty: in a folder of the run's own."""


def agent_of(job: Job, settings: AgentSettings) -> tuple[AgentKind, NamedAgent | None, str | None]:
    """Which agent a job means: its kind, the program, and what is wrong."""
    name = name_of_agent(job, settings)
    if name == BUILTIN:
        return "builtin", None, None
    found = settings.named.get(name)
    if found is None:
        return "builtin", None, f"agent {name}: config.toml has no [agents.{name}]{_near(name, settings.named)}"
    return found.kind, found, None


def rules(job: Job, settings: AgentSettings, program: NamedAgent | None) -> Iterator[str]:
    """What of a job cannot hold, whatever this machine offers."""
    tools = granted(job, settings)
    for name in tools:
        server = name.removeprefix(MCP)
        if name.startswith(MCP) and server not in settings.mcp:
            yield f"toolset {name}: config.toml has no [mcp.{server}]{_near(server, settings.mcp)}"
    for name in job.approve:
        if name not in tools:
            why = "the settings disable it" if is_disabled(name, settings) else "the job's `tools` do not grant it"
            yield f"approve: {name} is not granted ({why}), so there is nothing to approve"
    if program is not None and program.kind == "command" and job.approve:
        yield f"approve: agent {program.name} is a command, which asks nobody before it does something; leave `approve` out"
    if program is not None and program.kind == "command" and job.tools:
        yield f"agent {program.name} is a command with tools of its own: leave `tools` out"
    if program is not None and not program.is_metered and job.fallbacks:
        yield f"agent {program.name} has a model of its own, which is not told to Horae: leave `fallbacks` out"
    yield from _uncounted(job, settings, program)


def _uncounted(job: Job, settings: AgentSettings, program: NamedAgent | None) -> Iterator[str]:
    """Limits that nobody could hold are refused, not pretended."""
    limits, day = job.limits, settings.day
    money = limits.usd or limits.usd_day or settings.usd or day.usd
    capped = [
        *(("limits.tokens",) if limits.tokens else ()),
        *(("limits.tokens_day",) if limits.tokens_day else ()),
        *(("limits.usd",) if limits.usd else ()),
        *(("limits.usd_day",) if limits.usd_day else ()),
        *(("agents.tokens",) if settings.tokens and not limits.tokens else ()),
        *(("agents.usd",) if settings.usd and not limits.usd else ()),
        *(("budget.tokens_day",) if day.tokens else ()),
        *(("budget.usd_day",) if day.usd else ()),
    ]
    if program is not None and not program.is_metered and capped:
        yield (
            f"agent {program.name} is not told where the meter is, so nobody can count what it uses and {', '.join(capped)} "
            f'cannot hold: put "{{base_url}}" and "{{key}}" into [agents.{program.name}] env, or use wall and turns only'
        )
    if not money or (program is not None and not program.is_metered):
        return
    for name in (job.model, *job.fallbacks):
        model = settings.models.get(name or "")
        if model is not None and model.price is None:
            yield f"model {name} has no price, so a limit of money cannot hold: add input and output to [models.{name}]"


SPOKEN = {"openai": ("openai", "openai-responses"), "anthropic": ("anthropic",)}
"""Which kinds of provider an agent's program can speak to through the meter."""


def unspoken(program: NamedAgent, reached: Reached) -> str | None:
    """Why a program cannot reach a model through the meter: it speaks another language than the provider."""
    provider = reached.provider
    if not program.is_metered or provider.kind in SPOKEN[program.api]:
        return None
    fitting = ", ".join(SPOKEN[program.api])
    return (
        f"agent {program.name} speaks {program.api} to its model, and provider {provider.name} of {reached.model.name} is of"
        f" the kind {provider.kind}: choose a model whose provider is {fitting}, or another `api` in [agents.{program.name}]"
    )


def unknown_model(name: str, models: Collection[str]) -> str:
    """The sentence for a model that the settings do not have."""
    return f"model {name}: config.toml has no [models.{name}]{_near(name, models)}"


def _near(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.6)
    if near:
        return f" (did you mean {near[0]}?)"
    return f" (it has {', '.join(sorted(known)[:10])})" if known else ""
