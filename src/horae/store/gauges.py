"""How much of what there is, for metrics: one pass over small indexes, whatever the history. Imports next to nothing.

A part of `queries.Reader`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.store.database import Looks

    Json = dict[str, Any]

JOBS = "SELECT state, count(*) FROM job WHERE removed_at IS NULL GROUP BY state"
DUE = "SELECT count(*), min(due_at) FROM occurrence WHERE state = 'planned' AND due_at <= ?"
NEXT = "SELECT min(due_at) FROM occurrence WHERE state = 'planned' AND due_at > ?"
LIVE = "SELECT count(*) FROM occurrence WHERE state = 'claimed'"
DELIVERIES = "SELECT state, count(*) FROM delivery WHERE state IN ('pending', 'sending') GROUP BY state"
ASKS = "SELECT count(*) FROM ask WHERE decided_at IS NULL"
INCIDENTS = "SELECT count(*) FROM incident WHERE ended_at IS NULL"
GATEWAYS = "SELECT id, lease_until FROM gateway WHERE stopped_at IS NULL AND lease_until > ? ORDER BY id LIMIT 100"
UNKNOWN = "SELECT count(*) FROM run WHERE state = 'unknown'"
HEAD = "SELECT max(seq) FROM journal"


class Gauges:
    """The question."""

    _db: Looks

    def gauges(self, now_us: int) -> Json:
        """How it stands at this moment."""
        due, oldest = self._db.execute(DUE, (now_us,)).fetchone()
        return {
            "jobs": dict(self._db.execute(JOBS).fetchall()),
            "due": due,
            "oldest_due": oldest,
            "next_due": self._one(NEXT, now_us),
            "live": self._one(LIVE),
            "deliveries": dict(self._db.execute(DELIVERIES).fetchall()),
            "asks": self._one(ASKS),
            "incidents": self._one(INCIDENTS),
            "unknown": self._one(UNKNOWN),
            "gateways": dict(self._db.execute(GATEWAYS, (now_us,)).fetchall()),
            "journal": self._one(HEAD) or 0,
        }

    def _one(self, sql: str, *args: object) -> Any:
        return self._db.execute(sql, args).fetchone()[0]
