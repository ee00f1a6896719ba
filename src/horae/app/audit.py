"""Check the journal's chains, hand the journal out signed, and check what was handed out. What a chain is: `core/chain.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from horae.app.jobs import find
from horae.app.preview import beginning
from horae.core.chain import UNCHAINED, Finding, Head, Link, Memory, Walk, check_marker, check_memories
from horae.core.export import Checked, check_export, document, left_out_item, link_item, pruned_item
from horae.core.instants import from_us, to_us
from horae.errors import Invalid
from horae.ports import Home, Key, Past

Json = dict[str, Any]
Progress = Callable[[int, int], object]
BATCH = 2000  # entries that are read at once
STRAYS_MAX = 100  # that are named one by one


def verify(
    home: Home, *, keys: Collection[str] = (), against: Iterable[str] | None = None, progress: Progress | None = None
) -> Json:
    """Walk every chain of the journal. Read-only, beside whatever the gateway does.

    `keys` are trusted besides the home's own; `against` are the lines of an export, with which the chains are compared.
    """
    key = home.key()
    trusted = _trusted(key, keys)
    past = home.past()
    try:
        walks: dict[str, Walk] = {}
        names = past.chains()
        total = sum(head.number for head in map(past.head, names) if head is not None)
        done = 0
        for chain in names:
            walks[chain] = _walk(past, chain, lambda some, done=done: progress and progress(done + some, total))
            done += walks[chain].entries
        findings = [found for walk in walks.values() for found in walk.findings]
        markers = [marker for chain in names for marker in past.markers(chain)]
        checked = (check_marker(marker, trusted, key.genuine) for marker in markers)
        doubted = [found for found in checked if found is not None]
        findings += doubted or [_covered(link) for link in past.covered(STRAYS_MAX)]
        findings += [_stray(link) for link in past.strays(STRAYS_MAX)]
        memories = [memory for walk in walks.values() for memory in walk.memories.values()]
        if against is not None:
            findings += _compared(against, trusted, key, memories)
        findings += check_memories(memories, walks, past.hash_at)
        last_pruned = {marker.chain: marker.at for marker in markers}
        chains = [_chain_json(walk, past.head(chain), last_pruned.get(chain)) for chain, walk in walks.items()]
        return _answer(chains, past.unchained_count(), findings, sorted(trusted))
    finally:
        past.close()


def verify_export(lines: Iterable[str], key: Key, *, keys: Collection[str] = ()) -> Json:
    """Check an export by itself. Where no key is trusted it is checked against its own, and `trusted` is null."""
    trusted = _trusted(key, keys)
    found = check_export(lines, trusted, key.genuine)
    heads = {memory.chain: Head(memory.number, memory.hash) for memory in found.heads}
    chains = [_chain_json(walk, heads.get(chain), None) for chain, walk in found.walks.items()]
    signer = found.head.get("key")
    told = {
        "made_at": found.head.get("made_at"),
        "made_by": found.head.get("made_by"),
        "partial": found.head.get("partial"),
        "key": signer,
        "trusted": signer in trusted if trusted else None,
    }
    return {**_answer(chains, found.unchained, found.findings, sorted(trusted)), "export": told}


def audit_key(key: Key) -> Json:
    """The public half of the home's key, which is made when there is none."""
    made = key.known is None
    return {"key": key.public, "file": key.path, "made": made}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an export is asked to hold: a half-open stretch of time, in microseconds, and one job."""

    start: int | None = None
    end: int | None = None
    job_id: str | None = None

    @property
    def partial(self) -> bool:
        """Whether anything is left out."""
        return self != Wanted()

    def has(self, link: Link) -> bool:
        """Whether an entry belongs to it."""
        return (
            (self.start is None or link.at >= self.start)
            and (self.end is None or link.at < self.end)
            and (self.job_id is None or link.job_id == self.job_id)
        )


def export(
    home: Home,
    write: Callable[[str], object],
    *,
    start: str | None = None,
    end: str | None = None,
    job: str | None = None,
    progress: Progress | None = None,
) -> Json:
    """Write the journal, or a part of it, as one signed document. `end` is the first instant that does not belong to it."""
    row = find(home, job).row if job is not None else None
    now, zone = home.clock.now(), home.settings.timezone
    wanted = Wanted(
        None if start is None else _moment(start, "--from", zone, now),
        None if end is None else _moment(end, "--to", zone, now),
        None if row is None else row["id"],
    )
    if wanted.start is not None and wanted.end is not None and wanted.start >= wanted.end:
        raise Invalid("--to must be later than --from", "entries from --from on and before --to are exported")
    past = home.past()
    try:
        heads = {chain: head for chain in past.chains() if (head := past.head(chain)) is not None}
        made = {
            "made_at": _utc(to_us(now)),
            "made_by": home.actor,
            "from": _utc(wanted.start),
            "to": _utc(wanted.end),
            "job": None if row is None else {"id": row["id"], "slug": row["slug"]},
            "partial": wanted.partial,
            "chains": {chain: [head.number, head.hash] for chain, head in heads.items()},
        }
        total = sum(head.number for head in heads.values())
        key = home.key()
        tally = {"entries": 0}
        for line in document(made, _tallied(_items(past, heads, wanted, progress, total), tally), key):
            write(line)
    finally:
        past.close()
    return {**tally, "partial": wanted.partial, "chains": made["chains"], "key": key.public}


def _moment(text: str, option: str, zone: str, now: datetime) -> int:
    try:
        return to_us(beginning(text, zone, now))
    except Invalid as error:
        raise Invalid(error.message.replace("--from", option), error.hint, field=option[2:], value=text) from None


def _tallied(items: Iterator[Json], tally: dict[str, int]) -> Iterator[Json]:
    for item in items:
        tally["entries"] += "entry" in item
        yield item


def _items(past: Past, heads: dict[str, Head], wanted: Wanted, progress: Progress | None, total: int) -> Iterator[Json]:
    """What an export holds: what is from before there were chains, then chain by chain up to its head."""
    for link in _batches(lambda after: past.unchained(after, BATCH), lambda link: link.seq):
        if wanted.has(link):
            yield link_item(link)
    done = 0
    for chain, head in heads.items():
        for link, item in _chain_items(past, chain, head.number, wanted):
            yield from item
            done += link
            if progress is not None and done % BATCH == 0:
                progress(done, total)


def _chain_items(past: Past, chain: str, last: int, wanted: Wanted) -> Iterator[tuple[int, list[Json]]]:
    """For each entry of a chain 1 and what is written before and for it, for the end of the chain 0 and what is left."""
    reached = 0
    left: tuple[str, int, int, str | None] | None = None  # the stretch that is being left out
    for link in _chain_links(past, chain, last):
        items: list[Json] = []
        hole = link.number > reached + 1
        if left is not None and (hole or wanted.has(link)):
            items.append(left_out_item(*left))
            left = None
        if hole:
            items += _pruned(past, chain, reached + 1, link.number - 1)
        if wanted.has(link):
            items.append(link_item(link))
        else:
            left = (chain, link.number if left is None else left[1], link.number, link.hash)
        reached = link.number
        yield 1, items
    yield 0, [*([] if left is None else [left_out_item(*left)]), *_pruned(past, chain, reached + 1, last)]


def _pruned(past: Past, chain: str, first: int, last: int) -> Iterator[Json]:
    """The markers of entries that are not there; of a gap there is none, and whoever checks the export finds it."""
    number = first
    while number <= last and (marker := past.marker_from(chain, number)) is not None and marker.number <= last:
        yield pruned_item(marker)
        number = marker.number + 1


def _walk(past: Past, chain: str, progress: Callable[[int], object]) -> Walk:
    """One chain from end to end, and what was added to it meanwhile, up to the head that is read behind it."""
    walk = Walk(chain, partial(past.marker_from, chain))
    for link in _batches(lambda after: past.links(chain, after, BATCH), lambda link: link.number):
        walk.take(link)
        if walk.entries % BATCH == 0:
            progress(walk.entries)
    head = past.head(chain)
    for link in _chain_links(past, chain, head.number if head else 0, walk.number):
        walk.take(link)
    walk.end(head)
    return walk


def _chain_links(past: Past, chain: str, last: int, after: int = 0) -> Iterator[Link]:
    """The entries of a chain behind a number, up to another."""
    for link in _batches(lambda at: past.links(chain, max(at, after), BATCH), lambda link: link.number):
        if link.number > last:
            return
        yield link


def _batches(ask: Callable[[int], list[Link]], place: Callable[[Link], int]) -> Iterator[Link]:
    after = 0
    while links := ask(after):
        yield from links
        after = place(links[-1])


def _compared(lines: Iterable[str], trusted: Collection[str], key: Key, memories: list[Memory]) -> list[Finding]:
    """What is wrong with an export; what it remembers of the chains joins the anchors, if its signature is good."""
    found: Checked = check_export(lines, trusted, key.genuine)
    if not found.findings:
        memories += found.heads
        return []
    return [each._replace(text=f"the export: {each.text}") for each in found.findings]


def _trusted(key: Key, keys: Collection[str]) -> set[str]:
    return {*keys, *([key.known] if key.known is not None else [])}


def _stray(link: Link) -> Finding:
    text = "it belongs to no chain, and is not from before there were any"
    if link.chain != UNCHAINED:
        text = "it names a chain and has no place in it"
    return Finding("unchained", link.chain, None, link.seq, link.at, text)


def _covered(link: Link) -> Finding:
    """Each entry in its place could have been put there by anybody: what came after it is gone, and follows the marker."""
    text = "it is there, and a marker says that it was pruned"
    return Finding("marker", link.chain, link.number, link.seq, link.at, text)


def _chain_json(walk: Walk, head: Head | None, pruned_at: int | None) -> Json:
    return {
        "chain": walk.chain,
        "entries": walk.entries,
        "first": walk.first.number if walk.first else None,
        "last": walk.last.number if walk.last else None,
        "from": _utc(walk.first.at) if walk.first else None,
        "to": _utc(walk.last.at) if walk.last else None,
        "pruned": walk.pruned,
        "pruned_at": _utc(pruned_at),
        "head": None if head is None else {"number": head.number, "hash": head.hash},
        "ok": not walk.findings,
    }


def _answer(chains: list[Json], unchained: int, findings: list[Finding], trusted: list[str]) -> Json:
    return {
        "ok": not findings,
        "entries": sum(chain["entries"] for chain in chains),
        "unchained": unchained,
        "chains": chains,
        "findings": [{**found._asdict(), "at": _utc(found.at)} for found in findings],
        "keys": trusted,
        "export": None,
    }


def _utc(at: int | None) -> str | None:
    if at is None:
        return None
    try:
        instant: datetime = from_us(at).astimezone(UTC)
    except OverflowError:  # no instant of the calendar: somebody wrote it there, and is found by the hash
        return None
    return instant.isoformat(timespec="microseconds" if at % 1_000_000 else "seconds").replace("+00:00", "Z")
