"""How long things are kept: the part `[retention]` of the config, read into a value.

`output` is what programs printed, `runs` everything of a finished run but its row (deliveries, and the output if it is
still there), `journal` the decisions. Rows of occurrences and runs are kept for ever: a slot's key must not come back,
and how it ended stays known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from difflib import get_close_matches

from horae.errors import Invalid
from horae.timing.durations import parse_duration

DAY_S = 86_400
LONGEST_S = 1000 * 365 * DAY_S  # longer is for ever: the calendar of instants begins in the year 1
FOREVER = "forever"
EXPECTED = "a duration of at least a day such as 90d, or forever"


@dataclass(frozen=True, slots=True)
class Retention:
    """Seconds for which each kind of thing is kept; None is for ever."""

    output: int | None = 90 * DAY_S
    runs: int | None = 400 * DAY_S
    journal: int | None = 400 * DAY_S

    def before(self, kind: str, now: datetime) -> datetime | None:
        """The instant before which a kind is pruned, None when it never is."""
        kept: int | None = getattr(self, kind)
        return None if kept is None else now - timedelta(seconds=kept)


KINDS = tuple(each.name for each in fields(Retention))


def retention_of(values: object) -> Retention:
    """The table `[retention]` of the config. Raises `Invalid`, which names the key."""
    if not isinstance(values, Mapping):
        raise _bad("retention", "a table with output, runs and journal", values)
    found: dict[str, int | None] = {}
    for key, value in values.items():  # pyright: ignore[reportUnknownVariableType]
        name = str(key)  # pyright: ignore[reportUnknownArgumentType]
        if name not in KINDS:
            near = get_close_matches(name, KINDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(KINDS)}"
            raise Invalid(f"unknown key retention.{name}", hint, key=f"retention.{name}", expected=list(KINDS))
        found[name] = _seconds(name, value)  # pyright: ignore[reportUnknownArgumentType]
    return Retention(**found)


def _seconds(name: str, value: object) -> int | None:
    key = f"retention.{name}"
    if value == FOREVER or (value == 0 and not isinstance(value, bool | float)):
        return None
    if not isinstance(value, str):
        raise _bad(key, EXPECTED, value)
    try:
        seconds = parse_duration(value)
    except Invalid as error:
        raise Invalid(f"{key}: {error.message}", error.hint, key=key, expected=EXPECTED) from error
    if seconds < DAY_S:
        raise _bad(key, EXPECTED, value)
    return None if seconds > LONGEST_S else seconds


def _bad(key: str, expected: str, value: object) -> Invalid:
    return Invalid(
        f"{key} must be {expected}, not {value!r}", "see docs/reference/config.md", key=key, expected=expected
    )
