"""The keys of a job file whose value is a mapping: what may stand in it, how each entry is read, how it is written.

Each mapping is a part of the `Job` with a type of its own; an entry that is absent is None there. The entries are known
by name in errors too: one that stands at the top of a file is shown where it belongs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, cast, get_args

from horae.core.fieldvalues import (
    COUNT_MAX,
    KINDS,
    WHOLE,
    Form,
    duration,
    one_of,
    refuse,
    shown,
    some_of,
    text,
    unknown,
)
from horae.core.frontmatter import Node
from horae.core.model import Cause, ClockChange, Limits, Retries
from horae.core.scalars import Written, written_duration, written_texts
from horae.errors import Invalid
from horae.limits import MEMORY_BYTES_MIN, RETRIES_MAX
from horae.timing.clockchange import Gap, Repeat

USD_MAX = 10**6

_MONEY = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,12})?")
_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kmg]?)(?:i?b)?", re.IGNORECASE)


Part = Limits | ClockChange | Retries


class FieldMap(NamedTuple):
    """One such key: the type of the part, each entry with the part's field and its reader, the writer of an entry."""

    part: type[Part]
    entries: Mapping[str, tuple[str, Form]]
    write: Callable[[str, object], Written]
    example: str


def _amount(unit: int, expected: str, least: int = 1) -> Form:
    def form(file: str, key: str, node: Node) -> int:
        found = _AMOUNT.fullmatch(text(file, key, node, expected))
        amount = Decimal(found[1]) * unit ** " kmg".index(found[2].lower() or " ") if found else Decimal(0)
        if amount != int(amount) or not least <= amount <= COUNT_MAX:
            refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
        return int(amount)

    return form


def _whole(file: str, key: str, node: Node) -> int:
    expected = "a whole number from 1 on"
    value = text(file, key, node, expected)
    if not WHOLE.fullmatch(value) or not 1 <= int(value) <= COUNT_MAX:
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
    return int(value)


def _tries(file: str, key: str, node: Node) -> int:
    expected = f"a whole number from 0 to {RETRIES_MAX}"
    value = text(file, key, node, expected)
    if not WHOLE.fullmatch(value) or int(value) > RETRIES_MAX:
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
    return int(value)


def _usd(file: str, key: str, node: Node) -> float:
    expected = "dollars such as 0.50"
    value = text(file, key, node, expected)
    if not _MONEY.fullmatch(value) or not 0 < Decimal(value) <= USD_MAX:
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
    return float(value)


def _causes(file: str, key: str, node: Node) -> tuple[str, ...]:
    """What is tried again, in the order of the table."""
    values = some_of(file, key, node, get_args(Cause))
    return tuple(cause for cause in get_args(Cause) if cause in values)


LIMITS: dict[str, tuple[str, Form]] = {
    "wall": ("wall_s", duration),
    "idle": ("idle_s", duration),
    "script": ("script_s", duration),
    "output": ("output_bytes", _amount(1024, "a number of bytes such as 256k")),
    "memory": ("memory_bytes", _amount(1024, "a number of bytes from 1M on, such as 512M", MEMORY_BYTES_MIN)),
    "cpu": ("cpu_s", duration),
    "processes": ("processes", _whole),
    "turns": ("turns", _whole),
    "tokens": ("tokens", _amount(1000, "a number of tokens such as 200k")),
    "usd": ("usd", _usd),
    "tokens_day": ("tokens_day", _amount(1000, "a number of tokens such as 200k")),
    "usd_day": ("usd_day", _usd),
}

CLOCK_CHANGE: dict[str, tuple[str, Form]] = {
    "gap": ("gap", one_of(get_args(Gap))),
    "repeat": ("repeat", one_of(get_args(Repeat))),
}

RETRIES: dict[str, tuple[str, Form]] = {
    "max": ("max", _tries),
    "backoff": ("backoff_s", duration),
    "ceiling": ("ceiling_s", duration),
    "on": ("on", _causes),
}


def entries_of(key: str, part: object) -> dict[str, object]:
    """Each entry of a part, by the name that it has in a file; None for one that is absent."""
    return {entry: getattr(part, field) for entry, (field, _) in FIELD_MAPS[key].entries.items()}


def mapping(file: str, key: str, node: Node) -> Part:
    """The reader of these keys."""
    known = FIELD_MAPS[key]
    if node.kind != "map":
        hint = (
            f"Write {key}: {{max: {node.text}}}" if key == "retries" and WHOLE.fullmatch(node.text) else _example(key)
        )
        refuse(file, key, node, f"must be a mapping, not {KINDS[node.kind]}", "a mapping", hint)
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
    if limit in ("usd", "usd_day"):
        return Decimal(repr(amount))
    whole = int(amount)
    if amount != whole:
        says = f"`limits.{limit}` must be whole, not {amount!r}"
        raise Invalid(says, key=f"limits.{limit}", expected="a whole number")
    if limit in ("wall", "idle", "script", "cpu"):
        return written_duration(whole)
    step = {"output": 1024, "memory": 1024, "tokens": 1000, "tokens_day": 1000}.get(limit, 0)
    for power, unit in ((2, "M"), (1, "k")) if step else ():
        if whole and whole % step**power == 0:
            return f"{whole // step**power}{unit}"
    return whole


def _retry(entry: str, said: object) -> Written:
    if entry == "on":
        return written_texts(f"retries.{entry}", said)
    if isinstance(said, str):
        return int(said) if entry == "max" and WHOLE.fullmatch(said) else said
    if isinstance(said, bool) or not isinstance(said, int | float) or said != int(said):
        key = f"retries.{entry}"
        raise Invalid(f"`{key}` cannot be written as {said!r}", key=key, expected="a whole number")
    return int(said) if entry == "max" else written_duration(int(said))


FIELD_MAPS: dict[str, FieldMap] = {
    "clock_change": FieldMap(ClockChange, CLOCK_CHANGE, _word, "{gap: skip, repeat: both}"),
    "retries": FieldMap(Retries, RETRIES, _retry, "{max: 3, backoff: 30s}"),
    "limits": FieldMap(Limits, LIMITS, _limit, "{wall: 20m, tokens: 200k}"),
}
