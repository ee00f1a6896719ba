"""The values that travel: frozen, typed, without behaviour beyond what they say about themselves.

Instants are aware datetimes in UTC; slots are whole seconds. Durations are seconds, in names that end in `_s`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from horae.core.activity import Work
from horae.core.delivery import Addressee, Manner
from horae.core.exclusion import Calendar
from horae.timing.clockchange import Gap, Repeat

CatchUp = Literal["skip", "once", "all"]
"""What becomes of slots that nothing started in time: none of them runs, the latest one does, or each one."""

Overlap = Literal["skip", "queue_one", "queue", "cancel_running", "allow"]
"""What becomes of a slot that comes due while a run of its job is live."""

Cause = Literal["failure", "timeout", "start"]
"""Why an attempt is known to have failed: by itself, by a limit of its time, or it could not be started."""


Urgency = Literal["high", "normal", "low"]
"""What may wait: nothing; results, while it is quiet; results until the next digest, and alerts while it is quiet."""

Empty = Literal["fail", "silent"]
"""What an empty answer of an agent means."""

Sandbox = Literal["off", "net", "strict"]
"""What a run is shut into: nothing; a read-only system with the network; the same without it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use. None means the default of `limits.py`, or no limit where that has none."""

    wall_s: float | None = None
    idle_s: float | None = None
    script_s: float | None = None
    output_bytes: int | None = None
    """Of both streams together: more than this ends the run."""
    memory_bytes: int | None = None
    cpu_s: float | None = None
    processes: int | None = None
    turns: int | None = None
    tokens: int | None = None
    usd: float | None = None
    tokens_day: int | None = None
    usd_day: float | None = None
    """Of all runs of the job in a day of the home's zone."""


@dataclass(frozen=True, slots=True)
class ClockChange:
    """What becomes of wall times that the clock skips or shows twice. None means the default of the schedule."""

    gap: Gap | None = None
    repeat: Repeat | None = None


@dataclass(frozen=True, slots=True)
class Retries:
    """How often, and how soon, a known failure is tried again. None means the default of `core/retry.py`."""

    max: int | None = None
    backoff_s: float | None = None
    ceiling_s: float | None = None
    on: tuple[Cause, ...] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A definition, as its file says it. `id` is empty until one is given."""

    id: str
    slug: str
    name: str
    schedule: str
    timezone: str
    prompt: str = ""
    agent: bool | str = True
    """Whether an agent works on it, and which: a name of the settings. True: the one that is usual there."""
    script: str | None = None
    command: tuple[str, ...] = ()
    deliver: tuple[str, ...] = ("local",)
    alerts: tuple[str, ...] = ()
    """Targets of its failures. Empty: those of the settings, or where its results go."""
    origin: str | None = None
    """The target that `origin` means: where the job was made. None: here."""
    urgency: Urgency = "normal"
    expect_by: str | None = None
    """A time of day by which a run must have completed, on days of its schedule."""
    expect_every_s: int | None = None
    """How long after one run completed the next one must have."""
    expect_output: int | None = None
    """After how many runs in a row that said nothing somebody is told."""
    pause_after: int | None = None
    """After how many failures in a row it is paused; 0: never. None: as the settings say."""
    skills: tuple[str, ...] = ()
    model: str | None = None
    """The pin. In a claim: what the run uses, which is what the job was frozen at where it has no pin."""
    fallbacks: tuple[str, ...] = ()
    """Models that may be used instead while the provider of the first one cannot answer."""
    tools: tuple[str, ...] | None = None
    """Toolsets that it may use. None: those of the settings."""
    approve: tuple[str, ...] = ()
    """Of these, those of which a person is asked before each use."""
    after: str | None = None
    """The job, by id, slug or name, whose success starts this one."""
    context_from: tuple[str, ...] = ()
    """Jobs, or `self`, whose last results are part of the prompt."""
    context_age_s: int | None = None
    """Results that are older are left out. None: the default of `limits.py`."""
    watch: str | None = None
    """A URL or a script whose output must have changed before the agent is called."""
    empty: Empty = "fail"
    schema: str | None = None
    """The JSON schema that the answer must meet, as text."""
    repeat: int | None = None
    limits: Limits = field(default_factory=Limits)
    clock_change: ClockChange = field(default_factory=ClockChange)
    enabled: bool = True
    env: tuple[str, ...] = ()
    """Names of the gateway's environment variables that the run may see."""
    secrets: tuple[str, ...] = ()
    """Names of values of `secrets.toml` that the run gets as environment variables."""
    workdir: str | None = None
    """Where the run starts: absolute, or below the user's folder as `~/…`. None: the script's folder."""
    landlock: bool = True
    """Whether the kernel is asked to keep the run out of what it has no need to write."""
    sandbox: Sandbox = "off"
    starts: str | None = None
    """No slot before it: a day, or an instant. As the file says it; `core/cadence.py` makes an instant of it."""
    ends: str | None = None
    """No slot after it; a day is included."""
    exclude: tuple[str, ...] = ()
    """Calendars of the settings whose times have no run."""
    spread_s: int = 0
    """Slots are due by a stable part of this later, so that many jobs of one schedule do not start at once."""
    catch_up: CatchUp = "once"
    not_later_than_s: int | None = None
    """A slot that is later than this is missed, whatever `catch_up` says."""
    overlap: Overlap = "skip"
    retries: Retries = field(default_factory=Retries)
    group: str | None = None
    """The concurrency group: its limit is in the settings."""
    priority: int = 0
    """Of what is due, higher first."""
    runs_on: tuple[str, ...] = ()
    """Labels that a gateway must have, sorted."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to carry out one occurrence, once: every write and every outside effect shows its token."""

    run_id: str
    token: int
    key: str
    job_id: str
    attempt: int
    trigger: str
    slot: datetime
    due: datetime
    claimed_at: datetime
    timezone: str
    offset_s: int
    missed: int
    """How many slots before this one were missed and are made up for by this run."""
    input: str | None
    job: Job
    replay: str | None = None
    """The run whose prompt it is given, exactly."""
    failures: int = 0
    """How many attempts of it have failed so far. `attempt` also counts those that were given back."""
    cause: str | None = None
    """What brought it about, in words, where that is neither its schedule nor a person."""


