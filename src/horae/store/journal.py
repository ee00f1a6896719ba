"""The journal's writing half: entries gather in the transaction and are written with it, each chained to the last.

Log lines, `why` and everything that is shown as it happens read these entries; nobody logs beside them, so that the
story and the state cannot disagree. What a chain is, and how it is checked, says `core/chain.py`.

Where a chain stands is kept in `journal_chain` and written in the transaction of the entries, so the two agree after any
crash. `heads` is a note of it that lives as long as the store, to spare reading that row again and again. It is never
relied upon: the row is moved on by an UPDATE that names the place from which it moves, and where that place is not the
row's any more (another process wrote, a savepoint or a whole group was rolled back) the row is read and the hashes are
made again. So a transaction costs one UPDATE for its chain, and a wrong note costs a second one.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from horae.core.chain import HOME, START, Head, drawn_out, entry_hash
from horae.store.database import Db

NUMBERS_MAX = 256  # that are taken at once where others number entries too
INSERT = (
    "INSERT INTO journal (seq, at, actor, what, job_id, key, run_id, detail, chain, number, hash, undoable, undoes, redo,"
    " was_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
MOVE = "UPDATE journal_chain SET number = ?, hash = ? WHERE chain = ? AND number = ? AND hash = ?"
STAND = "SELECT number, hash FROM journal_chain WHERE chain = ?"
BEGIN = "INSERT INTO journal_chain (chain, number, hash) VALUES (?, ?, ?) ON CONFLICT (chain) DO NOTHING"
OTHERS = "SELECT chain, number, hash FROM journal_chain WHERE chain <> ? AND number > 0 ORDER BY chain"

_text = json.JSONEncoder(ensure_ascii=False).encode


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
    """Entries of one open transaction, which go to one chain."""

    def __init__(self, db: Db, now_us: int, chain: str = HOME, heads: dict[str, Head] | None = None) -> None:
        self._db = db
        self._now = now_us
        self._chain = chain
        self._heads = {} if heads is None else heads
        self._numbers: list[int] = []  # that may be given out, the next one last
        self._written = 0
        self.entries: list[Entry] = []

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
        """Add an entry and return its number. Numbers rise; where writers take turns they have no gaps."""
        seq = self._number()
        self.entries.append(Entry(seq, self._now, actor, what, job_id, key, run_id, detail))
        return seq

    def anchor(self) -> int | None:
        """Note where all other chains stand. None where this is the only one."""
        others = {chain: [number, hash_] for chain, number, hash_ in self._db.execute(OTHERS, (self._chain,))}
        return self.append("anchor", actor="gateway", chains=others) if others else None

    def flush(self) -> None:
        """Write what gathered, and move the chain on. Called directly before the commit or the savepoint's release."""
        new = self.entries[self._written :]
        if not new:
            return
        if any(entry.actor != "gateway" for entry in new):
            self._db.notify()  # what a person changes may be due at once
        head = self._heads.get(self._chain) or self._stand()
        rows = _chained(new, self._chain, head)
        if not self._move(rows, head):
            head = self._stand()
            rows = _chained(new, self._chain, head)
            self._move(rows, head)
        self._db.executemany(INSERT, rows)
        self._written = len(self.entries)

    def _number(self) -> int:
        if not self._db.shared:  # nobody else writes while we do
            return self.entries[-1].seq + 1 if self.entries else self._db.next_entries(1)[0]
        if not self._numbers:
            self._numbers = self._db.next_entries(max(1, min(len(self.entries), NUMBERS_MAX)))[::-1]
        return self._numbers.pop()

    def _stand(self) -> Head:
        """Where the chain stands, and, where others write too, stays until we commit."""
        find = STAND + self._db.for_update
        row = self._db.execute(find, (self._chain,)).fetchone()
        if row is None:
            self._db.execute(BEGIN, (self._chain, *START))
            row = self._db.execute(find, (self._chain,)).fetchone()
        return Head(row[0], row[1])

    def _move(self, rows: list[tuple[Any, ...]], head: Head) -> bool:
        """Move the chain from `head` to the last of the rows. False, and nothing is done, when it does not stand there."""
        new = Head(rows[-1][9], rows[-1][10])
        if self._db.execute(MOVE, (*new, self._chain, *head)).rowcount != 1:
            return False
        self._heads[self._chain] = new
        return True


def _chained(entries: list[Entry], chain: str, head: Head) -> list[tuple[Any, ...]]:
    """The rows of entries that follow `head`. The text of `detail` is hashed as it is stored."""
    number, previous = head
    rows: list[tuple[Any, ...]] = []
    for entry in entries:
        number += 1
        detail = _text(entry.detail) if entry.detail else "{}"
        previous = entry_hash(previous, chain, number, *entry[:7], detail)
        rows.append((*entry[:7], detail, chain, number, previous, *drawn_out(entry.what, entry.detail)))
    return rows
