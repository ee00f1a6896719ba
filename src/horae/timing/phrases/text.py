"""A text as tokens, and what a matcher knows about it so far."""

from __future__ import annotations

import re
from typing import Any

_TOKEN = re.compile(r"[0-9][^ ,;]*|[+-][0-9][^ ,;]*|[a-z]+|[^ ]")


class Text:
    """Tokens of a text in lower case, and what is known about them. `keys` hold what decides between alternatives."""

    __slots__ = ("expected", "furthest", "keys", "known", "source", "spans", "steps", "tokens", "tracing")

    def __init__(self, source: str, *, tracing: bool = False) -> None:
        self.source = source
        found = list(_TOKEN.finditer(source))
        self.tokens: list[str] = [match[0] for match in found]
        self.spans = [match.span() for match in found]
        self.keys = [key_of(token) for token in self.tokens]
        self.keys.append("")
        self.known: dict[tuple[object, int], list[tuple[int, Any]]] = {}
        self.steps = 0
        self.tracing = tracing
        self.furthest = 0
        self.expected: list[str] = []

    def between(self, start: int, end: int) -> str:
        """The source of the tokens [start, end)."""
        return self.source[self.spans[start][0] : self.spans[end - 1][1]] if end > start else ""

    def missed(self, at: int, what: str) -> None:
        """Remember what would have been accepted at this token, if no other way came further."""
        if at > self.furthest:
            self.furthest, self.expected = at, []
        if at == self.furthest and what not in self.expected:
            self.expected.append(what)


def key_of(token: str) -> str:
    """What decides between alternatives: of a word the word, of a number that it is one."""
    if token.isalpha():
        return token
    return "0" if token[0].isdigit() else token[0]
