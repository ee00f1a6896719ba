"""Pruning: what is old loses its text, then its deliveries, and the journal its oldest entries. Rows of slots stay.

What agents were sent and did goes with the text; questions that were answered, or are of no use any more, with the rest.

Invariants:
- A row of `occurrence` or `run` is never deleted and never changes its state here: a slot's key cannot come back, and how
  it ended stays known.
- Nothing is pruned of what somebody may still need to settle: an open occurrence, a run whose end is unknown and that
  nobody has resolved, a delivery that has not reached its target (waiting, failed, expired or unknown) unless somebody has
  acknowledged that, and the newest run of a job that is not removed. Its entries in the journal stay too, with a hole
  before and behind them.
- What goes from the journal is named by a marker in the same transaction: which entries, the hash of the last of them,
  signed. Holes that touch become one.

Each verb looks at no more than `limit` rows in one transaction and says where it stopped, so whoever calls it can go on
from there in the next one, and others write in between. `run.pruned` keeps a run that has been dealt with out of the
index range that is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from horae.core.chain import UNCHAINED, Marker, Signer
from horae.core.instants import to_us
from horae.store.database import Db

NEWEST = (
    "(SELECT n.{column} FROM run n WHERE n.job_id = {job} AND n.state <> 'released'"
    " ORDER BY n.claimed_at DESC, n.attempt DESC LIMIT 1)"
)
LIVE_JOB = "EXISTS (SELECT 1 FROM job j WHERE j.id = {job} AND j.removed_at IS NULL)"
UNREACHED = (
    "d.state NOT IN ('delivered', 'suppressed') AND d.seen_at IS NULL AND NOT EXISTS (SELECT 1 FROM delivery n"
    " WHERE n.run_id = d.run_id AND n.kind = d.kind AND n.address = d.address AND n.round > d.round)"
)
APART = """
DELETE FROM delivery WHERE id IN (SELECT d.id FROM delivery d WHERE d.run_id IS NULL AND d.changed_at < ?
  AND (d.state IN ('delivered', 'suppressed') OR d.seen_at IS NOT NULL OR d.kind = 'undelivered')
  AND d.state NOT IN ('pending', 'sending') ORDER BY d.changed_at LIMIT ?)
"""
OVER = """
DELETE FROM incident WHERE id IN (SELECT i.id FROM incident i WHERE i.ended_at IS NOT NULL AND i.ended_at < ? LIMIT ?)
"""
ANSWERED = """
DELETE FROM ask WHERE id IN (SELECT a.id FROM ask a WHERE a.decided_at IS NOT NULL AND a.decided_at < ? LIMIT ?)
"""
LEFT_OPEN = """
DELETE FROM ask WHERE id IN (SELECT a.id FROM ask a JOIN occurrence o ON o.key = a.key
  WHERE a.decided_at IS NULL AND a.kind = 'call' AND a.asked_at < ? AND o.state = 'settled' LIMIT ?)
"""
UNREAD = """
DELETE FROM ask WHERE id IN (SELECT a.id FROM ask a
  WHERE a.decided_at IS NULL AND a.run_id IS NULL AND a.expires_at < ? LIMIT ?)
"""  # drafts that nobody has answered in time
NOT_GONE_ON = """
DELETE FROM resume WHERE key IN (SELECT m.key FROM resume m JOIN occurrence o ON o.key = m.key
  WHERE m.at < ? AND o.state = 'settled' LIMIT ?)
"""
RUNS = f"""
SELECT r.id, r.finished_at,
       r.state IN ('claimed', 'running', 'unknown')
       OR EXISTS (SELECT 1 FROM occurrence o WHERE o.key = r.key AND o.state <> 'settled')
       OR EXISTS (SELECT 1 FROM delivery d WHERE d.run_id = r.id AND {UNREACHED})
       OR (r.id = {NEWEST.format(column="id", job="r.job_id")} AND {LIVE_JOB.format(job="r.job_id")}) AS needed
