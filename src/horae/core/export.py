"""An export of the journal: one JSON document that proves by itself what it says, far from the home it came from.

    {"horae": "journal export 1", "made_at": …, "from": …, "to": …, "job": …, "partial": …, "key": "ed25519:…",
     "chains": {"home": [1204, "9f…"]}, "entries": [
    {"entry": 1, "at": …, "what": …, …, "chain": "home", "number": 1, "hash": "…"},
    {"pruned": {"chain": …, "first": …, "number": …, "hash": …, "at": …, "signer": …, "signature": …}},
    {"left_out": {"chain": …, "first": …, "number": …, "hash": …}}
    ], "count": 3, "digest": "…", "signature": "…"}

`chains` says where each chain stood. What was pruned is there as its marker. A part (of a job, of some days) says that it
is one, and each stretch that was left out is there as its numbers and the hash of its last entry: so every entry that is
there can be checked by itself, and that nothing else was left out is the word of the signature.

The signature is over the `digest`: SHA-256 over the canonical JSON (sorted keys, no blanks, UTF-8) of the head without
`entries`, then of each of `entries`, each followed by a line feed. It does not depend on how the document is laid out;
the layout above, one entry a line, is what lets a large one be read without holding all of it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple, cast

from horae.core.chain import (
    UNCHAINED,
    Finding,
    Genuine,
    Head,
    Link,
    Marker,
    Memory,
    Signer,
    Walk,
    check_marker,
    check_memories,
    remembered,
)
from horae.core.instants import to_us
from horae.errors import Invalid
from horae.limits import EXPORT_WHOLE_CHARS_MAX

FORMAT = "journal export 1"
OPENS = '"entries": ['
DAMAGED = "it is no export of a journal, or damaged"
INT_MAX = 2**63 - 1  # what a store can hold
TEXT, MAYBE, NUMBER = (str,), (str, type(None)), (int,)
HEAD_FORM = {"key": TEXT, "made_at": TEXT, "made_by": TEXT}  # what is missing there, the signature tells
LINK_FORM = {
    "entry": NUMBER, "at": NUMBER, "actor": TEXT, "what": TEXT, "job_id": MAYBE, "key": MAYBE, "run_id": MAYBE,
    "detail": TEXT, "chain": TEXT, "number": NUMBER, "hash": MAYBE,
}  # fmt: skip
LEFT_OUT_FORM = {"chain": TEXT, "first": NUMBER, "number": NUMBER, "hash": MAYBE}
PRUNED_FORM = {**LEFT_OUT_FORM, "hash": TEXT, "at": NUMBER, "signer": TEXT, "signature": TEXT}
LINK_KEYS = ("entry", "at", "actor", "what", "job_id", "key", "run_id", "detail", "chain", "number", "hash")

_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
_plain = json.JSONEncoder(ensure_ascii=False).encode


class Digest:
    """What is signed, as it grows. Raises `Invalid` for what is no text: half of a character."""

    def __init__(self, head: Mapping[str, Any]) -> None:
        self._sum = sha256()
        self.take(head)

    def take(self, item: Mapping[str, Any]) -> None:
        """One of `entries`."""
        try:
            self._sum.update(_canonical(item).encode() + b"\n")
        except UnicodeEncodeError:
            raise Invalid("a text in it holds half of a character", DAMAGED) from None

    @property
    def text(self) -> str:
        """In hexadecimal."""
        return self._sum.hexdigest()


def signed(digest: str) -> bytes:
    """What the signature of an export is over."""
    return f"horae {FORMAT}\n{digest}\n".encode()


# ── writing


def link_item(link: Link) -> dict[str, Any]:
    """One entry. `detail` stays the text that was hashed; `undoable` and the like are repeated nowhere."""
    return dict(zip(LINK_KEYS, link[: len(LINK_KEYS)], strict=True))


def pruned_item(marker: Marker) -> dict[str, Any]:
    """Entries that were pruned."""
    said = {"chain": marker.chain, "first": marker.first, "number": marker.number, "hash": marker.hash}
    return {"pruned": {**said, "at": marker.at, "signer": marker.signer, "signature": marker.signature}}


def left_out_item(chain: str, first: int, number: int, hash_: str | None) -> dict[str, Any]:
    """Entries that are there and were not asked for."""
    return {"left_out": {"chain": chain, "first": first, "number": number, "hash": hash_}}


def document(head: Mapping[str, Any], items: Iterable[Mapping[str, Any]], signer: Signer) -> Iterator[str]:
    """The export, line by line. `items` are asked for while it is written."""
    whole = {"horae": FORMAT, **head, "key": signer.public}
    digest, count = Digest(whole), 0
    yield f"{_plain(whole)[:-1]}, {OPENS}"
    for item in items:
        digest.take(item)
        yield f"{',' if count else ''}\n{_plain(item)}"
        count += 1
    tail = {"count": count, "digest": digest.text, "signature": signer.sign(signed(digest.text))}
    yield f"\n], {_plain(tail)[1:]}\n"


# ── reading


class Part(NamedTuple):
    """The head, one of the entries, or the tail of an export."""

    kind: str
    value: dict[str, Any]


def parts(lines: Iterable[str]) -> Iterator[Part]:
    """The parts of an export in their order. Raises `Invalid` for what is none."""
    source = iter(lines)
    first = next(source, "")
    if not first.rstrip().endswith(OPENS):  # laid out by another hand
        yield from _laid_out(_read(_whole(first, source), 1))
        return
    yield Part("head", _head(_read(first.rstrip() + "]}", 1)))
    for number, line in enumerate(source, start=2):
        text = line.strip().removesuffix(",")
        if text.startswith("]"):
            tail = _read("{" + text[1:].lstrip(", "), number)
            if any(rest.strip() for rest in source):
                raise Invalid(f"line {number + 1}: something stands behind the end of the export", None)
            yield Part("tail", tail)
            return
        if text:
            yield Part("item", _read(text, number))


def _whole(first: str, source: Iterator[str]) -> str:
    lines, chars = [first], len(first)
    for line in source:
        lines.append(line)
        chars += len(line)
        if chars > EXPORT_WHOLE_CHARS_MAX:
            hint = "it is no export of a journal; or hand in the file as it was written, an entry a line"
            raise Invalid(f"it is laid out anew, and longer than {EXPORT_WHOLE_CHARS_MAX:,} characters", hint)
    return "".join(lines)


def _laid_out(whole: dict[str, Any]) -> Iterator[Part]:
    tail = {key: whole.pop(key, None) for key in ("count", "digest", "signature")}
    items: Any = whole.get("entries")
    yield Part("head", _head(whole))
    for item in cast("list[Any]", items) if isinstance(items, list) else ():
        if not isinstance(item, dict):
            raise Invalid("one of the entries is no object", DAMAGED)
        yield Part("item", cast("dict[str, Any]", item))
    yield Part("tail", tail)


def _read(text: str, line: int) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Invalid(f"line {line}: {error}", DAMAGED, line=line) from error
    except RecursionError:
        raise Invalid(f"line {line}: brackets are nested too deeply", DAMAGED, line=line) from None
    if not isinstance(found, dict):
        raise Invalid(f"line {line}: an object is expected", DAMAGED, line=line)
    return cast("dict[str, Any]", found)


def _head(found: dict[str, Any]) -> dict[str, Any]:
    found.pop("entries", None)
    if found.get("horae") != FORMAT or not isinstance(found.get("chains"), dict):
        raise Invalid("it is no export of a journal", f'one begins with {{"horae": "{FORMAT}", …')
    _formed({"key": "", "made_at": "", "made_by": "", **found}, HEAD_FORM, "its head")
    return found


def _formed(found: object, form: Mapping[str, tuple[type, ...]], name: str) -> dict[str, Any]:
    """The object, if it has all those keys and each is of its type. Whoever forged it is told no more than whoever broke it."""
    said = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    for key, kinds in form.items():
        value = said.get(key, ...)
        if type(value) not in kinds or (type(value) is int and not -INT_MAX <= value <= INT_MAX):
            expected = " or ".join(
                {"str": "a text", "int": "a number", "bool": "true or false"}.get(k.__name__, "null") for k in kinds
            )
            raise Invalid(f"{name} is not of the form that exports have: {key} must be {expected}", DAMAGED, key=key)
    return said


# ── checking


@dataclass(slots=True)
class Checked:
    """What an export turned out to be."""

    head: dict[str, Any]
    walks: dict[str, Walk] = field(default_factory=dict[str, Walk])
    unchained: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def heads(self) -> list[Memory]:
        """Where the chains stood when it was made, for comparing them with what they are now."""
        made = str(self.head.get("made_at"))
        try:
            at = to_us(datetime.fromisoformat(made))
        except (ValueError, TypeError):  # its signature tells that it was changed
            at = 0
        return remembered(self.head["chains"], f"the export of {made}", at)


def check_export(lines: Iterable[str], trusted: Collection[str], genuine: Genuine) -> Checked:
    """Walk the chains of an export and check its signature. Without `trusted` keys it is checked against its own."""
    found: Checked | None = None
    digest: Digest | None = None
    tail: dict[str, Any] | None = None
    count = 0
    reading: _Reading | None = None
    for kind, value in parts(lines):
        if kind == "head":
            found, digest = Checked(value), Digest(value)
            reading = _Reading(found, trusted or (str(value.get("key")),), genuine)
        elif kind == "tail":
            tail = value
        elif digest is not None and reading is not None:
            digest.take(value)
            reading.take(value)
            count += 1
    if found is None or digest is None or reading is None:
        raise Invalid("it is empty", "it is no export of a journal")
    reading.end()
    found.findings += _signature(found.head, tail, digest.text, count, trusted, genuine)
    return found


class _Reading:
    """The entries of an export, chain by chain."""

    def __init__(self, found: Checked, trusted: Collection[str], genuine: Genuine) -> None:
        self._found = found
        self._trusted = trusted
        self._genuine = genuine
        self._covers: dict[str, list[Marker]] = {}
        self._hashes: dict[tuple[str, int], str] | None = {} if len(found.head["chains"]) > 1 else None

    def take(self, item: dict[str, Any]) -> None:
        """One of `entries`."""
        if "pruned" in item:
            self._hole(_formed(item["pruned"], PRUNED_FORM, "a marker"), pruned=True)
        elif "left_out" in item:
            self._hole(_formed(item["left_out"], LEFT_OUT_FORM, "a part that was left out"), pruned=False)
        else:
            self._link(Link(*(_formed(item, LINK_FORM, "an entry")[key] for key in LINK_KEYS)))

    def end(self) -> None:
        """Behind the last of them: compare the chains with where they stood, and with what they say of one another."""
        for head in self._found.heads:
            self._walk(head.chain).end(Head(head.number, head.hash))
        for walk in self._found.walks.values():
            self._found.findings += walk.findings
        if self._hashes is not None:
            memories = [memory for walk in self._found.walks.values() for memory in walk.memories.values()]
            self._found.findings += check_memories(memories, self._found.walks, self._hash_at)

    def _link(self, link: Link) -> None:
        if link.chain == UNCHAINED:
            self._found.unchained += 1
            return
        self._walk(link.chain).take(link)
        self._know(link.chain, link.number, link.hash)

    def _hole(self, said: dict[str, Any], *, pruned: bool) -> None:
        chain, number, hash_ = said["chain"], said["number"], said["hash"]
        count = number - said["first"] + 1
        if pruned:
            marker = Marker(chain, number, hash_, count, said["at"], said["signer"], said["signature"])
            wrong = check_marker(marker, self._trusted, self._genuine)
            self._found.findings += [] if wrong is None else [wrong]
        else:
            marker = Marker(chain, number, hash_, count, 0, "", "")
        self._covers.setdefault(chain, []).append(marker)
        self._know(chain, number, hash_)

    def _hash_at(self, chain: str, number: int) -> str | None:
        return None if self._hashes is None else self._hashes.get((chain, number))

    def _know(self, chain: str, number: int, hash_: str | None) -> None:
        if self._hashes is not None and hash_ is not None:
            self._hashes[chain, number] = hash_

    def _walk(self, chain: str) -> Walk:
        def cover(number: int) -> Marker | None:
            known = self._covers.get(chain, [])
            while known and known[0].number < number:
                known.pop(0)
            return known[0] if known else None

        return self._found.walks.setdefault(chain, Walk(chain, cover, columns=False))


def _signature(
    head: Mapping[str, Any],
    tail: Mapping[str, Any] | None,
    digest: str,
    count: int,
    trusted: Collection[str],
    genuine: Genuine,
) -> list[Finding]:
    """Whether it is as it was signed, and by whom."""
    key = str(head.get("key"))
    if tail is None:
        text = "the file ends before its signature"
    elif tail.get("digest") != digest or tail.get("count") != count:
        text = "something in it was changed after it was signed: its digest is another"
    elif not genuine(key, signed(digest), str(tail.get("signature"))):
        text = "its signature is bad"
    elif trusted and key not in trusted:
        text = f"it is signed with a key that is not trusted here ({key})"
    else:
        return []
    return [Finding("signature", "", None, None, None, text)]
