"""Commands that would end, restart or replace the scheduler, or a gateway that others rely on: found word by word. Pure.

What is looked for is data: `rules` says which programs with which words and which targets, `OWN` which commands of the
gateways' own. In code a command may hold anything else; in prose (`tight`) its words must stand beside one another, since
"the service that horae uses will stop" has all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

WINDOW = 12  # words behind a program that are looked at in prose
SHOWN_WORDS = 40

_COMMAND_END = re.compile(r"[;\n]|&&|\|\|")
_WORD = re.compile(r"[^\s\"'`,|&(){}\[\]$<>\\]+")
_BETWEEN = frozenset(("cat", "xargs", "sudo", "name", "inactive", "-"))


class Hit(NamedTuple):
    """A place in a piece of text."""

    start: int
    end: int
    found: str
    definite: bool = True
    """Whether it may refuse, where it is meant to be carried out."""
    said: bool = False
    """Whether it orders by itself, wherever in a sentence it stands."""


class Rule(NamedTuple):
    """A command: one of these programs, then one of these words (any, where there are none), then such a target."""

    programs: frozenset[str]
    words: frozenset[str]
    target: re.Pattern[str]
    also: frozenset[str] = frozenset()
    """One of these words too."""


Word = tuple[str, int, int]

_START = ("start", "stop", "restart", "enable", "disable", "kill")
_UNIT_VERBS = frozenset((
    *_START, "try-restart", "reload", "reload-or-restart", "try-reload-or-restart", "reenable", "mask", "unmask",
    "edit", "revert", "freeze", "thaw", "clean", "set-property",
))  # fmt: skip
_LAUNCHD = frozenset((*_START, "bootout", "bootstrap", "kickstart", "load", "unload", "remove", "submit"))
_NOTHING_DONE = frozenset(("--help", "-h", "--check", "--dry-run", "--version"))
OWN: Mapping[str, Mapping[str, frozenset[str] | None]] = {
    "horae": {"up": None, "service": frozenset({"install", "uninstall"})},
    "hermes": {
        "gateway": frozenset({"stop", "restart", "uninstall", "install", "kill"}),
        "update": None,
        "uninstall": None,
    },
    "openclaw": {
        "gateway": frozenset({"stop", "restart", "uninstall", "install"}),
        "update": None,
        "uninstall": None,
        "reset": None,
    },
}
"""By program: its commands, with any word behind them or with one of these."""
_NONE: frozenset[str] = frozenset()
_NO_COMMANDS: Mapping[str, frozenset[str] | None] = {}
_TAKES_VALUE = ("--home", "-p", "--profile")


def rules(names: str) -> tuple[Rule, ...]:
    """The commands against programs and services of these names (a part of a regular expression)."""
    unit = re.compile(rf"(?:\S*/)?(?:{names})(?:[.@-]\S*)?")
    process = re.compile(rf"(?:\S*/)?(?:{names})(?:-gateway)?(?:\.exe)?|\S*\.(?:{names})/\S*", re.IGNORECASE)
    label = re.compile(rf"(?:\S*[/.])?(?:{names})(?:[./@-]\S*)?")
    kills = frozenset({"kill"})
    return (
        Rule(frozenset({"systemctl"}), _UNIT_VERBS, unit),
        Rule(frozenset({"launchctl"}), _LAUNCHD, label),
        Rule(
            frozenset({"service", "rc-service", "sv", "initctl", "supervisorctl"}), frozenset((*_START, "reload")), unit
        ),
        Rule(frozenset({"docker", "podman"}), frozenset(("stop", "restart", "kill", "rm", "down", "pause")), unit),
        Rule(frozenset({"pm2"}), frozenset(("stop", "restart", "delete", "kill", "reload")), unit),
        Rule(frozenset({"pkill", "killall", "kill", "skill"}), frozenset(), process),
        Rule(frozenset({"pgrep", "pidof", "get-process"}), frozenset({"kill", "stop-process"}), process),
        Rule(frozenset({"grep", "egrep"}), kills, process, frozenset({"xargs"})),
        Rule(frozenset({"fuser"}), frozenset({"-k", "-km", "-k9"}), process),
        Rule(frozenset({"taskkill", "stop-process"}), frozenset(), process),
        Rule(frozenset({"stop-service", "restart-service"}), frozenset(), unit),
        Rule(frozenset({"net", "sc"}), frozenset({"stop", "delete"}), unit),
        Rule(frozenset({"schtasks"}), frozenset({"/end", "/delete", "/change"}), unit),
        Rule(
            frozenset({f"/etc/init.d/{name}" for name in names.split("|")}),
            frozenset((*_START, "reload")),
            re.compile(r"\S+"),
        ),
    )


def own_and_rules(text: str, own: Sequence[str], among: Sequence[Rule], *, tight: bool) -> Hit | None:
    """The first command in a text that is one of a gateway's own, or that one of the rules knows."""
    for words in commands(text):
        hit = _own(words, own, tight=tight)
        if hit is not None:
            return hit
        programs = [program_of(word) for word, _, _ in words]
        for rule in among:
            hit = _by_rule(words, programs, rule, tight=tight)
            if hit is not None:
                return hit
    return None


