"""The keys of a job file: for each, how its value is read, and how a value is written.

A reader takes (file, key, node) and returns the value for the `Job`, or raises `Invalid` for that line. `written` is
its inverse: the text, the list of texts or the mapping of texts that stands in a file. The readers themselves are in
`fieldvalues` (a text, a list), `fieldpolicies` (the same, of what is said about a job's slots), `fieldruns` (of what a
run finds and may do), `fieldagents` (of its agent), `fieldnotices` (of who hears of it, and when) and `fieldmaps` (a mapping).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast, get_args

from horae.core import fieldagents, fieldnotices, fieldpolicies, fieldruns, fieldvalues
from horae.core.fieldmaps import FIELD_MAPS, mapping, where_it_belongs, written_mapping
from horae.core.fieldvalues import Form
from horae.core.frontmatter import Node
from horae.core.model import CatchUp, Empty, Overlap, Urgency
from horae.core.scalars import Written, written_duration
from horae.errors import Invalid

_NUMBER = re.compile("-?[0-9]{1,15}")

# In the canonical order: what it is, when, what becomes of slots that cannot run then, what runs, where the result goes.
FORMS: dict[str, Form] = {
    "id": fieldvalues.identity,
    "name": fieldvalues.name,
    "schedule": fieldvalues.schedule,
    "timezone": fieldvalues.text,
    "clock_change": mapping,
    "repeat": fieldvalues.repeat,
    "starts": fieldpolicies.bound,
    "ends": fieldpolicies.bound,
    "exclude": fieldpolicies.calendars,
    "spread": fieldpolicies.spread,
    "enabled": fieldvalues.truth,
    "catch_up": fieldvalues.one_of(get_args(CatchUp)),
    "not_later_than": fieldpolicies.not_later_than,
    "overlap": fieldvalues.one_of(get_args(Overlap)),
    "retries": mapping,
    "group": fieldpolicies.group,
    "priority": fieldpolicies.priority,
    "runs_on": fieldpolicies.labels,
    "after": fieldvalues.text,
    "agent": fieldagents.agent,
    "skills": fieldvalues.strings,
    "model": fieldvalues.text,
    "fallbacks": fieldagents.models,
    "tools": fieldagents.tools,
    "approve": fieldagents.tools,
    "context_from": fieldagents.jobs,
    "context_age": fieldagents.context_age,
    "watch": fieldagents.watch,
    "empty": fieldvalues.one_of(get_args(Empty)),
    "schema": fieldagents.schema,
    "script": fieldvalues.script,
    "command": fieldvalues.command,
    "env": fieldvalues.variables,
    "secrets": fieldruns.secrets,
    "workdir": fieldruns.workdir,
    "landlock": fieldruns.switch,
    "sandbox": fieldruns.sandbox,
    "deliver": fieldvalues.deliver,
    "alerts": fieldvalues.deliver,
    "origin": fieldnotices.origin,
    "urgency": fieldvalues.one_of(get_args(Urgency)),
    "expect_by": fieldnotices.time_of_day,
    "expect_every": fieldnotices.expect_every,
    "expect_output": fieldnotices.expect_output,
    "pause_after": fieldnotices.pause_after,
    "limits": mapping,
}
ORDER = tuple(FORMS)
_IN_SECONDS = ("spread", "not_later_than", "expect_every", "context_age")
FIELDS = {key: f"{key}_s" if key in _IN_SECONDS else key for key in ORDER}
"""The field of a `Job` for each key: seconds say so in their name."""


def unknown(file: str, node: Node, key: str) -> Invalid:
    """The error for a key that no job file has."""
    return fieldvalues.unknown(file, node, key, ORDER, hint=where_it_belongs(key, node))


def written(key: str, value: object) -> Written:
    """A value as it stands in a file: what the reader of that key understands. Raises Invalid for one that has no form.

    Takes the values of a `Job`, and also texts as a person would write them (`"20m"`).
    """
    if key in FIELD_MAPS:
        return written_mapping(key, value)
    if (
        key in ("repeat", "priority", "expect_output", "pause_after")
        and isinstance(value, str)
        and _NUMBER.fullmatch(value)
    ):
        return int(value)
    if key in _IN_SECONDS and type(value) is int:
        return written_duration(value)
    if key == "landlock" and isinstance(value, str) and value.lower() in fieldruns.SWITCH:
        return fieldruns.SWITCH[value.lower()]
    if key == "agent" and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
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
