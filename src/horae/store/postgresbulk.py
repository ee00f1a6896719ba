"""Many rows for one statement, sent as one: the values travel as arrays, a column each, and the server joins them.

    INSERT INTO run (id, token, state) VALUES (?, ?, 'claimed')
        → INSERT INTO run (id, token, state) SELECT u.p0, u.p1, 'claimed' FROM unnest(…, …) AS u (p0, p1) WHERE true
    UPDATE run SET state = ? WHERE id = ? AND token = ?
        → UPDATE run SET state = u.p0 FROM unnest(…, …, …) AS u (p0, p1, p2) WHERE id = u.p1 AND token = u.p2

Row by row a burst would spend its time on messages. Of which kind each value is the server says itself, once for each
statement. What does not look like one of the two is sent row by row, and so are updates that would meet a row twice, of
which the order counts.

Pure, but for what the server is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

INSERT = re.compile(r"\s*INSERT INTO (\w+) \(([^()]*)\) VALUES \((.*?)\)\s*(ON CONFLICT .*|RETURNING .*)?$", re.DOTALL)
UPDATE = re.compile(r"\s*UPDATE (\w+) SET (.*)$", re.DOTALL)
TOKEN = re.compile(r"'(?:[^']|'')*'|\(|\)|\?|\bWHERE\b")
KEY = re.compile(r"\b(?:id|key|run_id) = \?")
NUL = "\0"


class Bulk(NamedTuple):
    """A statement over arrays. `keys`: the places of values that name a row, of which none may come twice."""

    before: str
    after: str
    keys: tuple[int, ...]
    counted: int

    def over(self, types: Sequence[str]) -> str:
        """The statement, with a mark for each array."""
        arrays = ", ".join(f"?::{kind}[]" for kind in types)
        names = ", ".join(f"p{place}" for place in range(self.counted))
        return f"{self.before} FROM unnest({arrays}) AS u ({names}) {self.after}"


def bulk(sql: str) -> Bulk | None:
    """The same for many rows; None for a statement of another form."""
    if found := INSERT.fullmatch(sql):
        table, columns, values, rest = found.groups()
        values, counted = _numbered(values, 0)
        return Bulk(f"INSERT INTO {table} ({columns}) SELECT {values}", f"WHERE true {rest or ''}", (), counted)
    if found := UPDATE.fullmatch(sql):
        table, rest = found.groups()
        place = _where(rest)
        if place is None:
            return None
        changes, counted = _numbered(rest[:place], 0)
        condition, total = _numbered(rest[place:], counted)
        marks_before = [found.start() for found in TOKEN.finditer(rest[place:]) if found[0] == "?"]
        keys = [marks_before.index(found.end() - 1) + counted for found in KEY.finditer(rest[place:])]
        return Bulk(f"UPDATE {table} SET {changes}", condition, tuple(keys), total) if keys else None
    return None


def _where(text: str) -> int | None:
    """Where the condition of an update begins: the first WHERE outside all parentheses."""
    depth = 0
    for found in TOKEN.finditer(text):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if found[0] == "WHERE" and depth == 0:
            return found.start()
    return None


def _numbered(text: str, first: int, name: str = "u.p") -> tuple[str, int]:
    """Marks become columns of `u`; returns the number that comes next."""
    numbers = count(first)
    told = TOKEN.sub(lambda found: f"{name}{next(numbers)}" if found[0] == "?" else found[0], text)
    return told, next(numbers)


def counted(sql: str) -> str:
    """The statement with marks as the server itself has them: `$1` and so on."""
    return _numbered(sql, 1, "$")[0]


def distinct(rows: Sequence[Sequence[object]], keys: tuple[int, ...]) -> bool:
    """Whether no two rows name the same one."""
    return all(len({row[place] for row in rows}) == len(rows) for place in keys[:1])


def array(values: Sequence[object]) -> str:
    """An array as the server reads it: whole numbers and truth as numbers, everything else as quoted text."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return "{" + ",".join(map(str, values)) + "}"
    if kinds == {str}:
        text = NUL.join(map(str, values))
        if text.count(NUL) == len(values) - 1:  # a whole column at once, if no value holds what keeps them apart
            return '{"' + _quoted(text).replace(NUL, '","') + '"}'
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: object) -> str:
    if value is None:
        return "NULL"
    return str(int(value)) if isinstance(value, int) else f'"{_quoted(str(value))}"'


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
