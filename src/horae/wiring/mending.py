"""Definitions that must be read again: what is stored of a job was found damaged, or its file could not be taken in.

The store says of damage in its journal (`quarantined`, with `damaged`): the definition is read again at once, which mends
it, and the slots that passed meanwhile are answered as after a downtime. What is damaged again soon after has a fault that
reading does not mend, so it is read again after `AGAIN_S`: the two never chase each other.

What changed while the store refused is taken in as soon as it can be, by looking at everything every `RETRY_S` until then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from horae.app.reload import Report, reload
from horae.core.cadence import DAMAGE
from horae.errors import Problem
from horae.ports import Home

AGAIN_S = 3600.0
RETRY_S = 5.0

log = logging.getLogger("horae")


class Mending:
    """A listener to the journal, and to trouble with files. Made on the gateway's event loop; told on any thread."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._loop = asyncio.get_running_loop()
        self._due_s: dict[str, float] = {}  # job id → when it was, or will be, read again, by the loop's time
        self._all: asyncio.TimerHandle | None = None
        self.busy: set[asyncio.Task[None]] = set()

    def tell(self, entries: Sequence[Any]) -> None:
        """Have the definitions of what was found damaged read again."""
        damaged = {entry.job_id for entry in entries if entry.what == "quarantined" and entry.detail.get("damaged")}
        if damaged:
            self._loop.call_soon_threadsafe(self._one_by_one, damaged)

    def missed(self) -> None:
        """Changes of files could not be taken in: look at all of them once more, soon."""
        self._loop.call_soon_threadsafe(self._look_again)

    def _one_by_one(self, job_ids: set[str]) -> None:
        for job_id in sorted(job_ids):
            now_s = self._loop.time()
            due_s = self._due_s.get(job_id)
            if due_s is not None and due_s > now_s:
                continue  # it will be
            after_s = 0.0 if due_s is None else max(0.0, due_s + AGAIN_S - now_s)
            self._due_s[job_id] = now_s + after_s
            self._loop.call_later(after_s, self._begin, lambda job_id=job_id: mend(self._home, job_id))

    def _look_again(self) -> None:
        if self._all is None:
            self._all = self._loop.call_later(RETRY_S, self._look)

    def _look(self) -> None:
        self._all = None
        self._begin(lambda: take_in(self._home, None, self))

    def _begin(self, work: Callable[[], object]) -> None:
        task = self._loop.create_task(asyncio.to_thread(_safely, work))
        self.busy.add(task)
        task.add_done_callback(self.busy.discard)


def take_in(home: Home, slugs: Sequence[str] | None, mending: Mending) -> None:
    """Files changed, some or any: called on a thread that may wait."""
    try:
        report = reload(home, slugs)
    except Problem as problem:
        log.warning("job files could not be taken in: %s; tried again soon", problem.message)
        mending.missed()
        return
    tell_held(report)


def tell_held(report: Report) -> None:
    """Say that jobs wait for a person because their files are gone."""
    if report.held:
        log.warning("! %d job files vanished at once; their jobs are held until a person decides", len(report.held))


def mend(home: Home, job_id: str) -> None:
    """Take the definition of a job in again."""
    reader = home.read()
    try:
        slug = reader.slug_of(job_id)
    finally:
        reader.close()
    if slug is not None:
        reload(home, [slug])


def _safely(work: Callable[[], object]) -> None:
    """What goes wrong here is told, and ends nothing."""
    try:
        work()
    except Problem as problem:
        log.warning(
            "what is stored of a job is damaged, and its definition could not be read again: %s", problem.message
        )
    except DAMAGE:
        log.exception("a definition could not be read again")
