"""The keys of a job file whose value is a mapping: what may stand in it, how each entry is read, how it is written.

Each mapping is a part of the `Job` with a type of its own; an entry that is absent is None there. The entries are known
by name in errors too: one that stands at the top of a file is shown where it belongs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, cast, get_args

from horae.core.fieldvalues import COUNT_MAX, KINDS, WHOLE, Form, refuse, shown, text, unknown
from horae.core.frontmatter import Node, fault
from horae.core.model import ClockChange, Limits
from horae.core.scalars import Written
from horae.errors import Invalid
from horae.timing.clockchange import Gap, Repeat
from horae.timing.durations import parse_duration

USD_MAX = 10**6

_MONEY = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,12})?")
_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kmg]?)(?:i?b)?", re.IGNORECASE)


class FieldMap(NamedTuple):
    """One such key: the type of the part, each entry with the part's field and its reader, the writer of an entry."""

    part: type[Limits | ClockChange]
    entries: Mapping[str, tuple[str, Form]]
    write: Callable[[str, object], Written]
    example: str


def _duration(file: str, key: str, node: Node) -> float:
    value = text(file, key, node, "a duration such as 20m")
    try:
        seconds = float(parse_duration(value))
    except Invalid as error:
        raise fault(file, node.line, key, f"`{key}`: {error.message}", "a duration such as 20m", error.hint) from error
    if not 0 < seconds <= COUNT_MAX:
        refuse(file, key, node, "must be more than nothing", "a duration such as 20m", "Leave it out for no limit.")
    return seconds


def _amount(unit: int, expected: str) -> Form:
    def form(file: str, key: str, node: Node) -> int:
        found = _AMOUNT.fullmatch(text(file, key, node, expected))
        amount = Decimal(found[1]) * unit ** " kmg".index(found[2].lower() or " ") if found else Decimal(0)
        if amount != int(amount) or not 0 < amount <= COUNT_MAX:
            refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
        return int(amount)

    return form


def _turns(file: str, key: str, node: Node) -> int:
    expected = "a whole number from 1 on"
    value = text(file, key, node, expected)
    if not WHOLE.fullmatch(value) or not 1 <= int(value) <= COUNT_MAX:
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
    return int(value)


def _usd(file: str, key: str, node: Node) -> float:
    expected = "dollars such as 0.50"
    value = text(file, key, node, expected)
    if not _MONEY.fullmatch(value) or not 0 < Decimal(value) <= USD_MAX:
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
    return float(value)


def _one_of(words: tuple[str, ...]) -> Form:
    expected = f"{', '.join(words[:-1])} or {words[-1]}"

    def form(file: str, key: str, node: Node) -> str:
        value = text(file, key, node, expected).lower()
        if value not in words:
            refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
        return value

    return form


LIMITS: dict[str, tuple[str, Form]] = {
    "wall": ("wall_s", _duration),
    "idle": ("idle_s", _duration),
    "script": ("script_s", _duration),
    "output": ("output_bytes", _amount(1024, "a number of bytes such as 256k")),
    "turns": ("turns", _turns),
    "tokens": ("tokens", _amount(1000, "a number of tokens such as 200k")),
    "usd": ("usd", _usd),
}

CLOCK_CHANGE: dict[str, tuple[str, Form]] = {
    "gap": ("gap", _one_of(get_args(Gap))),
    "repeat": ("repeat", _one_of(get_args(Repeat))),
}


def entries_of(key: str, part: object) -> dict[str, object]:
    """Each entry of a part, by the name that it has in a file; None for one that is absent."""
    return {entry: getattr(part, field) for entry, (field, _) in FIELD_MAPS[key].entries.items()}


def mapping(file: str, key: str, node: Node) -> Limits | ClockChange:
    """The reader of these keys."""
    known = FIELD_MAPS[key]
    if node.kind != "map":
        refuse(file, key, node, f"must be a mapping, not {KINDS[node.kind]}", "a mapping", _example(key))
    values: dict[str, Any] = {}
    for entry, child in node.entries.items():
        if entry not in known.entries:
            raise unknown(file, child, entry, known.entries, within=f"{key}.")
        field, form = known.entries[entry]
        values[field] = form(file, f"{key}.{entry}", child)
    return known.part(**values)


def written_mapping(key: str, value: object) -> dict[str, Written]:
    """A part, or a mapping with texts as a person would write them, as it stands in a file."""
    if isinstance(value, FIELD_MAPS[key].part):
        value = entries_of(key, value)
    if not isinstance(value, Mapping):
        raise Invalid(f"`{key}` must be a mapping, not {value!r}", _example(key), key=key, expected="a mapping")
    given = cast("Mapping[str, object]", value)
    return {entry: FIELD_MAPS[key].write(entry, said) for entry, said in given.items() if said is not None}


def where_it_belongs(entry: str, node: Node) -> str | None:
    """The hint for an entry of a mapping that stands outside of it; None for a word that is no entry either."""
    for key, known in FIELD_MAPS.items():
        if entry in known.entries:
            said = f"{{{entry}: {node.text}}}" if node.text.isalnum() and len(node.text) < 20 else known.example
            return f"Write {key}: {said}"
    return None


def _example(key: str) -> str:
    return f"Write {key}: {FIELD_MAPS[key].example}"


def _word(entry: str, said: object) -> Written:
    if not isinstance(said, str):
        key = f"clock_change.{entry}"
        raise Invalid(f"`{key}` cannot be written as {said!r}", key=key, expected="a word")
    return said


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


FIELD_MAPS: dict[str, FieldMap] = {
    "clock_change": FieldMap(ClockChange, CLOCK_CHANGE, _word, "{gap: skip, repeat: both}"),
    "limits": FieldMap(Limits, LIMITS, _limit, "{wall: 20m, tokens: 200k}"),
}
