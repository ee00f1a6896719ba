"""Values of settings that are tables: for each form what is understood, and what is said otherwise.

Errors name the key in full (`quiet.digest`); whoever reads the file puts its name before it. No error shows a value that
may be a secret, so none shows what is not understood unless its form is harmless.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from horae.core.text import one_line
from horae.errors import Invalid
from horae.timing.durations import duration_words, parse_duration

BARE = re.compile(r"[A-Za-z0-9_-]+")
KEY_CHARS_MAX = 80


def wrong(key: str, says: str, hint: str | None = None) -> Invalid:
    """The error for a key."""
    return Invalid(says, hint, key=key)


def key_of(table: str, name: str) -> str:
    """A key as it stands in the file, or nearly."""
    shown = one_line(name, KEY_CHARS_MAX)
    return f"{table}.{shown}" if BARE.fullmatch(shown) else f'{table}."{shown}"'


def table(key: str, value: object, known: Iterable[str] | None, hint: str) -> Mapping[str, Any]:
    """A table, with known keys only."""
    if not isinstance(value, Mapping):
        raise wrong(key, "must be a table", hint)
    found = cast("Mapping[str, Any]", value)
    keys = None if known is None else list(known)
    for name in found if keys is not None else ():
        if name not in (keys or ()):
            near = difflib.get_close_matches(name[:KEY_CHARS_MAX], keys or (), 1)
            hint = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(keys or ())}"
            raise wrong(key_of(key, name), "is not a key of this table", hint)
    return found


def text(key: str, value: object, expected: str) -> str:
    """One text, without blanks around it."""
    if not isinstance(value, str):
        raise wrong(key, f"must be {expected}", "write it in quotes")
    if not value.strip():
        raise wrong(key, "is empty", f"write {expected}, or leave it out")
    return value.strip()


def flag(key: str, value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise wrong(key, "must be true or false", "without quotes")
    return value


def whole(key: str, value: object, least: int, most: int) -> int:
    """A whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise wrong(key, f"must be a whole number from {least} to {most}")
    return value


def duration(key: str, value: object, least_s: int, most_s: int) -> float:
    """Seconds, within bounds."""
    given = text(key, value, "a duration such as 30s")
    try:
        seconds = parse_duration(given)
    except Invalid as error:
        raise wrong(key, error.message, error.hint) from error
    if not least_s <= seconds <= most_s:
        raise wrong(key, f"must be from {duration_words(least_s)} to {duration_words(most_s)}, not {given[:40]}")
    return float(seconds)


def targets(key: str, value: object, most: int) -> tuple[str, ...]:
    """Targets: a text with commas between them, or a list of texts."""
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    if not all(isinstance(item, str) for item in items):
        raise wrong(key, "must be a target, or a list of targets", f'write {key} = ["telegram", "mail"]')
    found = [part.strip() for item in items for part in str(item).split(",")]
    if not found or not all(found):
        raise wrong(key, "names no target", "write one, for example local, or leave it out")
    if len(found) > most:
        raise wrong(key, f"names more than {most} targets")
    return tuple(dict.fromkeys(found))
