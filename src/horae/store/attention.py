"""What waits for a person: questions of agents, broken files, jobs that fail, runs nobody saw end, lost deliveries.

So do slots to come that had their turn by a clock that was ahead, and a failed run that was its job's last, for a week.
A run of which a person has said how it ended waits no more, whatever they said. Of jobs that were removed nothing waits
but the runs whose end nobody knows: what they did is done.
Imports next to nothing, like `queries.py`.
"""

from __future__ import annotations

import json

from horae.store.agentviews import OPEN as OPEN_ASK
from horae.store.rows import zulu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.ports import Record
    from horae.store.database import Looks

    Json = dict[str, Any]

BROKEN = "SELECT slug, problem FROM job WHERE problem IS NOT NULL AND removed_at IS NULL ORDER BY slug LIMIT ?"
FAILED = """
SELECT j.slug, r.id, r.reason FROM job j JOIN run r ON r.id = (
  SELECT x.id FROM run x WHERE x.job_id = j.id AND x.state <> 'released' ORDER BY x.claimed_at DESC, x.attempt DESC LIMIT 1)
WHERE r.state IN ('failed', 'blocked') AND r.resolved_at IS NULL AND j.removed_at IS NULL
  AND (j.completed_at IS NULL OR coalesce(r.finished_at, r.claimed_at) > :lately)
  AND NOT EXISTS (SELECT 1 FROM occurrence p WHERE p.key = r.key AND p.state = 'planned')
  AND j.id IN (SELECT f.job_id FROM (
    SELECT x.job_id FROM run x WHERE x.state IN ('failed', 'blocked') ORDER BY x.claimed_at DESC LIMIT 5000) f)
ORDER BY j.slug LIMIT :limit
"""  # of which a retry is planned has not failed yet
UNKNOWN = """
SELECT j.slug, r.id, coalesce(r.reason, '') || CASE WHEN j.removed_at IS NULL THEN '' ELSE '; the job was removed' END
FROM run r JOIN job j ON j.id = r.job_id
WHERE r.state = 'unknown' ORDER BY r.claimed_at DESC LIMIT :limit
"""
UNDELIVERED = """
SELECT j.slug, d.run_id, d.target || ' ' || d.state || ': ' || coalesce(d.reason, '') FROM delivery d
JOIN job j ON j.id = d.job_id
WHERE d.state IN ('failed', 'unknown', 'expired') AND d.seen_at IS NULL AND j.removed_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM delivery n WHERE n.run_id = d.run_id AND n.kind = d.kind AND n.address = d.address
    AND n.round > d.round)
ORDER BY d.id DESC LIMIT :limit
"""
ASKED = f"""
SELECT j.slug, a.run_id, a.id, a.kind, a.body, a.asked_by, a.expires_at FROM ask a LEFT JOIN job j ON j.id = a.job_id
LEFT JOIN occurrence o ON o.key = a.key WHERE {OPEN_ASK} AND j.removed_at IS NULL ORDER BY a.asked_at DESC LIMIT ?
"""
RESEND = "`horae resend {run}` sends it anew; `horae log {run}` has it; `horae incidents` to acknowledge it"
AHEAD_OF_TIME = """
SELECT s.slug, max(s.until), sum(s.slots), count(*) FROM (
SELECT j.slug, coalesce(o.span_to, o.slot_at) AS until, coalesce(o.span_count, 1) AS slots
FROM (SELECT DISTINCT n.job_id FROM (
    SELECT e.job_id FROM journal e WHERE e.at > :ahead AND e.job_id IS NOT NULL ORDER BY e.at DESC LIMIT 5000) n) f
JOIN job j ON j.id = f.job_id JOIN occurrence o ON o.job_id = j.id
WHERE j.removed_at IS NULL AND o.trigger = 'schedule' AND o.state = 'settled' AND o.settled_at > :now
  AND coalesce(o.span_to, o.slot_at) > :now
  AND o.slot_at >= coalesce((SELECT min(b.slot_at) FROM (
    SELECT x.slot_at FROM occurrence x WHERE x.job_id = j.id AND x.slot_at <= :now
    ORDER BY x.slot_at DESC LIMIT 100) b), 0)
LIMIT :rows) s GROUP BY s.slug ORDER BY s.slug LIMIT :limit
"""  # of jobs of which the journal has something from the future; a span that has begun is among the rows before now
ASKED_CHARS = 200  # of a call that waits, in one line
WEEK_US = 7 * 86_400_000_000  # no next run of a completed job will end well, and nothing is to be named for ever
NEVER_US = 2**62
ROWS_MAX = 20_000  # looked at for the clock: one that shows 1970 has everything still to come
STEP_MIN_US = 60_000_000  # clocks of several machines differ by less than that
RESOLVE = "look at what it did, then `horae resolve {run} --as completed`, `failed` or `rerun`"


