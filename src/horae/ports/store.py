"""What a store must guarantee: transactions, and in them the verbs.

A caller passes a function from `Tx` to a value, and everything in it happens or nothing does. Such a function touches
nothing but the `Tx`, because a store may run it again after a full disk or a lost connection.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from horae.core.chain import Signer
from horae.core.delivery import Addressee, Manner, Parcel, Receipt
from horae.core.equipment import Earlier, Given, Wish
from horae.core.model import Claim, End, Ending, Job, Leaseholder, Owner, Terms
from horae.errors import Stale
from horae.ports.doors import Doors

T = TypeVar("T")
Item = TypeVar("Item")


def never(_target: str) -> bool:
    """Nowhere is a message that arrives twice taken as one, as far as is known."""
    return False


@dataclass(frozen=True, slots=True)
class Orphan:
    """What an earlier owner left behind, and which process it had become."""

    run_id: str
    state: str
    pid: int | None
    pid_started: int | None
    started_at: datetime | None
    host: str
    boot: str
    asked: str | None = None
    """Why somebody has asked it to end, or None."""
    spools: tuple[str, ...] = ()
    """Where shims of gateways on that machine write: whoever owned it last need not be who started it."""


class Runs(Protocol):
    """The verbs of the engine. Each compares token and expected state, and raises `Stale` when they do not hold."""

    def claim_due(self, owner: Owner, limit: int, terms: Terms = ...) -> list[Claim]:
        """Settle or claim every due occurrence, at most `limit`, and plan each job's next slot.

        With a limit of 0 nothing begins, but slots of jobs that have a run of this owner are answered.
        """
        ...

    def next_due(self) -> datetime | None:
        """The earliest due instant after now."""
        ...

    def start_all(self, claims: Sequence[Claim]) -> list[datetime | Stale]:
        """claimed → running, when. Committed before the processes exist, so that nobody starts them again."""
        ...

    def note_process(self, claim: Claim, pid: int, pid_started: int) -> None:
        """Progress: which process it became."""
        ...

    def conclude_all(self, ends: Sequence[End]) -> list[bool | Stale]:
        """Terminal states with their outputs and delivery rows. True for a run of which something is to be sent.

        Slots are settled as well, and what is tried again is due again.
        """
        ...

    def finish(self, claim: Claim, ending: Ending, to: Sequence[Addressee] = ...) -> bool:
        """The end of one run, not settled yet. True when something is to be sent."""
        ...

    def settle(self, claim: Claim) -> None:
        """The occurrence's outcome, from its finished run; the job completes if that was its last slot."""
        ...

    def release(self, claim: Claim, reason: str) -> None:
        """Give back a claim that has started nothing: the slot is due again. If it was asked to end, it is over."""
        ...

    def refuse(self, claim: Claim, reason: str) -> None:
        """The same of a run, started or not, whose machine had no room for its process."""
        ...

    def resolve(self, run_id: str, said: str, *, actor: str, reason: str | None, again: str | None) -> int:
        """A person's word on an unknown run (`completed`, `failed`, `rerun`); `again` is the run ordered in its place.

        Raises Conflict when it is not unknown (any more).
        """
        ...

    def ask_to_end(self, run_id: str, *, actor: str, reason: str) -> bool:
        """Note that a live run shall end: its owner sees to that. False when it is not live, or was asked before.

        One that was given back to go on later is over at once.
        """
        ...

    def asked_to_end(self, owner: Owner) -> list[tuple[str, str]]:
        """This owner's running attempts that shall end, with the reasons; one that has not begun is over at once."""
        ...

    def sign_on(self, owner: Owner, version: str) -> None:
        """A gateway begins to own runs, for the length of a lease."""
        ...

    def renew(self, owner: Owner, for_s: float = ...) -> None:
        """Prolong the lease over all that a gateway owns, at least for so long. Raises Stale when another has taken it over."""
        ...

    def holds(self, owner: Owner) -> bool:
        """Whether its lease has not ended, and nobody has taken its runs over."""
        ...

    def drain(self, owner: Owner) -> None: ...

    def sign_off(self, owner: Owner, handover_s: float = ...) -> None: ...

    def others(self, owner: Owner) -> list[Leaseholder]:
        """Every other gateway that owns something which has not come to its end."""
        ...

    def take_over(
        self,
        owner: Owner,
        proven: Collection[str],
        *,
        lapsed: bool = True,
        repeatable: Callable[[str], bool] = never,
    ) -> list[tuple[Orphan, Claim]]:
        """All open attempts of gateways that are `proven` gone or, if `lapsed`, whose lease has ended, under new tokens.

        What was being sent is unknown from then on, unless its address is `repeatable`: that is sent again.
        """
        ...


