"""Who may come in: one-time links, sessions of the dashboard, tokens of programs. Only digests of secrets are kept.

A link is used up by the same statement that finds it, so two who have it cannot both come in. What has ended or is too old
is refused like what never was: whoever guesses learns nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from horae.core.access import Kind, Role
from horae.core.instants import from_us, to_us
from horae.errors import Conflict, NotFound, Refused
from horae.store.database import Db
from horae.store.journal import Journal

MAKE = "INSERT INTO credential (id, kind, name, role, sha256, made_at, made_by, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
USE = (
    "UPDATE credential SET used_at = ?, ended_at = ? WHERE sha256 = ? AND kind = 'link' AND ended_at IS NULL"
    " AND expires_at > ?"
)
TOUCH = "UPDATE credential SET used_at = ?, expires_at = coalesce(?, expires_at) WHERE id = ? AND ended_at IS NULL"
END = "UPDATE credential SET ended_at = ? WHERE id = ? AND ended_at IS NULL"
PRUNE = (
    "DELETE FROM credential WHERE id IN (SELECT c.id FROM credential c"
    " WHERE coalesce(c.ended_at, c.expires_at) < ? ORDER BY c.id LIMIT ?)"
)


class Credentials:
    """The verbs on them, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._db = db
        self._us = to_us(now)
        self._journal = journal

    def make(
        self, kind: Kind, *, id: str, name: str, role: Role, sha256: str, expires: datetime | None, actor: str
    ) -> int:
        """A new one; returns the entry of the journal."""
        until = None if expires is None else to_us(expires)
        self._db.execute(MAKE, (id, kind, name, role, sha256, self._us, actor, until))
        return self._journal.append("let_in", actor=actor, credential=id, kind=kind, name=name, role=role)

    def use_link(self, sha256: str) -> dict[str, Any]:
        """Use a link up, once. Returns its row. Raises Refused for one that is unknown, used or too old, all alike."""
        if self._db.execute(USE, (self._us, self._us, sha256, self._us)).rowcount != 1:
            says = "this link is not good any more: each is for one visit, and for some minutes"
            raise Refused(says, "`horae open` makes a new one")
        return dict(self._db.execute("SELECT * FROM credential WHERE sha256 = ?", (sha256,)).fetchone())

    def touch(self, id: str, expires: datetime | None) -> None:
        """It was used, and is good until then from now on."""
        self._db.execute(TOUCH, (self._us, None if expires is None else to_us(expires), id))

    def end(self, id: str, *, actor: str) -> int:
        """Sign out or revoke. Raises NotFound; Conflict when it has ended before."""
        row = self._db.execute("SELECT kind, name, role, ended_at FROM credential WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise NotFound(f"there is no token or session {id!r}", "`horae tokens list --all` lists them")
        if self._db.execute(END, (self._us, id)).rowcount != 1:
            raise Conflict(f"{row['name']} ended at {from_us(row['ended_at']):%Y-%m-%d %H:%M}Z", "it lets nobody in")
        told = {name: row[name] for name in ("kind", "name", "role")}
        return self._journal.append("shut_out", actor=actor, credential=id, **told)

    def prune(self, before: datetime, limit: int) -> int:
        """Delete what ended or expired before then."""
        return self._db.execute(PRUNE, (to_us(before), limit)).rowcount
