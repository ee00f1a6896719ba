"""The world around the engine: clocks, processes, targets, files, keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from horae.core.chain import Signer
from horae.core.clockwatch import Reading
from horae.core.delivery import Address, Message, Platform, Receipt
from horae.core.model import Bounds, Job, Order, Owner, Result
from horae.core.preflight import Facts
from horae.core.skill import Kept
from horae.errors import Problem
from horae.ports.command import Said
from horae.ports.store import Orphan, Tx


class Closed(Exception):
    """No run may start any more, or for now; the text says why."""


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


class Key(Signer, Protocol):
    """The key pair of a home."""

    @property
    def path(self) -> str: ...

    @property
    def known(self) -> str | None:
        """The public half; None when none was made yet."""
        ...

    def genuine(self, public: str, data: bytes, signature: str) -> bool:
        """Whether that public key made that signature over the data."""
        ...


class Vault(Protocol):
    """The secrets of a home, by name. Values go in and do not come out."""

    @property
    def path(self) -> str:
        """The file among the places."""
        ...

    def places(self, names: Collection[str]) -> tuple[Mapping[str, tuple[str, ...]], tuple[Problem, ...]]:
        """Where each of these has a value, and each that is kept here: `file`, `environment`, `keyring`; the first counts.

        And why one of the places cannot be looked into.
        """
        ...

    def put(self, name: str, value: str, *, keyring: bool) -> tuple[str, ...]:
        """Keep a value in the file, or in the keyring and no more in the file. Returns where it had one before.

        Raises Invalid, Refused, Conflict, Trouble.
        """
        ...

    def remove(self, name: str) -> tuple[str, ...]:
        """Take its values away, wherever they are kept. Returns where they were."""
        ...


class Shelf(Protocol):
    """The skills of a home, by name."""

    @property
    def root(self) -> str: ...

    def names(self) -> list[str]: ...

    def load(self, name: str) -> Kept:
        """One of them. Raises NotFound, Invalid, Refused, Trouble."""
        ...

    def look(self, folder: str, name: str | None) -> Kept:
        """A folder that is to become one. Raises the same."""
        ...

    def put(self, kept: Kept, *, replace: bool) -> None:
        """Copy what was looked at into its place. Raises Conflict, Refused, Trouble; then nothing has changed."""
        ...

    def remove(self, name: str) -> None:
        """Take one away. Raises NotFound, Trouble."""
        ...

    def missing(self, kept: Kept, path: str) -> tuple[str, ...]:
        """The programs that it needs and that are not on this machine."""
        ...


class Runner(Protocol):
    """Starts one process tree and waits for its main process."""

    def facts(self, job: Job) -> Facts:
        """What preflight must know about this machine to judge the job."""
        ...

    async def run(
        self,
        order: Order,
        started: Callable[[int, int], Awaitable[None]],
        ready: Callable[[], Awaitable[None]],
    ) -> Result:
        """Run it to its end. `started(pid, pid_started)` is called once the process exists.

        `ready` is awaited directly before the program is started; what that raises is raised, and nothing has begun.
        Raises Exhausted when the machine has no room for another process: nothing has begun then either. Being cancelled
        leaves the run to itself: whoever adopts it learns how it ended.
        """
        ...

    def collected(self, run_id: str) -> None:
        """The way of a run is over here: what is on record of it elsewhere is needed no more."""
        ...

    def cancel(self, run_id: str, reason: str) -> bool:
        """End one run. False when it is not live here."""
        ...

    def gone(self, owner: Owner) -> bool:
        """Whether it is proven that a gateway's process exists no more; False when nobody can look from here."""
        ...

    async def adopt(self, orphan: Orphan, bounds: Bounds, secrets: Sequence[str]) -> Result:
        """How a run ends, or has ended, that another gateway has started. Raises Exhausted where it did not begin.

        `secrets` are the names of those that it may see.
        """
        ...

    def sweep(self, keep: Collection[str]) -> None:
        """Take away what gateways before this one have left; what is known of the runs of `keep` is still needed."""
        ...


class Turns(Protocol):
    """The bound on live runs, and whether anything may be begun."""

    @property
    def posts(self) -> bool:
        """Whether another message may be begun."""
        ...

    def turn(self, priority: int = ...) -> AbstractAsyncContextManager[None]: ...

    def check(self) -> None:
        """Raises Closed when no run may start any more."""
        ...

    def refused(self, reason: str) -> None:
        """The machine had no room for one more: fewer are let in for a while."""
        ...


class Trust(Protocol):
    """A gateway's own view of its lease (see `engine/lease.py`)."""

    @property
    def is_old(self) -> bool: ...

    @property
    def lapsed(self) -> bool: ...

    @property
    def judges_in_s(self) -> float: ...

    def asking(self) -> float: ...

    def covers(self, seconds: float) -> bool: ...

    def lost(self) -> None: ...

    def renewed(self, asked_s: float, for_s: float = ...) -> None: ...


class Sender(Protocol):
    """One platform, ready to send. It is made of a `Platform` and `Tools`, which needs no network."""

    def check(self, address: Address | None = None) -> str | None:
        """Why nothing can be sent (to that address) as configured, in a sentence that says what to do; None when it can.

        Looks at settings, secrets and this machine only: it is asked before each run.
        """
        ...

    async def send(self, message: Message) -> Receipt:
        """Try once, within the platform's time-out. What the target or the network does is never raised."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """What senders need of the world."""

    secrets: Callable[[Sequence[str]], tuple[dict[str, str], tuple[str, ...]]]
    """Values of secrets by name, and the reasons why some have none."""
    redact: Callable[[bytes], bytes]
    """Takes the secrets of the home out of a file."""
    ask: Callable[[Sequence[str], str, Mapping[str, str], float], Said]
    """Run a program: argv, standard input, variables besides its environment, seconds. See `ports.command`."""
    now: Callable[[], datetime]
    home: str


class Targets(Protocol):
    """From what a job says to whoever sends it."""

    def resolve(self, target: str, origin: str | None = None) -> tuple[Address, ...]:
        """The addresses that a target means, each once. Raises Invalid, with the nearest names."""
        ...

    def address(self, text: str) -> Address:
        """An address as `str` writes it; no friendly name is one. Raises Invalid."""
        ...

    def platform(self, address: Address) -> Platform:
        """What the settings say of it. Raises Invalid where they say nothing (any more)."""
        ...

    def sender(self, address: Address) -> Sender:
        """Whoever sends there. Raises Invalid, also for settings that its kind cannot work with."""
        ...

    def problem(self, target: str, origin: str | None = None) -> str | None:
        """Why a target cannot be reached as configured, or None."""
        ...


class Folder(Protocol):
    """The job files of a home."""

    @property
    def root(self) -> str: ...

    def scan(self) -> Iterator[tuple[str, str]]: ...

    def read(self, slug: str) -> str: ...

    def write(self, slug: str, text: str, *, expect: str | None) -> None: ...

    def remove(self, slug: str, *, expect: str | None) -> None: ...

    def signature(self, slug: str) -> str: ...

    def inside(self, tx: Tx) -> Folder:
        """The same, for whoever is in a transaction: where it is a table, it is read there."""
        ...


class Scripts(Protocol):
    """Scripts by name: a path below `scripts/`, with `/` between folders. A mode says whether one may be started."""

    def list(self) -> Iterator[str]: ...

    def read(self, name: str) -> tuple[str, int]:
        """Its text and mode. Raises NotFound."""
        ...

    def write(self, name: str, text: str, mode: int, *, expect: str | None) -> None:
        """Replace the one that says `expect`, or make a new one where that is None. Raises Conflict."""
        ...
