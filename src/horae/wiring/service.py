"""The gateway as a process: lock, store, writer, engine, socket, folder watch, signals, log; in that order, and back.

Every part is entered as a context, so that whatever fails on the way leaves nothing behind. Job files are taken in
and zone data that changed is followed before the first claim: what was edited while nobody looked must not fire by its
old schedule, nor by a law that holds no more.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from horae import __version__, config
from horae.app.reload import Report, reload
from horae.app.verbs import VERBS
from horae.app.zonedata import Change, follow_zone_data
from horae.clock import SystemClock
from horae.control.place import HomeLock
from horae.control.server import serving
from horae.core.lateness import summary
from horae.core.model import Owner
from horae.engine.gateway import Gateway
from horae.engine.slots import Slots
from horae.errors import Problem, Refused
from horae.log import Narrator, set_up
from horae.ports import Home, Ports, Reader
from horae.runners.liveness import boot_id, host_id, started_at
from horae.runners.process import ProcessRunner
from horae.settings import load
from horae.store.sqlite import SqliteStore, alone
from horae.store.watch import FolderWatch
from horae.store.writer import GroupWriter
from horae.wiring.assembly import database, home_over, reader, sender

LATENESS_OF = 1000  # runs that the status sums up
PROGRESS_FROM, PROGRESS_EVERY = 2000, 5000  # job files that are read: fewer go by unnoticed
STUCK_S = 10.0  # a due instant that the loop has not looked at for so long means that it is stuck

log = logging.getLogger("horae")


def run_gateway(home: str, echo: Callable[[str], None]) -> int:
    """Run until stopped. Returns the exit status."""
    return asyncio.run(_serve(home, echo))


async def _serve(home: str, echo: Callable[[str], None]) -> int:
    settings = load(home, config.environment())
    clock = SystemClock()
    since = clock.now()
    async with AsyncExitStack() as stack:
        lock = HomeLock(home)
        lock.take({"pid": os.getpid(), "since": since.isoformat(timespec="seconds"), "version": __version__})
        stack.callback(lock.release)
        stack.callback(clock.close)
        store = SqliteStore(database(home), clock)
        stack.callback(store.close)
        names = Names(home)
        stack.callback(names.close)
        trouble: list[Problem] = []
        writer = GroupWriter(store, partial(_troubled, trouble))
        writer.start()
        stack.callback(writer.close)
        path = set_up(home, terminal=True)
        store.listen(Narrator(names.of).tell)

        runner = ProcessRunner(settings)
        slots = Slots(settings.parallel)
        owner = Owner(os.urandom(8).hex(), host_id(), boot_id(), os.getpid(), started_at(os.getpid()) or 0)
        ports = Ports(owner, clock, writer, runner, sender, settings, slots)
        gateway = Gateway(ports, slots, runner.stop_all, __version__)
        whole = home_over(settings, writer, clock, runner.facts, actor="gateway", gateway=True, wake=gateway.wake)

        echo(f"Horae {__version__}  ·  home {home}  ·  log {path}")
        watch = FolderWatch(whole.folder.root, partial(_edited, whole))
        watch.start()  # before the files are read, so that no edit falls between the two
        stack.callback(watch.close)
        report = await asyncio.to_thread(reload, whole, None, partial(_progress, echo))
        _tell(report)
        one_at_a_time = partial(alone, os.path.join(home, "state"))
        _tell_zone_data(await asyncio.to_thread(follow_zone_data, whole, one_at_a_time))
        verbs = _verbs(whole, gateway, runner, since, trouble)
        await stack.enter_async_context(serving(home, verbs))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # HUP: its terminal was closed
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup means what it says
                asyncio.get_running_loop().add_signal_handler(number, _asked_to_stop, gateway, writer)
        echo("ready: runs are shown as they end; Ctrl-C stops")
        await gateway.run()
        echo("stopped")
    return 0


def _verbs(
    home: Home, gateway: Gateway, runner: ProcessRunner, since: datetime, trouble: list[Problem]
) -> dict[str, Callable[..., Any]]:
    """What the socket answers: the use cases, in the name of whoever asks, and the gateway's word on itself."""

    def as_actor(verb: Callable[..., Any]) -> Callable[..., Any]:
        def call(*, actor: str, **args: Any) -> Any:
            return verb(replace(home, actor=actor), **args)

        return call

    def so_far(run: str) -> Mapping[str, Any]:
        found = runner.so_far(run)
        return {"live": found is not None, "stdout": found[0] if found else "", "stderr": found[1] if found else ""}

    def cancel(*, actor: str, run: str) -> dict[str, Any]:
        view = home.read()
        try:
            found = view.find_run(run)
        finally:
            view.close()
        if found["state"] != "running":
            raise Refused(
                f"run {found['id']} is {found['state']}: only a running one can be cancelled", "`horae runs` lists them"
            )
        gateway.soon(runner.cancel, found["id"], f"cancelled by {actor}")
        return {"run_id": found["id"], "did": f"asked run {found['id']} to end", "undo": None}

    verbs: dict[str, Callable[..., Any]] = {name: as_actor(verb) for name, verb in VERBS.items()}
    verbs["status"] = lambda: _status(home, gateway, since, trouble)
    verbs["so_far"] = so_far
    verbs["wake"] = gateway.wake
    verbs["cancel"] = cancel
    return verbs


