"""Chains of made-up entries, and keys that sign without any cryptography."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from horae.core.chain import Finding, Head, Link, Marker, Walk, drawn_out, hash_of

AT = 1_780_000_000_000_000


class PlainKey:
    """A key pair whose signatures anybody could make: what is tested is what is signed, and who is asked."""

    def __init__(self, name: str = "plain:one") -> None:
        self.public = name
        self.path = "/h/state/audit.key"
        self.known: str | None = name

    def sign(self, data: bytes) -> str:
        return sha256(self.public.encode() + data).hexdigest()

    @staticmethod
    def genuine(public: str, data: bytes, signature: str) -> bool:
        return signature == PlainKey(public).sign(data)


def chained(count: int, chain: str = "home", details: dict[int, dict[str, Any]] | None = None) -> list[Link]:
    """Entries 1 to `count`. `details` replaces what some of them say; `what` in it is the entry's word."""
    links: list[Link] = []
    previous = ""
    for number in range(1, count + 1):
        detail = dict((details or {}).get(number, {"attempt": 1, "late_s": 0.25}))
        what = detail.pop("what", "claimed")
        link = Link(
            number + 100, AT + number * 1_000_000, "gateway", what, "job", f"key{number}", "run",
            json.dumps(detail), chain, number, None, *drawn_out(what, detail),
        )  # fmt: skip
        previous = hash_of(link, previous)
        links.append(link._replace(hash=previous))
    return links


def head_of(links: Sequence[Link]) -> Head:
    return Head(links[-1].number, str(links[-1].hash))


def marker_of(links: Sequence[Link], first: int, last: int, key: PlainKey | None = None) -> Marker:
    """Says that those entries of a chain were pruned."""
    key = key or PlainKey()
    link = links[last - 1]
    plain = Marker(link.chain, last, str(link.hash), last - first + 1, AT, key.public, "")
    return replace(plain, signature=key.sign(plain.signed))


def walked(links: Iterable[Link], head: Head | None, markers: Sequence[Marker] = (), chain: str = "home") -> Walk:
    """A chain from end to end."""
    walk = Walk(chain, cover_of(markers))
    for link in sorted(links, key=lambda link: link.number):
        walk.take(link)
    walk.end(head)
    return walk


def cover_of(markers: Sequence[Marker]) -> Callable[[int], Marker | None]:
    ordered = sorted(markers, key=lambda marker: marker.number)
    return lambda number: next((marker for marker in ordered if marker.number >= number), None)


def told(findings: Iterable[Finding]) -> list[tuple[str, int | None]]:
    return [(found.what, found.number) for found in findings]
