"""Between the fields of the form and the keys of a job file. Pure.

A form has flat texts, a file has keys with values of several kinds. Only what somebody has changed becomes a change of the
file: what the form does not show, and what it shows as it was, stays as it is written.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, cast

Json = dict[str, Any]
LISTS = ("skills", "tools", "deliver", "exclude")
LIMITS = ("wall", "idle", "tokens", "usd")
TEXTS = ("name", "schedule", "timezone", "model", "script", "overlap", "catch_up", "after", "prompt")
NAMES = (*TEXTS, *LISTS, *LIMITS, "kind", "command", "retries")
KINDS = ("agent", "script", "command")


def shown(values: Mapping[str, Any]) -> dict[str, str]:
    """What the form shows of the values of a file, each as text."""
    made: dict[str, str] = dict.fromkeys(NAMES, "")
    for name in TEXTS:
        made[name] = _text(values.get(name))
    for name in LISTS:
        made[name] = _listed(values.get(name))
    limits = _map(values.get("limits"))
    for name in LIMITS:
        made[name] = _text(limits.get(name))
    command = values.get("command")
    made["command"] = (
        shlex.join(_strings(cast("list[object]", command))) if isinstance(command, list) else _text(command)
    )
    made["retries"] = _text(_map(values.get("retries")).get("max"))
    made["kind"] = (
        "agent" if _text(values.get("agent", "true")).lower() != "false" else "command" if command else "script"
    )
    return made


def changed(before: Mapping[str, Any], form: Mapping[str, str]) -> Json:
    """Keys of a file to set, or to take away where the value is None: what differs from what the form showed first.

    Raises ValueError for a command line whose quotes do not match.
    """
    was = shown(before)
    now = {name: form[name].strip("\r\n" if name == "prompt" else None) for name in NAMES if name in form}
    new = {name: value for name, value in now.items() if value != was[name]}
    made: Json = {name: new[name] or None for name in TEXTS if name in new}
    made |= {name: _items(new[name]) or None for name in LISTS if name in new}
    if limits := {name: new[name] or None for name in LIMITS if name in new}:
        made["limits"] = limits
    if "retries" in new:
        made["retries"] = {"max": new["retries"] or None}
    if "command" in new:
        made["command"] = shlex.split(new["command"]) or None
    if "kind" in new:
        made |= _kind(new["kind"], before)
    return made


def _kind(kind: str, before: Mapping[str, Any]) -> Json:
    """A job of another kind: what belongs to the old one alone goes."""
    if kind == "agent":
        return {"agent": None, **({"command": None} if before.get("command") else {})}
    other = "command" if kind == "script" else "script"
    return {"agent": False, **({other: None} if before.get(other) else {})}


def _map(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _strings(values: list[object]) -> list[str]:
    return [str(value) for value in values]


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None or isinstance(value, list | dict) else str(value)


def _listed(value: object) -> str:
    return ", ".join(_strings(cast("list[object]", value))) if isinstance(value, list) else _text(value)


def _items(text: str) -> list[str]:
    return [item for part in text.split(",") if (item := part.strip())]
