"""Jobs that somebody proposes who is no run: they wait for a person's word like those of agents."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from horae.core.instants import to_us
from horae.store.database import Db
from horae.store.journal import Journal

PUT = "INSERT INTO ask (id, kind, body, asked_by, asked_at, expires_at) VALUES (?, 'job', ?, ?, ?, ?)"


class Drafts:
    """The verbs on them, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._db = db
        self._us = to_us(now)
        self._journal = journal

    def propose(self, body: dict[str, Any], *, id: str, actor: str, expires: datetime | None) -> int:
        """Put it before people; returns the entry of the journal."""
        until = None if expires is None else to_us(expires)
        self._db.execute(PUT, (id, json.dumps(body, ensure_ascii=False), actor, self._us, until))
        return self._journal.append("proposed", actor=actor, ask=id, kind="job")
