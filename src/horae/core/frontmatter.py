"""The front matter of a job file as a small tree whose every node knows where it stands.

Only a part of YAML is read: one mapping whose values are text, lists of text, or a mapping of text. Anchors, aliases,
tags, merge keys and deeper nesting are refused as they arrive from the parser, before anything is built of them, so no
file can make itself larger than it is. Nothing is converted: YAML would make a date of `2026-12-24`, the number 1110 of
`18:30`, and True of `yes`; here a scalar is the text that stands there, and the key decides what it means.

Lines count from 1 in the whole file. Offsets count characters of the front matter, and are what edits are made with.

Why PyYAML's C parser for its events, and not ruamel.yaml: 100,000 files are read at a first start, and this takes a
fifteenth of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from horae import limits
from horae.errors import Invalid

NESTING_MAX = 3  # as deep as the deepest key goes; what is too deep elsewhere, the key's own reader says
PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a wheel without the C parser reads the same, more slowly

_QUOTE = "Put the value in quotes."
_OPENING = re.compile("\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_STRANGE = re.compile("\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_HALF = re.compile("[\ud800-\udfff]")
_KEY = re.compile(r"[\s?{,-]*[\"']?([A-Za-z_][\w-]*)[\"']?\s*:")
_BLOCK_SCALAR = re.compile(r"[|>][-0-9]*[+]")


class Parts(NamedTuple):
    """A file, cut in four; joined they are the file again. `front` is empty or ends with a line end."""

    opening: str
    front: str
    closing: str
    body: str


class Node:
    """A value and its place: `kind` is "text", "list" or "map"; `items` or `entries` hold what it contains."""

    __slots__ = (
        "end", "entries", "flow", "items", "key_end", "key_line", "key_start", "kind", "line", "start", "style", "text",
    )  # fmt: skip

    def __init__(self, kind: str, line: int, start: int, end: int) -> None:
        self.kind = kind
        self.line = line
        self.start = start
        self.end = end
        self.text = ""
        self.style: str | None = None
        """The quote or block sign of a text; None when it stands there plain."""
        self.flow = False
        """Whether a list or mapping is written in brackets."""
        self.items: list[Node] = []
        self.entries: dict[str, Node] = {}
        self.key_start = self.key_end = self.key_line = 0

    def value(self) -> object:
        """What it says, without where and how: for comparing two readings."""
        if self.kind == "text":
            return self.text, self.style is None
        if self.kind == "list":
            return [item.value() for item in self.items]
        return {key: node.value() for key, node in self.entries.items()}


def fault(file: str, line: int | None, key: str | None, says: str, expected: str, hint: str | None = None) -> Invalid:
    """The error for something in a file, ready to raise."""
    where = file if line is None else f"{file}, line {line}"
    return Invalid(f"{where}: {says}", hint, file=file, line=line, key=key, expected=expected)


def split(text: str, file: str) -> Parts:
    """Cut a file into its parts. Raises Invalid for what is too large, is no text, or has no closed front matter."""
    largest = limits.JOB_FILE_BYTES_MAX
    if len(text) > largest or len(text.encode("utf-8", "surrogatepass")) > largest:
        raise fault(file, None, None, f"is larger than {largest // 1024} KiB", f"at most {largest} bytes")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise fault(file, line, None, "contains a NUL byte; this is not a text file", "text")
    opening = _OPENING.match(text)
    if opening is None:
        raise fault(
            file, 1, None, "there is no front matter", "a first line ---",
            "A job file begins with a line ---, then the settings, then a second line ---, then the prompt.",
        )  # fmt: skip
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise fault(
            file, 1, None, "the front matter that begins here is not closed", "a second line ---",
            "Put a line --- between the settings and the prompt.",
        )  # fmt: skip
    return Parts(opening[0], text[opening.end() : closing.start()], closing[0], text[closing.end() :])


def parse(front: str, file: str) -> Node:
    """The front matter as a mapping node. Raises Invalid with the line for whatever is not the plain YAML above."""
    strange = _STRANGE.search(front)
    if strange is not None:
        line = front.count("\n", 0, strange.start()) + 2
        says = f"contains the character U+{ord(strange[0]):04X}, which cannot be seen"
        hint = "Delete it, or write it as an escape in double quotes."
        raise fault(file, line, None, says, "printable characters", hint)
    try:
        parser = PARSER(front)
        return _Tree(parser, front, file).root()
    except yaml.MarkedYAMLError as error:
        raise _in_plain_words(error, front, file) from None
    except yaml.reader.ReaderError as error:
        raise fault(file, None, None, f"is not YAML: {error.reason}", "YAML") from None


def plain_prompt(body: str, file: str, before: str = "") -> str:
    """A body as a prompt: one kind of line end, and no blank lines around it."""
    if not body.isascii():
        strange = _HALF.search(body)
        if strange is not None:
            line = (before + body[: strange.start()]).count("\n") + 1
            raise fault(file, line, "prompt", "the prompt contains half of a character", "text in UTF-8")
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return "\n".join(lines[first:last])


class _Tree:
    """Builds nodes from the parser's events, and refuses what has no place in a job file."""

    def __init__(self, parser: Any, front: str, file: str) -> None:
        self.events: Iterator[Any] = iter(parser.get_event, None)
        self.front = front
        self.file = file

    def root(self) -> Node:
        root: Node | None = None
        for event in self.events:
            kind: Any = event.__class__
            if kind is yaml.DocumentStartEvent:
                if event.explicit or root is not None:
                    self.refuse(event, None, "a second YAML document begins here", "one document", "Remove this line.")
            elif kind is yaml.MappingStartEvent:
                root = self.node(event, None, 0)
            elif kind is yaml.SequenceStartEvent or (kind is yaml.ScalarEvent and event.value):
                self.refuse(event, None, "the front matter is not made of lines `key: value`", "key: value")
        if root is None:
            root = Node("map", 2, len(self.front), len(self.front))
        return root

    def node(self, event: Any, key: str | None, depth: int) -> Node:
        kind: Any = event.__class__
        mark = event.start_mark
        if kind is yaml.AliasEvent or event.anchor is not None:
            self.alias(event, key)
        if event.tag is not None:
            self.refuse(event, key, f"the YAML tag {event.tag} is not allowed", "plain text", _QUOTE)
        if kind is yaml.ScalarEvent:
            node = Node("text", mark.line + 2, mark.index, event.end_mark.index)
            node.text = event.value
            node.style = event.style or None
            if node.style in ("|", ">"):
                self.trim(node)
            return node
        if depth == NESTING_MAX:
            self.refuse(event, key, f"`{key}` is nested too deeply", "text")
        if kind is yaml.SequenceStartEvent:
            node = Node("list", mark.line + 2, mark.index, 0)
            end = self.fill_list(node, key, depth)
        else:
            node = Node("map", mark.line + 2, mark.index, 0)
            end = self.fill_map(node, key, depth)
        node.flow = bool(event.flow_style)
        # A block collection ends for the parser where the next key begins; for an edit it ends with its last value.
        node.end = end.end_mark.index if node.flow else self.last_end(node)
        return node

    def fill_list(self, node: Node, key: str | None, depth: int) -> Any:
        for event in self.events:
            if type(event) is yaml.SequenceEndEvent:
                return event
            node.items.append(self.node(event, key, depth + 1))
        raise AssertionError("the parser ends every list")

    def fill_map(self, node: Node, outer: str | None, depth: int) -> Any:
        for event in self.events:
            if type(event) is yaml.MappingEndEvent:
                return event
            if type(event) is not yaml.ScalarEvent:
                if type(event) is yaml.AliasEvent:
                    self.alias(event, outer)
                self.refuse(event, outer, "a key must be one word", "key: value")
            name = self.node(event, outer, NESTING_MAX).text
            key = name if outer is None else f"{outer}.{name}"
            if name == "<<":
                self.refuse(event, key, "the merge key << is not allowed", "the keys themselves")
            if name in node.entries:
                first = node.entries[name].key_line
                says = f"`{key}` stands here a second time; the first is on line {first}"
                self.refuse(event, key, says, "each key once", "Remove one of the two lines.")
            child = self.node(next(self.events), key, depth + 1)
            assert event.start_mark is not None, "the parser marks where a key begins"
            assert event.end_mark is not None, "and where it ends"
            child.key_start = event.start_mark.index
            child.key_end = event.end_mark.index
            child.key_line = event.start_mark.line + 2
            node.entries[name] = child
        raise AssertionError("the parser ends every mapping")

    def last_end(self, node: Node) -> int:
        if node.kind == "list":
            return node.items[-1].end if node.items else node.start
        last = next(reversed(node.entries.values()), None)
        return node.start if last is None else last.end

    def trim(self, node: Node) -> None:
        """The blank lines below a block text are not part of it, unless its sign says so."""
        written = self.front[node.start : node.end]
        if not _BLOCK_SCALAR.match(written):
            node.end = node.start + len(written.rstrip())

    def alias(self, event: Any, key: str | None) -> None:
        mark = "*" if type(event) is yaml.AliasEvent else "&"
        says = f"`{mark}{event.anchor}` is a YAML {'alias' if mark == '*' else 'anchor'}, which is not allowed"
        self.refuse(event, key, says, "plain text", f"If the value really begins with {mark}, put it in quotes.")

    def refuse(self, event: Any, key: str | None, says: str, expected: str, hint: str | None = None) -> None:
        raise fault(self.file, event.start_mark.line + 2, key, says, expected, hint)


