"""Values of a job file that say who hears of it, and what they expect to hear.

Readers as in `fieldvalues`. Whether a target is configured is looked at when a job is made, and before each run.
"""

from __future__ import annotations

import re

from horae.core.fieldvalues import WHOLE, duration, refuse, shown, text
from horae.core.frontmatter import Node
from horae.limits import EXPECT_EVERY_MAX_S, EXPECT_EVERY_MIN_S, IN_A_ROW_MAX, TARGET_CHARS_MAX

_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


def origin(file: str, key: str, node: Node) -> str:
    """One target."""
    value = text(file, key, node, "a target such as telegram:-100777:12")
    if len(value) > TARGET_CHARS_MAX or value.lower() in ("origin", "all"):
        refuse(file, key, node, f"must be one target with a place of its own; it says {shown(node)}", "a target")
    return value


def time_of_day(file: str, key: str, node: Node) -> str:
    """Hours and minutes of the job's own zone, with two digits each."""
    expected = "a time of day such as 09:30"
    found = _TIME.fullmatch(text(file, key, node, expected))
    if found is None:
        refuse(file, key, node, f"must be {expected}; it says {shown(node)}", expected)
    return f"{int(found[1]):02d}:{found[2]}"


def expect_every(file: str, key: str, node: Node) -> int:
    """Seconds, from one completed run to the next."""
    seconds = round(duration(file, key, node))
    if not EXPECT_EVERY_MIN_S <= seconds <= EXPECT_EVERY_MAX_S:
        refuse(file, key, node, f"must be from a minute to a year; it says {shown(node)}", "a duration such as 26h")
    return seconds


def expect_output(file: str, key: str, node: Node) -> int:
    """How many silent runs in a row are one too many."""
    return _in_a_row(file, key, node, 1, "a number of runs from 1 on")


def pause_after(file: str, key: str, node: Node) -> int:
    """How many failures in a row are enough."""
    return _in_a_row(file, key, node, 0, "a number of failures, or 0 for never")


def _in_a_row(file: str, key: str, node: Node, least: int, expected: str) -> int:
    value = text(file, key, node, expected)
    if not WHOLE.fullmatch(value) or not least <= int(value) <= IN_A_ROW_MAX:
        says = f"must be {expected}, up to {IN_A_ROW_MAX}; it says {shown(node)}"
        refuse(file, key, node, says, expected)
    return int(value)
