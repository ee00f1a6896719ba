"""The values of delivery: where a message goes, what it is, and what is known of it afterwards.

A *target* is what a job says (`origin`, `ops`, `telegram:-100777:12`). It resolves to *addresses*, each of one platform.
A *platform* is one way to reach people, as `[platforms.NAME]` of the settings describes it; its `kind` names the sender.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

LOCAL = "local"
GIVE_UP_S = 86_400.0  # how long a message is tried that its target surely did not take
REMIND_S = 86_400.0  # until open trouble is told again
Format = Literal["text", "markdown"]


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """One place on one platform. What it resolves to is the same if this is."""

    platform: str
    chat: str | None = None
    thread: str | None = None

    def __str__(self) -> str:
        return ":".join(part for part in (self.platform, self.chat, self.thread) if part is not None)


@dataclass(frozen=True, slots=True)
class Platform:
    """One way to reach people: `[platforms.NAME]`."""

    name: str
    kind: str
    """The sender: apprise, mail, webhook, desktop, file or command; `local` is always there."""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    """What is particular to the kind, as it stands in the settings; its sender checks it."""
    home: str | None = None
    """The chat that the bare name means, with `:thread` behind it if it has one; None: only named chats."""
    alone: bool = False
    """Whether its settings name all that is needed, so that the bare name is an address without a chat."""
    threads: bool = False
    """Whether a chat may have threads. Where not, all behind the first colon is the chat."""
    header: bool = True
    footer: bool = True
    quiet: bool = True
    """Whether quiet hours and digests count for it."""
    timeout_s: float = 20.0
    """After so long a send is given up. It may have arrived then."""
    safe_to_repeat: bool = False
    """Whether whoever receives takes a message that comes twice under one id as one."""
    chats: Mapping[str, Mapping[str, bool]] = field(default_factory=dict[str, Mapping[str, bool]])
    """Address of a chat or thread → header, footer, quiet where they differ there."""

    def at(self, address: Address) -> Platform:
        """What holds for an address of it: a thread's own, else its chat's."""
        if not self.chats:
            return self
        chat = self.chats.get(str(Address(address.platform, address.chat)), {})
        return replace(self, **{**chat, **self.chats.get(str(address), {})})


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with a message."""

    name: str
    path: str
    """Where it is on this machine, absolute."""


@dataclass(frozen=True, slots=True)
class Message:
    """One delivery, ready to be sent. The id stays the same however often it is tried."""

    id: str
    address: Address
    title: str
    """One line. What shows no title of its own finds it in the body's header, if that is on."""
    body: str
    """With header and footer, without secrets; not shortened."""
    format: Format = "text"
    alert: bool = False
    attachments: tuple[Attachment, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    """For programs: run, job, slot, state, link and the like, as JSON values."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a sender knows after trying: the event for the delivery's table, and evidence or the reason."""

    event: Literal["accept", "refuse", "retry", "lose"]
    """Taken; refused for good; surely not taken, but it may be later; it may have been taken."""
    evidence: str | None = None
    reason: str | None = None
    after_s: float | None = None
    """When the target itself says how long to wait before it is tried again."""
    closes: bool = False
    """Whether nothing may be sent to this address any more, until a person says so."""


@dataclass(frozen=True, slots=True)
class Addressee:
    """One address that a message is for, with all that is decided before it is written down."""

    target: str
    """As a person reads it."""
    address: str
    kept: Receipt | None = None
    """Of one that writing the run's end reaches by itself."""
    hold_until: datetime | None = None
    """It is quiet there until then."""
    digest: bool = False
    """Whether what is held goes out in one message with all else that is held for it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One delivery on its way."""

    delivery_id: int
    kind: str
    """result, alert, approval, message (an agent's draft), or what of an incident is told.

    That is reminder, recovery, overdue, quiet, undelivered.
    """
    title: str
    body: str
    format: Format
    alert: bool
    target: str
    run_id: str | None = None
    job_id: str | None = None
    slug: str | None = None
    key: str | None = None
    slot: datetime | None = None
    """With the job's offset."""
    state: str | None = None
    """How its run ended."""
    attachments: tuple[str, ...] = ()
    """Paths in the run's folder of files."""
    incident_id: str | None = None


@dataclass(frozen=True, slots=True)
class Parcel:
    """What goes to one address at once: one delivery, or all of a digest. The token is shown for what becomes of it."""

    address: str
    token: int
    attempts: int
    """With this one."""
    deadline: datetime
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Alerts:
    """What of the settings decides about trouble: `[alerts]`."""

    to: tuple[str, ...] = ()
    """Targets of alerts of jobs that name none; empty: where their results go."""
    fallback: str | None = None
    """The target that hears of messages which reached nobody."""
    remind_s: float | None = REMIND_S
    """After how long an open incident is told again; None: never."""
    pause_after: int | None = None
    """After how many failures in a row a job is paused; None: it is not."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How messages of one job are seen to: how long each is tried, and what is told of trouble that lasts."""

    give_up_s: float = GIVE_UP_S
    remind_s: float | None = REMIND_S
    pause_after: int | None = None


@dataclass(frozen=True, slots=True)
class Quiet:
    """Times at which only what is urgent goes out, and when what was held does: `[quiet]`."""

    timezone: str
    hours: tuple[tuple[int, int], ...] = ()
    """From and to, in minutes of a day of that zone; over midnight where `to` is not behind `from`."""
    digest: int | None = None
    """The minute of the day at which messages of low urgency go out together."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A URL that is asked for as long as the gateway is well: `[heartbeat]`."""

    url: str
    every_s: float = 60.0