def _status(home: Home, gateway: Gateway, since: datetime, trouble: list[Problem]) -> dict[str, Any]:
    now = home.clock.now()
    view = home.read()
    try:
        lateness, next_due, waiting = summary(view.lateness_ms(LATENESS_OF)), view.next_due(), view.waiting(50)
    finally:
        view.close()
    problems = [problem.message for problem in trouble]
    looked = gateway.looked_at
    overdue = gateway.next_due is not None and (now - gateway.next_due).total_seconds() > STUCK_S
    if overdue and (looked is None or (now - looked).total_seconds() > STUCK_S):
        problems.append("the timer is stuck: a due instant passed and was not looked at")
    return {
        "alive": True,
        "pid": os.getpid(),
        "since": since.isoformat(timespec="seconds"),
        "version": __version__,
        "stopping": gateway.stopping,
        "next_due": next_due,
        "lateness_ms": lateness,
        "live_runs": [{"run": claim.run_id, "job": claim.job.slug} for claim in gateway.live],
        "waiting": waiting,
        "problems": problems,
    }


def _asked_to_stop(gateway: Gateway, writer: GroupWriter) -> None:
    log.info("ending live runs" if gateway.stopping else "stopping: nothing new starts")
    if gateway.stopping:
        writer.hurry()
    gateway.stop()


def _edited(home: Home, slugs: list[str] | None) -> None:
    """Files changed; called on the watching thread."""
    try:
        _tell(reload(home, slugs))
    except Problem as problem:
        log.warning("job files could not be taken in: %s", problem.message)


def _progress(echo: Callable[[str], None], done: int, total: int) -> None:
    if total > PROGRESS_FROM and (done == total or done % PROGRESS_EVERY == 0):
        echo(f"reading job files: {done:,} of {total:,}")


def _tell(report: Report) -> None:
    if report.held:
        log.warning("! %d job files vanished at once; their jobs are held until a person decides", len(report.held))


def _tell_zone_data(change: Change | None) -> None:
    if change is not None and change.was is not None:
        log.info("· zone data %s → %s: %d jobs have slots at other instants now", change.was, change.now, change.jobs)


def _troubled(trouble: list[Problem], problem: Problem | None) -> None:
    if problem is None:
        trouble.clear()
        log.info("the store can be written again")
    elif not trouble:
        trouble.append(problem)
        log.error("%s; trying again until it can", problem.message)


class Names:
    """job id → slug, for the log: one reader, kept open, since a burst names a thousand jobs in a second."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._reader: Reader | None = None
        self._known: dict[str, str] = {}

    def of(self, job_id: str, fresh: bool) -> str:
        """The slug; `fresh` when it may have changed."""
        if fresh or job_id not in self._known:
            if self._reader is None:
                self._reader = reader(self._home)
            self._known[job_id] = self._reader.slug_of(job_id) or job_id
        return self._known[job_id]

    def close(self) -> None:
        """Close the reader. Nothing is named any more."""
        if self._reader is not None:
            self._reader.close()