FROM run r
WHERE r.pruned = :stage AND r.finished_at IS NOT NULL AND r.finished_at < :before AND (r.finished_at, r.id) > (:at, :id)
ORDER BY r.finished_at, r.id LIMIT :limit
"""
NEEDED = f"""
       e.key IS NOT NULL AND (
       EXISTS (SELECT 1 FROM occurrence o WHERE o.key = e.key AND o.state <> 'settled')
       OR EXISTS (SELECT 1 FROM run r WHERE r.key = e.key AND r.state IN ('claimed', 'running', 'unknown'))
       OR EXISTS (SELECT 1 FROM run r JOIN delivery d ON d.run_id = r.id WHERE r.key = e.key AND {UNREACHED})
       OR (e.key = {NEWEST.format(column="key", job="e.job_id")} AND {LIVE_JOB.format(job="e.job_id")})) AS needed
"""
ENTRIES = f"""
SELECT e.seq, e.number, e.hash, e.at, {NEEDED} FROM journal e
WHERE e.chain = ? AND e.number > ? AND e.number > 0 ORDER BY e.number LIMIT ?
"""
OLDEST = f"SELECT e.seq, e.chain, e.at, {NEEDED} FROM journal e WHERE e.seq > ? ORDER BY e.seq LIMIT ?"
MARK = "INSERT INTO journal_marker (chain, number, hash, count, at, signer, signature) VALUES (?, ?, ?, ?, ?, ?, ?)"
TEXT, WHOLE = 1, 2  # values of `run.pruned`


class Pruned(NamedTuple):
    """One step: how much went, and behind which place to go on; None when there is no more."""

    gone: int
    place: tuple[int, str] | None


class Retention:
    """The verbs on what is kept, in one transaction. With `dry` they count and change nothing."""

    def __init__(self, db: Db, now: datetime) -> None:
        self._db = db
        self._us = to_us(now)

    def prune_text(self, before: datetime, limit: int, place: tuple[int, str], *, dry: bool = False) -> Pruned:
        """Of runs that finished before then: what their programs printed. A note of when stays in its place."""
        doomed, rest = self._runs(0, before, limit, place)
        if doomed and not dry:
            ids = self._db.listed(doomed)
            self._db.execute(
                "UPDATE output SET message = '', stdout = '', stderr = '', pruned_at = ?"
                f" WHERE {self._db.among('run_id')}",
                (self._us, ids),
            )
            self._forget_work(ids)
            self._done(ids, TEXT)
        return Pruned(len(doomed), rest)

    def prune_runs(
        self, stage: int, before: datetime, limit: int, place: tuple[int, str], *, dry: bool = False
    ) -> Pruned:
        """Of runs that finished before then: all but their row. `stage`: 0 for whole ones, TEXT for those without text."""
        doomed, rest = self._runs(stage, before, limit, place)
        if doomed and not dry:
            ids = self._db.listed(doomed)
            for table in ("delivery", "output"):
                self._db.execute(f"DELETE FROM {table} WHERE {self._db.among('run_id')}", (ids,))
            self._forget_work(ids)
            self._done(ids, WHOLE)
        if not dry:  # what belongs to no run, and incidents that are over
            for sql in (APART, OVER, ANSWERED, LEFT_OPEN, UNREAD, NOT_GONE_ON):
                self._db.execute(sql, (to_us(before), limit))
        return Pruned(len(doomed), rest)

    def chains(self) -> list[str]:
        """All chains of the journal."""
        return [row[0] for row in self._db.execute("SELECT chain FROM journal_chain ORDER BY chain").fetchall()]

    def prune_chain(
        self, chain: str, before: datetime, limit: int, after: int, signer: Callable[[], Signer], *, dry: bool = False
    ) -> Pruned:
        """Of one chain: the entries at its beginning that are older, up to the first that is not."""
        # one at a time: two that prune the same entries would both write a marker of them
        self._db.execute(f"SELECT 1 FROM journal_chain WHERE chain = ?{self._db.for_update}", (chain,)).fetchone()
        rows = self._db.execute(ENTRIES, (chain, after, limit)).fetchall()
        end = next((at for at, row in enumerate(rows) if row["at"] >= to_us(before)), None)
        old = rows[:end]
        doomed = [row for row in old if not row["needed"]]
        if doomed and not dry:
            for hole in _holes(doomed):
                self._cut(chain, hole, signer())
        return Pruned(len(doomed), (old[-1]["number"], "") if old and len(old) == limit else None)

    def prune_unchained(self, before: datetime, limit: int, after: int, *, dry: bool = False) -> Pruned:
        """Of what is from before there were chains, and so before anything that is in one: the entries that are older."""
        rows = self._db.execute(OLDEST, (after, limit)).fetchall()
        end = next((at for at, row in enumerate(rows) if row["chain"] != UNCHAINED or row["at"] >= to_us(before)), None)
        old = rows[:end]
        doomed = [row["seq"] for row in old if not row["needed"]]
        if doomed and not dry:
            self._db.execute(f"DELETE FROM journal WHERE {self._db.among('seq')}", (self._db.listed(doomed),))
        return Pruned(len(doomed), (old[-1]["seq"], "") if old and len(old) == limit else None)

    def _runs(
        self, stage: int, before: datetime, limit: int, place: tuple[int, str]
    ) -> tuple[list[str], tuple[int, str] | None]:
        """The runs of a stage that may go, and where the look ended."""
        args = {"stage": stage, "before": to_us(before), "at": place[0], "id": place[1], "limit": limit}
        rows = self._db.execute(RUNS, args).fetchall()
        rest = (rows[-1]["finished_at"], rows[-1]["id"]) if len(rows) == limit else None
        return [row["id"] for row in rows if not row["needed"]], rest

    def _forget_work(self, ids: object) -> None:
        """What an agent was sent and did in these runs is text like what it printed."""
        for table in ("activity", "agent_prompt"):
            self._db.execute(f"DELETE FROM {table} WHERE {self._db.among('run_id')}", (ids,))

    def _done(self, ids: object, stage: int) -> None:
        self._db.execute(f"UPDATE run SET pruned = ? WHERE {self._db.among('id')}", (stage, ids))

    def _cut(self, chain: str, hole: tuple[int, int, str], signer: Signer) -> None:
        """Delete entries that follow one another, and put one marker for them and the holes that they touch."""
        first, last, hash_ = hole
        self._db.execute("DELETE FROM journal WHERE chain = ? AND number BETWEEN ? AND ?", (chain, first, last))
        before = self._marker(chain, "number = ?", first - 1)
        behind = self._marker(chain, "number - count = ?", last)
        if before is not None:
            first = before["number"] - before["count"] + 1
        if behind is not None:
            last, hash_ = behind["number"], behind["hash"]
        for gone in (before, behind):
            if gone is not None:
                self._db.execute("DELETE FROM journal_marker WHERE chain = ? AND number = ?", (chain, gone["number"]))
        plain = Marker(chain, last, hash_, last - first + 1, self._us, signer.public, "")
        signature = signer.sign(plain.signed)
        self._db.execute(MARK, (chain, last, hash_, plain.count, self._us, plain.signer, signature))

    def _marker(self, chain: str, where: str, number: int) -> Any:
        return self._db.execute(f"SELECT * FROM journal_marker WHERE chain = ? AND {where}", (chain, number)).fetchone()


def _holes(rows: list[Any]) -> list[tuple[int, int, str]]:
    """Stretches of entries that follow one another: the first number, the last one, and that one's hash."""
    found: list[tuple[int, int, str]] = []
    for row in rows:
        first = found.pop()[0] if found and found[-1][1] == row["number"] - 1 else row["number"]
        found.append((first, row["number"], row["hash"]))
    return found
