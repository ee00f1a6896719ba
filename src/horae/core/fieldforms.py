"""The keys of a job file: for each, how its value is read, and how a value is written.

A reader takes (file, key, node) and returns the value for the `Job`, or raises `Invalid` for that line. `written` is
its inverse: the text, the list of texts or the mapping of texts that stands in a file.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn, cast

from horae import limits
from horae.core.frontmatter import Node, fault
from horae.core.model import Limits
from horae.core.scalars import Written
from horae.core.text import clean_name
from horae.errors import Invalid
from horae.timing.durations import parse_duration

Form = Callable[[str, str, Node], object]

COUNT_MAX = 10**12  # of turns, tokens, bytes or repeats: anything above is a slip, and the database counts in 64 bits
USD_MAX = 10**6

_ID = re.compile("[0-9a-f]{12}")
_WHOLE = re.compile("[0-9]{1,15}")
_MONEY = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,12})?")
_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kmg]?)(?:i?b)?", re.IGNORECASE)
_VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_DRIVE = re.compile("[A-Za-z]:")


def unknown(file: str, node: Node, key: str, known: Iterable[str], within: str = "") -> Invalid:
    """The error for a key that does not exist, with the nearest one that does."""
    names = list(known)
    near = difflib.get_close_matches(key.lower()[:60], names, 1, 0.6)
    shown = key if len(key) <= 60 else key[:59] + "…"
    says = f"there is no key `{within}{shown}`"
    hint = f"Did you mean `{near[0]}`?" if near else f"The keys are {', '.join(names)}."
    return fault(file, node.key_line, within + key, says, f"one of {', '.join(names)}", hint)


def _refuse(file: str, key: str, node: Node, problem: str, expected: str, hint: str | None = None) -> NoReturn:
    raise fault(file, node.line, key, f"`{key}` {problem}", expected, hint)


def _shown(node: Node) -> str:
    text = node.text if len(node.text) <= 60 else node.text[:59] + "…"
    return repr(text) if node.style is not None or not text.isprintable() else text


_KINDS = {"list": "a list", "map": "a mapping", "text": "a single value"}


def text(file: str, key: str, node: Node, expected: str = "text") -> str:
    """One line of text."""
    if node.kind != "text":
        _refuse(file, key, node, f"must be {expected}, not {_KINDS[node.kind]}", expected)
    value = node.text.strip()
    if not value or (node.style is None and value in ("~", "null", "Null", "NULL")):
        _refuse(file, key, node, "has no value", expected, "Write a value behind it, or remove the line.")
    if not value.isprintable() and clean_name(value) != value:
        _refuse(file, key, node, "must be one line without control or invisible characters", expected)
    return value


def schedule(file: str, key: str, node: Node) -> str:
    """A schedule: may have several lines, which its own parser judges."""
    if node.kind != "text":
        _refuse(file, key, node, f"must be text, not {_KINDS[node.kind]}", "a schedule")
    value = node.text.strip()
    if len(value) > limits.SCHEDULE_CHARS_MAX:
        most = limits.SCHEDULE_CHARS_MAX
        _refuse(file, key, node, f"is longer than {most} characters", f"at most {most} characters")
    if "\n" in value:
        return value
    return text(file, key, node, "a schedule")


def truth(file: str, key: str, node: Node) -> bool:
    """Exactly true or false, without quotes."""
    expected = "true or false"
    if node.kind != "text":
        _refuse(file, key, node, f"must be true or false, not {_KINDS[node.kind]}", expected)
    word = node.text.lower()
    if node.style is None and word in ("true", "false"):
        return word == "true"
    if word in ("true", "false"):
        hint = f"Write {key}: {word}, without quotes."
        _refuse(file, key, node, f"must be true or false; {node.text!r} in quotes is a text", expected, hint)
    says = f"must be true or false; it says {_shown(node)}" if word else "has no value"
    _refuse(file, key, node, says, expected, f"Write {key}: true or {key}: false.")


def identity(file: str, key: str, node: Node) -> str:
    """Twelve lower-case hex digits."""
    expected = "12 lower-case hex digits"
    value = text(file, key, node, expected)
    if not _ID.fullmatch(value):
        hint = "Remove the line to get a new one; ids are given by Horae."
        _refuse(file, key, node, f"must be {expected}; it says {_shown(node)}", expected, hint)
    return value


def name(file: str, key: str, node: Node) -> str:
    """Free text on one line, without characters that hide or draw."""
    value = text(file, key, node, "a name")
    most = limits.NAME_CHARS_MAX
    if len(value) > most:
        _refuse(file, key, node, f"is longer than {most} characters", f"at most {most} characters")
    if not value.isascii() and clean_name(value) != " ".join(value.split()):
        _refuse(file, key, node, "contains invisible or direction-changing characters", "visible characters")
    return value


def script(file: str, key: str, node: Node) -> str:
    """A path below scripts/. Whether the file is there, and where links lead, is checked when it is used."""
    expected = "a file below scripts/"
    value = text(file, key, node, expected)
    steps = value.split("/")
    if value[0] in "/~" or "\\" in value or _DRIVE.match(value):
        _refuse(file, key, node, f"must name {expected}, not a path of its own: {_shown(node)}", expected)
    if ".." in steps or "." in steps or "" in steps:
        _refuse(file, key, node, f"must not leave scripts/ or go in circles: {_shown(node)}", expected)
    return value


def strings(file: str, key: str, node: Node) -> tuple[str, ...]:
    """A list of texts, each once."""
    if node.kind != "list":
        hint = f"Write {key}: [{node.text}]" if node.kind == "text" and node.text else f"Write {key}: [one, two]"
        _refuse(file, key, node, f"must be a list, not {_KINDS[node.kind]}", "a list", hint)
    values = tuple(text(file, key, item) for item in node.items)
    _each_once(file, key, node, values)
    return values


def _each_once(file: str, key: str, node: Node, values: tuple[str, ...]) -> None:
    if len(set(values)) < len(values):
        seen: set[str] = set()
        twice = next(value for value in values if value in seen or seen.add(value))
        _refuse(file, key, node, f"names {twice} twice", "each once")


def command(file: str, key: str, node: Node) -> tuple[str, ...]:
    """The program and its arguments. One string is refused: there is no shell that would take it apart."""
    if node.kind == "text":
        hint = f"There is no shell: write {key}: [program, argument, argument]. For a shell, [sh, -c, '…']."
        _refuse(file, key, node, "must be a list of texts, not one text", "a list of texts", hint)
    if node.kind == "map" or not node.items:
        _refuse(file, key, node, "must be a list with at least a program", "a list of texts")
    for item in node.items:
        if item.kind != "text":
            _refuse(file, key, item, "must hold texts only", "a list of texts")
        if "\0" in item.text:
            _refuse(file, key, item, "contains a NUL character", "a list of texts")
    if not node.items[0].text.strip():
        _refuse(file, key, node.items[0], "begins with an empty program name", "a list of texts")
    return tuple(item.text for item in node.items)


def deliver(file: str, key: str, node: Node) -> tuple[str, ...]:
    """Targets: a list, or one text with commas between them."""
    expected = "targets"
    if node.kind != "text":
        values = strings(file, key, node)
    else:
        values = tuple(target.strip() for target in text(file, key, node, expected).split(","))
    if not values or not all(values):
        hint = "Write deliver: [local] to keep results in the history only."
        _refuse(file, key, node, "names no target", expected, hint)
    _each_once(file, key, node, values)
    return values


def variables(file: str, key: str, node: Node) -> tuple[str, ...]:
    """Names of environment variables; never values, since files go into version control."""
    values = strings(file, key, node)
    for value in values:
        if not _VARIABLE.fullmatch(value):
            hint = "Only names: the values stay in the gateway's environment." if "=" in value else None
            _refuse(file, key, node, f"must list names of environment variables; {value!r} is none", "names", hint)
    return values


def repeat(file: str, key: str, node: Node) -> int | None:
    """How many times in all: a number, or the words forever and once."""
    expected = "a whole number from 1 on, forever, or once"
    value = text(file, key, node, expected)
    if value.lower() in ("forever", "once"):
        return None if value.lower() == "forever" else 1
    if not _WHOLE.fullmatch(value) or not 1 <= int(value) <= COUNT_MAX:
        _refuse(file, key, node, f"must be {expected}; it says {_shown(node)}", expected)
    return int(value)


def _duration(file: str, key: str, node: Node) -> float:
    value = text(file, key, node, "a duration such as 20m")
    try:
        seconds = float(parse_duration(value))
    except Invalid as error:
        raise fault(file, node.line, key, f"`{key}`: {error.message}", "a duration such as 20m", error.hint) from error
    if not 0 < seconds <= COUNT_MAX:
        _refuse(file, key, node, "must be more than nothing", "a duration such as 20m", "Leave it out for no limit.")
    return seconds


def _amount(unit: int, expected: str) -> Form:
    def form(file: str, key: str, node: Node) -> int:
        found = _AMOUNT.fullmatch(text(file, key, node, expected))
        if found is not None:
            amount = Decimal(found[1]) * unit ** " kmg".index(found[2].lower() or " ")
            if amount == int(amount) and 0 < amount <= COUNT_MAX:
                return int(amount)
        _refuse(file, key, node, f"must be {expected}; it says {_shown(node)}", expected)

    return form


def _turns(file: str, key: str, node: Node) -> int:
    expected = "a whole number from 1 on"
    value = text(file, key, node, expected)
    if not _WHOLE.fullmatch(value) or not 1 <= int(value) <= COUNT_MAX:
        _refuse(file, key, node, f"must be {expected}; it says {_shown(node)}", expected)
    return int(value)


def _usd(file: str, key: str, node: Node) -> float:
    expected = "dollars such as 0.50"
    value = text(file, key, node, expected)
    if not _MONEY.fullmatch(value) or not 0 < Decimal(value) <= USD_MAX:
        _refuse(file, key, node, f"must be {expected}; it says {_shown(node)}", expected)
    return float(value)


LIMITS: dict[str, tuple[str, Form]] = {
    "wall": ("wall_s", _duration),
    "idle": ("idle_s", _duration),
    "script": ("script_s", _duration),
    "output": ("output_bytes", _amount(1024, "a number of bytes such as 256k")),
    "turns": ("turns", _turns),
    "tokens": ("tokens", _amount(1000, "a number of tokens such as 200k")),
    "usd": ("usd", _usd),
}


def allowance(file: str, key: str, node: Node) -> Limits:
    """The mapping of limits."""
    if node.kind != "map":
        hint = "Write limits: {wall: 20m, tokens: 200k}"
        _refuse(file, key, node, f"must be a mapping, not {_KINDS[node.kind]}", "a mapping", hint)
    values: dict[str, Any] = {}
    for limit, child in node.entries.items():
        if limit not in LIMITS:
            raise unknown(file, child, limit, LIMITS, f"{key}.")
        field, form = LIMITS[limit]
        values[field] = form(file, f"{key}.{limit}", child)
    return Limits(**values)


# In the canonical order: what it is, when, what runs, and where the result goes.
FORMS: dict[str, Form] = {
    "id": identity,
    "name": name,
    "schedule": schedule,
    "timezone": text,
    "repeat": repeat,
    "enabled": truth,
    "agent": truth,
    "skills": strings,
    "model": text,
    "script": script,
    "command": command,
    "env": variables,
    "deliver": deliver,
    "limits": allowance,
}
ORDER = tuple(FORMS)


def written(key: str, value: object) -> Written:
    """A value as it stands in a file: what the reader of that key understands. Raises Invalid for one that has no form.

    Takes the values of a `Job`, and also texts as a person would write them (`"20m"`).
    """
    if key == "limits":
        if isinstance(value, Limits):
            value = {limit: getattr(value, field) for limit, (field, _) in LIMITS.items()}
        if not isinstance(value, Mapping):
            raise Invalid(f"`limits` must be a mapping, not {value!r}", key=key, expected="a mapping")
        amounts = cast("Mapping[str, object]", value)
        return {limit: _limit(limit, amount) for limit, amount in amounts.items() if amount is not None}
    if key == "repeat" and isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        texts = [item for item in items if isinstance(item, str)]
        if len(texts) == len(items):
            return texts
    if key == "repeat" and value is None:
        return "forever"
    raise Invalid(f"`{key}` cannot be written as {value!r}", key=key, expected="a text, a number or a list")


def _limit(limit: str, amount: object) -> Written:
    if isinstance(amount, str):
        return Decimal(amount) if _MONEY.fullmatch(amount) else amount
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise Invalid(f"`limits.{limit}` cannot be written as {amount!r}", key=f"limits.{limit}", expected="a number")
    if limit == "usd":
        return Decimal(repr(amount))
    whole = int(amount)
    if amount != whole:
        says = f"`limits.{limit}` must be whole, not {amount!r}"
        raise Invalid(says, key=f"limits.{limit}", expected="a whole number")
    if limit in ("wall", "idle", "script"):
        size, unit = next((size, unit) for size, unit in ((3600, "h"), (60, "m"), (1, "s")) if whole % size == 0)
        return f"{whole // size}{unit}"
    step = {"output": 1024, "tokens": 1000}.get(limit, 0)
    for power, unit in ((2, "M"), (1, "k")) if step else ():
        if whole and whole % step**power == 0:
            return f"{whole // step**power}{unit}"
    return whole
