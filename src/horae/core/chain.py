"""The journal as a chain: each entry carries the hash of the one before it, so that nothing can be changed unseen.

A chain counts its entries from 1 without gaps, and `journal_chain` keeps where it stands (its *head*). There is one
chain for a home, and one for each gateway where several share a store, so that writers do not queue behind one another.
What no chain can tell by itself, others tell: an *anchor* is an entry that names the number and the hash at which each
other chain stands, and a *marker* says, signed, which entries were pruned, so that the chain goes on behind the hole.

What is found, each as one `Finding`:

    changed        an entry does not have the hash that it should have: it was changed, or the hash before it was
    reordered      so it is, and its number in the journal says that it stood elsewhere
    gap            entries are missing, and no marker says that they were pruned
    unchained      an entry stands outside all chains, and is not from before there were any, or has no place in its chain
    head_missing   a chain has entries and no head
    head_behind    a chain has entries behind its head
    head_differs   the head has another hash than the entry that it names
    cut            entries are missing at the end: the head names a later one
    anchor         another chain remembers an entry that is gone, or is another one now
    marker         a marker has a bad signature, is signed with a key that is not trusted, or what it stands for is there

Whoever can write the database can write a new chain from its first entry on. That is what anchors in other chains and
signed exports (`core/export.py`) are for: they say what a chain was when they were made.

Pure: entries come in as values, and what must be looked up while a live journal is walked is asked of a function.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, cast

HOME = "home"  # the chain of a store that one writer at a time writes to
UNCHAINED = ""  # entries from before there were chains
ANCHOR = "anchor"  # what an entry says that names the other chains' heads

_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Head(NamedTuple):
    """Where a chain stands: the number and the hash of its last entry."""

    number: int
    hash: str


START = Head(0, "")


class Link(NamedTuple):
    """One entry as it lies in the store. `detail` is its text there: what is hashed is what is stored."""

    seq: int
    at: int
    actor: str
    what: str
    job_id: str | None
    key: str | None
    run_id: str | None
    detail: str
    chain: str
    number: int
    hash: str | None
    undoable: int = 0
    undoes: int | None = None
    redo: int = 0
    was_key: str | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """`count` entries of a chain were pruned; the last of them had this number and this hash. `signer` is a public key."""

    chain: str
    number: int
    hash: str
    count: int
    at: int
    signer: str
    signature: str

    @property
    def first(self) -> int:
        """The number of the first pruned entry."""
        return self.number - self.count + 1

    @property
    def signed(self) -> bytes:
        """What its signature is over."""
        return _canonical(["horae journal pruned", self.chain, self.first, self.number, self.hash, self.at]).encode()


class Memory(NamedTuple):
    """What somebody remembers of a chain: an entry's number and its hash, who remembers it, and since when."""

    chain: str
    number: int
    hash: str
    source: str
    at: int


class Finding(NamedTuple):
    """One thing that is not as it was written: in which chain, which entry, of when, what."""

    what: str
    chain: str
    number: int | None
    """The entry's place in its chain."""
    entry: int | None
    """Its number in the journal, by which people know it."""
    at: int | None
    text: str


class Signer(Protocol):
    """The key pair of a home."""

    @property
    def public(self) -> str: ...

    def sign(self, data: bytes) -> str: ...


Genuine = Callable[[str, bytes, str], bool]
"""Whether a public key made that signature over the data: (key, data, signature)."""


def entry_hash(
    previous: str,
    chain: str,
    number: int,
    seq: int,
    at: int,
    actor: str,
    what: str,
    job_id: str | None,
    key: str | None,
    run_id: str | None,
    detail: str,
) -> str:
    """The hash of an entry: SHA-256 over the canonical JSON of the hash before it and all that it says."""
    said = [previous, chain, number, seq, at, actor, what, job_id, key, run_id, detail]
    return sha256(_canonical(said).encode()).hexdigest()


def hash_of(link: Link, previous: str) -> str:
    """The hash that an entry must have behind that one."""
    return entry_hash(previous, link.chain, link.number, *link[:8])


def drawn_out(what: str, detail: Mapping[str, Any]) -> tuple[int, int | None, int, str | None]:
    """What of `detail` is repeated in columns, for looking it up: undoable, undoes, redo, was_key."""
    undone = what == "undone"
    return (
        int(detail.get("undo") is not None),
        detail.get("entry") if undone else None,
        int(undone and "redo" in detail),
        detail.get("was_key"),
    )


