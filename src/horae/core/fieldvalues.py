"""Values of a job file that are one text or one list: for each, what is understood, and what is said otherwise.

A reader takes (file, key, node) and returns the value for the `Job`, or raises `Invalid` for that line. What it is given
is the text that stands there; nothing was converted on the way.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import NoReturn, get_args

from horae import limits
from horae.core.frontmatter import Node, fault
from horae.core.text import clean_name
from horae.errors import Invalid
from horae.timing.clockchange import Repeat
from horae.timing.durations import duration_words, parse_duration

Form = Callable[[str, str, Node], object]

COUNT_MAX = 10**12  # of turns, tokens, bytes or repeats: anything above is a slip, and the database counts in 64 bits

WHOLE = re.compile("[0-9]{1,15}")
LEFT_OUT = {  # what holds when a duration is left out, where that is something else than no limit
    "limits.wall": f"Leave it out for {duration_words(round(limits.WALL_DEFAULT_S))}.",
    "spread": "Leave it out, or write 0, to spread nothing.",
    "retries.backoff": f"Leave it out for {duration_words(round(limits.BACKOFF_DEFAULT_S))}; a second is the least.",
    "retries.ceiling": f"Leave it out for {duration_words(round(limits.CEILING_DEFAULT_S))}; a second is the least.",
}
_ID = re.compile("[0-9a-f]{12}")
_VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_DRIVE = re.compile("[A-Za-z]:")


def unknown(
    file: str, node: Node, key: str, known: Iterable[str], *, within: str = "", hint: str | None = None
) -> Invalid:
    """The error for a key that does not exist; without a better hint, with the nearest one that does."""
    names = list(known)
    near = difflib.get_close_matches(key.lower()[:60], names, 1, 0.6)
    name = key if len(key) <= 60 else key[:59] + "…"
    says = f"there is no key `{within}{name}`"
    hint = hint or (f"Did you mean `{near[0]}`?" if near else f"The keys are {', '.join(names)}.")
    return fault(file, node.key_line, within + key, says, f"one of {', '.join(names)}", hint)


def refuse(file: str, key: str, node: Node, problem: str, expected: str, hint: str | None = None) -> NoReturn:
    """Raise the error for a value that its key cannot have."""
    raise fault(file, node.line, key, f"`{key}` {problem}", expected, hint)


def shown(node: Node) -> str:
    """A text as an error shows it: short, and in quotes when it is not plain."""
    text = node.text if len(node.text) <= 60 else node.text[:59] + "…"
    return repr(text) if node.style is not None or not text.isprintable() else text


KINDS = {"list": "a list", "map": "a mapping", "text": "a single value"}


def text(file: str, key: str, node: Node, expected: str = "text") -> str:
    """One line of text."""
    if node.kind != "text":
        refuse(file, key, node, f"must be {expected}, not {KINDS[node.kind]}", expected)
    value = node.text.strip()
    if not value or (node.style is None and value in ("~", "null", "Null", "NULL")):
        refuse(file, key, node, "has no value", expected, "Write a value behind it, or remove the line.")
    if not value.isprintable() and clean_name(value) != value:
        refuse(file, key, node, "must be one line without control or invisible characters", expected)
    return value


def schedule(file: str, key: str, node: Node) -> str:
    """A schedule: may have several lines, which its own parser judges."""
    if node.kind != "text":
        refuse(file, key, node, f"must be text, not {KINDS[node.kind]}", "a schedule")
    value = node.text.strip()
    if len(value) > limits.SCHEDULE_CHARS_MAX:
        most = limits.SCHEDULE_CHARS_MAX
        refuse(file, key, node, f"is longer than {most} characters", f"at most {most} characters")
    if "\n" in value:
        return value
    return text(file, key, node, "a schedule")


def truth(file: str, key: str, node: Node) -> bool:
    """Exactly true or false, without quotes."""
    expected = "true or false"
    if node.kind != "text":
        refuse(file, key, node, f"must be true or false, not {KINDS[node.kind]}", expected)
    word = node.text.lower()
    if node.style is None and word in ("true", "false"):
        return word == "true"
    if word in ("true", "false"):
        hint = f"Write {key}: {word}, without quotes."
        refuse(file, key, node, f"must be true or false; {node.text!r} in quotes is a text", expected, hint)
    says = f"must be true or false; it says {shown(node)}" if word else "has no value"
    refuse(file, key, node, says, expected, f"Write {key}: true or {key}: false.")


def identity(file: str, key: str, node: Node) -> str:
    """Twelve lower-case hex digits."""
    expected = "12 lower-case hex digits"
    value = text(file, key, node, expected)
    if not _ID.fullmatch(value):
        hint = "Remove the line to get a new one; ids are given by Horae."
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected, hint)
    return value


def name(file: str, key: str, node: Node) -> str:
    """Free text on one line, without characters that hide or draw."""
    value = text(file, key, node, "a name")
    most = limits.NAME_CHARS_MAX
    if len(value) > most:
        refuse(file, key, node, f"is longer than {most} characters", f"at most {most} characters")
    if not value.isascii() and clean_name(value) != " ".join(value.split()):
        refuse(file, key, node, "contains invisible or direction-changing characters", "visible characters")
    return value


def duration(file: str, key: str, node: Node) -> float:
    """Seconds, more than none."""
    value = text(file, key, node, "a duration such as 20m")
    try:
        seconds = float(parse_duration(value))
    except Invalid as error:
        raise fault(file, node.line, key, f"`{key}`: {error.message}", "a duration such as 20m", error.hint) from error
    if not 0 < seconds <= COUNT_MAX:
        hint = LEFT_OUT.get(key, "Leave it out for no limit.")
        refuse(file, key, node, "must be more than nothing", "a duration such as 20m", hint)
    return seconds


def one_of(words: tuple[str, ...]) -> Form:
    """One of a few words."""
    expected = f"{', '.join(words[:-1])} or {words[-1]}"

    def form(file: str, key: str, node: Node) -> str:
        value = text(file, key, node, expected).lower()
        if value not in words:
            near = difflib.get_close_matches(value[:60], words, 1, 0.6)
            hint = f"Did you mean `{near[0]}`?" if near else None
            refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected, hint)
        return value

    return form


def script(file: str, key: str, node: Node) -> str:
    """A path below scripts/. Whether the file is there, and where links lead, is checked when it is used."""
    expected = "a file below scripts/"
    value = text(file, key, node, expected)
    steps = value.split("/")
    if value[0] in "/~" or "\\" in value or _DRIVE.match(value):
        refuse(file, key, node, f"must name {expected}, not a path of its own: {shown(node)}", expected)
    if ".." in steps or "." in steps or "" in steps:
        refuse(file, key, node, f"must not leave scripts/ or go in circles: {shown(node)}", expected)
    return value


def strings(file: str, key: str, node: Node) -> tuple[str, ...]:
    """A list of texts, each once."""
    if node.kind != "list":
        hint = f"Write {key}: [{node.text}]" if node.kind == "text" and node.text else f"Write {key}: [one, two]"
        refuse(file, key, node, f"must be a list, not {KINDS[node.kind]}", "a list", hint)
    values = tuple(text(file, key, item) for item in node.items)
    _each_once(file, key, node, values)
    return values


def some_of(file: str, key: str, node: Node, words: tuple[str, ...]) -> tuple[str, ...]:
    """A list of some of a few words, or one text with commas; at least one."""
    expected = f"a list of {', '.join(words[:-1])} and {words[-1]}"
    values = strings(file, key, node) if node.kind != "text" else tuple(re.split(r"\s*[,+]\s*", text(file, key, node)))
    for value in values:
        if value not in words:
            near = difflib.get_close_matches(value[:60], words, 1, 0.6)
            hint = f"Did you mean `{near[0]}`?" if near else f"Write {key.rpartition('.')[2]}: [{', '.join(words)}]"
            refuse(file, key, node, f"must be {expected}; it says {value!r}", expected, hint)
    if not values:
        refuse(file, key, node, "names none", expected, "Leave it out for all of them.")
    _each_once(file, key, node, values)
    return values


def _each_once(file: str, key: str, node: Node, values: tuple[str, ...]) -> None:
    if len(set(values)) < len(values):
        seen: set[str] = set()
        twice = next(value for value in values if value in seen or seen.add(value))
        refuse(file, key, node, f"names {twice} twice", "each once")


def command(file: str, key: str, node: Node) -> tuple[str, ...]:
    """The program and its arguments. One string is refused: there is no shell that would take it apart."""
    if node.kind == "text":
        hint = f"There is no shell: write {key}: [program, argument, argument]. For a shell, [sh, -c, '…']."
        refuse(file, key, node, "must be a list of texts, not one text", "a list of texts", hint)
    if node.kind == "map" or not node.items:
        refuse(file, key, node, "must be a list with at least a program", "a list of texts")
    for item in node.items:
        if item.kind != "text":
            refuse(file, key, item, "must hold texts only", "a list of texts")
        if "\0" in item.text:
            refuse(file, key, item, "contains a NUL character", "a list of texts")
    if not node.items[0].text.strip():
        refuse(file, key, node.items[0], "begins with an empty program name", "a list of texts")
    return tuple(item.text for item in node.items)


def deliver(file: str, key: str, node: Node) -> tuple[str, ...]:
    """Targets: a text with commas between them, or a list of such."""
    expected = "targets"
    given = (text(file, key, node, expected),) if node.kind == "text" else strings(file, key, node)
    values = tuple(target.strip() for some in given for target in some.split(","))
    if not values or not all(values):
        hint = "Write deliver: [local] to keep results in the history only."
        refuse(file, key, node, "names no target", expected, hint)
    if len(values) > limits.NAMES_MAX:
        hint = "Give a list of them a name in config.toml: [targets]."
        refuse(file, key, node, f"names more than {limits.NAMES_MAX} targets", f"at most {limits.NAMES_MAX}", hint)
    if any(len(value) > limits.TARGET_CHARS_MAX for value in values):
        most = limits.TARGET_CHARS_MAX
        refuse(file, key, node, f"names a target of more than {most} characters", f"at most {most} characters")
    _each_once(file, key, node, values)
    return values


def variables(
    file: str, key: str, node: Node, elsewhere: str = "Only names: the values stay in the gateway's environment."
) -> tuple[str, ...]:
    """Names of environment variables; never values, since files go into version control."""
    values = strings(file, key, node)
    for value in values:
        if not _VARIABLE.fullmatch(value):
            hint = elsewhere if "=" in value else None
            refuse(file, key, node, f"must list names of environment variables; {value!r} is none", "names", hint)
    return values


def repeat(file: str, key: str, node: Node) -> int | None:
    """How many times in all: a number, or the words forever and once."""
    expected = "a whole number from 1 on, forever, or once"
    value = text(file, key, node, expected)
    if value.lower() in ("forever", "once"):
        return None if value.lower() == "forever" else 1
    if value.lower() in get_args(Repeat):
        hint = f"For times that the clock shows twice, write clock_change: {{repeat: {value.lower()}}}."
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected, hint)
    if not WHOLE.fullmatch(value) or not 1 <= int(value) <= COUNT_MAX:
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
    return int(value)
