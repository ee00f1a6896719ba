"""What the settings say about agents, models and what these may use: values, and what follows from them. Pure.

A *provider* is a service that answers model calls; a *model* is one of its models with prices; an *agent* is whoever works
with it: built in, a program that speaks the Agent Client Protocol (`acp`), or any program without a screen (`command`).
Keys are never in here: a provider names the secret that holds its own.

A *toolset* is what a run may use, by name. What a run gets is what its job grants (else the default), less what the
settings disable; nobody can grant what is disabled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from horae.core.model import Job

AgentKind = Literal["builtin", "acp", "command"]
BUILTIN = "builtin"
TOOLSETS = {
    "files": "read and write files in the job's folder",
    "web": "fetch pages from public addresses",
    "shell": "run commands in a sandbox, without network",
    "memory": "the job's own notepad, kept from run to run",
    "jobs": "propose jobs, as drafts that a person accepts",
    "messages": "propose messages to targets, as drafts that a person accepts",
}
MCP = "mcp:"  # before the name of a server of the settings: a toolset of its own
DEFAULT_TOOLS = ("files", "memory")


@dataclass(frozen=True, slots=True)
class Provider:
    """A service that answers model calls."""

    name: str
    kind: str
    """`openai` (any service that is compatible), `openai-responses`, `anthropic`, or another that the library offers."""
    base_url: str | None = None
    key: str | None = None
    """The name of the secret that holds its key; None: it asks for none."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Of what was read from the provider's cache; None: as `input`."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model by the name that jobs use."""

    name: str
    provider: str
    id: str
    """What its provider calls it."""
    price: Price | None = None
    """None: unknown, so no money can be counted."""
    max_output: int | None = None
    """Tokens of one answer at most."""
    context: int | None = None


@dataclass(frozen=True, slots=True)
class NamedAgent:
    """An agent that is a program.

    In `command` and in values of `env`, {model}, {base_url} and {key} are replaced: the provider's own name of the model,
    the address of the meter (with /v1 for `openai`), a key that only the meter knows. A command agent may take {prompt}
    as an argument; without it the prompt is its standard input.
    """

    name: str
    kind: AgentKind
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    pass_env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    api: Literal["openai", "anthropic"] = "openai"
    """What it speaks to its model."""

    @property
    def is_metered(self) -> bool:
        """Whether it is told where the meter is. Otherwise nobody can count what it uses."""
        return any("{base_url}" in text for text in (*self.command, *self.env.values()))


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server of tools: a program, or an address."""

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: tuple[str, ...] = ()
    """For a program: environment variables. For an address: the first one is its bearer token."""
    tools: tuple[str, ...] | None = None
    """Those that may be used; None: all."""


@dataclass(frozen=True, slots=True)
class DayLimits:
    """What all agents of a home may use in a day of its zone."""

    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """All of it."""

    providers: Mapping[str, Provider] = field(default_factory=dict[str, Provider])
    models: Mapping[str, Model] = field(default_factory=dict[str, Model])
    model: str | None = None
    """The global default: `model`."""
    fleet: str | None = None
    """The default of jobs: `agents.model`."""
    agent: str = BUILTIN
    """What `agent: true` means: `agents.default`."""
    tools: tuple[str, ...] = DEFAULT_TOOLS
    disabled: tuple[str, ...] = ()
    """`agents.disabled_toolsets`."""
    named: Mapping[str, NamedAgent] = field(default_factory=dict[str, NamedAgent])
    mcp: Mapping[str, McpServer] = field(default_factory=dict[str, McpServer])
    day: DayLimits = field(default_factory=DayLimits)
    """`[budget]`"""
    turns: int | None = None
    tokens: int | None = None
    usd: float | None = None
    """Of a run whose job says nothing: `agents.turns`, `agents.tokens`, `agents.usd`."""


def name_of_agent(job: Job, settings: AgentSettings) -> str:
    """Which agent a job means."""
    return job.agent if isinstance(job.agent, str) else settings.agent


def granted(job: Job, settings: AgentSettings) -> tuple[str, ...]:
    """The toolsets that a run of the job gets."""
    wanted = settings.tools if job.tools is None else job.tools
    return tuple(name for name in wanted if not is_disabled(name, settings))


def is_disabled(toolset: str, settings: AgentSettings) -> bool:
    """Whether nobody may grant it. `mcp` disables all servers."""
    return toolset in settings.disabled or (toolset.startswith(MCP) and "mcp" in settings.disabled)


def default_model(settings: AgentSettings) -> str | None:
    """What a job without a pin is frozen at when it is made."""
    return settings.fleet or settings.model
