"""What use cases and the engine are given: the settings, and the adapters of one home."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from horae.core.agent import AgentSettings
from horae.core.delivery import GIVE_UP_S, Address, Alerts, Heartbeat, Platform, Quiet
from horae.core.exclusion import Calendar
from horae.core.hookform import Hook
from horae.core.model import Claim, Job, Owner, Terms
from horae.core.preflight import Facts
from horae.core.retention import Retention
from horae.core.watchform import Watched
from horae.core.webform import Web
from horae.errors import Problem
from horae.ports.outside import Clock, Folder, Key, Runner, Scripts, Shelf, Targets, Trust, Turns, Vault
from horae.ports.reading import Past, Reader
from horae.ports.store import Store


@dataclass(frozen=True, slots=True)
class Source:
    """Job files and scripts that somebody hands in. `below` is where the job files are in what was named."""

    jobs: Folder
    below: str
    scripts: Scripts | None
    misnamed: Sequence[str] = ()
    """Files that end like a job's and cannot be one by their names, escaped."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What `config.toml` and the environment say, parsed once."""

    home: str
    timezone: str = "UTC"
    parallel: int = 16
    commands: tuple[str, ...] = ()
    """Programs that a `command:` job may name."""
    env: dict[str, str] = field(default_factory=dict[str, str])
    """The gateway's environment, from which runs get an allow-listed part."""
    pass_env: tuple[str, ...] = ()
    drain_s: float = 20.0
    landlock: bool = True
    """Whether runs are kept out of the home; a job can do without it, but not the other way round."""
    on_stop: Literal["leave", "end"] = "leave"
    """What becomes of runs that are live when a stopping gateway has waited for `drain_s`."""
    labels: tuple[str, ...] = ()
    """What this gateway offers to jobs that name labels with `runs_on`."""
    store: str | None = None
    """The URL of the PostgreSQL database that many machines share; None for the file of the home."""
    groups: dict[str, int] = field(default_factory=dict[str, int])
    """How many runs of a concurrency group may be live at once; one, of a group that is not named here."""
    calendars: dict[str, Calendar] = field(default_factory=dict[str, Calendar])
    """Exclusion calendars by name."""
    retention: Retention = field(default_factory=Retention)
    """How long what is kept."""
    platforms: dict[str, Platform] = field(default_factory=dict[str, Platform])
    """Ways to reach people, by name; `local` is always there and not among them."""
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Friendly names of targets."""
    alerts: Alerts = field(default_factory=Alerts)
    quiet: Quiet | None = None
    heartbeat: Heartbeat | None = None
    web: Web = field(default_factory=Web)
    """Where the dashboard is served."""
    watched: Watched = field(default_factory=Watched)
    """How it is watched from outside."""
    hooks: dict[str, Hook] = field(default_factory=dict[str, Hook])
    """Addresses by which others start jobs, by name."""
    link: str | None = None
    """Where people reach the dashboard, without a slash at its end; None: messages have no link."""
    give_up_s: float = GIVE_UP_S
    """How long a message is tried that its target surely did not take."""
    agents: AgentSettings = field(default_factory=AgentSettings)
    keyring: bool = False
    """Whether secrets may be in the keyring of the operating system."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine offers to runs."""

    landlock: int
    """The version of Landlock that the kernel has; 0 for none."""
    scoped: bool
    """Whether each shim gets a scope of its own from systemd."""
    scopes: str
    """Which, or why not."""
    secrets: Problem | None
    """Why `secrets.toml` cannot be read."""


@dataclass(frozen=True, slots=True)
class Home:
    """What a use case works on."""

    settings: Settings
    store: Store
    folder: Folder
    scripts: Scripts
    source: Callable[[str], Source]
    """What a folder holds that somebody hands in. Raises NotFound, Refused."""
    clock: Clock
    actor: str
    read: Callable[[], Reader]
    """A reader of its own for each call; the caller closes it."""
    past: Callable[[], Past]
    """The same of the journal."""
    key: Callable[[], Key]
    """The key pair that signs in the name of this home."""
    shelf: Callable[[], Shelf]
    """The skills."""
    vault: Callable[[], Vault]
    """Where its secrets are kept."""
    configure: Callable[[Sequence[str], str], None]
    """Say one text in `config.toml`, at the names of tables and its own. Raises Invalid, Refused, Conflict, Trouble."""
    entropy: Callable[[int], bytes]
    targets: Targets
    """From what a job says to whoever sends it."""
    facts: Callable[[Job], Facts]
    """What preflight must know about this machine to judge a job."""
    probe: Callable[[Job], Sequence[str]]
    """What providers say against an agent's job when they are asked. It goes over the network, and costs no token."""
    ask_left: Callable[[str], bool]
    """Ask a run to end that no gateway watches. False when no shim on this machine has it."""
    machine: Callable[[], Machine]
    """What this machine offers to runs. It may ask other programs."""
    wake: Callable[[], None]
    """Tell the engine that something changed; does nothing where no gateway runs."""
    gateway: bool = False
    """Whether a gateway runs for this home: without one, nothing that is planned will fire."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What the engine works with."""

    owner: Owner
    clock: Clock
    store: Store
    runner: Runner
    targets: Targets
    settings: Settings
    slots: Turns
    """Bounds live runs: held for the time that a process may exist."""
    lease: Trust
    terms: Terms = field(default_factory=Terms)
    redact: Callable[[str], str] = str
    """Takes secrets out of a text that leaves."""
    closed: dict[str, str] = field(default_factory=dict[str, str])
    """Addresses where nothing may be sent any more, and why, as of the last look."""

    def unreachable(self, job: Job) -> Callable[[str], str | None]:
        """Why a target of a job cannot be reached as configured, or None."""

        def why(target: str) -> str | None:
            problem = self.targets.problem(target, job.origin)
            if problem is not None or not self.closed:
                return problem
            return shut(self.targets.resolve(target, job.origin), self.closed)

        return why

    def noted(self, claim: Claim) -> Callable[[int, int], Awaitable[None]]:
        """What a runner calls once the process exists."""
        return lambda pid, born: self.store.commit(lambda tx: tx.runs.note_process(claim, pid, born))


def shut(addresses: Sequence[Address], closed: Mapping[str, str]) -> str | None:
    """Why nothing may be sent to one of these, as it said itself; None when it may."""
    for name in map(str, addresses):
        if name in closed:
            return f"{name} takes nothing any more: {closed[name]} (`horae targets open {name}`)"
    return None
