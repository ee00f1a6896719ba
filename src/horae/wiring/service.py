"""The gateway as a process: lock, store, writer, engine, socket, folder watch, signals, log; in that order, and back.

Every part is entered as a context, so that whatever fails on the way leaves nothing behind. Job files are taken in
and zone data that changed is followed before the first claim: what was edited while nobody looked must not fire by its
old schedule, nor by a law that holds no more. Where a database is shared there are no files to take in: what others write
there is told by the database.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

from horae import __version__, config
from horae.app.reload import reload
from horae.app.zonedata import Change, follow_zone_data
from horae.clock import SystemClock
from horae.control.place import HomeLock
from horae.control.server import serving
from horae.core.model import Owner, Terms
from horae.core.tally import Tally
from horae.core.webform import Web
from horae.engine.addressing import hearers
from horae.engine.gateway import Gateway
from horae.engine.lease import Lease
from horae.engine.slots import Slots
from horae.errors import Problem
from horae.limits import WAIT_MAX_S
from horae.log import Narrator, set_up
from horae.ports import Home, Ports, Reader, Settings
from horae.runners.command import end_told
from horae.runners.liveness import HOST, boot_id, host_id, started_at
from horae.runners.process import ProcessRunner
from horae.runners.spools import spool_of
from horae.secretfile import SecretFile
from horae.settings import load
from horae.store.jobfolder import JobFolder
from horae.store.scriptmirror import ScriptMirror
from horae.store.watch import FolderWatch
from horae.store.writer import GroupWriter
from horae.wiring.agents import Agents
from horae.wiring.answers import Answers
from horae.wiring.assembly import home_over, scripts_of, skills_of
from horae.wiring.backing import SharedDatabase, backing_of
from horae.wiring.daily import Daily
from horae.wiring.desk import desk_of
from horae.wiring.doorway import Doorway, doorway
from horae.wiring.heartbeat import heartbeat_of, is_well
from horae.wiring.mending import Mending, take_in, tell_held
from horae.wiring.notify import Notifier
from horae.wiring.scripts import Following
from horae.wiring.spans import Spans

PROGRESS_FROM, PROGRESS_EVERY = 2000, 5000  # job files that are read: fewer go by unnoticed

log = logging.getLogger("horae")


def run_gateway(home: str, echo: Callable[[str], None], web: Callable[[Web], Web], visitor: str | None = None) -> int:
    """Run until stopped. Returns the exit status.

    `web` says what differs from the settings about the dashboard, `visitor` who looks on and may be let in.
    """
    return asyncio.run(_serve(home, echo, web, visitor))


async def _serve(home: str, echo: Callable[[str], None], web: Callable[[Web], Web], visitor: str | None) -> int:
    settings = load(home, config.environment())
    notifier = Notifier(settings.env)
    clock = SystemClock()
    since = clock.now()
    owner = this_process(settings)
    async with AsyncExitStack() as stack:
        backing = backing_of(settings)
        stack.callback(backing.close)
        stack.callback(end_told)
        lock = HomeLock(home, shared=backing.shared)
        holder = {"pid": os.getpid(), "since": since.isoformat(timespec="seconds"), "version": __version__}
        lock.take(holder)
        stack.callback(lock.release)
        stack.callback(clock.close)
        store = backing.open(clock, owner.id)
        stack.callback(store.close)
        names = Names(backing.read)
        stack.callback(names.close)
        trouble: list[Problem] = []
        writer = GroupWriter(store, partial(_troubled, trouble))
        writer.start()
        stack.callback(writer.close)
        watched = settings.watched
        path = set_up(home, terminal=True, form=watched.log_form, level=watched.log_level)
        tally = Tally(watched.jobs)
        told = (Narrator(names.of).tell, tally.tell, *_traced(stack, settings, backing.read, owner))
        for tell in told:
            store.listen(tell)
        runner = ProcessRunner(settings, scripts_of(settings), owner.id, skills_of(settings))
        stack.callback(runner.close)
        mirror = ScriptMirror(writer, scripts_of(settings)) if backing.shared else None
        ready = runner if mirror is None else Following(runner, mirror)
        slots = Slots(settings.parallel)
        desk = desk_of(settings, clock)
        given = (owner, clock, writer, ready, desk, settings, slots, Lease(clock), _terms(settings))
        ports = Ports(*given, redact=redact_of(settings))
        gateway = Gateway(ports, slots, runner.stop_all, __version__, shared=backing.shared)
        whole = home_over(
            *(settings, backing, writer, clock, ready.facts, runner.probe, runner.ask_left),
            targets=desk,
            actor="gateway",
            gateway=True,
            wake=gateway.wake,
        )
        mending = Mending(whole)
        store.listen(mending.tell)
        echo(f"Horae {__version__}  ·  {_where(home, settings)}  ·  log {path}")
        if isinstance(backing, SharedDatabase) and mirror is not None:
            await _follow_database(stack, backing, whole, mirror, gateway)
        else:
            await _follow_files(stack, whole, mending, echo)
        _tell_zone_data(await asyncio.to_thread(follow_zone_data, whole, backing.alone))
        stack.callback(Daily(whole).close)
        heartbeat = heartbeat_of(settings)
        answers = Answers(whole, gateway, runner, since, trouble, store.path, heartbeat, tally)
        await stack.enter_async_context(serving(home, lock.number, answers.verbs(), config.below_shim))
        _heed_signals(partial(_asked_to_stop, gateway, writer, notifier, settings.drain_s))
        await asyncio.to_thread(desk.warm)
        await runner.warm()
        stack.enter_context(Agents(whole, runner, partial(hearers, ports), store.listen))
        _open_door(stack, lock, holder, doorway(web(settings.web), whole, echo, visitor))
        echo("ready: runs are shown as they end; Ctrl-C stops")
        notifier.ready()
        async with (
            notifier.watched(lambda: _looks_again(gateway, clock, trouble)),
            heartbeat.beating(lambda: _is_well(gateway, clock, trouble)),
        ):
            await gateway.run()
        echo("stopped")
    return 0


def _traced(
    stack: AsyncExitStack, settings: Settings, read: Callable[[], Reader], owner: Owner
) -> tuple[Callable[[Any], None], ...]:
    telemetry = settings.watched.telemetry
    return () if telemetry is None else (stack.enter_context(Spans(settings, telemetry, read, owner.host)).tell,)


def redact_of(settings: Settings) -> Callable[[str], str]:
    """What takes secrets out of texts that leave; by those that stand in `secrets.toml` at that time."""
    secrets = SecretFile.of(settings)
    return lambda text: secrets.redactor().text(text)


def _heed_signals(asked: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # HUP: its terminal was closed
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup means what it says
            asyncio.get_running_loop().add_signal_handler(number, asked)


def _open_door(stack: AsyncExitStack, lock: HomeLock, holder: dict[str, Any], door: Doorway | None) -> None:
    if door is not None:
        stack.callback(door.close)
        lock.tell({**holder, "web": door.address})


def _terms(settings: Settings) -> Terms:
    return Terms(frozenset(settings.labels), settings.groups, settings.calendars)


def this_process(settings: Settings) -> Owner:
    """This gateway as an owner of runs: under an id of its own, and so that others can tell whether it is still there."""
    pid = os.getpid()
    host = host_id(settings.env.get(HOST))
    return Owner(
        os.urandom(8).hex(),
        host,
        boot_id(),
        pid,
        started_at(pid) or 0,
        frozenset(settings.labels),
        spool_of(settings.home),
    )


def _where(home: str, settings: Settings) -> str:
    labels = f"  ·  labels {' '.join(settings.labels)}" if settings.labels else ""
    return f"home {home}{'' if settings.store is None else ', with a shared database'}{labels}"


async def _follow_files(stack: AsyncExitStack, whole: Home, mending: Mending, echo: Callable[[str], None]) -> None:
    """Take in the job files, and from now on every change of them."""
    watch = FolderWatch(whole.folder.root, lambda slugs: take_in(whole, slugs, mending))
    watch.start()  # before the files are read, so that no edit falls between the two
    stack.callback(watch.close)
    report = await asyncio.to_thread(reload, whole, None, partial(_progress, echo))
    tell_held(report)


async def _follow_database(
    stack: AsyncExitStack, backing: SharedDatabase, whole: Home, mirror: ScriptMirror, gateway: Gateway
) -> None:
    """Keep this machine's copy of the scripts, and look whenever somebody else has written."""
    await asyncio.to_thread(_tell_left_out, whole)
    await asyncio.to_thread(mirror.refresh)

    def told() -> None:
        """On the listening thread."""
        try:
            if mirror.refresh():
                log.info("scripts were changed")
        except Problem as problem:
            log.warning("scripts could not be taken in: %s", problem.message)
        gateway.wake()

    listener = backing.listener(told)
    stack.callback(listener.close)


