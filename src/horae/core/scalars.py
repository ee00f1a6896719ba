"""Writing YAML values on one line: plain where every YAML reader would see the same text, in quotes otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TypeAlias, cast

from horae.errors import Invalid

Written: TypeAlias = "bool | int | Decimal | str | list[str] | dict[str, Written]"
"""What can stand behind a key."""

_PLAIN = re.compile(r"[^\W_][^\\\"]*|[_/.][\w/.-]*")
_BREAKS_BLOCK = re.compile(r": |:$| #|\s$")
_BREAKS_FLOW = re.compile(r"[\[\]{},]|: |:$| #|\s$")
# What another YAML reader would take for a number, a date or a truth value is quoted, though ours would not be misled.
_TYPED = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)(?:e[-+]?[0-9]+)?|0[xob][0-9a-f_]+"
    r"|[-+]?[0-9]+(?::[0-9]+)+(?:\.[0-9]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t ].*)?"
    r"|[-+]?\.(?:inf|nan)|true|false|yes|no|on|off|y|n|null",
    re.IGNORECASE,
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def render(value: Written, *, flow: bool = False) -> str:
    """A text, number, truth value, list or mapping on one line. `flow` says that it will stand inside brackets."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        breaks = _BREAKS_FLOW if flow else _BREAKS_BLOCK
        plain = value.isprintable() and _PLAIN.fullmatch(value) and not breaks.search(value)
        return value if plain and not _TYPED.fullmatch(value) else quoted(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {render(item, flow=True)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(render(item, flow=True) for item in value) + "]"
    return str(value) if isinstance(value, int) else format(value, "f")


def written_duration(seconds: int) -> str:
    """In the largest unit that leaves no rest: 20m, 90s, 2h."""
    size, unit = next((size, unit) for size, unit in ((3600, "h"), (60, "m"), (1, "s")) if seconds % size == 0)
    return f"{seconds // size}{unit}"


def written_texts(key: str, value: object) -> list[str]:
    """A list of texts, or one text with commas or plus signs between them, as a list. Raises Invalid."""
    items = re.split(r"[,+]", value) if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise Invalid(f"`{key}` cannot be written as {value!r}", key=key, expected="a list of texts")
    texts = [item.strip() for item in cast("Sequence[object]", items) if isinstance(item, str)]
    if len(texts) < len(cast("Sequence[object]", items)):
        raise Invalid(f"`{key}` cannot be written as {value!r}", key=key, expected="a list of texts")
    return texts


def quoted(value: str, style: str = '"') -> str:
    """A text in quotes: single ones if they are asked for and can hold it, double ones with escapes otherwise."""
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(c if c.isprintable() and c not in '\\"' else _escape(c) for c in value) + '"'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
