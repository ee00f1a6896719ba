"""The seams: what the engine and the use cases need from outside, and what each adapter must guarantee.

A seam exists only where two real adapters do, or where a test must inject a fault. The store is seen as *transactions*:
a caller passes a function from `Tx` to a value, and everything in it happens or nothing does. Such a function touches
nothing but the `Tx`, because a store may run it again after a full disk or a lost connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar

from horae.core.clockwatch import Reading
from horae.core.model import Claim, Ending, Job, Message, Order, Owner, Receipt, Result
from horae.core.preflight import Facts
from horae.errors import Problem

T = TypeVar("T")
Json = dict[str, Any]


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """The wall clock, in UTC. It may be stepped."""
        ...

    def reading(self) -> Reading:
        """The three clocks at one moment, for noticing steps and sleep."""
        ...

    def arm(self, until: datetime, wake: Callable[[], None]) -> None:
        """Call `wake` once: when the wall clock has reached `until`, or at once when it is stepped. Replaces the last."""
        ...


class Runs(Protocol):
    """The verbs of the engine. Each compares token and expected state, and raises `Stale` when they do not hold."""

    def claim_due(self, owner: Owner, limit: int) -> list[Claim]:
        """Settle or claim every due occurrence, at most `limit`, and plan each job's next slot."""
        ...

    def next_due(self) -> datetime | None:
        """The earliest due instant after now."""
        ...

    def start(self, claim: Claim) -> None:
        """claimed → running. Committed before the process exists, so that nobody starts it again."""
        ...

    def note_process(self, claim: Claim, pid: int, pid_started: int) -> None:
        """Progress: which process it became."""
        ...

    def finish(self, claim: Claim, ending: Ending, kept: Mapping[str, Receipt]) -> bool:
        """The run's terminal state, its output and its delivery rows, together. True when something is to be sent.

        `kept` are the receipts of targets that this very transaction reaches.
        """
        ...

    def settle(self, claim: Claim) -> None:
        """The occurrence's outcome, from its finished run; the job completes if that was its last slot."""
        ...

    def release(self, claim: Claim, reason: str) -> None:
        """Give back a claim that has started nothing: the slot is due again."""
        ...

    def orphans(self, owner: Owner) -> list[Orphan]:
        """Attempts that an earlier owner left claimed, running, or finished but unsettled."""
        ...

    def adopt(self, run_id: str, owner: Owner) -> Claim:
        """Take such an attempt over: a new token, so that its former owner is stale from here on."""
        ...

    def sign_on(self, owner: Owner, version: str) -> None: ...

    def sign_off(self, owner: Owner) -> None: ...


class Outbox(Protocol):
    """Delivery rows of a run. Their state is theirs: a delivery that fails never changes the run."""

    def begin(self, claim: Claim) -> list[Message]:
        """pending → sending for all of this run, fenced by its token; returns what is to be sent."""
        ...

    def record(self, claim: Claim, message: Message, receipt: Receipt) -> None:
        """sending → what the receipt says."""
        ...

    def give_up(self, claim: Claim, reason: str) -> None:
        """What is still to be sent of this run will not be: a fault of ours stood in its way."""
        ...


class Jobs(Protocol):
    """What is known of definitions, and what people decided about single slots in advance."""

    def get(self, job_id: str) -> dict[str, Any] | None: ...

    def by_slug(self, slug: str) -> dict[str, Any] | None: ...

    def upsert(self, job: Job, *, signature: str, meaning: str, actor: str) -> str:
        """Take in a valid definition and plan its next slot; returns created, changed, revived or unchanged."""
        ...

    def quarantine(self, slug: str, problem: dict[str, Any], *, signature: str, actor: str) -> None: ...

    def remove(self, job_id: str, *, actor: str, reason: str, undo: dict[str, Any] | None = None) -> int: ...

    def pause(self, job_id: str, *, actor: str, reason: str | None) -> int | None: ...

    def resume(self, job_id: str, *, actor: str) -> int | None: ...

    def order_run(self, job_id: str, *, run_id: str, actor: str, input: str | None) -> dict[str, Any]: ...

    def set_exception(
        self, job_id: str, slot: datetime, kind: str | None, *, due: datetime | None, actor: str
    ) -> int: ...

    def signatures(self) -> dict[str, str]: ...

    def parked(self) -> list[str]: ...


class Zones(Protocol):
    """Planned slots and the version of the zone data that planned them."""

    def planned_with(self) -> str | None: ...

    def follow(self, after: str, limit: int) -> tuple[str | None, int]:
        """Let the planned slots of the next `limit` jobs, by id, follow their wall times by this process's zone data.

        Returns the last job that was looked at, None when no more follow, and how many jobs have other slots now.
        """
        ...

    def record(self, changed: int) -> None:
        """All jobs were looked at: the version is this process's from now on."""
        ...


class Journal(Protocol):
    """The append-only list of decisions, written in the transaction that they belong to."""

    def append(
        self,
        what: str,
        *,
        actor: str,
        job_id: str | None = None,
        key: str | None = None,
        run_id: str | None = None,
        **detail: object,
    ) -> int: ...


