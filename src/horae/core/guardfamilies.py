"""The families of what is looked for, as data: another entry, and another thing is found. Pure.

*Deeds* are looked for by piece (a line of code, a sentence), *phrases* in the whole text. `severity` says what a definite
hit does, by where it stands; where nothing is said, it is not looked for. A hit that is not definite warns at most.

    prompt    what a person wrote into a job, and what was added to a run
    script    a program of the scripts folder
    skill     the text of a skill
    command   the arguments of a `command:`
    data      what came from outside; it can warn, never refuse: otherwise whoever writes it could stop the job
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from horae.core import guardphrases
from horae.core.guardcommands import Hit, Rule, images, own_and_rules, rules
from horae.core.guarddeeds import EXFIL, SECRET_MARKS, destroys, lets_in, lets_rule, reads_secrets, sends_out
from horae.core.guardphrases import Phrase

Where = Literal["prompt", "script", "skill", "command", "data"]
Severity = Literal["refuse", "warn"]
Severities = Mapping[Where, Severity]


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of deed."""

    name: str
    marks: tuple[str, ...]
    """A text without any of them, in lower case, holds none of it."""
    severity: Severities
    does: str
    """What it would do, for a person."""
    look: Callable[..., Hit | None]
    """What a piece holds of it, with `tight` for prose."""


@dataclass(frozen=True, slots=True)
class PhraseFamily:
    """One kind of sentence."""

    name: str
    phrase: Phrase
    does: str


EVERYWHERE: Severities = {"prompt": "refuse", "script": "refuse", "skill": "refuse", "command": "refuse"}
TOLD: Severities = {"prompt": "refuse", "script": "warn", "skill": "refuse", "command": "warn"}
ASKED: Severities = {"prompt": "refuse", "skill": "warn", "command": "warn"}
_OTHERS = ("hermes", "openclaw")


def _sent(family: str) -> Family:
    program, part = EXFIL[family]
    severity: Severities = {**TOLD, "command": "refuse"}
    where = {"url": "in an address", "data": "as data", "header": "in a header"}[part]
    return Family(family, (program,), severity, f"would send a secret out {where}", partial(_sends, family))


def _sends(family: str, text: str, *, tight: bool) -> Hit | None:
    del tight  # a call of a program looks alike everywhere
    return sends_out(text, family)


def _lifecycle(names: tuple[str, ...]) -> Callable[..., Hit | None]:
    return partial(_ends, names, rules("|".join(names)))


def _ends(own: tuple[str, ...], among: tuple[Rule, ...], text: str, *, tight: bool) -> Hit | None:
    return own_and_rules(text, own, among, tight=tight)


DEEDS = (
    Family(
        "lifecycle",
        ("horae",),
        EVERYWHERE,
        "would stop, restart or replace the scheduler that runs it",
        _lifecycle(("horae",)),
    ),
    Family(
        "lifecycle_others",
        _OTHERS,
        EVERYWHERE,
        "would stop, restart or replace a gateway that others rely on",
        _lifecycle(_OTHERS),
    ),
    Family(
        "lifecycle_images",
        ("kill", "stop-process"),
        EVERYWHERE,
        "would end programs by what they have in common, the scheduler among them",
        images,
    ),
    Family(
        "destructive_root_rm",
        (
            *(f"{program}{behind}" for program in ("rm", "find", "dd", "shred", "wipefs") for behind in " \t\"'"),
            *("mkfs", "delete", "remove", "wipe", "erase", "destroy", "purge"),
        ),
        EVERYWHERE,
        "would delete what the system or a person needs",
        destroys,
    ),
    Family("ssh_backdoor", ("authorized_keys",), TOLD, "would let somebody log in", lets_in),
    Family("sudoers_mod", ("/etc/sudoers", "visudo", "nopasswd"), TOLD, "would change who may become root", lets_rule),
    Family("read_secrets", SECRET_MARKS, ASKED, "reads what holds secrets", reads_secrets),
    *(_sent(family) for family in EXFIL),
)
PHRASES = (
    PhraseFamily("prompt_injection", guardphrases.INJECTION, "tells an agent to forget what it was asked"),
    PhraseFamily("deception_hide", guardphrases.HIDING, "tells an agent to hide something from people"),
    PhraseFamily("sys_prompt_override", guardphrases.OVERRIDE, "claims to change what an agent is"),
    PhraseFamily("disregard_rules", guardphrases.DISREGARD, "tells an agent to disregard its rules"),
)
INVISIBLE, DISGUISED = "invisible", "disguised"
DOES = {
    **{family.name: family.does for family in DEEDS},
    **{family.name: family.does for family in PHRASES},
    INVISIBLE: "is not seen by a person who reads the text",
    DISGUISED: "tells an agent what to do, and is written so that it is not noticed",
}