_WORDS = (
    # what the parser says, what it means, what was expected, what to do
    ("mapping values are not allowed", "a second `: ` in one value, or a line that is indented too far",
     "key: value", "Put a value that contains `: ` in quotes; begin every key in the same column."),
    ("unexpected end of stream", "a quote is opened and not closed", "a closing quote", None),
    ("unexpected document indicator", "a quote is opened and not closed", "a closing quote", None),
    ("expected ',' or ']'", "a list that begins with [ is not closed, or lacks a comma", "[a, b]", None),
    ("expected ',' or '}'", "a mapping that begins with { is not closed, or lacks a comma", "{a: b, c: d}", None),
    ("expected node content", "something in brackets is not closed, or is empty between two signs", "[a, b]", None),
    ("expected '-' indicator", "a list item and a key are mixed", "lines that all begin with -, or none", None),
    ("expected <block end>", "this line does not fit the indentation of the lines above", "key: value", None),
    ("expected key", "something stands behind a closed value, or this line does not fit the indentation of those above",
     "key: value", "Put the whole value in one pair of quotes; begin every key in the same column."),
    ("could not find expected ':'", "a line without a colon", "key: value", None),
    ("maximum nesting depth", "brackets are nested too deeply", "text", None),
    ("unknown escape character", "a backslash that means nothing inside double quotes", "a known escape",
     "Use single quotes, or write the backslash twice."),
    ("expected comment or line break", "something stands behind | or >", "nothing else on that line", _QUOTE),
)  # fmt: skip
_FROM_THE_START = (
    "quote",
    "list that",
    "mapping that",
    "without a colon",
)  # these are noticed far below the place where they are