class Tx(Protocol):
    """One open transaction: groups of verbs, and the `now` that was read inside it."""

    @property
    def now(self) -> datetime: ...

    @property
    def runs(self) -> Runs: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def zones(self) -> Zones: ...

    @property
    def journal(self) -> Journal: ...


@dataclass(frozen=True, slots=True)
class Orphan:
    """What an earlier owner left behind, and which process it had become."""

    run_id: str
    state: str
    pid: int | None
    pid_started: int | None
    started_at: datetime | None
    boot: str


class Store(Protocol):
    """Transactions. `commit` is for the engine and outlasts a full disk; `transact` is for people and fails at once."""

    async def commit(self, work: Callable[[Tx], T]) -> T: ...

    def transact(self, work: Callable[[Tx], T]) -> T: ...


class Record(Protocol):
    """A row: values by column name."""

    def __getitem__(self, key: str, /) -> Any: ...

    def keys(self) -> Iterable[str]: ...


class Reader(Protocol):
    """Questions to the store, answered in the JSON shapes of docs/reference/cli.md, beside whatever the writer does."""

    def list_jobs(self, *, all: bool, state: str | None, limit: int, cursor: str | None) -> Json: ...

    def job(self, job_id: str) -> Json: ...

    def slug_of(self, job_id: str) -> str | None: ...

    def find_job(self, text: str) -> Record: ...

    def find_run(self, text: str) -> Record: ...

    def list_runs(
        self, *, job_id: str | None, state: str | None, limit: int, cursor: str | None, run_id: str | None = None
    ) -> Json: ...

    def output(self, run_id: str) -> Json: ...

    def planned(self, job_id: str, limit: int) -> Sequence[Record]: ...

    def ahead(self, job_id: str, now_us: int, limit: int) -> Sequence[Record]: ...

    def occurrences(self, job_id: str, *, slot_at: int | None, limit: int) -> list[Json]: ...

    def occurrence_by_key(self, key: str) -> Record | None: ...

    def occurrence(self, row: Record) -> Json: ...

    def journal_entry(self, seq: int | None) -> Record | None: ...

    def was_undone(self, seq: int) -> bool: ...

    def lateness_ms(self, last: int) -> list[float]: ...

    def counts(self) -> dict[str, int]: ...

    def next_due(self) -> str | None: ...

    def agenda(self, limit: int) -> Sequence[Record]: ...

    def trouble(self) -> str | None: ...

    def waiting(self, limit: int) -> list[Json]: ...

    def zone_data(self) -> str | None: ...

    def close(self) -> None: ...


class Runner(Protocol):
    """Starts one process tree and waits for its main process."""

    def facts(self, job: Job) -> Facts:
        """What preflight must know about this machine to judge the job."""
        ...

    async def run(self, order: Order, started: Callable[[int, int], Awaitable[None]]) -> Result:
        """Run it to its end. `started(pid, pid_started)` is called once the process exists."""
        ...

    async def outlived(self, orphan: Orphan, left_s: float) -> bool:
        """Return once nothing of an orphan is left; after `left_s` it is ended. True when that was needed."""
        ...


class Sender(Protocol):
    """One way to reach a target."""

    def problem(self, target: str) -> str | None:
        """Why this target cannot be reached as configured, or None."""
        ...

    def kept(self, run_id: str) -> Receipt | None:
        """The receipt of a target that writing the run's end reaches by itself; None where something must be sent."""
        ...

    async def send(self, message: Message) -> Receipt: ...


class Folder(Protocol):
    """The job files of a home."""

    @property
    def root(self) -> str: ...

    def scan(self) -> Iterator[tuple[str, str]]: ...

    def read(self, slug: str) -> str: ...

    def write(self, slug: str, text: str, *, expect: str | None) -> None: ...

    def remove(self, slug: str, *, expect: str | None) -> None: ...

    def signature(self, slug: str) -> str: ...


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
    drain_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Home:
    """What a use case works on."""

    settings: Settings
    store: Store
    folder: Folder
    clock: Clock
    actor: str
    read: Callable[[], Reader]
    """A reader of its own for each call; the caller closes it."""
    entropy: Callable[[int], bytes]
    targets: Callable[[str], str | None]
    """Why a target cannot be reached, or None."""
    facts: Callable[[Job], Facts]
    """What preflight must know about this machine to judge a job."""
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
    sender: Callable[[str], Sender]
    settings: Settings
    slots: AbstractAsyncContextManager[object]
    """Bounds live runs: entered for the time that a process may exist."""

    def unreachable(self, target: str) -> str | None:
        """Why a target cannot be reached as configured, or None."""
        try:
            return self.sender(target).problem(target)
        except Problem as problem:
            return problem.message

    def kept(self, claim: Claim) -> dict[str, Receipt]:
        """Receipts of the job's targets that need nothing sent."""
        found = {
            target: self.sender(target).kept(claim.run_id)
            for target in claim.job.deliver
            if not self.unreachable(target)
        }
        return {target: receipt for target, receipt in found.items() if receipt is not None}

    def noted(self, claim: Claim) -> Callable[[int, int], Awaitable[None]]:
        """What a runner calls once the process exists."""
        return lambda pid, born: self.store.commit(lambda tx: tx.runs.note_process(claim, pid, born))
