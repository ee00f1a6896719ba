"""The runner: each program has a shim above it (`shim/`), which owns it and everything that it starts.

A run goes on when its gateway ends: its shim watches it, keeps its limits, and writes the result into its spool, where
the next gateway finds it (`former.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from horae.core.activity import Work, redacted
from horae.core.model import Bounds, Job, Order, Owner, Result
from horae.core.preflight import Facts
from horae.errors import Exhausted, Problem
from horae.ports import Orphan, Settings
from horae.runners.agents import Skills, agent_facts, no_skills
from horae.runners.former import Former, end_marked
from horae.runners.liveness import HOST, boot_id, gone, host_id
from horae.runners.liveshim import LiveShim
from horae.runners.pool import Pool
from horae.runners.probing import probe
from horae.runners.room import no_room
from horae.runners.sandbox import problem, sandboxed
from horae.runners.scopes import Scopes
from horae.runners.scripts import facts_for
from horae.runners.shim.landlock import version
from horae.runners.shim.run import BEAT
from horae.runners.spools import STREAMS, Gathered, found, lost, redact_file, spool_of
from horae.secretfile import SecretFile

NOTED_AFTER_S = 0.2  # a run that ends sooner is not worth a write that says which process it was
OVERDUE_S = 10.0  # after its wall limit and its grace a run must have ended, or its shim stands still
AGENTS = "horae.agents.work"  # what the shims of agents have loaded
GONE = "its shim ended before it"
ELSEWHERE = "it ran on another machine, whose gateway ended"


class ProcessRunner:
    """The runner of scripts and commands."""

    def __init__(
        self,
        settings: Settings,
        scripts: str | None = None,
        name: str | None = None,
        skills: Skills | None = None,
    ) -> None:
        """`name` is the gateway's: its shims are called after it. `skills` reads those that a job names."""
        self._settings = settings
        self._skills = skills or no_skills
        self._scripts = scripts or os.path.join(settings.home, "scripts")
        state = os.path.join(os.path.realpath(settings.home), "state")
        self._output = os.path.join(state, "output")
        folder, self._mine = spool_of(settings.home), name or os.urandom(8).hex()
        self._secrets = SecretFile.of(settings)
        base = {
            "home": os.path.dirname(state),
            "output": self._output,
            "own": [],
            "hidden": [folder, self._output, os.path.join(state, "audit.key"), self._secrets.path],
        }
        self._hidden = (state, os.path.dirname(self._secrets.path))
        scopes = scopes_of(settings)
        self._pool = Pool(folder, self._mine, base, scopes)
        self._agents = Pool(folder, f"{self._mine}.agents", base, scopes, preload=AGENTS, warm=1)
        self._walls = {key: base[key] for key in ("home", "hidden")}
        self._former = Former(folder, (self._pool.name, self._agents.name))
        self._reasons: dict[str, str] = {}
        self._notes: set[asyncio.Task[None]] = set()

    def facts(self, job: Job) -> Facts:
        """What is to be started, and what stands against it."""
        path = self._settings.env.get("PATH", os.defpath)
        if job.agent:
            return agent_facts(job, self._settings, self._scripts, self._secrets.lookup, self._skills)
        found = facts_for(
            job,
            self._scripts,
            self._settings.commands,
            path,
            shared=self._settings.store is not None,
            secrets=self._secrets.lookup,
        )
        if job.sandbox == "off" or (why := problem(job.sandbox, path)) is None:
            return found
        return replace(found, problems=(*found.problems, why))

    def probe(self, job: Job) -> list[str]:
        """What the providers of its models say against it."""
        facts = self.facts(job).agent
        return [] if facts is None else [why for reached in facts.models if (why := probe(reached)) is not None]

    async def run(
        self,
        order: Order,
        started: Callable[[int, int], Awaitable[None]],
        ready: Callable[[], Awaitable[None]],
    ) -> Result:
        """Start it, watch it to its end."""
        pool = self._pool if order.task is None else self._agents
        shim = await pool.take(order.run_id)
        timers: list[asyncio.TimerHandle] = []

        def begun(run: Gathered) -> None:
            loop, late_s = asyncio.get_running_loop(), order.bounds.wall_s + order.bounds.grace_s + OVERDUE_S
            timers.append(loop.call_later(NOTED_AFTER_S, self._note, run, started))
            timers.append(loop.call_later(late_s, shim.go_on))

        try:
            await ready()  # nothing comes between this and the order
            gathered = await shim.carry_out(self._told(order, shim.folder), begun, collected=pool.is_collected(shim))
            reason = self._reasons.pop(order.run_id, None)
            end = gathered.end
            if end is None:
                if gathered.cleared is None:  # its template is gone too
                    await end_marked(_orphan(gathered))
                ended = lost(gathered, f"{GONE}; {reason}" if reason else GONE)
                return await self._kept(ended, order.run_id, shim.folder, order.secrets)
            if (refusal := no_room(gathered)) is not None:
                raise refusal
            result = await self._kept(gathered.result(order.bounds, reason), order.run_id, shim.folder, order.secrets)
            pool.uncollected[order.run_id] = shim
            return result
        except asyncio.CancelledError:
            shim.left = True
            raise
        finally:
            for timer in timers:
                timer.cancel()
            self._reasons.pop(order.run_id, None)
            pool.give_back(order.run_id)

    async def warm(self, *, agents: bool = False) -> None:
        """Have shims ready before they are needed, if there is room for them. Those for agents take seconds."""
        with contextlib.suppress(Exhausted):  # whoever needs one is told
            await (self._agents if agents else self._pool).warm()

    def stop_all(self, reason: str) -> None:
        """End every live run; each says why. Asked again, what is left is killed at once."""
        for run_id in [*self._pool.busy, *self._agents.busy]:
            self._reasons.setdefault(run_id, reason)
            self._ask(run_id)

    def cancel(self, run_id: str, reason: str) -> bool:
        """End one run, or one that another gateway has started. False when it is not here.

        Asked again it does nothing: the engine asks at every look until the run has ended, and its grace must be its own.
        """
        if self._busy(run_id) is None:
            return self._former.cancel(run_id, reason)
        if run_id not in self._reasons:
            self._reasons[run_id] = reason
            self._ask(run_id)
        return True

    def ask_left(self, run_id: str) -> bool:
        """Ask a run to end that is left to its shim, while no gateway is there. False when there is none."""
        return self._former.ask(run_id)

    def so_far(self, run_id: str) -> tuple[str, str] | None:
        """What a live run has printed until now: standard output and error."""
        shim = self._busy(run_id)
        found = self._former.so_far(run_id) if shim is None or shim.run is None else shim.run.so_far()
        redact = self._secrets.redactor().text
        return None if found is None else (redact(found[0]), redact(found[1]))

    def work_so_far(self, run_id: str) -> Work | None:
        """What the agent of a live run has done until now."""
        shim = self._busy(run_id)
        found = self._former.work_so_far(run_id) if shim is None or shim.run is None else shim.run.work
        return None if found is None else redacted(found, self._secrets.redactor().text)

    def gone(self, owner: Owner) -> bool:
        """Whether a gateway's process is proven to be no more (see `liveness.py`)."""
        return gone(owner, host_id(self._settings.env.get(HOST)))

    async def adopt(self, orphan: Orphan, bounds: Bounds, secrets: Sequence[str]) -> Result:
        """How a run ends, or has ended, that a gateway before us has begun."""
        if orphan.host != host_id(self._settings.env.get(HOST)):
            return lost(Gathered(orphan.run_id), ELSEWHERE)  # there is nothing that could be seen from here
        result, folder = await self._former.result(orphan, bounds)
        return await self._kept(result, orphan.run_id, folder, secrets)

    def sweep(self, keep: Collection[str]) -> None:
        """Take away what gateways before us have left and nobody needs any more; runs of `keep` are still to be adopted."""
        self._former.sweep(keep)

    def collected(self, run_id: str) -> None:
        """The way of a run is over here."""
        self._pool.collected(run_id)
        self._agents.collected(run_id)
        self._former.collected(run_id)

    def close(self) -> None:
        """Let go of all shims. What runs, runs on."""
        self._pool.close()
        self._agents.close()

    def _busy(self, run_id: str) -> LiveShim | None:
        return self._pool.busy.get(run_id) or self._agents.busy.get(run_id)

    def _ask(self, run_id: str) -> None:
        shim = self._busy(run_id)
        assert shim is not None, "only what is live is asked"
        task = asyncio.get_running_loop().create_task(shim.tell({"end": run_id, "why": self._reasons[run_id]}))
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    async def _kept(self, result: Result, run_id: str, folder: str | None, secrets: Sequence[str]) -> Result:
        """A result as it may be kept: without secrets, and what it has made in its shim's folder is its own."""
        if not (result.stdout or result.stderr or result.killed or result.files or result.work):
            return result
        redactor = self._secrets.redactor(secrets)
        work = None if result.work is None else redacted(result.work, redactor.text)
        kept = os.path.join(self._output, run_id)
        if "files" in result.files and folder is not None:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, BEAT))
            with contextlib.suppress(OSError):
                os.makedirs(kept, mode=0o700, exist_ok=True)
                os.rename(folder, os.path.join(kept, "files"))
        for name in STREAMS:
            if name in result.files:
                await asyncio.to_thread(redact_file, os.path.join(kept, name), redactor.data)
        made = tuple(found(os.path.join(kept, "files"))) if "files" in result.files else ()
        killed = tuple(redactor.text(name) for name in result.killed)
        return replace(
            result,
            stdout=redactor.text(result.stdout),
            stderr=redactor.text(result.stderr),
            killed=killed,
            made=made,
            work=work,
        )

    def _told(self, order: Order, folder: str) -> dict[str, object]:
        """An order as its shim takes it."""
        said = told(order)
        if order.task is not None:
            return said | {"task": self._given(order, folder), "landlock": False}
        if order.sandbox == "off":
            return said
        bwrap = shutil.which("bwrap", path=self._settings.env.get("PATH", os.defpath)) or "bwrap"
        writable = (folder, order.cwd) if not _is_within(order.cwd, self._settings.home) else (folder,)
        argv = sandboxed(
            order.argv,
            order.sandbox,
            cwd=order.cwd,
            writable=writable,
            hidden=self._hidden,
            readable=(self._scripts,),
            bwrap=bwrap,
        )
        return said | {"argv": argv, "boxed": True, "landlock": False}

    def _given(self, order: Order, folder: str) -> dict[str, Any]:
        """The task of an agent, with its run's own folder: where it works, unless its job says another.

        In the home it may write to that folder alone: one that its job names may lie in the home, or hold all of it.
        """
        task = dict(order.task or {})
        for name in ("script", "watch_script"):
            if (own := task[name]) is not None:
                task[name] = own | {"env": {**own["env"], "HORAE_OUTPUT": folder}}
        return task | {
            "folder": task["folder"] or folder,
            "walls": {**self._walls, "own": [folder]} if order.landlock and version() else None,
            "env": {**order.env, "HORAE_OUTPUT": folder},
        }

    def _note(self, run: Gathered, started: Callable[[int, int], Awaitable[None]]) -> None:
        async def note() -> None:
            with contextlib.suppress(Problem):  # progress: a disk that is full has more to say than this
                await started(run.pid or 0, run.born or 0)

        task = asyncio.get_running_loop().create_task(note())
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)


def scopes_of(settings: Settings) -> Scopes:
    """The scopes that a gateway of this home could have."""
    uid = os.getuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    return Scopes(settings.env, user=user, uid=uid)


def _orphan(run: Gathered) -> Orphan:
    """A run of ours that has lost its shim."""
    return Orphan(run.run_id, "running", run.pid, run.born, None, "", boot_id())


def _is_within(path: str, folder: str) -> bool:
    path, folder = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath((path, folder)) == folder


def told(order: Order) -> dict[str, object]:
    """An order as its shim takes it."""
    bounds = order.bounds
    return {
        "run": order.run_id,
        "argv": order.argv,
        "cwd": order.cwd,
        "env": order.env,
        "landlock": order.landlock,
        "boxed": False,
        "wall": bounds.wall_s,
        "grace": bounds.grace_s,
        "idle": bounds.idle_s,
        "kept": bounds.kept_bytes,
        "output": bounds.output_bytes,
        "memory": bounds.memory_bytes,
        "cpu": bounds.cpu_s,
        "processes": bounds.processes,
        "tight": bounds.tight,
    }
