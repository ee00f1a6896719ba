"""The journal's writing half: entries gather in the transaction and are written with it.

Log lines, `why` and everything that is shown as it happens read these entries; nobody logs beside them, so that the
story and the state cannot disagree.
"""

from __future__ import annotations

import json
from sqlite3 import Connection
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """One decision: when (microseconds), who, what, about what, and the particulars."""

    seq: int
    at: int
    actor: str
    what: str
    job_id: str | None
    key: str | None
    run_id: str | None
    detail: dict[str, Any]


class Journal:
    """Entries of one open transaction."""

    def __init__(self, db: Connection, now_us: int) -> None:
        self._db = db
        self._now = now_us
        self.entries: list[Entry] = []
        self._next = 0

    def append(
        self,
        what: str,
        *,
        actor: str,
        job_id: str | None = None,
        key: str | None = None,
        run_id: str | None = None,
        **detail: object,
    ) -> int:
        """Add an entry and return its number. Numbers rise without gaps, since writers take turns."""
        seq = self._next or int(self._db.execute("SELECT coalesce(max(seq), 0) + 1 FROM journal").fetchone()[0])
        self._next = seq + 1
        self.entries.append(Entry(seq, self._now, actor, what, job_id, key, run_id, detail))
        return seq

    def flush(self) -> None:
        """Write what gathered. Called once, directly before the commit or the savepoint's release."""
        self._db.executemany(
            "INSERT INTO journal (seq, at, actor, what, job_id, key, run_id, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (*entry[:-1], json.dumps(entry.detail, ensure_ascii=False) if entry.detail else "{}")
                for entry in self.entries
            ],
        )
