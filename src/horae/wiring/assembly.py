"""Put the adapters of one home together: for a command that works by itself, and for the gateway."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module

from horae import config
from horae.app.status import anybody_alive
from horae.clock import SystemClock
from horae.core.agentfacts import SkillText
from horae.core.model import Job
from horae.core.preflight import Facts
from horae.engine.orders import PASSED
from horae.errors import Problem
from horae.limits import CONFIG_BYTES_MAX
from horae.ports import Home, Key, Machine, Settings, Shelf, Store, Targets, Vault
from horae.runners.agents import Skills
from horae.runners.process import ProcessRunner, scopes_of
from horae.runners.shim.landlock import version
from horae.secretfile import SecretFile
from horae.settings import load
from horae.store.scriptmirror import ScriptMirror
from horae.wiring.backing import HomeFile, SharedDatabase, backing_of
from horae.wiring.desk import desk_of
from horae.wiring.handed import handed


def assemble(home: str, *, actor: str, gateway: bool) -> tuple[Home, Callable[[], None]]:
    """A home for use cases in this process, with a store of its own, and what closes it."""
    settings = load(home, config.environment())
    backing, clock = backing_of(settings), SystemClock()
    store = backing.open(clock)

    def close() -> None:
        store.close()
        backing.close()

    runner = ProcessRunner(settings, scripts_of(settings), skills=skills_of(settings))
    facts = facts_of(settings, store, runner)
    ports = (settings, backing, store, clock, facts, runner.probe, runner.ask_left)
    whole = home_over(*ports, targets=desk_of(settings, clock), actor=actor, gateway=gateway)
    return replace(whole, gateway=anybody_alive(whole)) if backing.shared else whole, close


def in_name_of(home: Home, actor: str, gateway: bool) -> Home:
    """The same home for somebody else."""
    return replace(home, actor=actor, gateway=gateway)


def facts_of(settings: Settings, store: Store, runner: ProcessRunner) -> Callable[[Job], Facts]:
    """What preflight must know. The copy of a cluster's scripts is brought up to date first: no gateway may do that here."""
    if settings.store is None:
        return runner.facts
    mirror = ScriptMirror(store, scripts_of(settings))

    def facts(job: Job) -> Facts:
        if job.script is not None:
            mirror.refresh()
        return runner.facts(job)

    return facts


def home_over(
    settings: Settings,
    backing: HomeFile | SharedDatabase,
    store: Store,
    clock: SystemClock,
    facts: Callable[[Job], Facts],
    probe: Callable[[Job], Sequence[str]],
    ask_left: Callable[[str], bool],
    *,
    targets: Targets,
    actor: str,
    gateway: bool,
    wake: Callable[[], None] = lambda: None,
) -> Home:
    """What use cases work on, over a store that is open."""
    return Home(
        settings=settings,
        store=store,
        folder=backing.folder(store, actor),
        scripts=backing.scripts(store, actor),
        source=partial(handed, settings.home if settings.store is None else None),
        clock=clock,
        actor=actor,
        read=backing.read,
        past=backing.past,
        key=partial(audit_key, settings.home),
        shelf=partial(shelf_of, settings.home),
        vault=partial(vault_of, settings),
        configure=partial(configure, settings.home),
        entropy=os.urandom,
        targets=targets,
        facts=facts,
        probe=probe,
        ask_left=ask_left,
        machine=partial(machine_of, settings),
        wake=wake,
        gateway=gateway,
    )


def machine_of(settings: Settings) -> Machine:
    """What this machine offers to runs."""
    scoped, scopes = scopes_of(settings).usable()
    secrets: Problem | None = None
    try:
        SecretFile.of(settings).values()
    except Problem as problem:
        secrets = problem
    return Machine(version(), scoped, scopes, secrets)


def audit_key(home: str) -> Key:
    """The key pair of a home, made or not. Its library is loaded only now: most commands sign nothing."""
    return import_module("horae.store.auditkey").AuditKey(os.path.join(home, "state", "audit.key"))


def vault_of(settings: Settings) -> Vault:
    """The secrets of a home, to be listed and changed. It is loaded only now: few commands do."""
    return import_module("horae.store.vault").SecretVault(settings)


def configure(home: str, place: Sequence[str], value: str) -> None:
    """Say one text in the settings of a home."""
    path = os.path.join(home, "config.toml")
    import_module("horae.store.tomledit").put(path, place, value, most=CONFIG_BYTES_MAX, mode=0o644)


def shelf_of(home: str) -> Shelf:
    """The skills of a home, to be listed and changed."""
    return import_module("horae.store.skillfolder").SkillFolder(os.path.join(home, "skills"))


def skills_of(settings: Settings) -> Skills:
    """What reads the skills of a home. Its module is loaded only for jobs that name some."""

    def skills(job: Job, tools: Sequence[str]) -> tuple[Sequence[SkillText], Sequence[str]]:
        folder, path = os.path.join(settings.home, "skills"), settings.env.get("PATH", os.defpath)
        seen = {name for name in settings.env if name in (*PASSED, *settings.pass_env, *job.env)}
        reads = import_module("horae.store.skillfolder").skills_for
        found, problems, _ = reads(job.skills, folder, path, seen, {*job.secrets}, tools)
        return found, problems

    return skills


def scripts_of(settings: Settings) -> str:
    """The folder from which scripts may come: of a cluster, the copy of its table that this machine keeps."""
    parts = ("scripts",) if settings.store is None else ("state", "scripts")
    return os.path.join(settings.home, *parts)
