"""Put the adapters of one home together: for a command that works by itself, and for the gateway."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from horae import config
from horae.clock import SystemClock
from horae.core.model import Job
from horae.core.preflight import Facts
from horae.errors import Invalid, Problem, Trouble
from horae.ports import Clock, Home, Reader, Sender, Settings, Store
from horae.runners.process import ProcessRunner
from horae.senders.local import Local
from horae.settings import load
from horae.store.jobfolder import JobFolder
from horae.store.queries import open_reader
from horae.store.sqlite import SqliteStore

SENDERS: dict[str, Callable[[], Sender]] = {"local": Local}


def assemble(home: str, *, actor: str, gateway: bool) -> Home:
    """A home for use cases in this process, with a store of its own."""
    settings = load(home, config.environment())
    clock = SystemClock()
    store = SqliteStore(database(home), clock)
    return home_over(settings, store, clock, ProcessRunner(settings).facts, actor=actor, gateway=gateway)


def home_over(
    settings: Settings,
    store: Store,
    clock: Clock,
    facts: Callable[[Job], Facts],
    *,
    actor: str,
    gateway: bool,
    wake: Callable[[], None] = lambda: None,
) -> Home:
    """What use cases work on, over a store that is open."""
    return Home(
        settings=settings,
        store=store,
        folder=JobFolder(os.path.join(settings.home, "jobs")),
        clock=clock,
        actor=actor,
        read=partial(reader, settings.home),
        entropy=os.urandom,
        targets=unreachable,
        facts=facts,
        wake=wake,
        gateway=gateway,
    )


def database(home: str) -> str:
    """The file that holds the machine's half of a home."""
    return os.path.join(home, "state", "runtime.db")


def reader(home: str) -> Reader:
    """A reader of its own."""
    found = open_reader(database(home))
    if found is None:
        raise Trouble(f"{database(home)} is missing", "`horae doctor` says more", file=database(home))
    return found


def sender(target: str) -> Sender:
    """The sender for a target. Raises Invalid for one that is not configured."""
    kind = target.split(":", 1)[0]
    if kind not in SENDERS or target != kind:
        known = ", ".join(SENDERS)
        raise Invalid(f"no such target is configured (configured: {known})", f"use one of: {known}", target=target)
    return SENDERS[kind]()


def unreachable(target: str) -> str | None:
    """Why a target cannot be reached, or None."""
    try:
        return sender(target).problem(target)
    except Problem as problem:
        return problem.message
