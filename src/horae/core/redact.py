"""Secrets taken out of text before anybody keeps or sends it. Pure.

Two kinds are found:

1. *Known values*: those of `secrets.toml`, also as they look in base64, in hexadecimal, in a URL and in JSON. Values of
   fewer than six characters stay: they would be found in words that have nothing to do with them. Where two overlap,
   nothing of either is left.
2. *Shapes*: keys and tokens that can be recognised by how they begin, so that one is found too that nobody declared. A
   shape has a fixed beginning, which is looked for first: text without any costs a few searches and no more.

No expression here can be made to try twice what it has passed: each run of characters is bounded, or is taken whole. What
was done to a text is not undone by doing it again, and a text without a finding comes back as the same object.

This is a net and no wall: a program that wants to print a secret can always write it so that nobody recognises it.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import NamedTuple

KNOWN_CHARS_MIN = 6

_MARK = "[redacted]"


class Shape(NamedTuple):
    """Keys of one kind: what a text must contain for a look to be worth it, what they are, what takes their place."""

    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    instead: str = _MARK


def _key(prefix: str, rest: str, flags: int = 0) -> re.Pattern[str]:
    """A key that is not the end of a longer word. The look back stands behind the prefix, where it costs nothing."""
    return re.compile(f"{prefix}(?<![A-Za-z0-9]{prefix}){rest}", flags)


_URL_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PRIVATE = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_BREAK = r"(?:\s|\\[rn])*+"

SHAPES = (
    Shape(("sk-",), _key("sk-", r"(?=[A-Za-z_-]{0,100}[0-9])[A-Za-z0-9_-]{20,}+")),  # OpenAI, Anthropic and others
    Shape(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _key("gh[pousr]_", "[A-Za-z0-9]{20,}+")),
    Shape(("github_pat_",), _key("github_pat_", "[A-Za-z0-9_]{20,}+")),
    Shape(("AKIA",), _key("AKIA", "[A-Z0-9]{16}(?![A-Za-z0-9])")),
    Shape(("ASIA",), _key("ASIA", "[A-Z0-9]{16}(?![A-Za-z0-9])")),
    Shape(("xox",), _key("xox[abeoprs]-", "(?=[A-Za-z-]{0,100}[0-9])[A-Za-z0-9-]{10,}+")),  # Slack
    Shape(("AIza",), _key("AIza", "[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])")),  # Google
    Shape(
        ("eyJ",), re.compile(r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+")
    ),
    Shape(
        ("PRIVATE KEY",),
        re.compile(
            rf"-----BEGIN {_PRIVATE}"
            rf"(?:{_BREAK}(?:(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{{0,200}}|[A-Za-z0-9+/=]{{16,}}+))*+"
            rf"(?:{_BREAK}[A-Za-z0-9+/=]{{0,64}}+{_BREAK}-----END {_PRIVATE})?"
        ),
    ),
    Shape(
        ("uthorization", "UTHORIZATION"),
        re.compile(
            r"(authorization\\?[\"']?[ \t]{0,3}[:=,][ \t]{0,3}\\?[\"']?(?:bearer|basic|token)[ \t]{1,3})"
            r"[A-Za-z0-9._~+/=-]{8,}+",
            re.IGNORECASE,
        ),
        rf"\1{_MARK}",
    ),
    Shape(("://",), re.compile(r"(://[^\s/@:\"'<>]{0,100}+:)[^\s/@\"'<>]{1,200}+(?=@)"), rf"\1{_MARK}"),
)


class Redactor:
    """Takes out these secrets, and whatever looks like one."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        found: dict[str, str] = {}
        for name, value in sorted(secrets.items()):
            if len(value.strip()) >= KNOWN_CHARS_MIN:
                for form in _forms(value.strip()):
                    found.setdefault(form, name)
        self._known = sorted(found.items(), key=lambda item: -len(item[0]))

    def text(self, text: str) -> str:
        """The text without them."""
        text = self._without_known(text)
        for shape in SHAPES:
            if any(mark in text for mark in shape.marks):
                text = shape.pattern.sub(shape.instead, text)
        return text

    def data(self, data: bytes) -> bytes:
        """The same for bytes; those that are no text stay as they are."""
        before = data.decode("utf-8", "surrogateescape")
        after = self.text(before)
        return data if after is before else after.encode("utf-8", "surrogateescape")

    def _without_known(self, text: str) -> str:
        spans = sorted(
            (start, -len(form), name) for form, name in self._known if form in text for start in _places(form, text)
        )
        if not spans:
            return text
        parts: list[str] = []
        done = 0
        for start, length, name in spans:
            end = start - length
            if start >= done:
                parts.append(f"{text[done:start]}[redacted {name}]")
            done = max(done, end)
        parts.append(text[done:])
        return "".join(parts)


def _places(form: str, text: str) -> Iterator[int]:
    """Where it stands, also across itself."""
    at = text.find(form)
    while at >= 0:
        yield at
        at = text.find(form, at + 1)


def _forms(value: str) -> Iterator[str]:
    """How a value may be written. Each says most of it, so that none is found by chance."""
    yield value
    plain = value.encode("utf-8", "surrogatepass")
    yield plain.hex()
    for before in range(3):  # in base64 a value looks different with what stands before it, as in `user:password`
        text = b64encode(b"\0" * before + plain).decode()
        whole = text[(0, 2, 3)[before] : (before + len(plain)) * 8 // 6]
        yield whole
        yield whole.replace("+", "-").replace("/", "_")
    yield _in_url(plain)
    yield _in_url(plain).replace("%20", "+")
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]


def _in_url(plain: bytes) -> str:
    return "".join(chr(byte) if byte in _URL_PLAIN else f"%{byte:02X}" for byte in plain)
