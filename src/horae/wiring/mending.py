"""What is stored of a job was found damaged: its definition is read again at once, which mends it.

The store says so in its journal (`quarantined`, with `damaged`), and the slots that passed meanwhile are answered as after a
downtime. What is damaged again soon after has a fault that reading does not mend: it waits for a person, or for
`AGAIN_S`, so that the two never chase each other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from math import inf
from typing import Any

from horae.app.reload import reload
from horae.errors import Problem
from horae.ports import Home

AGAIN_S = 3600.0

log = logging.getLogger("horae")


class Mending:
    """A listener to the journal. Made on the gateway's event loop; told on any thread."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._loop = asyncio.get_running_loop()
        self._read_at: dict[str, float] = {}
        self.busy: set[asyncio.Task[None]] = set()

    def tell(self, entries: Sequence[Any]) -> None:
        """Have the definitions of what was found damaged read again."""
        damaged = {entry.job_id for entry in entries if entry.what == "quarantined" and entry.detail.get("damaged")}
        now = self._home.clock.reading().steady_s
        due = {job_id for job_id in damaged if now - self._read_at.get(job_id, -inf) >= AGAIN_S}
        if due:
            self._read_at.update(dict.fromkeys(due, now))
            self._loop.call_soon_threadsafe(self._begin, due)

    def _begin(self, job_ids: set[str]) -> None:
        task = self._loop.create_task(asyncio.to_thread(mend, self._home, job_ids))
        self.busy.add(task)
        task.add_done_callback(self.busy.discard)


def mend(home: Home, job_ids: set[str]) -> None:
    """Take the definitions of these jobs in again."""
    try:
        reader = home.read()
        try:
            slugs = [slug for slug in map(reader.slug_of, job_ids) if slug is not None]
        finally:
            reader.close()
        reload(home, slugs)
    except Problem as problem:
        log.warning(
            "what is stored of a job is damaged, and its definition could not be read again: %s", problem.message
        )
