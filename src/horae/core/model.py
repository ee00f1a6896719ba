"""The values that travel: frozen, typed, without behaviour beyond what they say about themselves.

Instants are aware datetimes in UTC; slots are whole seconds. Durations are seconds, in names that end in `_s`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from horae.core.exclusion import Calendar
from horae.timing.clockchange import Gap, Repeat

CatchUp = Literal["skip", "once", "all"]
"""What becomes of slots that nothing started in time: none of them runs, the latest one does, or each one."""

Overlap = Literal["skip", "queue_one", "queue", "cancel_running", "allow"]
"""What becomes of a slot that comes due while a run of its job is live."""

Cause = Literal["failure", "timeout", "start"]
"""Why an attempt is known to have failed: by its own exit, by its wall limit, or it could not be started."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use. None means the default of `limits.py`, or no limit where that has none."""

    wall_s: float | None = None
    idle_s: float | None = None
    script_s: float | None = None
    output_bytes: int | None = None
    turns: int | None = None
    tokens: int | None = None
    usd: float | None = None


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
    agent: bool = True
    script: str | None = None
    command: tuple[str, ...] = ()
    deliver: tuple[str, ...] = ("local",)
    skills: tuple[str, ...] = ()
    model: str | None = None
    repeat: int | None = None
    limits: Limits = field(default_factory=Limits)
    clock_change: ClockChange = field(default_factory=ClockChange)
    enabled: bool = True
    env: tuple[str, ...] = ()
    """Names of the gateway's environment variables that the run may see."""
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
    failures: int = 0
    """How many attempts of it have failed so far. `attempt` also counts those that were given back."""


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


@dataclass(frozen=True, slots=True)
class Message:
    """One delivery, ready to be sent: what, about which run, to which target. The key makes a repeat harmless."""

    delivery_id: int
    run_id: str
    target: str
    title: str
    body: str
    alert: bool


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a sender knows after trying: the event for the delivery's table, and evidence or the reason."""

    event: str
    evidence: str | None = None
    reason: str | None = None


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
    kept: Mapping[str, Receipt]
    """Receipts of targets that writing this end reaches by itself."""
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
class Order:
    """What a runner is to start: nothing of it is interpreted any more."""

    run_id: str
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    wall_s: float
    grace_s: float
    output_bytes: int
