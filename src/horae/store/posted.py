"""What people look at of deliveries and incidents: rows as the JSON that every face prints. Imports next to nothing."""

from __future__ import annotations

from horae.store.rows import zulu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.store.database import Looks

    Json = dict[str, Any]

DELIVERIES = """
SELECT d.kind, d.target, d.address, d.state, d.reason, d.evidence, d.attempts, d.due_at, d.changed_at FROM delivery d
WHERE d.run_id = ? AND NOT EXISTS (SELECT 1 FROM delivery n WHERE n.run_id = d.run_id AND n.kind = d.kind
  AND n.address = d.address AND n.round > d.round) ORDER BY d.id
"""  # of what a person had sent anew the last one
INCIDENTS = """
SELECT i.*, j.slug, j.name,
  (SELECT count(*) FROM delivery d WHERE d.incident_id = i.id AND d.state = 'suppressed') AS untold
FROM incident i JOIN job j ON j.id = i.job_id WHERE {where} ORDER BY i.ended_at IS NOT NULL, i.last_at DESC, i.id LIMIT ?
"""


def deliveries(db: Looks, run_id: str) -> list[Json]:
    """What became of the messages of one run, one entry for each address."""
    return [
        {
            "target": row["target"],
            "state": row["state"],
            "reason": row["reason"],
            "evidence": row["evidence"],
            "kind": row["kind"],
            "address": row["address"],
            "attempts": row["attempts"],
            "next_try": zulu(row["due_at"]) if row["state"] == "pending" else None,
            "changed_at": zulu(row["changed_at"]),
        }
        for row in db.execute(DELIVERIES, (run_id,)).fetchall()
    ]


def incidents(db: Looks, *, all: bool, job_id: str | None, limit: int) -> list[Json]:
    """Open incidents, those that happened last first; with `all` those too that are over."""
    where = ["1 = 1" if all else "i.ended_at IS NULL"] + (["i.job_id = ?"] if job_id is not None else [])
    args = (*([job_id] if job_id is not None else []), limit)
    rows = db.execute(INCIDENTS.format(where=" AND ".join(where)), args).fetchall()
    return [_incident(row) for row in rows]


def _incident(row: Any) -> Json:
    state = "open" if row["acked_at"] is None else "snoozed" if row["snoozed_until"] is not None else "acknowledged"
    return {
        "id": row["id"],
        "job_id": row["job_id"],
        "job": row["name"],
        "slug": row["slug"],
        "kind": row["kind"],
        "cause": row["cause"],
        "says": row["says"],
        "state": "ended" if row["ended_at"] is not None else state,
        "count": row["count"],
        "opened_at": zulu(row["opened_at"]),
        "last_at": zulu(row["last_at"]),
        "last_run": row["run_id"],
        "told_at": zulu(row["told_at"]),
        "untold": row["untold"],
        "reminders": row["reminders"],
        "next_reminder": zulu(row["remind_at"]),
        "acked_by": row["acked_by"],
        "snoozed_until": zulu(row["snoozed_until"]),
        "ended_at": zulu(row["ended_at"]),
        "ended_by": row["ended_by"],
    }


def find_incident(db: Looks, text: str) -> list[str]:
    """Ids that begin so."""
    rows = db.execute("SELECT id FROM incident WHERE id >= ? AND id < ? LIMIT 10", (text, text + "\U0010ffff"))
    return [row["id"] for row in rows.fetchall()]


def closed_targets(db: Looks) -> list[Json]:
    """Addresses that said that they take nothing any more."""
    rows = db.execute("SELECT * FROM closed_address ORDER BY address").fetchall()
    return [{"address": row["address"], "reason": row["reason"], "closed_at": zulu(row["closed_at"])} for row in rows]


def on_the_way(db: Looks) -> Json:
    """How many messages are still to be sent, and when the next one is."""
    row = db.execute("SELECT count(*), min(due_at) FROM delivery WHERE state = 'pending'").fetchone()
    held = db.execute("SELECT count(*) FROM delivery WHERE state = 'pending' AND digest = 1").fetchone()
    return {"pending": row[0], "held": held[0], "next": zulu(row[1])}