def waiting(db: Looks, limit: int, now_us: int | None = None) -> list[Json]:
    """At most `limit` things, by kind. Without the time it is now nothing is said of the clock and completed jobs."""
    found = _asked(db, limit, now_us)
    for slug, text in db.execute(BROKEN, (limit,)):
        problem = told(text)
        found.append(
            {"kind": "quarantined", "job": slug, "run": None, "what": problem["message"], "hint": problem["hint"]}
        )
    lately = NEVER_US if now_us is None else now_us - WEEK_US
    for kind, sql in (("failing", FAILED), ("unknown", UNKNOWN), ("delivery", UNDELIVERED)):
        args = {"limit": limit, "lately": lately} if kind == "failing" else {"limit": limit}
        for slug, run, what in db.execute(sql, args):
            hint = {"unknown": RESOLVE, "delivery": RESEND}.get(kind, "").format(run=run) if run is not None else None
            hint = hint or None
            found.append({"kind": kind, "job": slug, "run": run, "what": what, "hint": hint})
    if now_us is not None:
        found += _of_the_clock(db, limit, now_us)
    return found[:limit]


def _asked(db: Looks, limit: int, now_us: int | None) -> list[Json]:
    found: list[Json] = []
    for row in db.execute(ASKED, (limit,)).fetchall():
        if row["asked_by"] is not None:
            if now_us is None or row["expires_at"] is None or row["expires_at"] > now_us:
                found.append(_draft(row))
            continue
        body, until = json.loads(row["body"]), zulu(row["expires_at"])
        told = " ".join(f"{body.get('toolset') or ''} {body.get('args') or ''}".split())[:ASKED_CHARS]
        what = f"it wants to use {told or 'a tool'}" if row["kind"] == "call" else f"it drafted a {row['kind']}"
        what += f", and goes on without it at {until}" if until else ""
        hint = f"`horae approve {row['id']}`, or `horae deny {row['id']}`"
        found.append({"kind": "approval", "job": row["slug"], "run": row["run_id"], "what": what, "hint": hint})
    return found


def _draft(row: Record) -> Json:
    """A job that somebody proposes who is no run."""
    name = str(json.loads(row["body"]).get("name") or "a new job")[:ASKED_CHARS]
    hint = f"`horae waiting` shows it; `horae approve {row['id']}`, or `horae deny {row['id']}`"
    return {"kind": "approval", "job": name, "run": None, "what": f"{row['asked_by']} proposes this job", "hint": hint}


def _of_the_clock(db: Looks, limit: int, now_us: int) -> list[Json]:
    args = {"ahead": now_us + STEP_MIN_US, "now": now_us, "limit": limit, "rows": ROWS_MAX}
    rows = db.execute(AHEAD_OF_TIME, args).fetchall()
    least = "at least " if sum(looked for *_, looked in rows) >= ROWS_MAX else ""
    found: list[Json] = []
    for slug, until, count, _ in rows:
        one = count == 1
        had = f"{least}{count} slot{'' if one else 's'} up to {zulu(until)} had {'its' if one else 'their'} turn"
        what = f"the clock was ahead then, or is behind now: {had} and will not run again"
        hint = f"`horae why {slug}` shows them; what must not wait is run by hand: `horae run {slug}`"
        found.append({"kind": "clock", "job": slug, "run": None, "what": what, "hint": hint})
    return found


def told(problem: str) -> Json:
    """What is wrong with a job's file. A note that is itself damaged is shown as it lies there, and breaks no list."""
    try:
        found = json.loads(problem)
    except ValueError:
        found = None
    if isinstance(found, dict) and "message" in found:
        return {"code": "invalid", "hint": None, "details": {}, **found}
    return {"code": "invalid", "message": problem, "hint": "reading its file again mends it", "details": {}}
