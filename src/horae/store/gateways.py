"""Who runs gateways on this store, and what waits for one that is not there. Imports next to nothing, like `queries.py`.

Where a store is shared, a gateway whose lease has ended counts as gone; it is told for a day, so that people learn of a
machine that vanished, and not for ever, for one that had nothing live is never taken over. A home that is not has one
gateway, the newest; it renews no lease while it has nothing live, since nobody could take anything over.
"""

from __future__ import annotations

from horae.store.rows import zulu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.store.database import Looks

    Json = dict[str, Any]

DAY_US = 86_400_000_000
KNOWN = """
SELECT id, host, pid, version, since_at, lease_until, labels, draining,
       (SELECT count(*) FROM run r WHERE r.gateway_id = gateway.id AND r.state IN ('claimed', 'running')) AS live
FROM gateway WHERE stopped_at IS NULL AND lost_at IS NULL AND lease_until > ?
ORDER BY {order} LIMIT 100
"""
LIVE_RUNS = """
SELECT r.id, r.gateway_id, j.slug FROM run r JOIN job j ON j.id = r.job_id
WHERE r.state IN ('claimed', 'running') ORDER BY r.claimed_at, r.id LIMIT 1000
"""
PLACED = """
SELECT j.runs_on, count(*) AS jobs, min(j.slug) AS slug FROM job j
WHERE j.runs_on IS NOT NULL AND j.removed_at IS NULL AND j.state = 'active' GROUP BY j.runs_on ORDER BY j.runs_on
"""
ASKED = """
SELECT j.runs_on, count(*) AS due FROM occurrence o JOIN job j ON j.id = o.job_id
WHERE o.state = 'planned' AND o.due_at <= ? AND j.runs_on IS NOT NULL GROUP BY j.runs_on ORDER BY j.runs_on
"""


def gateways(db: Looks, now_us: int, *, shared: bool) -> list[Json]:
    """Those that have neither stopped nor been lost, the living first, then the newest."""
    since, order = (
        (now_us - DAY_US, f"lease_until > {now_us} DESC, since_at DESC, id") if shared else (0, "since_at DESC")
    )
    return [
        {
            "id": row["id"],
            "alive": row["lease_until"] > now_us if shared else place == 0,
            "host": row["host"],
            "pid": row["pid"],
            "version": row["version"],
            "since": zulu(row["since_at"]),
            "lease_until": zulu(row["lease_until"]),
            "labels": row["labels"].split(),
            "draining": bool(row["draining"]),
            "live_runs": row["live"],
        }
        for place, row in enumerate(db.execute(KNOWN.format(order=order), (since,)).fetchall())
    ]


def jobs_by_labels(db: Looks) -> list[Json]:
    """Which labels active jobs ask for: how many ask for the same, and one of them."""
    rows = db.execute(PLACED).fetchall()
    return [{"runs_on": row["runs_on"].split(), "jobs": row["jobs"], "slug": row["slug"]} for row in rows]


def due_by_labels(db: Looks, now_us: int) -> list[Json]:
    """How many slots are due of jobs that ask for labels, by what they ask for."""
    rows = db.execute(ASKED, (now_us,)).fetchall()
    return [{"runs_on": row["runs_on"].split(), "count": row["due"]} for row in rows]
