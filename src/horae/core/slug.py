"""From a name to the name of a file: lower-case ASCII, safe in a shell, on every file system and in a URL.

And what other names look like that people give and files refer to: of calendars, groups and labels.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container

SLUG_CHARS_MAX = 60
FALLBACK = "job"

_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ŋ": "n"})
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)}
RESERVED = _DEVICES | {"readme", "license", "index"}  # files with a meaning of their own in a folder under git

NAMED = "lower-case letters, digits, - and _, at most 40"
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


NEW_SLUG = re.compile("[a-z0-9][a-z0-9._-]*")  # what a folder or a table takes as the name of a new job


def is_name(value: str) -> bool:
    """Whether a calendar, a group or a label may be called this."""
    return 0 < len(value) <= 40 and value[0] not in "-_" and _NAME_CHARS.issuperset(value)


def slug_of(name: str) -> str:
    """A slug for a name: `[a-z0-9-]`, never empty, at most SLUG_CHARS_MAX long, never one of RESERVED."""
    folded = unicodedata.normalize("NFKD", name.casefold()).casefold().translate(_LETTERS)
    kept = (c if c.isascii() and c.isalnum() else "" if unicodedata.combining(c) or c in "'’" else "-" for c in folded)
    words = [word for word in "".join(kept).split("-") if word]
    slug = "-".join(words)[:SLUG_CHARS_MAX].strip("-") or FALLBACK
    return f"{slug}-{FALLBACK}" if slug in RESERVED else slug


def unique_slug(slug: str, taken: Container[str]) -> str:
    """The slug, or the slug with the first free number from 2 on."""
    if slug not in taken:
        return slug
    number = 2
    while True:
        ending = f"-{number}"
        candidate = slug[: SLUG_CHARS_MAX - len(ending)].rstrip("-") + ending
        if candidate not in taken:
            return candidate
        number += 1
