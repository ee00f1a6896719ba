"""`config.toml`, read once into `Settings`. Whatever is wrong in it is refused with its file, key and what was expected."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import import_module
from stat import S_ISREG
from typing import Any, cast

from horae.core.agent import AgentSettings
from horae.core.agentform import agents_of
from horae.core.calendarform import Unread, calendar_of
from horae.core.deliveryform import Delivery, delivery_of
from horae.core.exclusion import Calendar
from horae.core.hookform import Hook, hooks_of
from horae.core.retention import Retention, retention_of
from horae.core.slug import NAMED, is_name
from horae.core.watchform import Watched, watched_of
from horae.core.webform import Web, web_of
from horae.errors import Invalid, Trouble
from horae.limits import CALENDAR_BYTES_MAX, DRAIN_S, PARALLEL_DEFAULT
from horae.ports import Settings
from horae.timing.durations import parse_duration
from horae.timing.zones import zone

KEYS: dict[str, tuple[type, str]] = {
    "timezone": (str, "an IANA zone such as Europe/Paris"),
    "parallel": (int, "a whole number from 1 to 1000"),
    "commands": (list, "a list of program names or paths"),
    "pass_env": (list, "a list of names of environment variables"),
    "drain": (str, "a duration such as 60s"),
    "on_stop": (str, "leave or end"),
    "landlock": (str, "on or off"),
    "retention": (dict, "a table of durations: how long output, runs and journal are kept"),
    "store": (str, "the URL of a PostgreSQL database: postgresql://user@host/name"),
    "labels": (list, "a list of names"),
    "groups": (dict, "a table of numbers: how many runs of a group may be live at once"),
    "calendars": (dict, "a table of exclusion calendars"),
    "platforms": (dict, "a table of platforms: ways to reach people"),
    "targets": (dict, "a table of friendly names of targets"),
    "alerts": (dict, "a table: to, fallback, remind, pause_after"),
    "quiet": (dict, "a table: hours, timezone, digest"),
    "heartbeat": (dict, "a table: url, every"),
    "web": (dict, "a table: serve, host, port, hosts"),
    "hooks": (dict, "a table of hooks: addresses by which others start jobs"),
    "link": (str, "the URL of the dashboard"),
    "delivery": (dict, "a table: give_up"),
    "providers": (dict, "a table of providers: services that answer model calls"),
    "models": (dict, "a table of models"),
    "model": (str, "the name of a model of [models]"),
    "agents": (dict, "a table: what holds for agents, and those that are programs"),
    "mcp": (dict, "a table of servers of tools"),
    "budget": (dict, "a table: tokens_day, usd_day"),
    "metrics": (dict, "a table: jobs"),
    "telemetry": (dict, "a table: otlp, headers, service"),
    "log": (dict, "a table: format, level"),
    "keyring": (str, "on or off"),
}
UNSHOWN = (
    "store",
    "platforms",
    "targets",
    "heartbeat",
    "link",
    "model",
    "providers",
    "agents",
    "mcp",
    "hooks",
    "telemetry",
)  # what stands there may hold a password
CHOICES = {"on_stop": ("leave", "end"), "landlock": ("on", "off"), "keyring": ("on", "off")}
GROUP_MAX = 1000


def load(home: str, env: dict[str, str]) -> Settings:
    """Read the home's config. A missing file means defaults; `env` is the process's environment."""
    path = os.path.join(home, "config.toml")
    values = _read(path)
    for key, value in values.items():
        _check(path, key, value)
    timezone = values.get("timezone") or host_timezone(env)
    if "timezone" in values:
        _zone(path, values["timezone"])
    drain = _duration(path, "drain", values["drain"]) if "drain" in values else DRAIN_S
    delivery = _delivery(path, values, timezone)
    return Settings(
        home=home,
        timezone=timezone,
        parallel=values.get("parallel", PARALLEL_DEFAULT),
        commands=tuple(values.get("commands", ())),
        env=env,
        pass_env=tuple(values.get("pass_env", ())),
        drain_s=drain,
        on_stop=values.get("on_stop", "leave"),
        landlock=values.get("landlock", "on") == "on",
        store=_store(path, values, env),
        retention=_retention(path, values.get("retention", {})),
        labels=_labels(path, values.get("labels", [])),
        groups=_groups(path, values.get("groups", {})),
        calendars=_calendars(path, values.get("calendars", {}), timezone),
        platforms=delivery.platforms,
        targets=delivery.targets,
        alerts=delivery.alerts,
        quiet=delivery.quiet,
        heartbeat=delivery.heartbeat,
        web=_web(path, values.get("web", {})),
        watched=_watched(path, values),
        hooks=_hooks(path, values.get("hooks", {})),
        link=delivery.link,
        give_up_s=delivery.give_up_s,
        agents=_agents(path, values),
        keyring=values.get("keyring", "off") == "on",
    )


def _delivery(path: str, values: Mapping[str, Any], timezone: str) -> Delivery:
    try:
        return delivery_of(values, timezone)
    except Invalid as error:
        key = str(error.details.get("key"))
        raise Invalid(f"{path}: {key}: {error.message}", error.hint, file=path, key=key) from error


def _agents(path: str, values: Mapping[str, Any]) -> AgentSettings:
    try:
        return agents_of(values)
    except Invalid as error:
        key = str(error.details.get("key"))
        raise Invalid(f"{path}: {key}: {error.message}", error.hint, file=path, key=key) from error


def _store(path: str, values: Mapping[str, Any], env: Mapping[str, str]) -> str | None:
    """The database of many machines; None for the file in the home. The environment wins: one file serves many hosts."""
    for source, text in (("HORAE_STORE", env.get("HORAE_STORE")), (f"{path}: store", values.get("store"))):
        if text:
            if not re.match(r"postgres(?:ql)?://[^/]*/.", text):
                # What stands there may hold a password, so it is not shown
                says = f"{source} must be {KEYS['store'][1]}"
                hint = "for SQLite leave it out: it is the file state/runtime.db of the home"
                raise Invalid(says, hint, file=path, key="store", expected=KEYS["store"][1])
            return text
    return None


def _retention(path: str, table: object) -> Retention:
    try:
        return retention_of(table)
    except Invalid as error:
        raise Invalid(f"{path}: {error.message}", error.hint, **{**error.details, "file": path}) from error


def _web(path: str, table: object) -> Web:
    try:
        return web_of(table)
    except Invalid as error:
        raise Invalid(f"{path}: {error.message}", error.hint, **{**error.details, "file": path}) from error


def _watched(path: str, values: Mapping[str, Any]) -> Watched:
    try:
        return watched_of(values)
    except Invalid as error:
        key = str(error.details.get("key"))
        raise Invalid(f"{path}: {key}: {error.message}", error.hint, file=path, key=key) from error


def _hooks(path: str, table: object) -> dict[str, Hook]:
    try:
        return hooks_of(table)
    except Invalid as error:
        key = str(error.details.get("key"))
        raise Invalid(f"{path}: {key}: {error.message}", error.hint, file=path, key=key) from error


def _labels(path: str, labels: Sequence[str]) -> tuple[str, ...]:
    for label in labels:
        _name(path, "labels", label)
    return tuple(sorted(set(labels)))


def _groups(path: str, groups: Mapping[str, object]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, limit in groups.items():
        _name(path, f"groups.{name}", name)
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= GROUP_MAX:
            says = f"{path}: groups.{name} must be a whole number from 1 to {GROUP_MAX}, not {limit!r}"
            raise Invalid(says, "to let nothing of it run, pause its jobs", file=path, key=f"groups.{name}")
        found[name] = limit
    return found


def _calendars(path: str, tables: Mapping[str, object], timezone: str) -> dict[str, Calendar]:
    found: dict[str, Calendar] = {}
    for name, table in tables.items():
        _name(path, f"calendars.{name}", name)
        try:
            found[name] = calendar_of(name, table, lambda file, place: _events(path, file, place or timezone))
        except Invalid as error:
            key = ".".join(filter(None, ("calendars", name, str(error.details.get("key") or ""))))
            raise Invalid(f"{path}: {key}: {error.message}", error.hint, file=path, key=key) from error
    return found


def _events(config: str, file: str, timezone: str) -> Any:
    """The events of an iCalendar file below the home. Its reader is loaded only now: few homes have such a file."""
    home = os.path.realpath(os.path.dirname(config))
    path = os.path.realpath(os.path.join(home, file.replace("\0", "")))
    if "\0" in file or os.path.isabs(file) or os.path.commonpath((home, path)) != home:
        raise Invalid(
            f"{file!r} is not below the home", "put the file into the home, and name it from there", key="file"
        )
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            if not S_ISREG(os.fstat(opened.fileno()).st_mode):  # a pipe would make us wait for ever
                raise Unread(f"{file} is not a file", "put an iCalendar file there")
            data = opened.read(CALENDAR_BYTES_MAX + 1)
        text = data.decode()
    except OSError as error:
        raise Unread(f"{file} cannot be read: {error.strerror}", "check its name, owner and mode") from error
    except UnicodeDecodeError as error:
        raise Unread(f"{file} is not UTF-8: {error.reason}", "save it as UTF-8") from error
    if len(data) > CALENDAR_BYTES_MAX:
        raise Unread(f"{file} has more than {CALENDAR_BYTES_MAX} bytes", "leave out what is long past")
    try:
        return import_module("horae.core.eventfile").read_events(text, timezone)
    except Invalid as error:
        raise Unread(f"{file}: {error.message}", error.hint) from error


def _name(path: str, key: str, name: str) -> None:
    if not is_name(name):
        raise Invalid(f"{path}: {key}: {name!r} is not a name ({NAMED})", None, file=path, key=key, expected=NAMED)


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
    except RecursionError:
        raise Invalid(f"{path}: brackets are nested too deeply", "no key takes more than three", file=path) from None
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
    if fine and key in CHOICES:
        fine = value in CHOICES[key]
    if not fine:
        shown = "" if key in UNSHOWN else f", not {value!r}"
        raise Invalid(f"{path}: {key} must be {expected}{shown}", "see docs/reference/config.md", file=path, key=key)


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
