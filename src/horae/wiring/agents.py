"""What a gateway does for agents beside their runs: their libraries are loaded in time, and what was blocked is looked at.

The libraries take seconds to load, so that is begun when a home has agents' jobs, and when the first of them is made; a home
without any never pays for them. A job that is blocked was told once; as soon as nothing stands against it any more, its
incident is over and that is told too, without waiting for its next slot. Looking costs nothing while none is blocked.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Self, TypeVar

from horae.app.agentview import freeze_unset, has_agents
from horae.app.readiness import is_ready
from horae.errors import Problem
from horae.ports import Hearers, Home
from horae.runners.process import ProcessRunner

LOOK_EVERY_S = 15.0
SOON_S = 0.5
NEWS = ("created", "changed", "restored", "revived")  # entries of the journal after which there may be an agent's job

T = TypeVar("T")

log = logging.getLogger("horae")


class Agents:
    """Made on the gateway's event loop; told on any thread."""

    def __init__(
        self, home: Home, runner: ProcessRunner, hear: Callable[[], Hearers], listen: Callable[[Any], None]
    ) -> None:
        """`hear` says who hears that a job can run again; `listen` has somebody told of entries of the journal."""
        self._listen = listen
        self._hear = hear
        self._home = home
        self._runner = runner
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loaded = False
        self._timer: asyncio.TimerHandle | None = None
        self._waits: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        """Look now, and from now on."""
        self._listen(self.tell)
        self._start(self._load())
        self._again()
        return self

    def tell(self, entries: Sequence[Any]) -> None:
        """There may be the first job of an agent now. A thousand files that are read are one reason to look."""
        if not self._loaded and any(entry.what in NEWS for entry in entries):
            self._loop.call_soon_threadsafe(self._soon)

    def _soon(self) -> None:
        if self._waits is None and not self._loaded:
            self._waits = self._loop.call_later(SOON_S, self._load_now)

    def _load_now(self) -> None:
        self._waits = None
        self._start(self._load())

    def __exit__(self, *_: object) -> None:
        """Look no more."""
        for timer in (self._timer, self._waits):
            if timer is not None:
                timer.cancel()
        for task in self._tasks:
            task.cancel()

    async def _load(self) -> None:
        if self._loaded or not await asyncio.to_thread(self._safely, has_agents):
            return
        self._loaded = True
        await asyncio.to_thread(self._safely, freeze_unset)
        await self._runner.warm(agents=True)

    def _again(self) -> None:
        self._timer = self._loop.call_later(LOOK_EVERY_S, self._look)

    def _look(self) -> None:
        self._start(self._blocked())
        self._again()

    async def _blocked(self) -> None:
        await asyncio.to_thread(self._safely, self._unblock)

    def _unblock(self, home: Home) -> None:
        """End what blocked those that are ready. A job that cannot be judged harms no other."""
        reader = home.read()
        try:
            blocked = [item["id"] for item in reader.blocked()]
        finally:
            reader.close()
        ready = [job_id for job_id in blocked if self._safely(partial(is_ready, job_id=job_id))]
        if ready:
            home.store.transact(lambda tx: tx.incidents.unblock(ready, self._hear()))
            home.wake()

    def _safely(self, work: Callable[[Home], T]) -> T | None:
        try:
            return work(self._home)
        except (Problem, sqlite3.Error) as error:
            log.warning("a look at the jobs of agents failed: %s", error)
            return None

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
