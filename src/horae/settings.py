"""`config.toml`, read once into `Settings`. Whatever is wrong in it is refused with its file, key and what was expected."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from typing import Any, cast

from horae.errors import Invalid, Trouble
from horae.limits import DRAIN_S, PARALLEL_DEFAULT
from horae.ports import Settings
from horae.timing.durations import parse_duration
from horae.timing.zones import zone

KEYS: dict[str, tuple[type, str]] = {
    "timezone": (str, "an IANA zone such as Europe/Paris"),
    "parallel": (int, "a whole number from 1 to 1000"),
    "commands": (list, "a list of program names or paths"),
    "pass_env": (list, "a list of names of environment variables"),
    "drain": (str, "a duration such as 60s"),
}


def load(home: str, env: dict[str, str]) -> Settings:
    """Read the home's config. A missing file means defaults; `env` is the process's environment."""
    path = os.path.join(home, "config.toml")
    values = _read(path)
    for key, value in values.items():
        _check(path, key, value)
    timezone = values.get("timezone") or host_timezone(env)
    if "timezone" in values:
        _zone(path, timezone)
    drain = _duration(path, "drain", values["drain"]) if "drain" in values else DRAIN_S
    return Settings(
        home=home,
        timezone=timezone,
        parallel=values.get("parallel", PARALLEL_DEFAULT),
        commands=tuple(values.get("commands", ())),
        env=env,
        pass_env=tuple(values.get("pass_env", ())),
        drain_s=drain,
    )


def host_timezone(env: dict[str, str]) -> str:
    """The zone that this machine is in: HORAE_TIMEZONE, TZ, the system's setting, else UTC."""
    link = os.path.realpath("/etc/localtime")
    named = re.search(r"zoneinfo/(.+)$", link)
    for name in (env.get("HORAE_TIMEZONE"), env.get("TZ", "").lstrip(":"), named and named.group(1)):
        if name:
            try:
                zone(name)
            except Invalid:
                continue
            return name
    return "UTC"


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: {error}", "the file is TOML: `key = value`, text in quotes", file=path) from error
    except OSError as error:
        raise Trouble(f"{path} cannot be read: {error.strerror}", "check its owner and mode", file=path) from error


def _check(path: str, key: str, value: object) -> None:
    if key not in KEYS:
        near = difflib.get_close_matches(key, KEYS, 1)
        hint = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(KEYS)}"
        raise Invalid(f"{path}: unknown key {key}", hint, file=path, key=key, expected=sorted(KEYS))
    kind, expected = KEYS[key]
    fine = isinstance(value, kind) and not isinstance(value, bool)
    if fine and kind is list:
        fine = all(isinstance(item, str) for item in cast("list[object]", value))
    if fine and key == "parallel":
        fine = 1 <= int(str(value)) <= 1000
    if not fine:
        raise Invalid(
            f"{path}: {key} must be {expected}, not {value!r}", "see docs/reference/config.md", file=path, key=key
        )


def _duration(path: str, key: str, text: str) -> float:
    try:
        return float(parse_duration(text))
    except Invalid as error:
        raise Invalid(f"{path}: {key}: {error.message}", error.hint, file=path, key=key) from error


def _zone(path: str, name: str) -> None:
    try:
        zone(name)
    except Invalid as error:
        raise Invalid(f"{path}: timezone: {error.message}", error.hint, file=path, key="timezone") from error
