"""Delivery rows: written with the run's end, sent from here. See `core/states.py` for their table."""

from __future__ import annotations

from datetime import datetime
from sqlite3 import Connection

from horae.core.model import Claim, Ending, Message, Receipt
from horae.core.states import DELIVERY, sources, target
from horae.errors import Stale
from horae.store.journal import Journal
from horae.store.rows import to_us


class Outbox:
    """The verbs on deliveries, in one transaction."""

    def __init__(self, db: Connection, now: datetime, journal: Journal) -> None:
        self._db = db
        self._now = to_us(now)
        self._journal = journal

    def plan(self, claim: Claim, ending: Ending) -> None:
        """One row per target. Nothing to say is written down as suppressed, so that silence can be told from loss."""
        silent = not ending.message
        for name in dict.fromkeys(claim.job.deliver):
            self._db.execute(
                "INSERT INTO delivery (run_id, target, state, title, alert, reason, created_at, changed_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    claim.run_id,
                    name,
                    "suppressed" if silent else "pending",
                    claim.job.name,
                    int(ending.alert),
                    "nothing to say" if silent else None,
                    self._now,
                    self._now,
                ),
            )

    def begin(self, claim: Claim) -> list[Message]:
        """pending → sending for all of this run, if the claim still owns it."""
        owned = self._db.execute("SELECT 1 FROM run WHERE id = ? AND token = ?", (claim.run_id, claim.token)).fetchone()
        if owned is None:
            raise Stale(f"run {claim.run_id} is no longer ours", run=claim.run_id)
        rows = self._db.execute(
            "UPDATE delivery SET state = 'sending', attempts = attempts + 1, changed_at = ?"
            " WHERE run_id = ? AND state = 'pending' RETURNING id, target, title, alert",
            (self._now, claim.run_id),
        ).fetchall()
        if not rows:
            return []
        (body,) = self._db.execute("SELECT message FROM output WHERE run_id = ?", (claim.run_id,)).fetchone()
        return [Message(row[0], claim.run_id, row[1], row[2], body, bool(row[3])) for row in rows]

    def record(self, claim: Claim, message: Message, receipt: Receipt) -> None:
        """sending → what the sender knows."""
        state, allowed = target(DELIVERY, receipt.event), sources(DELIVERY, receipt.event)
        marks = ", ".join("?" * len(allowed))
        done = self._db.execute(
            f"UPDATE delivery SET state = ?, evidence = ?, reason = ?, changed_at = ? WHERE id = ? AND state IN ({marks})",
            (state, receipt.evidence, receipt.reason, self._now, message.delivery_id, *allowed),
        )
        if done.rowcount != 1:
            raise Stale(f"delivery {message.delivery_id} was moved on by another owner", run=claim.run_id)
        self._journal.append(
            state,
            actor="gateway",
            job_id=claim.job_id,
            key=claim.key,
            run_id=claim.run_id,
            target=message.target,
            evidence=receipt.evidence,
            reason=receipt.reason,
        )

    def recall(self, run_id: str, repeatable: set[str]) -> None:
        """After a crash: what was being sent may have arrived. Only targets that bear a repeat are sent to again."""
        for number, name in self._db.execute(
            "SELECT id, target FROM delivery WHERE run_id = ? AND state = 'sending'", (run_id,)
        ).fetchall():
            event = "retry" if name in repeatable else "lose"
            reason = None if event == "retry" else "the gateway ended while it was being sent"
            self._db.execute(
                "UPDATE delivery SET state = ?, reason = ?, changed_at = ? WHERE id = ? AND state = 'sending'",
                (target(DELIVERY, event), reason, self._now, number),
            )
