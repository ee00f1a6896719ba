"""The parts `[metrics]`, `[telemetry]` and `[log]` of the config, read into a value: how a home is watched from outside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from horae.core.secretname import name_problem
from horae.core.serviceurl import service_url
from horae.core.settingvalues import key_of, table, text, whole, wrong

JOBS_DEFAULT, JOBS_MAX = 200, 2000
SERVICE_CHARS_MAX = 100
HEADERS_MAX = 16
LEVELS = ("info", "warning", "error")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Where traces go."""

    otlp: str
    """The base of an OTLP/HTTP receiver, without a slash at its end."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Header → the name of the secret that is its value."""
    service: str = "horae"


@dataclass(frozen=True, slots=True)
class Watched:
    """All of it."""

    jobs: int = JOBS_DEFAULT
    """How many jobs metrics tell apart."""
    telemetry: Telemetry | None = None
    log_form: Literal["text", "json"] = "text"
    log_level: str = "info"


def watched_of(values: Mapping[str, Any]) -> Watched:
    """The three tables. Raises Invalid, which names the key."""
    metrics = table("metrics", values.get("metrics", {}), ("jobs",), "write jobs in it")
    log = table("log", values.get("log", {}), ("format", "level"), "write format, level in it")
    form, level = log.get("format", "text"), log.get("level", "info")
    if form not in ("text", "json"):
        raise wrong("log.format", "must be text or json")
    if level not in LEVELS:
        raise wrong("log.level", f"must be one of {', '.join(LEVELS)}")
    return Watched(
        jobs=whole("metrics.jobs", metrics.get("jobs", JOBS_DEFAULT), 0, JOBS_MAX),
        telemetry=_telemetry(values["telemetry"]) if "telemetry" in values else None,
        log_form=form,
        log_level=level,
    )


def _telemetry(value: object) -> Telemetry:
    given = table("telemetry", value, ("otlp", "headers", "service"), "write otlp in it")
    if "otlp" not in given:
        raise wrong("telemetry.otlp", "is missing", 'write otlp = "http://127.0.0.1:4318"')
    address = service_url("telemetry.otlp", given["otlp"])
    headers: dict[str, str] = {}
    for name, secret in table("telemetry.headers", given.get("headers", {}), None, "write header = SECRET").items():
        key = key_of("telemetry.headers", name)
        if not _HEADER.fullmatch(name) or len(headers) >= HEADERS_MAX:
            raise wrong(key, "is no name of a header, or one too many")
        problem = name_problem(secret) if isinstance(secret, str) else "is no name of a secret"
        if problem is not None:
            raise wrong(key, f"what stands there {problem}", "`horae secrets set NAME` keeps the value itself")
        headers[name.lower()] = secret
    service = text("telemetry.service", given.get("service", "horae"), "a name")
    return Telemetry(address, headers, service[:SERVICE_CHARS_MAX])