def _tell_left_out(whole: Home) -> None:
    """Files are no definitions where a database holds them: somebody who has just changed over may not know."""
    home = whole.settings.home
    files = sum(1 for _ in JobFolder(os.path.join(home, "jobs")).scan())
    if files and not any(True for _ in whole.folder.scan()):
        says = (
            "! the database has no jobs; job files of %s (%d) are not read: `horae apply %s --confirm` takes them over"
        )
        log.warning(says, home, files, home)


def _looks_again(gateway: Gateway, clock: SystemClock, trouble: list[Problem]) -> bool:
    """Whether the engine's loop does what it should; a store that refuses is no reason to be killed."""
    if gateway.stopping or trouble or gateway.looked_at is None:
        return True
    return (clock.now() - gateway.looked_at).total_seconds() < 2 * WAIT_MAX_S


def _is_well(gateway: Gateway, clock: SystemClock, trouble: list[Problem]) -> bool:
    """The same for those outside: to them a store that refuses is trouble, and so is a gateway that starts nothing more."""
    return is_well(stopping=gateway.stopping, writes=not trouble, looked_at=gateway.looked_at, now=clock.now())


def _asked_to_stop(gateway: Gateway, writer: GroupWriter, notifier: Notifier, drain_s: float) -> None:
    notifier.stopping()
    log.info("ending live runs" if gateway.stopping else "stopping: nothing new starts")
    if gateway.stopping:
        writer.hurry()
    else:  # whoever stops it only once waits for its runs, and not for a store that refuses
        asyncio.get_running_loop().call_later(drain_s, writer.hurry)
    gateway.stop()


def _progress(echo: Callable[[str], None], done: int, total: int) -> None:
    if total > PROGRESS_FROM and (done == total or done % PROGRESS_EVERY == 0):
        echo(f"reading job files: {done:,} of {total:,}")


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

    def __init__(self, read: Callable[[], Reader]) -> None:
        self._read = read
        self._reader: Reader | None = None
        self._known: dict[str, str] = {}

    def of(self, job_id: str, fresh: bool) -> str:
        """The slug; `fresh` when it may have changed. What cannot be asked now goes by what is known of it."""
        if fresh or job_id not in self._known:
            try:
                self._known[job_id] = self._asked(job_id)
            except Problem:  # the server was restarted since: a new reader has a connection of its own
                self.close()
                with suppress(Problem):
                    self._known[job_id] = self._asked(job_id)
        return self._known.get(job_id, job_id)

    def _asked(self, job_id: str) -> str:
        if self._reader is None:
            self._reader = self._read()
        return self._reader.slug_of(job_id) or job_id

    def close(self) -> None:
        """Close the reader; whoever is named afterwards opens another."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
