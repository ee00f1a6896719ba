"""Where in a text a command is said, and whether it is meant to be carried out there. Pure.

In a script or a command all is code. In a prompt or a skill, which are prose, a command counts where it would be carried out
by whoever obeys the text:

- in a fenced block of code,
- in inline code or in a sentence, directly behind a word that orders it ("then run X", "use `X`", "do this: X"),
- where it is a line, a sentence or a span of code by itself.

A sentence that asks or tells *about* it ("remind me to run X", "never run X", "what does `X` do?") mentions it, and so does
inline code in the midst of a sentence. In prose without any such word there is no command at all: "restart the gateway",
"the horae service". What is read wrongly here is warned about at worst; the wall is what a run may do.

Every text is cut once, from left to right; what is looked at around a command is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

SPANS_MAX = 200  # of inline code in a sentence
BEFORE_CHARS = 200  # of a sentence, in front of a command

_COMMENT = re.compile(r"^\s*#.*$|\s#(?:\s.*)?$")
_FENCE = re.compile(r"\s{0,8}(`{3,}|~{3,})")
_SPAN = re.compile(r"`([^`]+)`")
_SENTENCE_END = re.compile(r"[.;!?](?=\s)")
_WORD_ALONE = re.compile(r"""\s*["'][^"'\s]*["'],?\s*[\])]*[,;]?\s*""")
_JOINED = re.compile(r"""["'][ \t]{0,8}[+.][ \t]{0,8}["']|(?<=\w)(?:''|"")(?=\w)""")

_ORDERS = (
    "run|rerun|execute|call|type|use|issue|invoke|perform|launch|start|do|try|enter|running|executing|calling|using|"
    "with|via|by"
)
_GLUE = (
    "the|this|that|these|a|following|commands?|line|it|on|the|host|server|machine|shell|terminal|as|root|sudo|now|then|again|"
    "simply|just|please|once|first|immediately|afterwards|exactly|in|bash|exec|nohup|doas"
)
_ORDERED = re.compile(
    rf"(?<!\w)(?:{_ORDERS})(?:[\s,:\"'*_(-]{{1,8}}(?:{_GLUE})){{0,8}}[\s,:\"'*_(-]{{0,8}}\Z", re.IGNORECASE
)
_BARE = re.compile(
    r"[\s>*+$#\"'(-]{0,12}(?:\d{1,3}[.)]\s{0,4})?(?:(?:please|then|now|and|also|first|finally|next|afterwards|sudo|doas|exec|nohup|time|env)"
    r"[\s,:]{1,4}){0,6}[\"'(]?\Z",
    re.IGNORECASE,
)
_MENTIONED = re.compile(
    r"(?<!\w)(?:remind|explain|describe|summari[sz]e|what|why|how|whether|document|mention|mentions|quote|titled?|called|paper|"
    r"article|tell\s+me|warn|ask|suggest|instead\s+of|rather\s+than|should\s+i|meaning\s+of)(?!\w)",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:(?<!\w)(?:not|never|avoid|without|cannot|nobody)|n['’]t)\W{1,8}(?:\w{1,20}\W{1,8}){0,3}\Z", re.IGNORECASE
)
_BEHIND = re.compile(r"\s{0,8}(?:\Z|[.;,!?)|&>#\"'*_-])")

Place = Literal["code", "ordered", "mentioned", "prose"]


class Piece(NamedTuple):
    """A part of a text in which commands are looked for."""

    line: int
    """From 1 on."""
    text: str
    kind: Literal["code", "span", "prose"]
    before: str = ""
    """Of its sentence; of a block of code the last words in front of it."""
    after: str = ""


def code_pieces(text: str, marks: re.Pattern[str]) -> Iterator[Piece]:
    """The lines of a program: without comments, and joined where a backslash or a list of words says that they go on.

    Only those with one of the marks.
    """
    for number, line in _lines(text):
        if marks.search(line.lower()):
            yield Piece(number, line, "code")


def prose_pieces(text: str, marks: re.Pattern[str]) -> Iterator[Piece]:
    """Of a text that people write: blocks of code by line, and sentences with what is code in them. Only lines with a mark."""
    fence, lead = "", ""
    for number, line in _continued(text):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
        elif fence:
            if marks.search(line.lower()):
                yield Piece(number, _COMMENT.sub("", line), "code", lead)
        elif line.strip():
            if marks.search(line.lower()):
                yield from _sentences(number, line)
            lead = line[-BEFORE_CHARS:]


def place_of(piece: Piece, start: int, end: int) -> Place:
    """How the command is meant that stands there in a piece."""
    if piece.kind == "code":
        return "mentioned" if piece.before and _DENIED.search(piece.before) else "code"
    if piece.kind == "span":
        before, after = piece.before, piece.after
    else:
        before, after = piece.text[max(0, start - BEFORE_CHARS) : start], piece.text[end : end + 16]
    before = before[-BEFORE_CHARS:]
    ordered = _ORDERED.search(before)
    if _MENTIONED.search(before) or _DENIED.search(before):
        return "mentioned" if piece.kind == "span" or ordered else "prose"
    if ordered or before.rstrip().endswith((":", "|", "&&")):
        return "ordered"
    if _BARE.fullmatch(before) and _BEHIND.match(after):
        return "ordered"
    return "mentioned" if piece.kind == "span" else "prose"


def is_mentioned(before: str) -> bool:
    """Whether a sentence that begins like this asks or tells about something, or forbids it."""
    before = before[-BEFORE_CHARS:]
    return _MENTIONED.search(before) is not None or _DENIED.search(before) is not None


def plain(text: str) -> str:
    """A text in which words that are put together of quoted parts are one word. Its lines stay."""
    return _JOINED.sub("", text) if "'" in text or '"' in text else text


def _sentences(number: int, line: str) -> Iterator[Piece]:
    begin = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(line)), len(line)]:
        sentence = line[begin:end]
        if "`" in sentence:
            for span in islice(_SPAN.finditer(sentence), SPANS_MAX):
                first, last = span.span()
                yield Piece(
                    number,
                    span[1],
                    "span",
                    sentence[max(0, first - BEFORE_CHARS) : first],
                    sentence[last : last + 16],
                )
            sentence = _SPAN.sub("`", sentence)
        if sentence.strip():
            yield Piece(number, sentence, "prose")
        begin = end


def _continued(text: str) -> Iterator[tuple[int, str]]:
    """Lines, joined where a backslash at the end says that they go on."""
    first, parts = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        goes_on = line.rstrip("\r").endswith("\\")
        if not parts:
            first = number
        parts.append(line.rstrip("\r")[:-1] if goes_on else line.rstrip("\r"))
        if not goes_on:
            yield first, "".join(parts)
            parts = []
    if parts:
        yield first, "".join(parts)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The same of code. A list that has one quoted word on each line is one line, as if it had been written so."""
    first, parts, in_list = 0, list[str](), False
    for number, line in enumerate(text.split("\n"), 1):
        goes_on = line.rstrip("\r").endswith("\\")
        said = _COMMENT.sub("", line.rstrip("\r"))
        if in_list and not _WORD_ALONE.fullmatch(said):
            if not said.strip(" \t,;])"):  # what closes it
                continue
            yield first, "".join(parts)
            parts, in_list = [], False
        if not parts:
            first = number
        parts.append(said[:-1] if goes_on and said.endswith("\\") else said)
        in_list = in_list or said.rstrip().endswith(("[", "("))
        if not goes_on and not in_list:
            yield first, "".join(parts)
            parts = []
    if parts:
        yield first, "".join(parts)