def commands(text: str) -> Iterator[list[Word]]:
    """The words of each command, with where they stand."""
    begin = 0
    for end, then in (*(match.span() for match in _COMMAND_END.finditer(text)), (len(text), len(text))):
        words = [(match[0], match.start(), match.end()) for match in _WORD.finditer(text, begin, end)]
        if words:
            yield words
        begin = then


def program_of(word: str) -> str:
    """A program without its folder and ending, in lower case."""
    return word.rpartition("/")[2].lower().removesuffix(".exe")


def hit_of(words: Sequence[Word]) -> Hit:
    """These words as they stand in the text."""
    return Hit(words[0][1], words[-1][2], " ".join(word for word, _, _ in words[:SHOWN_WORDS]))


def _own(words: Sequence[Word], among: Sequence[str], *, tight: bool) -> Hit | None:
    endings = tuple(among)
    for at, (word, _, _) in enumerate(words):
        if not word.endswith(endings):
            continue
        known = OWN.get(word.rpartition("/")[2], _NO_COMMANDS)
        behind = [said for said, _, _ in words[at + 1 : at + WINDOW]]
        first = _first_operand(behind)
        wanted = known.get(behind[first], _NONE) if first < len(behind) else _NONE
        if not _NOTHING_DONE.isdisjoint(behind):
            continue
        last = next((i for i in range(first + 1, len(behind)) if behind[i] in wanted), None) if wanted else None
        if wanted is None or last is not None:
            end = at + 2 + (first if last is None else last)
            return hit_of(words[at:end] if tight else words[at:])
    return None


def _first_operand(words: Sequence[str]) -> int:
    """Where the first word is that is no option and no value of one."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _TAKES_VALUE else 1
    return at


def _by_rule(words: Sequence[Word], programs: Sequence[str], rule: Rule, *, tight: bool) -> Hit | None:
    for at, program in enumerate(programs):
        if program not in rule.programs and words[at][0] not in rule.programs:
            continue
        if not tight:  # all behind a second such program is behind the first one too
            return hit_of(words[at:]) if _is_by([word for word, _, _ in words[at + 1 :]], rule) else None
        hit = _tight(words[at : at + WINDOW], rule)
        if hit is not None:
            return hit
    return None


def _is_by(rest: Sequence[str], rule: Rule) -> bool:
    low = frozenset(map(str.lower, rest))
    return (
        (not rule.words or not rule.words.isdisjoint(low))
        and (not rule.also or not rule.also.isdisjoint(low))
        and any(rule.target.fullmatch(word) for word in rest)
    )


def _tight(words: Sequence[Word], rule: Rule) -> Hit | None:
    """The same where nothing else stands between the words."""
    last = 0
    for at, (word, _, _) in enumerate(words[1:], 1):
        low = word.lower()
        fits = low in rule.words or low in rule.also or rule.target.fullmatch(word) is not None
        if not fits and not word.startswith(("-", "/")) and low not in _BETWEEN and low not in _KILLERS:
            break
        last = at if fits else last
    behind = [word for word, _, _ in words[1 : last + 1]]
    return hit_of(words[: last + 1]) if last and _is_by(behind, rule) else None


_KILLERS = frozenset(("pkill", "killall", "kill", "pgrep", "pidof", "taskkill", "stop-process", "get-process"))
_IMAGE = re.compile(r"(?:\S*/)?python(?:\d+(?:\.\d+)?)?w?(?:\.exe)?", re.IGNORECASE)
_SIGNAL = re.compile(r"(?:SIG)?(?:KILL|TERM|INT|HUP|QUIT|STOP)|\d{1,2}")
_SWITCH = re.compile("/[A-Za-z]{1,2}")
_FINDERS = frozenset(("pgrep", "pidof", "get-process"))
_OF_USER = frozenset(("-u", "-U", "--user", "--euid", "--uid"))


def images(text: str, *, tight: bool) -> Hit | None:
    """A command that ends every program of this user, or every one that the same interpreter runs: the scheduler is one."""
    for words in commands(text):
        programs = [program_of(word) for word, _, _ in words]
        kills = not {"kill", "stop-process"}.isdisjoint(programs)
        for at, program in enumerate(programs):
            if program not in _KILLERS or (program in _FINDERS and not kills):
                continue
            rest = [said for said, _, _ in words[at + 1 : at + WINDOW]]
            if _ends_all(program, rest):
                return hit_of(words[at : at + 1 + len(rest)] if not tight else words[at : at + 1 + _last_image(rest)])
    return None


def _last_image(rest: Sequence[str]) -> int:
    return max((at for at, word in enumerate(rest, 1) if _IMAGE.fullmatch(word)), default=len(rest))


def _ends_all(program: str, rest: Sequence[str]) -> bool:
    options = [word for word in rest if word.startswith("-")]
    if program == "kill" and rest[-1:] == ["-1"] and len(rest) > 1 and options == list(rest):
        return True  # every process of this user
    operands = [w for w in rest if not w.startswith("-") and program_of(w) not in (*_KILLERS, "xargs", "sudo", "name")]
    if program in ("pkill", "killall") and not _OF_USER.isdisjoint(options):
        return len(operands) <= 1
    named = [word for word in operands if not _SIGNAL.fullmatch(word) and not _SWITCH.fullmatch(word)]
    if program == "killall":
        return any(_IMAGE.fullmatch(word) for word in named)
    return len(named) == 1 and _IMAGE.fullmatch(named[0]) is not None  # `pkill -f "python job.py"` means one program
