"""What a gateway does once a day beside its work: prune what is old, and note in its chain where the others stand.

The first time is an hour after the start, not at it: a start must be quick, and one that is killed again and again must
not prune each time. On several machines each gateway does it; what one has pruned the others find gone.
"""

from __future__ import annotations

import asyncio
import logging

from horae.app.retention import prune
from horae.errors import Problem
from horae.ports import Home

FIRST_S, EVERY_S = 3600.0, 86_400.0

log = logging.getLogger("horae")


class Daily:
    """The timer of one gateway. Made on its event loop; `close` ends it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(FIRST_S, self._begin)

    def close(self) -> None:
        """Nothing begins any more; what has begun ends by itself, a few rows at a time."""
        self._timer.cancel()

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(EVERY_S, self._begin)
        self._task = loop.create_task(asyncio.to_thread(tidy, self._home))


def tidy(home: Home) -> None:
    """One day's work. Its trouble is told and left to the next day."""
    try:
        home.store.transact(lambda tx: tx.journal.anchor())
        prune(home)
    except Problem as problem:
        log.warning("what is old could not be pruned: %s", problem.message)
