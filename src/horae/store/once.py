"""Requests that carry a key: one that is sent twice is done once, and answered twice.

The row is written before the request is done, and its answer afterwards. Whoever dies in between leaves a row without an
answer: nobody knows whether it was done, so it is not done again, and whoever asks is told to look.
"""

from __future__ import annotations

from datetime import datetime

from horae.core.instants import to_us
from horae.errors import Conflict, Invalid
from horae.store.database import Db
from horae.store.journal import Journal

BEGIN = "INSERT INTO once (scope, key, digest, at) VALUES (?, ?, ?, ?) ON CONFLICT (scope, key) DO NOTHING"
LOOK = "SELECT digest, answer FROM once WHERE scope = ? AND key = ?"
DONE = "UPDATE once SET answer = ? WHERE scope = ? AND key = ?"
FORGET = "DELETE FROM once WHERE scope = ? AND key = ? AND answer IS NULL"
PRUNE = (
    "DELETE FROM once WHERE (scope, key) IN (SELECT o.scope, o.key FROM once o WHERE o.at < ? ORDER BY o.at LIMIT ?)"
)


class Once:
    """The verbs on them, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._db = db
        self._us = to_us(now)

    def begin(self, scope: str, key: str, digest: str) -> str | None:
        """None when it is new, and being done from now on; the answer, as JSON, when it was done."""
        if self._db.execute(BEGIN, (scope, key, digest, self._us)).rowcount == 1:
            return None
        row = self._db.execute(LOOK, (scope, key)).fetchone()
        if row["digest"] != digest:
            raise Invalid("this key was used for another request", "use a new one for each request", key=key)
        if row["answer"] is None:
            says = "a request with this key is being done, or broke off: nobody knows yet whether it was done"
            raise Conflict(says, "look whether it was, and use another key to do it again", key=key)
        return str(row["answer"])

    def done(self, scope: str, key: str, answer: str) -> None:
        """Keep the answer."""
        self._db.execute(DONE, (answer, scope, key))

    def forget(self, scope: str, key: str) -> None:
        """It was refused, and nothing was done: the key may be used again."""
        self._db.execute(FORGET, (scope, key))

    def prune(self, before: datetime, limit: int) -> int:
        """Delete what is older."""
        return self._db.execute(PRUNE, (to_us(before), limit)).rowcount