def _in_plain_words(error: yaml.MarkedYAMLError, front: str, file: str) -> Invalid:
    """The parser's complaint, for someone who has never heard of flow sequences."""
    problem = error.problem or ""
    mark = error.problem_mark or error.context_mark
    says, expected, hint = f"is not YAML: {problem}", "YAML", None
    for heard, meaning, wanted, advice in _WORDS:
        if heard in problem:
            says, expected, hint = meaning, wanted, advice
            if error.context_mark is not None and any(word in meaning for word in _FROM_THE_START):
                mark = error.context_mark
            break
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    lines = front.split("\n")
    written = lines[line].rstrip() if line < len(lines) else ""
    named = _KEY.match(written)
    key = named[1] if named else None
    sign = written[column : column + 1]
    if "cannot start any token" in problem and sign == "\t":
        says, expected, hint = "a tab is used to indent", "spaces", "Use spaces."
    elif named and ("cannot start any token" in problem or "scanning an a" in (error.context or "")):
        value = written[named.end() :].strip()
        says, expected = f"a value that begins with {value[:1]} must be in quotes", "text in quotes"
        hint = f'Write {key}: "{value}"' if not set(value) & set('"\\#') else _QUOTE
    return fault(file, line + 2, key, f"{says} (column {column + 1})", expected, hint)
