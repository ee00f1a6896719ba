"""The texts of a cluster: job files and scripts in a table, since its machines share no folder.

A text is replaced by whoever shows the digest of what it read; somebody else's change in between is a Conflict, never
lost. The digest is the content's own, so the same text has the same signature on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from horae.core.instants import to_us
from horae.store.database import Db

MAKE = """
INSERT INTO document (kind, name, digest, text, mode, changed_at, changed_by) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (kind, name) DO """
PUT = f"""{MAKE}UPDATE SET digest = excluded.digest, text = excluded.text, mode = excluded.mode,
  changed_at = excluded.changed_at, changed_by = excluded.changed_by
"""


class Document(NamedTuple):
    """One text, and how it is marked on a disk."""

    name: str
    digest: str
    text: str
    mode: int


def digest_of(text: str) -> str:
    """The signature of a text: hex of SHA-256."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Documents:
    """The verbs on texts, in one transaction. `kind` is `job` or `script`."""

    def __init__(self, db: Db, now: datetime) -> None:
        self._db = db
        self._us = to_us(now)

    def digests(self, kind: str) -> Iterator[tuple[str, str]]:
        """(name, digest) of each."""
        rows = self._db.execute("SELECT name, digest FROM document WHERE kind = ? ORDER BY name", (kind,)).fetchall()
        return ((row["name"], row["digest"]) for row in rows)

    def get(self, kind: str, name: str) -> Document | None:
        """One text, kept from others until the commit."""
        sql = f"SELECT name, digest, text, mode FROM document WHERE kind = ? AND name = ?{self._db.for_update}"
        row: Any = self._db.execute(sql, (kind, name)).fetchone()
        return None if row is None else Document(row["name"], row["digest"], row["text"], row["mode"])

    def put(self, kind: str, name: str, text: str, *, mode: int, actor: str) -> None:
        """Write one, new or not. Whoever must not overwrite looks first, in the same transaction."""
        self._db.execute(PUT, (kind, name, digest_of(text), text, mode, self._us, actor))
        self._db.notify()

    def make(self, kind: str, name: str, text: str, *, mode: int, actor: str) -> bool:
        """Write a new one. False when there is one: who looks before cannot know, since what is not there is not locked."""
        sql = f"{MAKE}NOTHING"
        made = self._db.execute(sql, (kind, name, digest_of(text), text, mode, self._us, actor)).rowcount == 1
        self._db.notify()
        return made

    def remove(self, kind: str, name: str) -> bool:
        """Take one away. False when there was none."""
        gone = self._db.execute("DELETE FROM document WHERE kind = ? AND name = ?", (kind, name)).rowcount == 1
        self._db.notify()
        return gone
