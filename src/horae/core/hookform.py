"""The part `[hooks]` of the config, read into values: by which addresses others start jobs, and how they prove who they are.

A hook names the secrets that its callers sign with; their values stand elsewhere. Names of jobs are looked at when the hook
is called, since jobs come and go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from horae.core.secretname import name_problem
from horae.core.settingvalues import duration, key_of, table, text, whole, wrong
from horae.core.slug import NAMED, is_name

Kind = Literal["standard", "github", "bearer"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KEYS = ("kind", "secret", "jobs", "events", "max", "tolerance", "rate")
HOOKS_MAX = 100
JOBS_MAX = 32
EVENTS_MAX = 64
SECRETS_MAX = 8
EVENT_CHARS_MAX = 200
BYTES_MAX = 100 * 1024  # it is handed over as one variable, and systems take 128 KiB for that
BYTES_DEFAULT = 64 * 1024
TOLERANCE_S, TOLERANCE_MIN_S, TOLERANCE_MAX_S = 300.0, 1, 86400
RATE_DEFAULT, RATE_MAX = 60, 6000
_CAUSE = re.compile(r"hook ([a-z0-9_-]+)(?:, (base64))?")
_SIZE = re.compile(r"([0-9]{1,9})(k?)")


@dataclass(frozen=True, slots=True)
class Hook:
    """One address that is called."""

    name: str
    kind: Kind
    secrets: tuple[str, ...]
    """Names; a call is good by each of them, so that one can be replaced without a gap."""
    jobs: tuple[str, ...]
    events: tuple[str, ...] = ()
    """Kinds of events that start the jobs; none: all of them."""
    bytes_max: int = BYTES_DEFAULT
    tolerance_s: float = TOLERANCE_S
    """How far the time of a call may be from ours, to both sides."""
    rate: int = RATE_DEFAULT
    """Calls in a minute."""


def hooks_of(values: object) -> dict[str, Hook]:
    """The table `[hooks]`. Raises Invalid, which names the key."""
    tables = table("hooks", values, None, "write [hooks.NAME] with kind, secret and jobs")
    if len(tables) > HOOKS_MAX:
        raise wrong("hooks", f"has more than {HOOKS_MAX} hooks")
    found: dict[str, Hook] = {}
    for name, given in tables.items():
        key = key_of("hooks", name)
        if not is_name(name):
            raise wrong(key, f"is not a name ({NAMED})", "it is the end of the address that others call")
        found[name] = _hook(name, key, table(key, given, KEYS, "write kind, secret and jobs in it"))
    return found


def _hook(name: str, key: str, given: Mapping[str, Any]) -> Hook:
    for needed in ("kind", "secret", "jobs"):
        if needed not in given:
            raise wrong(f"{key}.{needed}", "is missing", f"a hook has kind ({', '.join(KINDS)}), secret and jobs")
    kind = given["kind"]
    if kind not in KINDS:
        raise wrong(f"{key}.kind", f"must be one of {', '.join(KINDS)}")
    if "events" in given and kind == "bearer":
        raise wrong(f"{key}.events", "is nothing that a bearer's call says", "leave it out")
    if "tolerance" in given and kind != "standard":
        raise wrong(f"{key}.tolerance", 'is for kind = "standard": other calls say no time', "leave it out")
    tolerance = given.get("tolerance")
    return Hook(
        name=name,
        kind=kind,
        secrets=_secrets(f"{key}.secret", given["secret"]),
        jobs=_texts(f"{key}.jobs", given["jobs"], "a job", JOBS_MAX),
        events=_texts(f"{key}.events", given["events"], "a kind of event", EVENTS_MAX) if "events" in given else (),
        bytes_max=_bytes(f"{key}.max", given["max"]) if "max" in given else BYTES_DEFAULT,
        tolerance_s=TOLERANCE_S
        if tolerance is None
        else duration(f"{key}.tolerance", tolerance, TOLERANCE_MIN_S, TOLERANCE_MAX_S),
        rate=whole(f"{key}.rate", given["rate"], 1, RATE_MAX) if "rate" in given else RATE_DEFAULT,
    )


def _secrets(key: str, value: object) -> tuple[str, ...]:
    names = _texts(key, value, "the name of a secret", SECRETS_MAX)
    for name in names:
        if (problem := name_problem(name)) is not None:
            raise wrong(key, f"what stands there {problem}", "`horae secrets set NAME` keeps the value itself")
    return names


def _texts(key: str, value: object, what: str, most: int) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    found = tuple(dict.fromkeys(text(key, item, f"{what}, or a list of them") for item in items))
    if not found:
        raise wrong(key, "is empty", f"write {what}")
    if len(found) > most:
        raise wrong(key, f"names more than {most}")
    if any(len(item) > EVENT_CHARS_MAX for item in found):
        raise wrong(key, f"has a text of more than {EVENT_CHARS_MAX} characters")
    return found


def _bytes(key: str, value: object) -> int:
    met = _SIZE.fullmatch(text(key, value, "a size such as 64k"))
    size = 0 if met is None else int(met[1]) * (1024 if met[2] else 1)
    if not 1 <= size <= BYTES_MAX:
        raise wrong(key, f"must be a size from 1 to {BYTES_MAX // 1024}k, such as 64k")
    return size


def cause_of(name: str, form: str) -> str:
    """What an occurrence says of its cause. `form` is how the payload was made a text."""
    return f"hook {name}" if form == "text" else f"hook {name}, {form}"


def hook_of(cause: str | None) -> tuple[str, str] | None:
    """The hook that brought it about, and the form of its payload; None where none did."""
    met = _CAUSE.fullmatch(cause or "")
    return None if met is None else (met[1], met[2] or "text")
