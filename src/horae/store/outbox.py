"""Delivery rows: written with the run's end, sent from here. See `core/states.py` for their table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from horae.core.instants import to_us
from horae.core.model import Claim, End, Message, Receipt
from horae.core.states import DELIVERY, sources, target
from horae.errors import Stale
from horae.store.database import Db
from horae.store.journal import Journal

PLAN = (
    "INSERT INTO delivery (run_id, target, state, title, alert, evidence, reason, created_at, changed_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class Outbox:
    """The verbs on deliveries, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._db = db
        self._now = to_us(now)
        self._journal = journal

    def plan_all(self, ends: Sequence[End]) -> list[bool]:
        """One row per run and target. Says of each end whether anything is left to send."""
        rows = [(end, name, *_first_state(end, name)) for end in ends for name in dict.fromkeys(end.claim.job.deliver)]
        self._db.executemany(
            PLAN,
            [
                (
                    end.claim.run_id,
                    name,
                    state,
                    end.claim.job.name,
                    int(end.ending.alert),
                    evidence,
                    reason,
                    *[self._now] * 2,
                )
                for end, name, state, evidence, reason in rows
            ],
        )
        left = {end.claim.run_id for end, _, state, *_ in rows if state == "pending"}
        return [end.claim.run_id in left for end in ends]

    def begin(self, claim: Claim) -> list[Message]:
        """pending → sending for all of this run, if the claim still owns it."""
        find = f"SELECT 1 FROM run WHERE id = ? AND token = ?{self._db.for_update}"
        owned = self._db.execute(find, (claim.run_id, claim.token)).fetchone()
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
            f"UPDATE delivery SET state = ?, evidence = ?, reason = ?, changed_at = ? WHERE id = ? AND state IN ({marks})"
            " AND EXISTS (SELECT 1 FROM run WHERE id = delivery.run_id AND token = ?)",
            (state, receipt.evidence, receipt.reason, self._now, message.delivery_id, *allowed, claim.token),
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

    def give_up(self, claim: Claim, reason: str) -> None:
        """Of what a fault of ours kept from being sent: what was being sent is unknown, what was not will not be."""
        for event, (source, *_) in (("lose", sources(DELIVERY, "lose")), ("expire", sources(DELIVERY, "expire"))):
            state = target(DELIVERY, event)
            gone = self._db.execute(
                "UPDATE delivery SET state = ?, reason = ?, changed_at = ? WHERE run_id = ? AND state = ?"
                " AND EXISTS (SELECT 1 FROM run WHERE id = delivery.run_id AND token = ?) RETURNING target",
                (state, reason, self._now, claim.run_id, source, claim.token),
            ).fetchall()
            for (name,) in gone:
                self._journal.append(
                    state,
                    actor="gateway",
                    job_id=claim.job_id,
                    key=claim.key,
                    run_id=claim.run_id,
                    target=name,
                    evidence=None,
                    reason=reason,
                )

    def recall(self, run_id: str, job_id: str, key: str, idempotent: Callable[[str], bool]) -> None:
        """After a crash: what was being sent may have arrived, so it is not sent again, unless its target takes it as one."""
        (source,) = sources(DELIVERY, "lose")
        sending = self._db.execute(
            "SELECT id, target FROM delivery WHERE run_id = ? AND state = ?", (run_id, source)
        ).fetchall()
        for delivery_id, name in sending:
            if idempotent(name):
                self._db.execute(
                    "UPDATE delivery SET state = ?, changed_at = ? WHERE id = ? AND state = ?",
                    (target(DELIVERY, "retry"), self._now, delivery_id, source),
                )
        state = target(DELIVERY, "lose")
        reason = "the gateway ended while it was being sent"
        lost = self._db.execute(
            "UPDATE delivery SET state = ?, reason = ?, changed_at = ? WHERE run_id = ? AND state = ? RETURNING target",
            (state, reason, self._now, run_id, source),
        ).fetchall()
        for (name,) in lost:
            self._journal.append(
                state, actor="gateway", job_id=job_id, key=key, run_id=run_id, target=name, evidence=None, reason=reason
            )


def _first_state(end: End, name: str) -> tuple[str, str | None, str | None]:
    """What becomes of a target at once: state, evidence, reason.

    Nothing to say is written down as suppressed, so that silence can be told from loss. Nobody is told of a failure
    that is tried again. Targets in `kept` are reached by this very transaction.
    """
    if not end.ending.message:
        return "suppressed", None, "nothing to say"
    if end.retry_s is not None:
        return "suppressed", None, "it is tried again"
    receipt = end.kept.get(name)
    return ("pending", None, None) if receipt is None else ("delivered", receipt.evidence, None)