@dataclass(frozen=True, slots=True)
class Used:
    """What a run used, and what is known of its process tree."""

    wall_s: float
    cpu_s: float
    """Of all its processes that have ended."""
    peak_bytes: int
    """The largest process, or the tree at one look. Never less than the few MiB that every process begins with."""
    out_bytes: int
    """Printed on both streams, whether kept or not."""
    survivors: int
    """How many processes of it had to be killed: they outlived its main process, or the grace after it was asked to end."""
    proved: bool = True
    """Whether it is proved that nothing of it is left."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a process ended, as the runner saw it. No judgement yet."""

    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    stdout_cut: int
    """Bytes that were left out of the middle of stdout."""
    stderr_cut: int
    ended_by: str | None = None
    """Why Horae ended it (`wall limit of 20 m`, `gateway stopped`), or None when it ended by itself."""
    refused: str | None = None
    """Why it could not be started at all, or None."""
    lost: str | None = None
    """Why nobody can say how it ended, or None."""
    used: Used | None = None
    asked: int | None = None
    """How many processes were asked to end."""
    killed: tuple[str, ...] = ()
    """What had to be killed, by name; the first of them."""
    files: tuple[str, ...] = ()
    """What of it is kept as files: `stdout` and `stderr` where they are too long for the record, `files` that it made."""
    made: tuple[str, ...] = ()
    """The files that it left in its folder, as paths in it; the first of them."""
    work: Work | None = None
    """What an agent did; None where there was none."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The judgement on an attempt: the event for its state table, the reason in words, and what there is to tell."""

    event: str
    reason: str
    message: str
    """What the targets get; empty means that there is nothing to say."""
    alert: bool
    """True when the message reports trouble: it is never suppressed."""
    result: Result | None = None
    attachments: tuple[str, ...] = ()
    """Files that the script named and left in its folder, as paths in it."""
    silence: str = "nothing to say"
    """Why there is no message, where there is none."""
    again_s: float | None = None
    """Of what is given back: after how long it goes on."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Which process holds claims. A pid alone proves nothing: it is reused, and other hosts have it too."""

    id: str
    host: str
    boot: str
    pid: int
    pid_started: int
    labels: frozenset[str] = frozenset()
    """What jobs may ask for with `runs_on`."""
    spool: str | None = None
    """The folder in which its shims write, on its machine."""


@dataclass(frozen=True, slots=True)
class Leaseholder:
    """A gateway that owns open runs, and until when it counts as alive."""

    owner: Owner
    lease_until: datetime
    stopped: bool
    """Whether it has signed off: its runs wait for it to come back."""


@dataclass(frozen=True, slots=True)
class End:
    """An attempt that has come to its end, and what follows from it."""

    claim: Claim
    ending: Ending
    to: tuple[Addressee, ...]
    """Who gets its message."""
    alerts: tuple[Addressee, ...] = ()
    """Who hears of its trouble, and of its end."""
    manner: Manner = field(default_factory=Manner)
    started: datetime | None = None
    retry_s: float | None = None
    """After how long it is tried again; None when it is not."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What of the config decides about claims."""

    labels: frozenset[str] = frozenset()
    """What this gateway offers to jobs that name labels."""
    groups: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many runs of a concurrency group may be live at once; one, of a group that is not named here."""
    calendars: Mapping[str, Calendar] = field(default_factory=dict[str, Calendar])
    """Exclusion calendars by name."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a run may use, decided. None means no limit."""

    wall_s: float
    grace_s: float
    """Between asking to end and killing."""
    kept_bytes: int
    """Of each stream, for the record."""
    output_bytes: int
    """Of both streams in all: more ends the run."""
    processes: int
    idle_s: float | None = None
    memory_bytes: int | None = None
    cpu_s: float | None = None
    by_script: bool = False
    """Whether the wall limit is the script's own."""
    tight: bool = False
    """Whether the job itself limits memory, CPU or processes: then it is looked at more often."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a runner is to start: nothing of it is interpreted any more."""

    run_id: str
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    bounds: Bounds
    landlock: bool = True
    sandbox: Sandbox = "off"
    secrets: tuple[str, ...] = ()
    """Names of the secrets that it may see: nothing that it prints may show their values."""
    task: Mapping[str, Any] | None = None
    """What an agent is to do (`agents/task.py`); no program is started then."""
