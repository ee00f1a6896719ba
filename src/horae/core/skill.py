"""Skills: texts that tell an agent how something is done, in the common form of a folder with a SKILL.md. Pure.

SKILL.md has front matter between two lines `---`, then the text. Of the front matter only a name, a description and what the
skill needs is read, in each form that is in use:

    requires: {env: [A], commands: [git], tools: [web], secrets: [KEY]}
    prerequisites: {env_vars: [A], commands: [git]}
    allowed-tools: Read, Bash(git:*)

The last one names tools of other products: those that have an equal here are *wishes*, which warn and never block. Keys that
are not known are left alone, however deep they are; anchors and aliases are refused, so that no file can make itself larger
than it is. Nothing is converted: a value is the text that stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import yaml

from horae.core.frontmatter import PARSER, fault
from horae.core.guard import Finding
from horae.core.text import one_line
from horae.core.unseen import unseen
from horae.errors import Invalid
from horae.limits import NAMES_MAX, SKILL_TEXT_BYTES_MAX

FILE = "SKILL.md"
DEPTH_MAX, NODES_MAX = 20, 2000  # of front matter
DESCRIPTION_CHARS_MAX = 1024
NAMED = "lower-case letters, digits, - and _, at most 64"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_COMMAND = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_TOOLSET = re.compile(r"[a-z][a-z0-9_-]{0,63}(?::[A-Za-z0-9_.-]{1,64})?")
_OPENING = re.compile("\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
EQUALS = {
    "files": ("Read", "Write", "Edit", "MultiEdit", "Glob", "Grep", "LS", "read_file", "write_file", "files", "file"),
    "shell": ("Bash", "Shell", "terminal", "execute", "shell"),
    "web": ("WebFetch", "WebSearch", "web", "fetch", "browser"),
    "memory": ("memory",),
}
"""By toolset: what other products call tools of that kind."""

_TOOLSETS = {name.lower(): toolset for toolset, names in EQUALS.items() for name in names}


@dataclass(frozen=True, slots=True)
class Needs:
    """What a skill cannot do without; `wishes` are toolsets that it speaks of."""

    env: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skill:
    """What a SKILL.md says."""

    name: str
    description: str
    needs: Needs
    body: str
    others: tuple[str, ...] = ()
    """Keys that mean nothing here."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A skill with its folder, as it was read."""

    name: str
    """The folder's."""
    skill: Skill
    folder: str
    sha256: str
    """Of all paths and contents."""
    files: tuple[tuple[str, int], ...]
    """Path and bytes, sorted."""
    found: tuple[tuple[str, Finding], ...] = ()
    """By file: what the guards find."""


def is_skill_name(name: str) -> bool:
    """Whether a skill's folder may be called this."""
    return _NAME.fullmatch(name) is not None


def parse(text: str, file: str, default_name: str) -> Skill:
    """Read a SKILL.md. Raises Invalid with file and line."""
    if len(text.encode("utf-8", "surrogatepass")) > SKILL_TEXT_BYTES_MAX:
        says = f"is larger than {SKILL_TEXT_BYTES_MAX // 1024} KiB"
        raise fault(
            file, None, None, says, f"at most {SKILL_TEXT_BYTES_MAX} bytes", "Put what is long into files beside it."
        )
    if "\0" in text:
        raise fault(
            file, text.count("\n", 0, text.index("\0")) + 1, None, "contains a NUL byte; this is no text", "text"
        )
    opening = _OPENING.match(text)
    if opening is None:
        raise fault(
            file, 1, None, "there is no front matter", "a first line ---", "Begin it with ---, name, description, ---."
        )
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise fault(file, 1, None, "the front matter that begins here is not closed", "a second line ---")
    values, lines = _read(text[opening.end() : closing.start()], file)
    name = _text(values, lines, "name", file) or default_name
    if not is_skill_name(name):
        raise fault(file, lines.get("name"), "name", f"`name` is {one_line(name, 80)!r}", NAMED, f"A name has {NAMED}.")
    description = _text(values, lines, "description", file)
    if not description:
        raise fault(file, lines.get("description", 1), "description", "there is no `description`", "a sentence")
    if len(description) > DESCRIPTION_CHARS_MAX:
        says = f"`description` has more than {DESCRIPTION_CHARS_MAX} characters"
        raise fault(file, lines["description"], "description", says, "a sentence or two")
    known = ("name", "description", "requires", "prerequisites", "allowed-tools")
    others = tuple(key for key in values if key not in known)
    return Skill(name, description, _needs(values, lines, file), text[closing.end() :].strip(), others)


def _needs(values: Mapping[str, Any], lines: Mapping[str, int], file: str) -> Needs:
    def taken(form: re.Pattern[str], *places: tuple[str, str]) -> tuple[str, ...]:
        found: list[str] = []
        for outer, key in places:
            group = _mapping(values, lines, outer, file)
            found += _names(group.get(key), f"{outer}.{key}", lines.get(outer, 1), file, form)
        return tuple(dict.fromkeys(found))

    return Needs(
        env=taken(_VARIABLE, ("requires", "env"), ("prerequisites", "env_vars")),
        commands=taken(_COMMAND, ("requires", "commands"), ("prerequisites", "commands")),
        tools=taken(_TOOLSET, ("requires", "tools")),
        secrets=taken(_VARIABLE, ("requires", "secrets")),
        wishes=_wishes(values.get("allowed-tools")),
    )


