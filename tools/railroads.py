"""The grammar of phrases as railroad diagrams and as text, for docs/reference/phrases.md."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import railroad

from horae.timing.phrases import grammar
from horae.timing.phrases.forms import SCHEDULE

WORDS_MAX = 4  # a list of names is drawn when it is no longer
WIDTH = 100
STYLE = """
svg { background: #fcfcfa; }
path { stroke: #3b4252; stroke-width: 1.6; fill: none; }
rect { stroke: #3b4252; stroke-width: 1.4; fill: #e3efe3; }
.non-terminal rect { fill: #e6ebf7; }
text { font: 14px ui-monospace, monospace; text-anchor: middle; fill: #1f2430; }
"""


def rules() -> list[grammar.Rule]:
    """All rules with a name, the outer ones first."""
    found: dict[str, grammar.Rule] = {SCHEDULE.name: SCHEDULE}
    left = [SCHEDULE]
    while left:
        for part in inside(left.pop(0).part):
            if isinstance(part, grammar.Rule) and part.name and part.name not in found:
                found[part.name] = part
                left.append(part)
    return list(found.values())


def inside(part: grammar.Part) -> Iterator[grammar.Part]:
    """The part and all in it, rules with a name as one."""
    yield part
    match part:
        case grammar.Refused():
            return
        case grammar.Sequence():
            parts = part.parts
        case grammar.Choice():
            parts = part.options
        case grammar.Optional() | grammar.Placed():
            parts = (part.part,)
        case grammar.Many():
            parts = (part.item, *([part.joint] if part.joint else []))
        case grammar.Rule() if not part.name:
            parts = (part.part,)
        case _:
            parts = ()
    for inner in parts:
        yield from inside(inner)


def leaves() -> dict[str, list[str]]:
    """What each label of a token stands for."""
    found: dict[str, dict[str, None]] = {}
    for rule in rules():
        for part in inside(rule.part):
            if isinstance(part, grammar.Leaf):
                found.setdefault(part.label, {}).update(dict.fromkeys(part.examples))
            elif isinstance(part, grammar.Name) and len(part.shown) > WORDS_MAX:
                found.setdefault(part.label, {}).update(dict.fromkeys(part.shown))
    return {label: list(examples) for label, examples in sorted(found.items())}


# --- pictures


def picture(rule: grammar.Rule) -> str:
    """A drawing of one rule, as SVG."""
    chunks: list[str] = []
    railroad.Diagram(drawn(rule.part), type="complex").writeStandalone(chunks.append, STYLE)
    return "".join(chunks) + "\n"


def drawn(part: grammar.Part) -> railroad.DiagramItem:
    """One part in the shapes of the library."""
    match part:
        case grammar.Words():
            words = [railroad.Terminal(word) for word in part.words]
            return words[0] if len(words) == 1 else railroad.Sequence(*words)
        case grammar.Name() if len(part.shown) <= WORDS_MAX:
            words = [railroad.Terminal(word) for word in part.shown]
            return words[0] if len(words) == 1 else railroad.Choice(0, *words)
        case grammar.Name() | grammar.Leaf():
            return railroad.NonTerminal(part.label)
        case grammar.Sequence():
            return railroad.Sequence(*[drawn(inner) for inner in part.parts])
        case grammar.Choice():
            options = [drawn(option) for option in shown(part)]
            return options[0] if len(options) == 1 else railroad.Choice(0, *options)
        case grammar.Optional(part=grammar.Many() as many):
            return railroad.ZeroOrMore(drawn(many.item), many.joint and drawn(many.joint))
        case grammar.Optional():
            return railroad.Optional(drawn(part.part))
        case grammar.Many():
            return railroad.OneOrMore(drawn(part.item), part.joint and drawn(part.joint))
        case grammar.Rule() if part.name:
            return railroad.NonTerminal(part.name)
        case grammar.Rule() | grammar.Placed():
            return drawn(part.part)
        case _:
            raise TypeError(part)


def shown(part: grammar.Choice) -> list[grammar.Part]:
    """The alternatives that are published, each once."""
    options: dict[str, grammar.Part] = {}
    for option in part.options:
        if not isinstance(option, grammar.Refused):
            options.setdefault(noted(option), option)
    return list(options.values())


# --- text


def written(rule: grammar.Rule) -> str:
    """One rule in EBNF: quotes hold words, [ ] is optional, { } comes again."""
    part = rule.part
    while isinstance(part, grammar.Placed) or (isinstance(part, grammar.Rule) and not part.name):
        part = part.part
    name = named(rule.name)
    options = [noted(option) for option in shown(part)] if isinstance(part, grammar.Choice) else [noted(part)]
    line = f"{name} = {' | '.join(options)} ;"
    if len(line) <= WIDTH:
        return line
    lines = [f"{name} ="]
    for option in options:
        joined = re.sub(r"\? .*? \?", lambda label: label[0].replace(" ", "\0"), option)  # labels are not broken
        bar = "  | " if len(lines) > 1 else "    "
        lines += textwrap.wrap(joined, WIDTH, initial_indent=bar, subsequent_indent=" " * 8, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ") + " ;"


def noted(part: grammar.Part) -> str:
    """One part as text."""
    match part:
        case grammar.Words():
            return " ".join(f'"{word}"' for word in part.words)
        case grammar.Name() if len(part.shown) <= WORDS_MAX:
            words = " | ".join(f'"{word}"' for word in part.shown)
            return words if len(part.shown) == 1 else f"({words})"
        case grammar.Name() | grammar.Leaf():
            return f"? {part.label} ?"
        case grammar.Sequence():
            return " ".join(noted(inner) for inner in part.parts)
        case grammar.Choice():
            options = [noted(option) for option in shown(part)]
            return options[0] if len(options) == 1 else f"({' | '.join(options)})"
        case grammar.Optional(part=grammar.Many() as many) if many.joint is None:
            return f"{{ {noted(many.item)} }}"
        case grammar.Optional():
            return f"[{noted(part.part)}]"
        case grammar.Many():
            item = noted(part.item)
            return f"{item} {{ {f'{noted(part.joint)} ' if part.joint else ''}{item} }}"
        case grammar.Rule() if part.name:
            return named(part.name)
        case grammar.Rule() | grammar.Placed():
            return noted(part.part)
        case _:
            raise TypeError(part)


def named(name: str) -> str:
    """A rule's name as a word of the text, and of a file's name."""
    return name.replace(" ", "-")
