"""A job as plain JSON values, for the store, and the digests that tell whether it or its cadence has changed.

Apart from `jobfile`, since a command that only looks into the store must not pay for loading a YAML parser.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast, get_args

from horae.core.model import CatchUp, Cause, ClockChange, Empty, Job, Limits, Overlap, Retries, Sandbox, Urgency
from horae.errors import Invalid
from horae.timing.clockchange import Gap, Repeat

PARTS: dict[str, type[ClockChange | Limits | Retries]] = {
    "clock_change": ClockChange,
    "limits": Limits,
    "retries": Retries,
}
DEFAULTS: dict[str, Any] = (
    {f.name: f.default for f in fields(Job)} | {"id": ""} | {key: kind() for key, kind in PARTS.items()}
)
_PART_FIELDS = {key: tuple(sorted(f.name for f in fields(kind))) for key, kind in PARTS.items()}
_ALWAYS = ("id", "slug", "name", "schedule", "timezone")
_LISTS = (
    "command", "deliver", "alerts", "skills", "env", "secrets", "exclude", "runs_on",
    "fallbacks", "tools", "approve", "context_from",
)  # fmt: skip
_TEXTS = (
    *("prompt", "script", "model", "starts", "ends", "group", "catch_up", "overlap", "workdir", "sandbox"),
    *("origin", "urgency", "expect_by"),
    *("after", "watch", "empty", "schema"),
)
_NUMBERS = (
    "repeat", "spread_s", "not_later_than_s", "priority", "expect_every_s", "expect_output", "pause_after",
    "context_age_s",
)  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {  # what the fields are in JSON
    **dict.fromkeys((*_ALWAYS, *_TEXTS), (str,)),
    **dict.fromkeys(("enabled", "landlock"), (bool,)),
    "agent": (bool, str),
    **dict.fromkeys(_LISTS, (list,)),
    **dict.fromkeys(_NUMBERS, (int,)),
    **dict.fromkeys(PARTS, (dict,)),
}
_WORDS = {"gap": get_args(Gap), "repeat": get_args(Repeat)}
_CHOICES = {
    "catch_up": get_args(CatchUp),
    "overlap": get_args(Overlap),
    "sandbox": get_args(Sandbox),
    "urgency": get_args(Urgency),
    "empty": get_args(Empty),
}
_CAUSES = get_args(Cause)


def definition(job: Job) -> dict[str, object]:
    """The job as JSON values. Defaults are left out, so that a field that a later version adds changes no digest."""
    values: dict[str, object] = {}
    value: Any
    for key, default in DEFAULTS.items():
        value = getattr(job, key)
        if value == default and key not in _ALWAYS:
            continue
        if key in PARTS:
            value = {name: said for name, said in _part(job, key).items() if said is not None}
        values[key] = [*value] if key in _LISTS else value
    return values


def described(job: Job | None) -> dict[str, Any]:
    """The same for people and programs that look: every key is there, and what is absent is None."""
    if job is None:
        return dict.fromkeys(DEFAULTS)
    return (
        {key: getattr(job, key) for key in DEFAULTS}
        | {key: _plain(getattr(job, key)) for key in _LISTS}
        | {key: _part(job, key) for key in PARTS}
    )


def _part(job: Job, key: str) -> dict[str, Any]:
    return {name: _plain(getattr(getattr(job, key), name)) for name in _PART_FIELDS[key]}


def _plain(value: object) -> object:
    return [*cast("tuple[object, ...]", value)] if isinstance(value, tuple) else value


def from_definition(values: object) -> Job:
    """The job that `definition` was made of. Raises Invalid for a record that is damaged or of a later version."""
    if not isinstance(values, Mapping):
        raise _damaged("definition")
    given: dict[str, Any] = {}
    for key, value in cast("Mapping[str, Any]", values).items():
        if type(value) not in _TYPES.get(key, ()):
            raise _damaged(key)
        if key in _LISTS and not all(type(item) is str for item in value):
            raise _damaged(key)
        if key == "limits" and not all(type(amount) in {int, float} for amount in value.values()):
            raise _damaged(key)
        if key == "clock_change" and not all(said in _WORDS.get(name, ()) for name, said in value.items()):
            raise _damaged(key)
        if key in _CHOICES and value not in _CHOICES[key]:
            raise _damaged(key)
        given[key] = tuple(value) if key in _LISTS else _retries(value) if key == "retries" else value
    for key in _ALWAYS:
        if key not in given:
            raise _damaged(key)
    for key, kind in PARTS.items():
        if key in given:
            try:
                given[key] = kind(**given[key])
            except TypeError:
                raise _damaged(key) from None
    return Job(**given)


def _retries(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of that part; lists are tuples there."""
    causes = values.get("on", [])
    amounts = [amount for name, amount in values.items() if name != "on"]
    if type(causes) is not list or not all(cause in _CAUSES for cause in cast("list[object]", causes)):
        raise _damaged("retries")
    if not all(type(amount) in {int, float} for amount in amounts) or type(values.get("max", 0)) is not int:
        raise _damaged("retries")
    return {**values, "on": tuple(cast("list[str]", causes))} if "on" in values else {**values}


def _damaged(key: str) -> Invalid:
    says = f"the stored definition of a job cannot be understood at `{key}`"
    return Invalid(says, "It is damaged, or a later version of Horae wrote it.", key=key, expected="a definition")


def digest(job: Job) -> str:
    """Sixteen hex digits that change whenever anything in the definition does."""
    return _digest(definition(job))


def cadence_digest(job: Job) -> str:
    """Sixteen hex digits of what decides when the job runs: planned slots become void only when this changes."""
    decides: list[object] = [job.schedule, job.timezone, job.repeat, job.enabled]
    if job.clock_change != ClockChange():  # of a job that says nothing about it, the digest is that of older versions
        decides += [job.clock_change.gap, job.clock_change.repeat]
    said = {key: value for key in ("starts", "ends", "spread_s") if (value := getattr(job, key))}
    if said:
        decides.append(said)
    return _digest(decides)


def _digest(value: object) -> str:
    canonical = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:16]
