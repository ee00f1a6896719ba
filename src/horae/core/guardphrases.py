"""Sentences that try to take an agent over, in several languages. Pure.

They warn. A text that is about them holds them too, and whoever wants to write one that is not found, can: the wall is what
a run may do. Each pattern is tried only where one of its first words stands, and looks at a bounded stretch behind it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

QUOTES = "\"'“‘„«‹`「『"

_GAP = r"[\s,]{1,4}"
_WHICH = (
    "all|any|the|your|my|these|those|of|every|each|previous|prior|preceding|above|earlier|foregoing|former|system|"
    "existing|current"
)
_ALL = rf"(?:(?:{_WHICH}){_GAP}){{0,6}}"
_TOLD = r"(?:instructions?|prompts?|directions?|directives?|commands?|messages?|context)"
_RULES = (
    r"(?:rules?|guidelines?|polic(?:y|ies)|safety|restrictions?|limits?|limitations?|constraints?|safeguards?|guardrails?|"
    r"programming)"
)
_PEOPLE = r"(?:the\s)?(?:user|human|owner|operator|person)s?(?!\w)"
_TELL = "tell|inform|mention|reveal|show|let|notify|alert|disclose|say"
_BREAK = "disregard|ignore|bypass|break|violate|forget|circumvent|turn off|disable"


class Phrase(NamedTuple):
    """One kind: what it begins with, in lower case (`&` stands for a blank), and the whole of it."""

    starts: tuple[str, ...]
    pattern: re.Pattern[str]


def _phrase(starts: str, *patterns: str) -> Phrase:
    return Phrase(tuple(start.replace("&", " ") for start in starts.split()), re.compile("|".join(patterns)))


INJECTION = _phrase(
    "ignore disregard forget override overrule new&instructions <| <system </system <assistant [inst [/inst [system "
    "ignorier vergiss missachte ignora olvida esquece oublie ne&tiens dimentica 忽略 无视 忘记 無視 игнорируй забудь",
    rf"(?:ignore|disregard|forget|override|overrule){_GAP}{_ALL}{_TOLD}(?!\w)",
    rf"(?:ignore|disregard|forget){_GAP}(?:everything|all|anything){_GAP}(?:that{_GAP})?(?:you\s|was\s|were\s|i\s|above|before|said){{1,3}}",
    r"new instructions?\s?:",
    r"<\|?\s?/?(?:system|im_start|im_end|endoftext|assistant)\s?\|?>",
    r"\[/?(?:inst|system)\]",
    r"(?:ignorier\w{0,3}|vergiss|missachte)\s(?:\w{1,12}\s){0,3}(?:anweisung|befehl|vorgabe|instruktion)\w{0,3}",
    r"(?:ignora|olvida|esquece)\w{0,2}\s(?:\w{1,12}\s){0,4}(?:instruc|indica|orden)\w{0,8}",
    r"(?:ignorez|ignore|oublie[zs]?|ne tiens)\s(?:\w{1,12}\s){0,4}(?:instructions|consignes|directives)",
    r"(?:ignora|dimentica)\w{0,2}\s(?:\w{1,12}\s){0,4}istruzioni",
    r"(?:忽略|无视|忘记).{0,10}(?:指令|指示|提示|规则)",
    r"(?<=指示を)無視|(?<=指示は)無視|(?<=命令を)無視|(?<=ルールを)無視",
    r"(?:игнорируй|забудь)\w{0,3}\s(?:\w{1,15}\s){0,4}(?:инструкци|указани)\w{0,3}",
)
HIDING = _phrase(
    "do&not don't don’t never without hide keep conceal",
    rf"(?:do not|don['’]t|never)\s(?:ever\s)?(?:{_TELL})\s(?:\w{{1,12}}\s){{0,4}}(?:to\s)?{_PEOPLE}",
    rf"without\s(?:\w{{1,12}}\s){{0,3}}(?:telling|informing|notifying|alerting|asking)\s{_PEOPLE}",
    rf"(?:hide|keep|conceal)\s(?:this|that|it|these|them|everything)\s(?:\w{{1,12}}\s){{0,3}}from\s{_PEOPLE}",
)
OVERRIDE = _phrase(
    "you&are&now new&system&prompt system&prompt reveal print repeat show output pretend act&as enter",
    r"you are now\s(?:\w{1,12}\s){0,4}(?:mode|dan|jailbroken|unrestricted|free|unfiltered|root|admin\w{0,10})(?!\w)",
    r"new system prompt",
    r"system prompt\s?(?::|override|is now|has changed)",
    r"(?:reveal|print|repeat|show|output)\s(?:me\s)?(?:your|the)\s(?:\w{1,12}\s){0,2}system prompt",
    r"(?:pretend|act as)\s(?:\w{1,12}\s){0,5}(?:no|without|not bound by)\s(?:\w{1,12}\s){0,2}"
    r"(?:rules|restrictions|limits|guidelines|filters)",
    r"enter\s(?:\w{1,12}\s){0,2}(?:developer|debug|god|jailbreak|maintenance|sudo)\smode",
)
DISREGARD = _phrase(
    "disregard ignore bypass break violate forget circumvent turn&off disable rules restrictions no&longer",
    rf"(?:{_BREAK}){_GAP}{_ALL}(?:[\w-]{{1,12}}{_GAP})?{_RULES}(?!\w)",
    r"(?:rules|restrictions)\s(?:\w{1,12}\s){0,4}(?:no longer|do not|don['’]t)\sapply",
    r"no longer\s(?:\w{1,12}\s){0,2}(?:bound|limited|restricted)\sby",
)


def places(text: str, phrase: Phrase, most: int) -> list[tuple[int, int]]:
    """Where they stand, in order."""
    found: set[tuple[int, int]] = set()
    for start in phrase.starts:
        at = text.find(start)
        hits = 0
        while at >= 0 and hits < most:
            before = text[at - 1 : at] if at else ""
            if not (before.isascii() and before.isalnum()):
                match = phrase.pattern.match(text, at)
                if match is not None:
                    found.add(match.span())
                    hits += 1
            at = text.find(start, at + len(start))
    return sorted(found)[:most]


def is_quoted(text: str, start: int) -> bool:
    """Whether a quotation begins there."""
    return start > 0 and text[start - 1] in QUOTES
