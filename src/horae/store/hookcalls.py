"""Calls of hooks that were taken, so that none is taken twice: also not by two gateways that are called at once.

What tells a call from others is the *message*: its own id, its key, or the digest of what came; a call may have several. It is
taken with the runs that it orders in one transaction, so a row without those cannot be. The answer stands beside, for whoever
calls again. Besides these rows each call has one by which calls are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from horae.core.identity import manual_key
from horae.core.instants import to_us
from horae.store.catalogue import Catalogue, Cause
from horae.store.database import Db
from horae.store.journal import Journal
from horae.timing.zones import offset_s

TAKE = "INSERT INTO hook_call (hook, message, at) VALUES (?, ?, ?) ON CONFLICT (hook, message) DO NOTHING"
ANSWER = "SELECT answer FROM hook_call WHERE hook = ? AND message = ?"
KEEP = "UPDATE hook_call SET answer = ? WHERE hook = ? AND message = ?"
COUNT = "SELECT count(*) FROM hook_call WHERE hook = ? AND at > ? AND substr(message, 1, 5) = 'call '"
WAITING = "SELECT count(*) FROM occurrence WHERE job_id = ? AND state = 'planned' AND trigger = 'manual'"
DROP = (
    "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, run_id, input, state, outcome, reason,"
    " planned_at, settled_at, cause) VALUES (?, ?, 'manual', ?, ?, ?, ?, ?, 'settled', 'skipped', ?, ?, ?, ?)"
)
PRUNE = (
    "DELETE FROM hook_call WHERE (hook, message) IN"
    " (SELECT c.hook, c.message FROM hook_call c WHERE c.at < ? ORDER BY c.at LIMIT ?)"
)


class HookCalls:
    """The verbs on them, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._db = db
        self._now = now
        self._us = to_us(now)
        self._journal = journal

    def take(self, hook: str, message: str) -> bool:
        """Take a call. False when it was taken before."""
        return self._db.execute(TAKE, (hook, message, self._us)).rowcount == 1

    def answer(self, hook: str, message: str) -> str | None:
        """What was answered to a call that was taken; None of one that was not."""
        row = self._db.execute(ANSWER, (hook, message)).fetchone()
        return None if row is None else row[0]

    def keep(self, hook: str, messages: Sequence[str], answer: str) -> None:
        """Keep the answer."""
        for message in messages:
            self._db.execute(KEEP, (answer, hook, message))

    def count(self, hook: str, after: datetime) -> int:
        """How many were taken since."""
        return int(self._db.execute(COUNT, (hook, to_us(after))).fetchone()[0])

    def waiting(self, job_id: str) -> int:
        """How many ordered runs of a job have not begun."""
        return int(self._db.execute(WAITING, (job_id,)).fetchone()[0])

    def order(self, job_id: str, *, run_id: str, actor: str, input: str, cause: str) -> dict[str, Any]:
        """A run of a job, with what came as its data."""
        jobs = Catalogue(self._db, self._now, self._journal)
        return jobs.order_run(job_id, run_id=run_id, actor=actor, input=input, cause=Cause(cause))

    def drop(self, job: dict[str, Any], *, run_id: str, actor: str, cause: str, reason: str) -> str:
        """A call that starts nothing is on record as an occurrence that was skipped; returns its key.

        What came with it is not kept: nobody will run it.
        """
        slot = self._now.replace(microsecond=0)
        key = manual_key(job["id"], run_id)
        offset = offset_s(slot, job["timezone"] or "UTC")
        self._db.execute(
            DROP,
            (key, job["id"], to_us(slot), self._us, offset, run_id, None, reason, self._us, self._us, cause),
        )
        self._journal.append("skipped", actor=actor, job_id=job["id"], key=key, reason=reason)
        return key

    def prune(self, before: datetime, limit: int) -> int:
        """Delete what is older."""
        return self._db.execute(PRUNE, (to_us(before), limit)).rowcount