class Outbox(Protocol):
    """Deliveries. Their state is theirs: one that fails never changes the run that it is about."""

    def take_due(self, owner: Owner, limit: int, lately: Sequence[str] = ...) -> list[Parcel]:
        """pending → sending of what is due, one message for each address, and at most `limit`.

        `lately` are addresses that had their turn, the last one last: the others come first.
        """
        ...

    def next_due(self) -> datetime | None:
        """When the next one is to be sent."""
        ...

    def resend(self, run_id: str, address: str | None, manner: Manner, *, actor: str) -> list[str]:
        """Have what reached nobody, or may not have, sent anew. Raises Refused for what has arrived."""
        ...

    def say(self, job_id: str, title: str, body: str, to: Sequence[Addressee], manner: Manner) -> bool:
        """Send a message that a job's agent drafted and a person has approved. False where nothing is to be sent."""
        ...

    def closed(self) -> dict[str, str]:
        """Addresses where nothing is sent any more, since they said so, and why."""
        ...

    def reopen(self, address: str, *, actor: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Hearers:
    """Who hears of what, as the settings say. Neither function touches anything but them."""

    alerts: Callable[[Job], tuple[tuple[Addressee, ...], Manner]]
    """Of trouble of a job."""
    fallback: Callable[[], tuple[Addressee, ...]]
    """Of what reached nobody."""


class Incidents(Protocol):
    """What goes wrong again and again."""

    def blocked(self) -> list[str]:
        """Ids of jobs that were blocked, and have not run since."""
        ...

    def unblock(self, job_ids: Sequence[str], hearers: Hearers) -> list[str]:
        """End what blocked these jobs: they were found ready. Says so where that was told. Returns those that it concerned."""
        ...

    def acknowledge(self, incident_id: str, *, actor: str, until: datetime | None) -> int:
        """A person has seen it: it is not told again, or not until then. Raises NotFound, Refused."""
        ...


class Notices(Protocol):
    """What becomes of messages, and what is told that no run brings about."""

    def record(self, parcel: Parcel, receipt: Receipt, following: Owner | None = ...) -> Parcel | None:
        """sending → what the receipt says. Raises Stale when another has taken it over.

        What else is due at the same address is on its way then, for `following`, and is returned.
        """
        ...

    def look(self, hearers: Hearers) -> None:
        """See to reminders, to what was expected in vain, and to messages that reached nobody."""
        ...

    def next_due(self) -> datetime | None:
        """When the next of them comes due."""
        ...


class Jobs(Protocol):
    """What is known of definitions, and what people decided about single slots in advance."""

    def get(self, job_id: str) -> dict[str, Any] | None: ...

    def by_slug(self, slug: str) -> dict[str, Any] | None: ...

    def upsert(self, job: Job, *, signature: str, meaning: str, actor: str, frozen: str | None = None) -> str:
        """Take in a valid definition and plan its next slot; returns created, changed, revived or unchanged.

        `frozen` is the model of an agent's job that has no pin and was not frozen at one before.
        """
        ...

    def quarantine(self, slug: str, problem: dict[str, Any], *, signature: str, actor: str) -> None: ...

    def remove(self, job_id: str, *, actor: str, reason: str, undo: dict[str, Any] | None = None) -> int: ...

    def pause(self, job_id: str, *, actor: str, reason: str | None) -> int | None: ...

    def resume(self, job_id: str, *, actor: str) -> int | None: ...

    def complete(self, job_id: str, *, actor: str, reason: str) -> None:
        """A job is completed again, whose revival was undone."""
        ...

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

    def anchor(self) -> int | None:
        """Note where all other chains stand, so that none of them can be cut unseen. None where this is the only one."""
        ...


class Documents(Protocol):
    """Texts of a cluster: job files and scripts, by kind (`job`, `script`) and name."""

    def digests(self, kind: str) -> Iterator[tuple[str, str]]: ...

    def get(self, kind: str, name: str) -> Any: ...

    def put(self, kind: str, name: str, text: str, *, mode: int, actor: str) -> None: ...

    def make(self, kind: str, name: str, text: str, *, mode: int, actor: str) -> bool: ...

    def remove(self, kind: str, name: str) -> bool: ...


class Gone(Protocol):
    """One step of pruning: how much went, and behind which place to go on; None when there is no more."""

    @property
    def gone(self) -> int: ...

    @property
    def place(self) -> tuple[int, str] | None: ...


class Pruning(Protocol):
    """Taking away what is old, a few rows at a time, and never what somebody may still need (see `store/retention.py`)."""

    def prune_text(self, before: datetime, limit: int, place: tuple[int, str], *, dry: bool = False) -> Gone: ...

    def prune_runs(
        self, stage: int, before: datetime, limit: int, place: tuple[int, str], *, dry: bool = False
    ) -> Gone: ...

    def chains(self) -> list[str]: ...

    def prune_chain(
        self, chain: str, before: datetime, limit: int, after: int, signer: Callable[[], Signer], *, dry: bool = False
    ) -> Gone: ...

    def prune_unchained(self, before: datetime, limit: int, after: int, *, dry: bool = False) -> Gone: ...


class Agents(Protocol):
    """What agents need of the store and leave in it. Ends of their runs are written by `Runs.conclude_all`."""

    def equip(self, claim: Claim, wish: Wish) -> Given:
        """Reserve what a claimed run may use, and gather what it is given. Raises Stale.

        Asked again for the same claim it gives the same. Where nothing is left it reserves nothing and says why.
        """
        ...

    def context(self, job_id: str, refs: Sequence[str], wish: Wish) -> Sequence[Earlier]:
        """What the jobs that a job names have said last, in its order; what is older than the wish says is left out."""
        ...

    def freeze(self, job_ids: Sequence[str], model: str, *, actor: str) -> list[str]:
        """Let jobs without a pin use another model from now on. Returns the ids of those that are changed."""
        ...

    def decide(self, ask_id: str, *, approved: bool, actor: str, reason: str | None) -> dict[str, Any]:
        """A person's word on what waits for it: a call, or a draft, whose `body` is returned for whoever carries it out.

        Raises NotFound; Conflict when it is decided, or too late.
        """
        ...

    def replay(self, run_id: str, *, new_run: str, model: str | None, actor: str) -> dict[str, Any]:
        """Order a run of the same job that is given the prompt of that one. Raises NotFound, Refused without a prompt."""
        ...


class Tx(Protocol):
    """One open transaction: groups of verbs, and the `now` that was read inside it."""

    @property
    def now(self) -> datetime: ...

    @property
    def runs(self) -> Runs: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def incidents(self) -> Incidents: ...

    @property
    def agents(self) -> Agents: ...

    @property
    def notices(self) -> Notices: ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def zones(self) -> Zones: ...

    @property
    def documents(self) -> Documents: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def retention(self) -> Pruning: ...

    @property
    def doors(self) -> Doors: ...


class Store(Protocol):
    """Transactions. `commit` is for the engine and outlasts a full disk; `transact` is for people and fails at once."""

    async def commit(self, work: Callable[[Tx], T]) -> T: ...

    async def together(self, verb: Callable[[Tx, Sequence[Item]], Sequence[T | Stale]], item: Item) -> T:
        """One item for a verb that takes many: written with those of others who ask at the same moment."""
        ...

    def transact(self, work: Callable[[Tx], T]) -> T: ...
