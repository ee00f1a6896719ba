"""A long text in parts that a service takes. Pure.

Sizes are counted in UTF-16 units, as the services do that count at all: never less than characters. A cut is made behind a
paragraph if that fills half of a part, else behind a line, else behind a word, else between two characters that a reader
sees as two. Only what is longer than a whole part all by itself, such as a thousand accents on one letter, is cut
anywhere.

`cuts` loses nothing: joined, its pieces are the text. `numbered` puts `(1/3)` before each, and closes a code block at the
end of one part to open it again in the next.
"""

from __future__ import annotations

import re
import unicodedata

FENCE_CHARS_MAX = 24  # of a line that opens a code block, to be repeated
SMALL = 120  # a part below this has no room for repeated fences

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)$", re.MULTILINE)


def size(text: str) -> int:
    """In UTF-16 units."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def cuts(text: str, limit: int) -> list[str]:
    """The text in pieces of at most that size (2 or more)."""
    if limit < 2:
        raise ValueError(f"a part of {limit} has no room for a character")
    pieces: list[str] = []
    at = 0
    while at < len(text):
        end = _furthest(text, at, limit)
        if end < len(text):
            end = _before(text, at, end)
        pieces.append(text[at:end])
        at = end
    return pieces


def numbered(text: str, limit: int, *, fences: bool = False) -> list[str]:
    """The text itself when it fits, else parts with their numbers, each of at most that size (20 or more)."""
    if size(text) <= limit:
        return [text]
    fences = fences and limit >= SMALL and _FENCE.search(text) is not None
    pieces: list[str] = []
    for digits in range(1, 8):
        room = limit - (2 * digits + 4) - (2 * FENCE_CHARS_MAX + 2 if fences else 0)
        pieces = cuts(text, max(2, room))
        if len(str(len(pieces))) <= digits:
            break
    if fences:
        pieces = _refenced(pieces)
    return [f"({number}/{len(pieces)})\n{piece}" for number, piece in enumerate(pieces, start=1)]


def shortened(text: str, limit: int, note: str) -> str:
    """As much of the beginning as fits with a note behind it, which says where the rest is."""
    if size(text) <= limit:
        return text
    room = limit - size(note) - 3
    return f"{cuts(text, room)[0].rstrip()}…\n\n{note}" if room >= 2 else cuts(note, max(2, limit))[0]


def _furthest(text: str, at: int, limit: int) -> int:
    end = min(len(text), at + limit)
    over = size(text[at:end]) - limit
    while over > 0:
        end -= 1
        over -= 2 if text[end] > "\uffff" else 1
    return end


def _before(text: str, at: int, end: int) -> int:
    """The best place for a cut, at `end` at the latest."""
    half = at + (end - at) // 2
    if (found := text.rfind("\n\n", half, end)) >= 0:
        return found + 2
    if (found := text.rfind("\n", half, end)) >= 0:
        return found + 1
    if (found := text.rfind(" ", at + 1, end)) >= 0:
        return _whole(text, at, found + 1)
    return _whole(text, at, end)


def _whole(text: str, at: int, end: int) -> int:
    """The last place up to `end` that is between two characters as a reader sees them; `end` if there is none."""
    place = end
    while place > at and _belongs(text, place):
        place -= 1
    return place if place > at else end


def _belongs(text: str, place: int) -> bool:
    """Whether what stands at that place is part of what stands before it."""
    if not 0 < place < len(text):
        return False
    char, before = text[place], text[place - 1]
    if before == "\r" and char == "\n":
        return True
    if char < "\u0300":
        return False
    if _is_flag(char) and _is_flag(before):
        first = place - 1
        while first > 0 and _is_flag(text[first - 1]):
            first -= 1
        return (place - first) % 2 == 1
    joins = "\u200d" in (char, before) or "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f"
    return joins or "\ufe00" <= char <= "\ufe0f" or unicodedata.category(char) in ("Mn", "Me", "Mc")


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _refenced(pieces: list[str]) -> list[str]:
    """A code block that is open where a piece ends is closed there and opened again in the next."""
    parts: list[str] = []
    opened = ""
    for piece in pieces:
        begun, opened = opened, _open_after(piece, opened)
        head = f"{begun}\n" if begun else ""
        foot = ("" if piece.endswith("\n") else "\n") + _marks(opened) if opened else ""
        parts.append(head + piece + foot)
    return parts


def _open_after(piece: str, opened: str) -> str:
    """The line that opened the block which is open behind the piece; empty when none is."""
    for found in _FENCE.finditer(piece):
        marks, info = found[1], found[2].strip()
        if not opened:
            line = f"{marks}{info}"
            opened = line if len(line) <= FENCE_CHARS_MAX else marks[:FENCE_CHARS_MAX]
        elif not info and marks[0] == opened[0] and len(marks) >= len(_marks(opened)):
            opened = ""
    return opened


def _marks(opened: str) -> str:
    return opened[: len(opened) - len(opened.lstrip(opened[0]))]
