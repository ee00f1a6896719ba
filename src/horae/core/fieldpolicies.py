"""Values of a job file that say what becomes of its slots: when they begin and end, how late, where, and with whom.

Readers as in `fieldvalues`. What a name stands for is not known here: which calendars, groups and labels there are is in
the settings, and is looked at when a job is made and before it runs.
"""

from __future__ import annotations

import re

from horae.core.fieldvalues import duration, refuse, shown, strings, text
from horae.core.frontmatter import Node
from horae.core.slug import NAMED, is_name
from horae.limits import LATENESS_MAX_S, NAMES_MAX, PRIORITY_MAX, SPREAD_MAX_S
from horae.timing.durations import duration_words

_WHOLE = re.compile("[+-]?[0-9]{1,6}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ].*)?")


def bound(file: str, key: str, node: Node) -> str:
    """A day or an instant, in ISO form. Whether the calendar has it is checked together with the zone."""
    expected = "a day such as 2026-12-24, or an instant such as 2026-12-24 18:00"
    value = text(file, key, node, expected)
    if not _DATE.fullmatch(value):
        hint = f"Write {key}: 2026-12-24, or {key}: 2026-12-24 18:00."
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected, hint)
    return value


def spread(file: str, key: str, node: Node) -> int:
    """Whole seconds; 0 is none."""
    if node.kind == "text" and node.text.strip() == "0":
        return 0
    return _seconds(file, key, node, SPREAD_MAX_S)


def not_later_than(file: str, key: str, node: Node) -> int:
    """Whole seconds."""
    return _seconds(file, key, node, LATENESS_MAX_S)


def _seconds(file: str, key: str, node: Node, most: int) -> int:
    seconds = int(duration(file, key, node))
    if seconds > most:
        expected = f"at most {duration_words(most)}"
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
    return seconds


def calendars(file: str, key: str, node: Node) -> tuple[str, ...]:
    """Names of exclusion calendars."""
    return _names(file, key, node, "calendars", "Calendars are made in config.toml, as [calendars.NAME].")


def labels(file: str, key: str, node: Node) -> tuple[str, ...]:
    """Labels that a gateway must have, sorted."""
    found = _names(file, key, node, "labels", 'A gateway has those that its config.toml gives it: labels = ["gpu"].')
    return tuple(sorted(found))


def group(file: str, key: str, node: Node) -> str:
    """The name of a concurrency group."""
    value = text(file, key, node, "the name of a group")
    if not is_name(value):
        refuse(file, key, node, f"must be a name ({NAMED}); it says {shown(node)}", NAMED)
    return value


def priority(file: str, key: str, node: Node) -> int:
    """From -100 to 100."""
    expected = f"a whole number from -{PRIORITY_MAX} to {PRIORITY_MAX}"
    value = text(file, key, node, expected)
    if not _WHOLE.fullmatch(value) or abs(int(value)) > PRIORITY_MAX:
        hint = "Higher goes first among what is due; 0 is usual."
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected, hint)
    return int(value)


def _names(file: str, key: str, node: Node, what: str, hint: str) -> tuple[str, ...]:
    """A list of names, or one text with commas between them."""
    if node.kind == "text":
        values = tuple(name.strip() for name in text(file, key, node, f"names of {what}").split(","))
        if len(set(values)) < len(values):
            refuse(file, key, node, "names one twice", "each once")
    else:
        values = strings(file, key, node)
    if len(values) > NAMES_MAX:
        refuse(file, key, node, f"names more than {NAMES_MAX} {what}", f"at most {NAMES_MAX}")
    for value in values:
        if not is_name(value):
            says = f"must list names of {what} ({NAMED}); {value[:60]!r} is none"
            refuse(file, key, node, says, f"names of {what}", hint)
    return values
