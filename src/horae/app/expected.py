"""Whoever changes a file says which text was read, by its digest: somebody else's change in between is not lost."""

from __future__ import annotations

from hashlib import sha256

from horae.errors import Conflict


def digest(text: str) -> str:
    """Hex of SHA-256, of a text as it is in its file."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def refuse_other(text: str | None, expect: str | None, what: str) -> None:
    """Raises Conflict where another text is expected than the one that is there."""
    if expect is not None and (text is None or digest(text) != expect):
        there = None if text is None else digest(text)
        raise Conflict(f"{what} was changed meanwhile", "read it again, then change that", expected=expect, found=there)
