"""What an agent's process is given: plain values, so that they can go over a socket. Nothing in it is looked up any more.

The gateway decides all of it (`engine/tasks.py`); the process only carries it out. Keys of providers are in it and nowhere
else: not in an environment, not in a file.
"""

from __future__ import annotations

from typing import Any, TypedDict


class Walls(TypedDict):
    """What programs that the agent starts are kept out of (`runners/shim/landlock.py`)."""

    home: str
    own: list[str]
    hidden: list[str]


class Program(TypedDict):
    """A program of the job's own: its script."""

    name: str
    argv: list[str]
    cwd: str
    env: dict[str, str]
    landlock: bool
    sandbox: str
    timeout_s: float


class Skill(TypedDict):
    name: str
    text: str
    folder: str
    sha256: str


class Context(TypedDict):
    job: str
    run: str
    at: str
    text: str


class ModelCall(TypedDict):
    """A model and how to reach it. `price` is for a million tokens: input, output, cached input."""

    name: str
    id: str
    kind: str
    base_url: str | None
    key: str | None
    price: list[float] | None
    max_output: int | None
    context: int | None


class Allow(TypedDict):
    """None: no limit."""

    turns: int | None
    tokens: int | None
    usd: float | None


class AgentProgram(TypedDict):
    """An agent that is a program; {base_url}, {key} and {prompt} still stand in it (`core.agent.NamedAgent`)."""

    name: str
    command: list[str]
    env: dict[str, str]
    api: str
    metered: bool


class Server(TypedDict):
    """An MCP server. `env` holds its secrets too; `token` is for an address."""

    name: str
    command: list[str]
    url: str | None
    env: dict[str, str]
    token: str | None
    tools: list[str] | None


class Task(TypedDict):
    """All of it."""

    run: str
    job: str
    """Its id."""
    name: str
    kind: str
    """`builtin`, `acp`, `command`."""
    agent: AgentProgram | None
    prompt: str
    extra: str | None
    """What a person added to this run."""
    payload: list[str] | None
    """The hook whose call it is, and what came with that."""
    lateness: str | None
    """A sentence, where it is late or others were missed."""
    skills: list[Skill]
    context: list[Context]
    script: Program | None
    watch_url: str | None
    watch_script: Program | None
    baseline: list[str] | None
    """Digest and text of what it watches, when it last completed."""
    replay: str | None
    """The prompt of an earlier run, to be given as it was."""
    state: str | None
    """From where it goes on."""
    held: int
    """How often it was given back already since its provider could not answer."""
    decision: dict[str, Any] | None
    """What a person said about the call that it waited for: `approved`, `by`, `reason`, `digest`."""
    models: list[ModelCall]
    """The first one is its model; the others may be used while that one's provider cannot answer."""
    allow: Allow
    tools: list[str]
    """Toolsets that it may use."""
    approve: list[str]
    """Toolsets of which a person is asked before each use."""
    mcp: list[Server]
    notes: dict[str, str]
    """Its notepad."""
    folder: str
    """The job's folder: what `files` is confined to, and where programs start."""
    walls: Walls | None
    """None: no walls are wanted, or there are none on this machine."""
    env: dict[str, str]
    """The environment of programs that it starts."""
    schema: str | None
    empty: str
