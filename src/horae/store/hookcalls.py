"""Calls of hooks that were taken, so that none is taken twice: also not by two gateways that are called at once."""

from __future__ import annotations

from datetime import datetime

from horae.core.instants import to_us
from horae.store.database import Db
from horae.store.journal import Journal

TAKE = "INSERT INTO hook_call (hook, message, at) VALUES (?, ?, ?) ON CONFLICT (hook, message) DO NOTHING"
PRUNE = (
    "DELETE FROM hook_call WHERE (hook, message) IN"
    " (SELECT c.hook, c.message FROM hook_call c WHERE c.at < ? ORDER BY c.at LIMIT ?)"
)


class HookCalls:
    """The verbs on them, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._db = db
        self._us = to_us(now)

    def take(self, hook: str, message: str) -> bool:
        """Take a call. False when it was taken before."""
        return self._db.execute(TAKE, (hook, message, self._us)).rowcount == 1

    def prune(self, before: datetime, limit: int) -> int:
        """Delete what is older."""
        return self._db.execute(PRUNE, (to_us(before), limit)).rowcount
