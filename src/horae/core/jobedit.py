"""Changing single keys of a job file, so that a person's comments, order, quotes and line ends stay as they are.

A change replaces the characters of one value, adds one line, or takes one entry away; everything else is never taken
apart, so it cannot be put together differently. (A YAML round trip was tried: ruamel.yaml's re-indents lists, rejoins
bracketed values that span lines and moves comments.) Each change is made on the text that the one before it left, and
at the end the result is read again: if anything but the asked keys says something else now, the edit is refused.

The same moves work on the top and in a mapping such as `limits`, in lines or in braces. The result is not yet a valid
job: `read` it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import cast

from horae.core.fieldforms import ORDER, written
from horae.core.fieldmaps import FIELD_MAPS, entries_of
from horae.core.frontmatter import Node, fault, parse, plain_prompt, split
from horae.core.scalars import Written, quoted, render

_BLOCK_HEAD = re.compile(r"[|>][^\s#]*([ \t]+#[^\r\n]*)?")
_DASH = re.compile(r"[ \t]*-[ \t]+")


def edit(text: str, changes: Mapping[str, object], *, file: str = "the job file") -> str:
    """The file with keys set, or removed where the value is None; `prompt` is the body.

    Values are those of a `Job` or texts as a person writes them. A mapping changes the entries that it names; a part of a
    `Job`, such as a `Limits`, stands for all of them. Raises Invalid when the file's front matter cannot be parsed, for a
    key that no job file has, for a value that cannot be written, and when an edit cannot be made exactly.
    """
    strange = [key for key in changes if key not in ORDER and key != "prompt"]
    if strange:
        raise fault(file, None, strange[0], f"there is no key `{strange[0]}`", f"one of {', '.join(ORDER)}, prompt")
    parts = split(text, file)
    newline = "\r\n" if parts.opening.endswith("\r\n") else "\n"
    front = parts.front
    for key in sorted(changes.keys() - {"prompt"}, key=ORDER.index):
        value = changes[key]
        if key == "alerts" and not value:
            value = None  # no list of no targets: those of the settings
        if key in FIELD_MAPS and isinstance(value, FIELD_MAPS[key].part):
            value = entries_of(key, value)
        if key in FIELD_MAPS and isinstance(value, Mapping):
            front = _merge(front, key, cast("Mapping[str, object]", value), newline, file)
        else:
            front = _change(front, (), key, None if value is None else written(key, value), newline, file)
    _verify(parts.front, front, changes, file)
    closing, body = parts.closing, parts.body
    if "prompt" in changes:
        prompt = changes["prompt"]
        if not isinstance(prompt, str | None):
            raise fault(file, None, "prompt", "`prompt` must be text", "text")
        closing, body = _new_body(closing, body, prompt or "", newline, file)
    result = parts.opening + front + closing + body
    split(result, file)  # raises for what has grown too large
    return result


def _merge(front: str, key: str, entries: Mapping[str, object], newline: str, file: str) -> str:
    """Each entry on its own, so that the others keep their place; the last one that goes takes the key with it."""
    known = list(FIELD_MAPS[key].entries)
    strange = [entry for entry in entries if entry not in known]
    if strange:
        name = f"{key}.{strange[0]}"
        raise fault(file, None, name, f"there is no key `{name}`", f"one of {', '.join(known)}")
    for entry in sorted(entries, key=known.index):
        given = written(key, {entry: entries[entry]})
        assert isinstance(given, dict)
        old = parse(front, file).entries.get(key)
        if given and (old is None or old.kind != "map"):
            front = _change(front, (), key, given, newline, file)
        elif given:
            front = _change(front, (key,), entry, given[entry], newline, file)
        elif old is not None and entry in old.entries:
            alone = len(old.entries) == 1
            front = _change(front, () if alone else (key,), key if alone else entry, None, newline, file)
    return front


def _change(front: str, path: Sequence[str], key: str, value: Written | None, newline: str, file: str) -> str:
    """One key set or removed, in the mapping that the path leads to."""
    within = parse(front, file)
    for step in path:
        within = within.entries[step]
    old = within.entries.get(key)
    if value is None:
        return front if old is None else _remove(front, within, old)
    if old is None:
        return _add(front, within, key, value, list(FIELD_MAPS[path[0]].entries) if path else ORDER, newline)
    if _says(old, value):
        return front
    return _replace(front, old, value, within.flow, newline)


def _says(node: Node, value: Written) -> bool:
    """Whether the node has that value already: then it stays as it is written."""
    if node.kind == "text":
        if isinstance(value, bool):
            return node.style is None and node.text.lower() == str(value).lower()
        return not isinstance(value, list | dict) and node.text == str(value)
    return isinstance(value, list) and node.kind == "list" and [item.text for item in node.items] == value


def _replace(front: str, old: Node, value: Written, flow: bool, newline: str) -> str:
    """The characters of a value replaced, in the quotes that it has."""
    if old.kind != "text" and not old.flow:
        if isinstance(value, list) and value and old.kind == "list":
            lines = _relist(front, old, value, newline)
            if lines is not None:
                return lines
        # Lines become a value in brackets behind the colon; a comment behind the colon stays.
        colon = front.index(":", old.key_end) + 1
        first = _line_start(front, old.start)
        if first >= colon:
            return f"{front[:colon]} {render(value)}{front[colon:first]}{front[_line_end(front, old.end) :]}"
    new = quoted(value, old.style) if old.style in ("'", '"') and isinstance(value, str) else render(value, flow=flow)
    head = _BLOCK_HEAD.match(front, old.start) if old.style in ("|", ">") else None
    if head is not None:
        text = front[old.start : old.end]
        new += (head[1] or "") + text[len(text.rstrip()) :]  # with |+ the blank lines below belong to the value
    if old.start == old.end and front[old.start - 1] == ":":
        new = " " + new
    return front[: old.start] + new + front[old.end :]


def _relist(front: str, old: Node, values: list[str], newline: str) -> str | None:
    """A list in lines: items that stay keep their lines and the comments on and above them. None if it is unusual."""
    starts = [_line_start(front, item.start) for item in old.items]
    ends = [_line_end(front, item.end) for item in old.items]
    if any(not _DASH.fullmatch(front, start, item.start) for start, item in zip(starts, old.items, strict=True)):
        return None
    lead = front[starts[0] : old.items[0].start]
    pieces = [front[: starts[0]]]
    at = starts[0]
    texts = [item.text for item in old.items]
    for move, a, b, c, d in difflib.SequenceMatcher(None, texts, values, autojunk=False).get_opcodes():
        if move == "equal":
            pieces.append(front[at : ends[b - 1]])
            at = ends[b - 1]
            continue
        pieces += [f"{lead}{render(value)}{newline}" for value in values[c:d]]
        for item in range(a, b):
            pieces.append(front[at : starts[item]])
            at = ends[item]
    pieces.append(front[at:])
    return "".join(pieces)


def _add(front: str, within: Node, key: str, value: Written, order: Sequence[str], newline: str) -> str:
    """A new entry behind the last of those that come before it in the canonical order, or before all."""
    before = [name for name in order[: order.index(key)] if name in within.entries]
    if within.flow:
        entry = f"{key}: {render(value, flow=True)}"
        if before:
            at = within.entries[before[-1]].end
            return f"{front[:at]}, {entry}{front[at:]}"
        at = within.start + 1
        return f"{front[:at]}{entry}{', ' if within.entries else ''}{front[at:]}"
    lead = front[_line_start(front, within.start) : within.start] if within.entries else ""
    if before:
        at = _line_end(front, within.entries[before[-1]].end)
    elif lead or not within.entries:
        at = _line_start(front, within.start)
    else:
        at = 0  # above a comment that opens the file: it may belong to the first key
    return f"{front[:at]}{lead}{key}: {render(value)}{newline}{front[at:]}"


def _remove(front: str, within: Node, old: Node) -> str:
    """An entry taken away, with the comment behind it. Comments above it stay: they may speak of more than it."""
    if not within.flow:
        return front[: _line_start(front, old.key_start)] + front[_line_end(front, old.end) :]
    start, end = old.key_start, old.end
    comma = re.compile(r"[ \t]*,[ \t]*").match(front, end)
    if comma is not None:
        return front[:start] + front[comma.end() :]
    ends = [node.end for node in within.entries.values() if node.end < start]
    if ends and not front[ends[-1] : start].strip(" \t,"):
        start = ends[-1]
    return front[:start] + front[end:]


def _line_start(front: str, at: int) -> int:
    return front.rfind("\n", 0, at) + 1


def _line_end(front: str, at: int) -> int:
    """Behind the end of the line. A value that ends with its line end, as `|+` does, is not followed into the next."""
    if at and front[at - 1] == "\n":
        return at
    return front.index("\n", at) + 1


def _verify(before: str, after: str, changes: Mapping[str, object], file: str) -> None:
    """Nothing that was not asked for says anything else than before."""
    old, new = parse(before, file).entries, parse(after, file).entries
    for key in old.keys() | new.keys():
        if key in changes and not isinstance(changes[key], Mapping):
            continue
        asked = changes.get(key)
        without = frozenset(cast("Mapping[str, object]", asked)) if isinstance(asked, Mapping) else frozenset[str]()
        if _rest(old.get(key), without) != _rest(new.get(key), without):
            hint = "Edit the file by hand."
            raise fault(file, None, key, f"the edit would also change `{key}`; nothing was done", "an exact edit", hint)


def _rest(node: Node | None, without: frozenset[str]) -> object:
    """What a node says, apart from some of its keys: a mapping without any is as good as none."""
    if node is None or (without and node.kind != "map"):
        return None
    if node.kind != "map":
        return node.value()
    return {key: child.value() for key, child in node.entries.items() if key not in without} or None


def _new_body(closing: str, body: str, prompt: str, newline: str, file: str) -> tuple[str, str]:
    """The prompt replaced between the blank lines that surround it. The same prompt leaves the body as it is."""
    lines = body.split("\n")
    full = [i for i, line in enumerate(lines) if line.strip()]
    core = "\n".join(lines[full[0] : full[-1] + 1]) if full else ""
    old = core.removesuffix("\r") if full and full[-1] < len(lines) - 1 else core
    if plain_prompt(old, file) == prompt:
        return closing, body
    new = prompt.replace("\r\n", "\n").replace("\r", "\n").replace("\n", newline)
    if not old:
        closing = closing if closing.endswith("\n") else closing + newline
        return closing, f"{new}{newline}" if new else ""
    start = len("\n".join(lines[: full[0]])) + 1 if full[0] else 0
    return closing, body[:start] + new + body[start + len(old) :]
