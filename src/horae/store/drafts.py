"""Jobs that somebody proposes who is no run: they wait for a person's word like those of agents."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from horae.core.instants import to_us
from horae.errors import Refused
from horae.store.database import Db
from horae.store.journal import Journal

PUT = "INSERT INTO ask (id, kind, body, asked_by, asked_at, expires_at) VALUES (?, 'job', ?, ?, ?, ?)"
WAITING = """
SELECT count(*) FROM ask WHERE decided_at IS NULL AND asked_by = ? AND (expires_at IS NULL OR expires_at > ?)
"""  # two that come at once to a shared store may be one too many: it bounds what people have to read, and no more


class Drafts:
    """The verbs on them, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._db = db
        self._us = to_us(now)
        self._journal = journal

    def propose(self, body: dict[str, Any], *, id: str, actor: str, expires: datetime | None, most: int) -> int:
        """Put it before people; returns the entry of the journal. Raises Refused where `most` of that actor wait."""
        if self._db.execute(WAITING, (actor, self._us)).fetchone()[0] >= most:
            says = f"{most} drafts of {actor} wait for a person's word already, and more are not taken"
            raise Refused(says, "wait until people have answered them (`horae waiting` lists them)", most=most)
        until = None if expires is None else to_us(expires)
        self._db.execute(PUT, (id, json.dumps(body, ensure_ascii=False), actor, self._us, until))
        return self._journal.append("proposed", actor=actor, ask=id, kind="job")