def _wishes(value: Any) -> tuple[str, ...]:
    """The toolsets here that are like the tools that are named."""
    words = cast("list[Any]", value) if isinstance(value, list) else [value]
    parts = [
        part for word in words if isinstance(word, str) for part in re.split(r"[,\s]+", re.sub(r"\([^)]*\)", "", word))
    ]
    return tuple(dict.fromkeys(_TOOLSETS[part.lower()] for part in parts if part.lower() in _TOOLSETS))


def _names(value: Any, key: str, line: int, file: str, form: re.Pattern[str]) -> Iterator[str]:
    one: list[Any] = [] if value is None or value == "" else [value]
    items = cast("list[Any]", value) if isinstance(value, list) else one
    if len(items) > NAMES_MAX:
        raise fault(file, line, key, f"`{key}` names more than {NAMES_MAX}", "a short list")
    for item in items:
        if not isinstance(item, str) or form.fullmatch(item) is None:
            shown = one_line(item, 60) if isinstance(item, str) else "no text"
            raise fault(file, line, key, f"`{key}` holds {shown!r}", "names", "Write it as a list: [a, b].")
        yield item


def _mapping(values: Mapping[str, Any], lines: Mapping[str, int], key: str, file: str) -> Mapping[str, Any]:
    value = values.get(key)
    if value not in (None, "") and not isinstance(value, dict):
        raise fault(
            file, lines[key], key, f"`{key}` is no mapping", "a mapping", f"Write it as {key}: {{commands: [git]}}."
        )
    return cast("dict[str, Any]", value) if value else {}


def _text(values: Mapping[str, Any], lines: Mapping[str, int], key: str, file: str) -> str:
    value = values.get(key, "")
    if not isinstance(value, str):
        raise fault(file, lines[key], key, f"`{key}` is no text", "text")
    hidden = next(unseen(value), None)
    if hidden is not None:
        raise fault(
            file,
            lines[key],
            key,
            f"`{key}` contains {hidden.words}, which cannot be seen",
            "printable text",
            "Delete it.",
        )
    return " ".join(value.split())


def _read(front: str, file: str) -> tuple[dict[str, Any], dict[str, int]]:
    """The front matter as plain values, and the lines of its keys."""
    lines: dict[str, int] = {}
    try:
        parser = PARSER(front)
        return _Reader(iter(parser.get_event, None), file, lines).whole(), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 2 if mark is None else mark.line + 2
        raise fault(
            file, line, None, f"is not YAML: {error.problem}", "YAML", "Put values with `: ` in quotes."
        ) from None
    except yaml.reader.ReaderError as error:
        raise fault(file, None, None, f"is not YAML: {error.reason}", "YAML") from None


class _Reader:
    """From the parser's events to values, with bounds."""

    def __init__(self, events: Iterator[Any], file: str, lines: dict[str, int]) -> None:
        self.events = events
        self.file = file
        self.lines = lines
        self.left = NODES_MAX

    def whole(self) -> dict[str, Any]:
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent | yaml.StreamStartEvent):
                continue
            if isinstance(event, yaml.MappingStartEvent):
                return self.mapping(event, 0)
            if isinstance(event, yaml.DocumentEndEvent | yaml.StreamEndEvent):
                break
            raise self.wrong(event, "the front matter is not made of lines `key: value`", "key: value")
        return {}

    def mapping(self, start: Any, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.check(start, depth)
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            if not isinstance(event, yaml.ScalarEvent):
                raise self.wrong(event, "a key is no word", "key: value")
            self.check(event, depth)
            if event.value in found:
                raise self.wrong(event, f"`{one_line(event.value, 60)}` stands here a second time", "each key once")
            if depth == 0:
                mark: Any = event.start_mark
                self.lines[event.value] = mark.line + 2
            found[event.value] = self.value(next(self.events), depth + 1)
        return found

    def value(self, event: Any, depth: int) -> Any:
        self.check(event, depth)
        if isinstance(event, yaml.ScalarEvent):
            return event.value
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(event, depth)
        items: list[Any] = []
        for item in self.events:
            if isinstance(item, yaml.SequenceEndEvent):
                break
            items.append(self.value(item, depth + 1))
        return items

    def check(self, event: Any, depth: int) -> None:
        self.left -= 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise self.wrong(event, "a YAML alias or anchor is not allowed", "plain values")
        if depth > DEPTH_MAX or self.left < 0:
            raise self.wrong(event, "the front matter is too large or too deep", f"at most {NODES_MAX} values")

    def wrong(self, event: Any, says: str, expected: str) -> Invalid:
        mark: Any = event.start_mark
        return fault(self.file, mark.line + 2, None, says, expected)
