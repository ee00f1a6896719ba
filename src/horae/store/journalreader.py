"""The journal as it lies there, for whoever checks it, hands it out, or tells a story from it.

Read-only, in batches, each answered by what was committed when it was asked. A live journal moves on meanwhile, and may
be pruned: whoever walks it asks for heads after the entries, and for markers where something is missing, never before.

An entry with a text that is not UTF-8 is handed out with those bytes as a backslash and their digits and without its
hash, so that whoever checks it finds that very entry, and the walk goes on behind it.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any, Protocol

from horae.core.chain import Head, Link, Marker
from horae.limits import LEASE_S
from horae.store.database import Args, Rows, SqliteDb
from horae.store.sqlite import undecodable

LINK = "seq, at, actor, what, job_id, key, run_id, detail, chain, number, hash, undoable, undoes, redo, was_key"
LINKS = f"SELECT {LINK} FROM journal WHERE chain = ? AND number > ? AND number > 0 ORDER BY number LIMIT ?"
UNCHAINED = f"SELECT {LINK} FROM journal WHERE chain = '' AND seq > ? ORDER BY seq LIMIT ?"
STRAYS = (
    f"SELECT {LINK} FROM journal WHERE (chain = '' AND seq > (SELECT min(seq) FROM journal WHERE chain <> ''))"
    " OR (chain <> '' AND number <= 0) ORDER BY seq LIMIT ?"
)
COVERED = (
    f"SELECT j.{LINK.replace(', ', ', j.')} FROM journal_marker m JOIN journal j ON j.chain = m.chain"
    " WHERE j.number > 0 AND j.number > m.number - m.count AND j.number <= m.number ORDER BY j.chain, j.number LIMIT ?"
)
MARKER = "SELECT chain, number, hash, count, at, signer, signature FROM journal_marker"
NAMES = (
    "SELECT chain FROM journal WHERE number > 0 AND chain > ? ORDER BY chain LIMIT 1",
    "SELECT chain FROM journal_chain WHERE chain > ? ORDER BY chain LIMIT 1",
    "SELECT chain FROM journal_marker WHERE chain > ? ORDER BY chain LIMIT 1",
)
GATEWAYS = (
    "SELECT id, host, since_at, stopped_at, lost_at, lease_until FROM gateway WHERE since_at <= ? ORDER BY since_at, id"
)
HEARD_IN_CHAIN = "SELECT at FROM journal WHERE chain = ? AND number > 0 ORDER BY number DESC LIMIT 1"
HEARD_BETWEEN = "SELECT at FROM journal WHERE at >= ? AND at < ? AND actor = 'gateway' ORDER BY at DESC LIMIT 1"
CLOCKS = "SELECT at, detail FROM journal WHERE at >= ? AND at <= ? AND what = 'clock_changed' ORDER BY at"


class Asked(Protocol):
    """A connection that answers."""

    def execute(self, sql: str, args: Args = (), /) -> Rows: ...

    def close(self) -> None: ...


class JournalReader:
    """Questions to the journal, and to what is told from it."""

    def __init__(self, db: Asked, *, shared: bool = False) -> None:
        self._db = db
        self._shared = shared

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    # ── chains

    def chains(self) -> list[str]:
        """The names of all chains that have ever had an entry. One look into an index for each."""
        found: list[str] = []
        last = ""
        while True:
            rows = [self._db.execute(sql, (last,)).fetchone() for sql in NAMES]
            names = [str(row[0]) for row in rows if row is not None]
            if not names:
                return found
            last = min(names)
            found.append(last)

    def head(self, chain: str) -> Head | None:
        """Where a chain is said to stand."""
        row = self._db.execute("SELECT number, hash FROM journal_chain WHERE chain = ?", (chain,)).fetchone()
        return None if row is None else Head(row[0], row[1])

    def links(self, chain: str, after: int, limit: int) -> list[Link]:
        """The entries of a chain behind a number."""
        return self._links(LINKS, (chain, after, limit))

    def hash_at(self, chain: str, number: int) -> str | None:
        """The hash of an entry that is there, or of the last one that a marker stands for."""
        for table in ("journal", "journal_marker"):
            row = self._db.execute(
                f"SELECT hash FROM {table} WHERE chain = ? AND number = ?", (chain, number)
            ).fetchone()
            if row is not None:
                return str(row[0])
        return None

    def markers(self, chain: str) -> list[Marker]:
        """All markers of a chain, by number."""
        return [Marker(*row) for row in self._db.execute(f"{MARKER} WHERE chain = ? ORDER BY number", (chain,))]

    def marker_from(self, chain: str, number: int) -> Marker | None:
        """The first marker that stands for that entry or for later ones."""
        sql = f"{MARKER} WHERE chain = ? AND number >= ? ORDER BY number LIMIT 1"
        row = self._db.execute(sql, (chain, number)).fetchone()
        return None if row is None else Marker(*row)

    # ── what is from before there were chains

    def unchained(self, after: int, limit: int) -> list[Link]:
        """Entries that belong to no chain, by their number in the journal."""
        return self._links(UNCHAINED, (after, limit))

    def unchained_count(self) -> int:
        """How many they are."""
        return int(self._db.execute("SELECT count(*) FROM journal WHERE chain = ''").fetchone()[0])

    def strays(self, limit: int) -> list[Link]:
        """Entries outside all chains that came after the first inside one, or that name a chain and have no place in it."""
        return self._links(STRAYS, (limit,))

    def covered(self, limit: int) -> list[Link]:
        """Entries that are there although a marker says that they were pruned."""
        return self._links(COVERED, (limit,))

    def _links(self, sql: str, args: tuple[object, ...]) -> list[Link]:
        try:
            return [Link(*row) for row in self._db.execute(sql, args)]
        except sqlite3.OperationalError as error:
            if undecodable(error) is None or not isinstance(self._db, SqliteDb):
                raise
        self._db.text_factory = _text
        try:
            return [_link(row) for row in self._db.execute(sql, args)]
        finally:
            self._db.text_factory = str

    # ── who ran when

    def gateways(self, until: int) -> list[dict[str, Any]]:
        """Gateways that had begun by then, oldest first; `heard_at` of one that has not signed off is its last sign of life."""
        rows = [dict(row) for row in self._db.execute(GATEWAYS, (until,)).fetchall()]
        for row, after in zip(rows, [*rows[1:], None], strict=False):
            if row["stopped_at"] is None:
                row["heard_at"] = self._heard(row, 2**62 if after is None else after["since_at"])
            else:
                row["heard_at"] = row["stopped_at"]
        return rows

    def clock_changes(self, since: int, until: int) -> list[tuple[int, dict[str, Any]]]:
        """When the clock was seen to have been set, or the machine to have slept, and by how much."""
        return [(row[0], json.loads(row[1])) for row in self._db.execute(CLOCKS, (since, until))]

    def _heard(self, gateway: dict[str, Any], before: int) -> int:
        """When a gateway was last known to be alive: it wrote something, or prolonged its lease."""
        if self._shared:
            row = self._db.execute(HEARD_IN_CHAIN, (gateway["id"],)).fetchone()
        else:  # one at a time: what a gateway wrote before the next one began, this one wrote
            row = self._db.execute(HEARD_BETWEEN, (gateway["since_at"], before)).fetchone()
        leased = gateway["lease_until"] - round(LEASE_S * 1e6)
        return max(gateway["since_at"], leased, row[0] if row is not None else 0)


class _Damaged(str):
    """What a text that is not UTF-8 is shown as."""

    __slots__ = ()


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _Damaged(data.decode(errors="backslashreplace"))


def _link(row: Any) -> Link:
    """Without a hash when a text of it is damaged: somebody may have written what its bytes are shown as."""
    link = Link(*row)
    return link._replace(hash=None) if any(isinstance(value, _Damaged) for value in link) else link
