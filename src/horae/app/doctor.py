"""Look for everything that is known to be silently broken, and say how to mend it."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from horae.app.agentview import resolved
from horae.app.budget import spent
from horae.app.hooks import list_hooks
from horae.app.jobs import damage_of, find
from horae.app.models import is_absent
from horae.app.readiness import ready
from horae.app.status import store_now
from horae.app.targets import problem_of
from horae.app.upcoming import unread
from horae.core.agent import BUILTIN
from horae.core.definition import from_definition
from horae.core.delivery import Address
from horae.core.exclusion import Calendar
from horae.core.labels import offered, unoffered
from horae.core.model import Job
from horae.core.modelchoice import provider_problems
from horae.core.target import home_of
from horae.core.webform import LIBRARIES
from horae.errors import NotFound, Problem, Trouble, Unavailable
from horae.ports import Home, Record
from horae.timing.zones import version

Json = dict[str, Any]
DISK_FREE_MIN = 64 * 1024 * 1024  # bytes; below this a burst of results could fill the disk
JOBS_CHECKED_MAX = 5000
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "web", "static", "lib")


def doctor(home: Home, *, gateway: Mapping[str, Any] | None, misnamed: list[str]) -> Json:
    """Each finding: what was looked at, whether it is well, and the remedy. `ok` is False when any is not."""
    checks = [
        _gateway(gateway),
        _store(home),
        *_folders(home.settings.home),
        _disk(home.settings.home),
        *_jobs(home),
        *_calendars(home),
        *_labels(home),
        *_targets(home),
        *_agents(home),
        *_hooks(home),
        *_dashboard(home),
        *_telemetry(home),
        *_runs(home),
        *_waiting(home),
        *(_bad("job files", f"jobs/{name} cannot be a job: its name is not one", "rename it") for name in misnamed),
        _zone_data(home),
    ]
    return {"ok": all(check["ok"] for check in checks), "checks": checks}


def stranded(home: str, problem: Problem, *, gateway: Mapping[str, Any] | None, asked: bool = True) -> Json:
    """The same for a home that cannot be worked with at all: why, and what can be looked at all the same.

    `asked` is False where not even that could be asked, whether a gateway is running.
    """
    checks = [
        _bad("home", problem.message, problem.hint or "put that right first"),
        _gateway(gateway) if asked else _nobody_knows(problem),
        *_folders(home),
        _disk(home),
    ]
    return {"ok": False, "checks": checks}


def _nobody_knows(problem: Problem) -> Json:
    """Gateways of a shared store are known by what stands in it."""
    away = isinstance(problem, Trouble | Unavailable)
    because = "since the store cannot be reached" if away else "until that is put right"
    return _bad("gateway", f"nobody can know whether a gateway is running, {because}", "put that right first")


def check(home: Home, *, job: str | None, probe: bool = False) -> Json:
    """Preflight of one job, or of all, without running any. With `probe` providers are asked whether they are there."""
    checks = _job(home, find(home, job).row, probe) if job is not None else [*_jobs(home, probe), *_calendars(home)]
    waiting = [item for item in _waiting(home) if item["check"] == "quarantined"] if job is None else []
    return {"ok": all(item["ok"] for item in checks) and not waiting, "checks": [*checks, *waiting]}


def _gateway(gateway: Mapping[str, Any] | None) -> Json:
    if gateway is None:
        return _bad("gateway", "no gateway is running: nothing fires", "`horae up`, or `make run`")
    if not gateway.get("alive"):
        return _bad(
            "gateway",
            f"pid {gateway.get('pid')} holds the home but does not answer",
            "stop that process, then `horae up`",
        )
    if gateway.get("shared"):
        return _good("gateway", f"alive: {', '.join(map(_on, gateway['gateways']))}")
    return _good("gateway", f"pid {gateway['pid']} answers, since {gateway['since']}")


def _on(gateway: Mapping[str, Any]) -> str:
    labels = f", labels {' '.join(gateway['labels'])}" if gateway["labels"] else ""
    gone = "" if gateway["alive"] else f", gone: its lease ended {gateway['lease_until']}"
    return f"pid {gateway['pid']} on {gateway['host'].split('/')[0]}{labels}{', stopping' if gateway['draining'] else ''}{gone}"


def _telemetry(home: Home) -> list[Json]:
    if home.settings.watched.telemetry is None or find_spec("opentelemetry") is not None:
        return []
    return [_bad("telemetry", "traces are dropped: OpenTelemetry is not installed", "pip install 'horae[otel]'")]


def _hooks(home: Home) -> list[Json]:
    """Hooks whose callers are all turned away, or that start nothing."""
    return [
        _bad(f"hook {hook['name']}", problem, "mend [hooks] in config.toml, or keep the secret")
        for hook in list_hooks(home)["hooks"]
        for problem in hook["problems"]
    ]


def _dashboard(home: Home) -> list[Json]:
    """Whether its files are there; who reaches it, where that is not this machine alone."""
    web = home.settings.web
    if not web.serve:
        return []
    found: list[Json] = []
    lacking = [name for name in LIBRARIES if not os.path.isfile(os.path.join(LIBRARY, name))]
    if lacking:
        says = f"its pages look plain, and little of them works: {', '.join(lacking)} missing in {LIBRARY}"
        found = [_bad("dashboard", says, "`make browser` in the folder of Horae's source, then load the page again")]
    return found if web.loopback else [*found, *_outside(home)]


def _outside(home: Home) -> list[Json]:
    web = home.settings.web
    reader = home.read()
    try:
        known = any(one["kind"] == "token" for one in reader.credentials(all=False))
    finally:
        reader.close()
    if not known:
        says = f"it is not served at {web.host}, which others reach, since nobody has a token"
        return [_bad("dashboard", says, "`horae tokens add NAME`, then restart the gateway")]
    return [_good("dashboard", f"other machines reach it at {web.host}, unencrypted unless a proxy stands before it")]


def _runs(home: Home) -> list[Json]:
    """What keeps runs apart from the rest of the machine."""
    machine = home.machine()
    found = [_good("processes", machine.scopes if machine.scoped else f"plain ones: {machine.scopes}")]
    if machine.secrets is not None:
        found.append(_bad("secrets", machine.secrets.message, machine.secrets.hint or "mend that file"))
    if not home.settings.landlock:
        found.append(_good("landlock", "off in config.toml: runs may write to the home, and read its secrets"))
    elif not machine.landlock:
        says = "the kernel has no Landlock: runs may write to the home, and read its secrets"
        found.append(_bad("landlock", says, 'use Linux 5.13 or newer, or accept it: `landlock = "off"` in config.toml'))
    else:
        without = _without_landlock(home)
        but = f"; jobs that do without: {', '.join(without)}" if without else ""
        found.append(_good("landlock", f"runs are kept out of the home (version {machine.landlock}){but}"))
    return found


def _without_landlock(home: Home) -> list[str]:
    reader = home.read()
    try:
        jobs = reader.list_jobs(all=False, state=None, limit=JOBS_CHECKED_MAX, cursor=None)["jobs"]
        rows = [reader.find_job(job["id"]) for job in jobs]
    except NotFound:  # removed since
        rows = []
    finally:
        reader.close()
    sound = (row for row in rows if row["definition"] and damage_of(row) is None)
    jobs = [from_definition(json.loads(row["definition"])) for row in sound]
    return [job.slug for job in jobs if not job.landlock or job.sandbox != "off"]


def _labels(home: Home) -> list[Json]:
    """Jobs that no gateway would take."""
    shared = home.settings.store is not None
    now_us = store_now(home)
    reader = home.read()
    try:
        asked = reader.jobs_by_labels()
        gateways = reader.gateways(now_us, shared=True) if shared else []
    finally:
        reader.close()
    there = offered(gateways) if shared else [frozenset(home.settings.labels)]
    found: list[Json] = []
    for item in asked:
        why = unoffered(item["runs_on"], there)
        if why is not None and (there or not shared):  # without any gateway that has been said
            others = f" and {item['jobs'] - 1} more" if item["jobs"] > 1 else ""
            says = f"{item['slug']}{others} would wait for a gateway for ever: {why}"
            found.append(_bad("labels", says, f"give one `labels = {_toml(item['runs_on'])}` in its config.toml"))
    return found


def _targets(home: Home) -> list[Json]:
    """Platforms that are configured and not ready; whoever names none of them need not know."""
    found: list[Json] = []
    for name, platform in home.settings.platforms.items():
        meant = home_of(platform)
        why = problem_of(home, meant or Address(name), meant)
        if why is not None:
            remedy = why.hint if isinstance(why, Problem) else None
            says = f"{name}: {why.message if isinstance(why, Problem) else why}"
            found.append(_bad("targets", says, remedy or f"mend [platforms.{name}] in config.toml"))
    ready = len(home.settings.platforms) - len(found)
    return found or ([_good("targets", f"{ready} platform{'' if ready == 1 else 's'} ready")] if ready else [])


def _agents(home: Home) -> list[Json]:
    """Providers that cannot be asked, and what the built-in agent lacks; whoever has no models need not know."""
    settings = home.settings.agents
    if not settings.providers and not home.settings.keyring:
        return []
    keys = [provider.key for provider in settings.providers.values() if provider.key is not None]
    places, troubles = home.vault().places(keys)
    others = [trouble for trouble in troubles if "file" not in trouble.details]  # what the file lacks is told elsewhere
    found = [_bad("secrets", trouble.message, trouble.hint or "put that right") for trouble in others]
    for provider in settings.providers.values():
        for problem in provider_problems(provider, lambda key: not places.get(key), is_absent):
            found.append(_bad("agents", f"provider {provider.name}: {problem}", "do that, or take the provider out"))
    if settings.models and settings.agent == BUILTIN and is_absent("pydantic_ai"):
        found.append(_bad("agents", "the built-in agent is not installed", "pip install 'horae[agents]'"))
    if "shell" in settings.tools and shutil.which("bwrap", path=home.settings.env.get("PATH")) is None:
        says = "agents.tools grants shell, and bwrap is not on this machine, so no command would be run"
        found.append(_bad("agents", says, "install bubblewrap, or leave shell out"))
    says = f"{len(settings.providers)} provider{'' if len(settings.providers) == 1 else 's'} ready"
    return found or ([_good("agents", says)] if settings.providers else [])


def _calendars(home: Home) -> list[Json]:
    """Exclusion calendars whose files could not be read: the jobs that name them are blocked."""
    return [
        _bad(
            "calendars",
            f"{name}: {calendar.unread}",
            _anew(calendar),
        )
        for name, calendar in home.settings.calendars.items()
        if calendar.unread is not None
    ]


def _toml(names: Sequence[str]) -> str:
    return json.dumps(list(names))


def _store(home: Home) -> Json:
    reader = home.read()
    try:
        trouble = reader.trouble()
    finally:
        reader.close()
    if trouble:
        return _bad("database", trouble, "stop the gateway, move state/runtime.db away, restore a backup")
    return _good("database", "the database finds no damage")


def _zone_data(home: Home) -> Json:
    reader = home.read()
    try:
        planned = reader.zone_data()
    finally:
        reader.close()
    if planned not in (None, version()):
        says = f"slots are planned with tzdata {planned}, and {version()} is installed"
        return _bad("zone data", says, "restart the gateway: it plans them anew before it starts anything")
    return _good("zone data", f"tzdata {version()}, from its own package")


def _folders(home: str) -> list[Json]:
    found: list[Json] = []
    for name in ("jobs", "scripts", "state"):
        path = os.path.join(home, name)
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            found.append(
                _bad(
                    "folders",
                    f"{path} is missing or cannot be written",
                    "check its owner and mode; `horae init` makes it",
                )
            )
        elif name == "state" and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            found.append(_bad("folders", f"{path} can be read by others", f"chmod 700 {path}"))
    return found or [_good("folders", "jobs, scripts and state are there and writable")]


def _disk(home: str) -> Json:
    free = shutil.disk_usage(home).free
    text = f"{free // (1024 * 1024)} MiB free"
    return (
        _good("disk", text)
        if free >= DISK_FREE_MIN
        else _bad("disk", text, "free some space: results could not be stored")
    )


def _jobs(home: Home, probe: bool = False) -> list[Json]:
    reader = home.read()
    try:
        rows: list[Record] = []
        for job in reader.list_jobs(all=False, state=None, limit=JOBS_CHECKED_MAX, cursor=None)["jobs"]:
            if job["state"] != "quarantined":  # those are told by `_waiting`
                with suppress(NotFound):  # removed since
                    rows.append(reader.find_job(job["id"]))
        counts = reader.counts()
    finally:
        reader.close()
    found = [item for row in rows for item in _job(home, row, probe) if not item["ok"]]
    listed = ", ".join(f"{number} {state}" for state, number in sorted(counts.items())) or "none yet"
    return found or [_good("jobs", listed)]


def _job(home: Home, row: Record, probe: bool = False) -> list[Json]:
    """What keeps one job from running. One damaged record harms only itself."""
    slug = row["slug"]
    if row["state"] == "quarantined" or not row["definition"]:
        return [_broken(home, row)]
    damage = damage_of(row)
    if damage is not None:
        remedy = f"save jobs/{slug}.md again, or have it written anew: `horae edit {slug} --name …`"
        return [_bad("jobs", f"{slug}: {damage}", remedy)]
    job = from_definition(json.loads(row["definition"]))
    reasons = [*ready(home, job), *spent(home, job)]
    if probe and job.agent and not reasons:
        reasons += home.probe(resolved(home, job))
    found = [_bad("jobs", f"{slug}: {reason}", _remedy(home, job, reason)) for reason in reasons]
    return found or [_good("jobs", f"{slug} is ready")]


def _broken(home: Home, row: Record) -> Json:
    reader = home.read()
    try:
        problem = reader.job(row["id"])["problem"] or {"message": "it has never been valid", "hint": None}
    finally:
        reader.close()
    return _bad("quarantined", f"{row['slug']}: {problem['message']}", problem["hint"] or "mend its file")


def _remedy(home: Home, job: Job, reason: str) -> str:
    """What to do about a reason of preflight: the job's own file is fine where only a calendar's cannot be read."""
    calendars = home.settings.calendars
    for name in job.exclude:
        unread_one = name in calendars and calendars[name].unread is not None
        if unread_one and reason in unread(replace(job, exclude=(name,)), calendars):
            return _anew(calendars[name])
    return f"`horae edit {job.slug} --editor`"


def _anew(calendar: Calendar) -> str:
    return f"{calendar.remedy or 'mend that file'}; then start the gateway anew: it reads calendars when it starts"


def _waiting(home: Home) -> list[Json]:
    now_us = store_now(home)
    reader = home.read()
    try:
        items = reader.waiting(100, now_us)
    finally:
        reader.close()
    remedies = {
        "quarantined": "mend the file; it is taken in as soon as it is saved",
        "failing": "`horae log RUN` shows what it said; `horae why JOB` what was decided",
        "unknown": "look at what it did; it is never run again by itself",
        "delivery": "`horae log RUN` has the result",
    }
    return [
        _bad(item["kind"], f"{item['job']}: {item['what']}", item.get("hint") or remedies[item["kind"]])
        for item in items
    ]


def _good(name: str, what: str) -> Json:
    return {"check": name, "ok": True, "what": what, "remedy": None}


def _bad(name: str, what: str, remedy: str) -> Json:
    return {"check": name, "ok": False, "what": what, "remedy": remedy}
