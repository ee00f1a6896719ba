"""What no script and no command may hold: looked for in their text before each run. Pure.

What is looked for comes in *families*, and a family is one entry of `FAMILIES`: its name, words without which a text cannot
hold any of it, and what it finds in one line. Today there is one, `lifecycle`: commands that would stop, restart or replace
the very scheduler that runs them, so that nobody would be left to say how the run ended. Families for what agents are given
(injected instructions, exfiltration, invisible characters) come with the agents; they need another entry and nothing else.

A finding is definite: it refuses the run. So only whole words in their places count, and comments do not (`#` at the
beginning of a line or behind white space). What is hidden on purpose, in a variable or an encoding, is not found: the wall
against that is what a run is allowed to do.

Each line is looked at word by word, once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

FINDINGS_MAX = 3  # of one text: whoever mends one sees the next
FOUND_CHARS = 80

_COMMENT = re.compile(r"^\s*#.*$|\s#(?:\s.*)?$")
_COMMAND_END = re.compile(r"[;\n]|&&|\|\|")
_WORD = re.compile(r"[^\s\"'`,|&(){}\[\]$<>\\]+")


class Finding(NamedTuple):
    """One such place."""

    family: str
    line: int
    """From 1 on."""
    found: str
    """The words, on one line."""


class Family(NamedTuple):
    """One kind of what is looked for."""

    name: str
    marks: tuple[str, ...]
    """A text without any of them, in lower case, holds none of it."""
    look: Callable[[str], str | None]
    """What a line holds of it, or None."""
    does: str
    """What it would do, for a person."""


class Rule(NamedTuple):
    """A command: one of these programs, then one of these words (any, where there are none), then such a target."""

    programs: frozenset[str]
    words: frozenset[str]
    target: re.Pattern[str]


_UNIT = re.compile(r"(?:\S*/)?horae(?:[.@-]\S*)?")
_PROCESS = re.compile(r"(?:\S*/)?horae|\S*\.horae/\S*")
_START = ("start", "stop", "restart", "enable", "disable", "kill")
LIFECYCLE = (
    Rule(
        frozenset({"systemctl"}),
        frozenset((
            *_START, "try-restart", "reload", "reload-or-restart", "try-reload-or-restart", "reenable", "mask", "unmask",
            "edit", "revert", "freeze", "thaw", "clean", "set-property",
        )),
        _UNIT,
    ),
    Rule(
        frozenset({"launchctl"}),
        frozenset((*_START, "bootout", "bootstrap", "kickstart", "load", "unload", "remove", "submit")),
        re.compile(r"(?:\S*[/.])?horae(?:[./@-]\S*)?"),
    ),
    Rule(frozenset({"service", "rc-service"}), frozenset((*_START, "reload")), _UNIT),
    Rule(frozenset({"pkill", "killall", "kill", "skill"}), frozenset(), _PROCESS),
    Rule(frozenset({"pgrep", "pidof"}), frozenset({"kill"}), _PROCESS),
)  # fmt: skip
_OWN = {"up": None, "service": frozenset({"install", "uninstall"})}
"""Commands of Horae itself: with any word behind them, or with one of these."""


def findings(text: str) -> tuple[Finding, ...]:
    """What a text holds of all families, in the order of its lines."""
    low = text.lower()
    families = [family for family in FAMILIES if any(mark in low for mark in family.marks)]
    found: list[Finding] = []
    for number, line in _lines(text) if families else ():
        for family in families:
            words = family.look(line)
            if words is not None:
                found.append(Finding(family.name, number, words[:FOUND_CHARS]))
        if len(found) >= FINDINGS_MAX:
            break
    return tuple(found)


def refusal(item: Finding, where: str, way: str) -> str:
    """The reason against it, for preflight: `where` it stands, and the `way` round."""
    does = next(family.does for family in FAMILIES if family.name == item.family)
    return f"{where}: `{item.found}` {does}; {way}"


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with what is said in them: without comments, and joined where a backslash says that they go on."""
    first, parts = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        goes_on = line.rstrip("\r").endswith("\\")
        said = _COMMENT.sub("", line.rstrip("\r"))
        if not parts:
            first = number
        parts.append(said[:-1] if goes_on and said.endswith("\\") else said)
        if not goes_on:
            yield first, " ".join(parts)
            parts = []
    if parts:
        yield first, " ".join(parts)


def lifecycle(line: str) -> str | None:
    """The command in a line that would end the scheduler or put another into its place."""
    if "horae" not in line:
        return None
    for command in _COMMAND_END.split(line):
        words = _WORD.findall(command)
        if own := _own(words):
            return own
        for rule in LIFECYCLE:
            at = next((at for at, word in enumerate(words) if word.rpartition("/")[2] in rule.programs), None)
            if at is None:
                continue
            rest = words[at + 1 :]
            target = next((word for word in rest if rule.target.fullmatch(word)), None)
            if target is not None and (not rule.words or not rule.words.isdisjoint(rest)):
                return " ".join(words[at:])
    return None


def _own(words: Sequence[str]) -> str | None:
    for at, word in enumerate(words):
        if word.rpartition("/")[2] != "horae":
            continue
        rest = iter(words[at + 1 : at + 8])
        for said in rest:
            if said == "--home":
                next(rest, None)
            elif not said.startswith("--"):
                among = _OWN.get(said, frozenset())
                if among is None or not among.isdisjoint(rest):
                    return " ".join(words[at:])
                break
    return None


FAMILIES = (Family("lifecycle", ("horae",), lifecycle, "would stop, restart or replace the scheduler that runs it"),)
