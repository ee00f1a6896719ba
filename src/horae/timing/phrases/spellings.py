"""Other spellings of what the grammar says: for the hint of a refusal, never for reading.

Words are replaced wherever they stand, shapes are turned around one at a time on top of that, and last a slip of the
pen becomes the nearest word of the grammar. What comes out is told only if it is read, so a row that helps in one text
does no harm in another. Words that English itself reads in two ways are refused with both.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from functools import cache

from horae.errors import Invalid
from horae.timing.phrases.forms import SCHEDULE
from horae.timing.phrases.grammar import Choice, Many, Name, Optional, Part, Placed, Rule, Sequence, Words

_WORDS = (
    ("[\u2010-\u2015]", "-"),
    ("[\u2018\u2019]", "'"),
    (r"^(?:please )?(?:(?:run|start|do|repeat|remind me|schedule)(?: it| this)? )?", ""),
    (r",? please$", ""),
    (r"(?<=[0-9a-z])[.!]$", ""),
    (r"(?<=[0-9 ])([ap])\.m\b\.?", r"\1m"),
    (r" ?&", " and"),
    (r"@ ?(?=[0-9])", "at "),
    (r"\b([0-9]{1,2})[.h]([0-9]{2})(?=[ap]m|\b)", r"\1:\2"),
    (r"(?:(?<=at )|^)([01][0-9]|2[0-3])([0-5][0-9])\b", r"\1:\2"),
    (r"\bat :([0-5][0-9])\b", r"at minute \1"),
    (r"\b(?:a )?half(?: an)?[ -]hour\b", "30 minutes"),
    (r"\b(?:a )?quarter(?: of an)?[ -]hour\b", "15 minutes"),
    (r"\b(?:work|business|working) ?day(?=s?\b)", "weekday"),
    (r"^each (?=hour|minute|[0-9])", "every "),
    (r"\bfortnightly\b", "every 2 weeks"),
    (r"\bfortnight\b", "2 weeks"),
    (r"\bminutely\b", "every minute"),
    (r"\b(?:once|twice|(?:three|[0-9]) times) (?:a|per|each|every) day\b", "every day"),
    (r"\bevery (?:single|calendar) day\b", "every day"),
    (r"\b(?:every|each) (noon|midnight)\b", r"every day at \1"),
    (r"\bhours?,? on the hour\b", "hour by the clock"),
    (r"\bend of (?:the )?month\b", "last day of the month"),
    (r"\bmorning(?= (?:at )?[0-9:]+ ?am\b)", ""),
    (r"\b(?:afternoon|evening)(?= (?:at )?[0-9:]+ ?pm\b)", ""),
    (r"\btonight(?= (?:at )?(?:[0-9:]+ ?pm|1[2-9]:|2[0-3]:))", "today"),
    (r"\b(weekly|monthly|yearly)(?= (?!on\b|at\b)[a-z0-9])", r"\1 on"),
    (r"\bfor ([0-9]+ times)\b", r"\1"),
    (r"\b(?:from|starting|beginning|since)(?: on)? (?=[0-9]{4}-)", "starting "),
    (r"\b(?:till|through|ending)(?: on)? (?=[0-9]{4}-)", "until "),
    (r"\b(?:excluding|without|not on)\b", "except"),
)
_SHAPES = (
    (r"^(every [^ ]+(?: [^ ]+)?) (?:starting|beginning) (?:at )?(?=[0-9:]+(?:am|pm)?$|noon$|midnight$)", r"\1 from "),
    (r"^(.+?) of ([a-z]+) ((?:at )?[0-9nm].*)$", r"\1 of the month \3 in \2"),
    (r"^((?:at )?[0-9nm].*?) (on .+) of ([a-z]+)$", r"\1 \2 of the month in \3"),
    (r"^(every (?:[0-9]+ ?)?[a-z]+) (?=on |in |from [0-9]{4}-|starting )", r"\1 by the clock "),
    (r"^((?:weekdays|weekends|.*days?)),? (every (?:[0-9]+ ?)?[a-z]+)$", r"\2 by the clock on \1"),
    (r"^(.+?) ((?:at |[0-9]).*?),? except (?:on )?(.+)$", r"\1 except \3 \2"),
    (r"\bbetween (.+) (?:to|until) (.+)", r"from \1 to \2"),
    (r"\bfrom (.+) (?:until|till|and) (.+)", r"from \1 to \2"),
    (r"\b(?:from )?([0-9]{1,2})-([0-9]{1,2})\b", r"from \1:00 to \2:00"),
)
_SLIP_MIN = 3  # letters of a word that may be misspelled
_TWOFOLD = {
    "biweekly": ("every 2 weeks or twice a week", "`every 2 weeks on monday at 9am` or `every mon, thu at 9am`"),
    "bimonthly": (
        "every 2 months or twice a month",
        "`every 2 months on the 1st at 9am` or `1st and 15th of the month at 9am`",
    ),
    "quarterly": (
        "in the first month of each quarter, or every 3 months from now on",
        "`1st of the month at 9am in january, april, july and october` or `every 3 months on the 1st at 9am`",
    ),
    "biannually": (
        "every 2 years or twice a year",
        "`every 2 years on 1 january at 9am` or `every 1 january and 1 july at 9am`",
    ),
}


def twofold(phrase: str) -> Invalid | None:
    """The refusal of a phrase that begins with such a word."""
    word = phrase.split(" ", maxsplit=1)[0]
    if word not in _TWOFOLD:
        return None
    readings, forms = _TWOFOLD[word]
    return Invalid(f"{word!r} could mean {readings}", f"write, for example, {forms}", value=phrase)


def respelled(phrase: str) -> Iterator[str]:
    """What the phrase may have been meant to say, the likeliest first. Not all of it is a phrase."""
    for pattern, by in _WORDS:  # compiled when a phrase is refused, and not at each start of a command
        phrase = re.sub(pattern, by, phrase)
    phrase = " ".join(phrase.split())
    yield phrase
    for pattern, by in _SHAPES:
        turned = re.sub(pattern, by, phrase, count=1)
        if turned != phrase:
            yield " ".join(turned.split())
    yield " ".join(_corrected(word) for word in phrase.split(" "))


def _corrected(word: str) -> str:
    """The nearest word of the grammar to a word that is none."""
    bare = word.rstrip(",;")
    if not bare.isalpha() or len(bare) < _SLIP_MIN or bare in _vocabulary():
        return word
    near = difflib.get_close_matches(bare, _vocabulary(), n=1, cutoff=0.75)
    return (near[0] if near else bare) + word[len(bare) :]


@cache
def _vocabulary() -> tuple[str, ...]:
    """All words of the grammar, long ones first: of two that are equally near the plainer one is meant."""
    return tuple(sorted(_words_of(SCHEDULE), key=lambda word: (-len(word), word)))


def _words_of(root: Part) -> frozenset[str]:
    """All words of letters that a grammar knows."""
    found: set[str] = set()
    seen: set[int] = set()
    left = [root]
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        match part:
            case Words():
                found.update(part.words)
            case Name():
                found.update(part.values)
            case Sequence():
                left += part.parts
            case Choice():
                left += part.options
            case Many():
                left += [part.item, *([] if part.joint is None else [part.joint])]
            case Optional() | Rule() | Placed():
                left.append(part.part)
            case _:
                pass
    return frozenset(word for word in found if word.isalpha())