@dataclass(slots=True)
class Walk:
    """One chain, walked from its first entry to its last.

    `cover(number)` is the first marker that stands for that entry or for later ones. It is asked only where entries are
    missing, and then afresh, since a live journal may be pruned while it is walked.
    """

    chain: str
    cover: Callable[[int], Marker | None]
    columns: bool = True
    """Whether the columns that repeat a detail are there to be compared with it."""
    number: int = 0
    """Of the last entry that is accounted for."""
    hash: str | None = ""
    """The hash of that entry; None where it is not known."""
    entries: int = 0
    first: Link | None = None
    last: Link | None = None
    pruned: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    memories: dict[tuple[str, int], Memory] = field(default_factory=dict[tuple[str, int], "Memory"])
    """What its anchors say of other chains, by chain and number."""
    _highest: int = 0

    def take(self, link: Link) -> None:
        """The next entry, by number."""
        if link.number <= self.number:
            self._find("reordered", link, f"there are two entries with the number {link.number}")
            return
        self._reach(link.number)
        if self.hash is not None and hash_of(link, self.hash) != link.hash:
            self._blame(link)
        elif self.columns and not _agrees(link):
            self._find("changed", link, "the columns that repeat its detail do not agree with it")
        self.number, self.hash = link.number, link.hash
        self._highest = max(self._highest, link.seq)
        self.entries += 1
        self.first, self.last = self.first or link, link
        if link.what == ANCHOR:
            self._remember(link)

    def end(self, head: Head | None) -> None:
        """After the last entry: compare with where the chain is said to stand."""
        if head is not None:
            self._reach(head.number + 1, "cut")
        at = self.last.at if self.last else None
        if head is None:
            if self.number:
                self._add("head_missing", self.number, at, "the chain has entries, and nothing says where it stands")
        elif head.number < self.number:
            text = f"the chain is said to stand at {head.number}, and goes on to {self.number}"
            self._add("head_behind", self.number, at, text)
        elif self.hash is not None and head.hash != self.hash:
            text = f"the chain is said to stand at {head.number} with another hash than that entry has"
            self._add("head_differs", head.number, at, text)

    def _reach(self, number: int, what: str = "gap") -> None:
        """Account for what is missing before a number: pruned, or not."""
        while self.number + 1 < number:
            first = self.number + 1
            marker = self.cover(first)
            if marker is None or marker.number >= number:
                self._miss(first, number - 1, what)
                return
            if marker.first > first:
                self._miss(first, marker.first - 1, "gap")
            self.pruned += marker.number - self.number
            self.number, self.hash = marker.number, marker.hash

    def _miss(self, first: int, last: int, what: str) -> None:
        one = first == last
        some = f"entry {first} is missing" if one else f"entries {first} to {last} are missing"
        where = " at the end" if what == "cut" else ""
        at = self.last.at if self.last else None
        self._add(what, first, at, f"{some}{where}, and no marker says that {'it was' if one else 'they were'} pruned")
        self.number, self.hash = last, None

    def _blame(self, link: Link) -> None:
        """The hash is not what it should be. Numbers in the journal that fall instead of rising tell a reordering."""
        if link.seq >= self._highest:
            text = "it does not have the hash that it should have: it was changed, or the hash before it was"
            self._find("changed", link, text)
            return
        text = "it does not follow the entry before it, and its number in the journal says that it stood elsewhere"
        before = self.findings[-1] if self.findings else None
        if before is not None and before.what == "changed" and before.number == link.number - 1:
            self.findings[-1] = before._replace(what="reordered", text=text)
        self._find("reordered", link, text)

    def _remember(self, link: Link) -> None:
        source = f"entry {link.number} of chain {link.chain}"
        for memory in remembered(_detail(link).get("chains"), source, link.at):
            self.memories.setdefault((memory.chain, memory.number), memory)

    def _find(self, what: str, link: Link, text: str) -> None:
        self.findings.append(Finding(what, self.chain, link.number, link.seq, link.at, text))

    def _add(self, what: str, number: int, at: int | None, text: str) -> None:
        self.findings.append(Finding(what, self.chain, number, None, at, text))


def remembered(chains: object, source: str, at: int) -> list[Memory]:
    """The heads that an anchor or an export names: chain → [number, hash]. What is not of that form is not remembered."""
    found: list[Memory] = []
    for chain, head in cast("dict[str, Any]", chains).items() if isinstance(chains, dict) else ():
        match head:
            case [int(number), str(hash_)]:
                found.append(Memory(chain, number, hash_, source, at))
            case _:
                pass
    return found


def check_memories(
    memories: Iterable[Memory], walks: Mapping[str, Walk], hash_at: Callable[[str, int], str | None]
) -> list[Finding]:
    """Compare what is remembered of chains with what they are.

    `hash_at(chain, number)` is the hash of an entry that is there, or of the last one that a marker stands for. An entry
    that has neither was pruned, or was missed by the walk already, unless it is behind the chain's end.
    """
    lost: dict[str, Memory] = {}
    found: list[Finding] = []
    for memory in memories:
        chain, number = memory.chain, memory.number
        there = hash_at(chain, number)
        if there is not None and there != memory.hash:
            text = f"{memory.source} remembers another entry in its place"
            found.append(Finding(ANCHOR, chain, number, None, memory.at, text))
        elif there is None and (chain not in walks or number > walks[chain].number):
            lost[chain] = max(memory, lost.get(chain, memory), key=lambda one: one.number)
    for chain, memory in sorted(lost.items()):
        walk = walks.get(chain)
        now = "the chain is gone" if walk is None or not walk.number else f"the chain ends at {walk.number}"
        text = f"{now}, and {memory.source} remembers it up to {memory.number}"
        found.append(Finding(ANCHOR, chain, memory.number, None, memory.at, text))
    return found


def check_marker(marker: Marker, trusted: Collection[str], genuine: Genuine) -> Finding | None:
    """Whether somebody who may say so has said that those entries were pruned."""
    if marker.signer not in trusted:
        text = f"the marker of {_pruned(marker)} is signed with a key that is not trusted here ({marker.signer})"
    elif marker.count < 1 or not genuine(marker.signer, marker.signed, marker.signature):
        text = f"the marker of {_pruned(marker)} has a bad signature"
    else:
        return None
    return Finding("marker", marker.chain, marker.number, None, marker.at, text)


def _pruned(marker: Marker) -> str:
    return f"pruned entries {marker.first} to {marker.number}"


def _agrees(link: Link) -> bool:
    """Whether the columns say what the detail says. Most entries have nothing there, and nothing to read."""
    columns = (link.undoable, link.undoes, link.redo, link.was_key)
    if link.what != "undone" and '"undo"' not in link.detail and '"was_key"' not in link.detail:
        return columns == (0, None, 0, None)
    return columns == drawn_out(link.what, _detail(link))


def _detail(link: Link) -> dict[str, Any]:
    try:
        found = json.loads(link.detail)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
