"""What prompts, scripts, skills and commands must not hold: looked for at creation and before each run. Pure.

What is looked for comes in families (`core/guardfamilies.py`). Each finding has a severity: what is *definite*, and would be
carried out where it stands (`core/guardplaces.py`), refuses; the rest warns. These are speed bumps. What is hidden on
purpose, in a variable or an encoding, is not found: the wall against that is what a run is allowed to do.

Comments of code do not count. In what an agent reads, words count as they read without the characters that nobody sees; such
characters themselves are found in what a person wrote, with their numbers and places.

Each text is looked at once, in time that grows with its length and nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from horae.core.guardcommands import Hit
from horae.core.guardfamilies import DEEDS, DISGUISED, DOES, INVISIBLE, PHRASES, Family, Severity, Where
from horae.core.guardphrases import is_quoted, places
from horae.core.guardplaces import Piece, code_pieces, is_mentioned, place_of, plain, prose_pieces
from horae.core.text import one_line
from horae.core.unseen import MILD, Unseen, unseen, without_unseen

FINDINGS_MAX = 3  # of one family in a text, and of those that refuse: whoever mends one sees the next
FOUND_CHARS = 80

SHELL_SIGNS = ("xargs", "$(")  # nobody writes these in a sentence
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Finding(NamedTuple):
    """One such place."""

    family: str
    line: int
    """From 1 on."""
    found: str
    """The words, on one line."""
    severity: Severity = "refuse"


def findings(text: str) -> tuple[Finding, ...]:
    """What refuses a script or a command, in the order of its lines."""
    return tuple(item for item in scan(text, "script") if item.severity == "refuse")[:FINDINGS_MAX]


def scan(text: str, where: Where) -> tuple[Finding, ...]:
    """All that a text holds, in the order of its lines, what refuses first."""
    found = [*_unseen(text, where)]
    read = text if where in ("script", "command") else _as_read(text)
    found += _deeds(plain(read), where)
    if where in ("prompt", "skill", "data"):
        found += _phrases(text, read, where)
    return tuple(sorted(found, key=lambda item: (item.severity != "refuse", item.line)))


def refusal(item: Finding, where: str, way: str) -> str:
    """The reason against it, for preflight: `where` it stands, and the `way` round."""
    return f"{where}: `{item.found}` {DOES[item.family]}; {way}"


def warning_words(item: Finding, where: str) -> str:
    """The same as a notice."""
    return f"{where}, line {item.line}: `{item.found}` {DOES[item.family]} ({item.family})"


def _as_read(text: str) -> str:
    """As an agent reads it: without what is not seen, and with letters of other forms as usual ones."""
    if text.isascii():
        return text if text.isprintable() else without_unseen(text)
    return unicodedata.normalize("NFKC", without_unseen(text))


def _deeds(text: str, where: Where) -> Iterator[Finding]:
    low = text.replace("\\\r\n", "").replace("\\\n", "").lower()
    families = [f for f in DEEDS if where in f.severity and any(mark in low for mark in f.marks)]
    told: dict[tuple[str, Severity], int] = {}
    marks = _any_of(tuple(mark for family in families for mark in family.marks if mark in low))
    cut = code_pieces if where in ("script", "command") else prose_pieces
    for piece in cut(text, marks) if families else ():
        low = piece.text.lower()
        for family in families:
            if not any(mark in low for mark in family.marks) or told.get((family.name, "refuse"), 0) >= FINDINGS_MAX:
                continue
            hit = family.look(piece.text, tight=piece.kind == "prose" and not any(sign in low for sign in SHELL_SIGNS))
            severity = None if hit is None else _severity(piece, hit, family, where)
            if hit is None or severity is None:
                continue
            count = told[family.name, severity] = told.get((family.name, severity), 0) + 1
            if count <= FINDINGS_MAX:
                yield Finding(family.name, piece.line, one_line(hit.found, FOUND_CHARS), severity)


@lru_cache(256)
def _any_of(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, marks)))


def _severity(piece: Piece, hit: Hit, family: Family, where: Where) -> Severity | None:
    """What a hit does where it stands; None: it is no command there."""
    if hit.said:
        told = is_mentioned(piece.before + piece.text[: hit.start]) or is_quoted(piece.text, hit.start)
        severity: Severity = "warn" if told else family.severity[where]
    else:
        place = place_of(piece, hit.start, hit.end)
        if place == "prose":
            return None
        severity = "warn" if place == "mentioned" else family.severity[where]
    if not hit.definite:
        return "warn" if where in ("prompt", "skill", "data") else None
    return severity


def _phrases(text: str, read: str, where: Where) -> Iterator[Finding]:
    low = read.lower()
    plainly = text.lower() if read is not text else low
    for family in PHRASES:
        found = places(low, family.phrase, FINDINGS_MAX)
        open_ones = len(found) if plainly is low else len(places(plainly, family.phrase, FINDINGS_MAX))
        for number, (start, end) in enumerate(found):
            if where == "prompt" and is_quoted(low, start):
                continue  # it is about such a text
            line = low.count("\n", 0, start) + 1
            shown = one_line(low[start:end], FOUND_CHARS)
            if number >= open_ones and where != "data":
                yield Finding(DISGUISED, line, shown, "refuse")
            else:
                yield Finding(family.name, line, shown, "warn")


def _unseen(text: str, where: Where) -> Iterator[Finding]:
    told: dict[Severity, int] = {}
    for item in unseen(text):
        if where in ("script", "command") and item.char not in _TURNS:
            continue  # programs print colours
        severity: Severity = "refuse" if where == "prompt" and item.char not in MILD else "warn"
        count = told[severity] = told.get(severity, 0) + 1
        if count <= FINDINGS_MAX:
            yield _unseen_finding(text, item, severity)


def _unseen_finding(text: str, item: Unseen, severity: Severity) -> Finding:
    line = text.count("\n", 0, item.at) + 1
    column = item.at - (text.rfind("\n", 0, item.at) + 1) + 1
    return Finding(INVISIBLE, line, f"{item.words}, character {column}", severity)
