"""What waits for a person: broken files, jobs that fail, runs whose end nobody knows, deliveries that reached nobody.

So do slots that had their turn by a clock that was ahead.
A run of which a person has said how it ended waits no more, whatever they said. Of jobs that were removed nothing waits.
Imports next to nothing, like `queries.py`.
"""

from __future__ import annotations

import json

from horae.store.rows import zulu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.store.database import Looks

    Json = dict[str, Any]

BROKEN = "SELECT slug, problem FROM job WHERE problem IS NOT NULL AND removed_at IS NULL ORDER BY slug LIMIT ?"
FAILED = """
SELECT j.slug, r.id, r.reason FROM job j JOIN run r ON r.id = (
  SELECT x.id FROM run x WHERE x.job_id = j.id AND x.state <> 'released' ORDER BY x.claimed_at DESC, x.attempt DESC LIMIT 1)
WHERE r.state IN ('failed', 'blocked') AND r.resolved_at IS NULL AND j.removed_at IS NULL AND j.completed_at IS NULL
  AND j.id IN (SELECT f.job_id FROM (
    SELECT x.job_id FROM run x WHERE x.state IN ('failed', 'blocked') ORDER BY x.claimed_at DESC LIMIT 5000) f)
ORDER BY j.slug LIMIT ?
"""
UNKNOWN = """
SELECT j.slug, r.id, r.reason FROM run r JOIN job j ON j.id = r.job_id
WHERE r.state = 'unknown' AND j.removed_at IS NULL ORDER BY r.claimed_at DESC LIMIT ?
"""
UNDELIVERED = """
SELECT j.slug, d.run_id, d.target || ': ' || coalesce(d.reason, '') FROM delivery d
JOIN run r ON r.id = d.run_id JOIN job j ON j.id = r.job_id
WHERE d.state IN ('failed', 'unknown') AND j.removed_at IS NULL ORDER BY d.id DESC LIMIT ?
"""
AHEAD_OF_TIME = """
SELECT j.slug, max(e.at), count(DISTINCT e.key) FROM journal e JOIN job j ON j.id = e.job_id
WHERE e.at > ? AND e.what IN ('claimed', 'missed', 'skipped', 'blocked', 'void') AND j.removed_at IS NULL
GROUP BY j.slug ORDER BY j.slug LIMIT ?
"""  # what the journal has from the future
STEP_MIN_US = 60_000_000  # clocks of several machines differ by less than that
RESOLVE = "look at what it did, then `horae resolve {run} --as completed`, `failed` or `rerun`"


def waiting(db: Looks, limit: int, now_us: int | None = None) -> list[Json]:
    """At most `limit` things, by kind. Without the time it is now nothing is said of the clock."""
    found: list[Json] = []
    for slug, text in db.execute(BROKEN, (limit,)):
        problem = told(text)
        found.append(
            {"kind": "quarantined", "job": slug, "run": None, "what": problem["message"], "hint": problem["hint"]}
        )
    for kind, sql in (("failing", FAILED), ("unknown", UNKNOWN), ("delivery", UNDELIVERED)):
        for slug, run, what in db.execute(sql, (limit,)):
            hint = RESOLVE.format(run=run) if kind == "unknown" else None
            found.append({"kind": kind, "job": slug, "run": run, "what": what, "hint": hint})
    if now_us is not None:
        for slug, until, count in db.execute(AHEAD_OF_TIME, (now_us + STEP_MIN_US, limit)):
            slots = "1 slot" if count == 1 else f"{count} slots"
            what = f"the clock was ahead, until {zulu(until)}; {slots} had their turn by it and will not run again"
            hint = f"`horae why {slug}` shows them; what must not wait is run by hand: `horae run {slug}`"
            found.append({"kind": "clock", "job": slug, "run": None, "what": what, "hint": hint})
    return found[:limit]


def told(problem: str) -> Json:
    """What is wrong with a job's file. A note that is itself damaged is shown as it lies there, and breaks no list."""
    try:
        found = json.loads(problem)
    except ValueError:
        found = None
    if isinstance(found, dict) and "message" in found:
        return {"code": "invalid", "hint": None, "details": {}, **found}
    return {"code": "invalid", "message": problem, "hint": "reading its file again mends it", "details": {}}
