"""The latest occurrences of several jobs at once: a strip of marks for each row of a page of jobs.

One statement for a page. Each job's part reads the index of its slots from the newest on and stops after a few, so that a job
with 100,000 runs costs what one with twenty does; a join with a limit for each job would need SQL that SQLite lacks, and a
window over all of a job's occurrences would read all of them. What is still planned has not happened and is no mark.

Imports next to nothing, like `queries.py`.
"""

from __future__ import annotations

from horae.store.rows import zulu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from horae.store.database import Looks

    Json = dict[str, Any]

PART = """
SELECT * FROM (SELECT o.job_id, o.key, o.slot_at, o.outcome, o.reason, o.span_count, o.trigger,
  (SELECT r.id FROM run r WHERE r.key = o.key ORDER BY r.attempt DESC LIMIT 1) AS run_id,
  (SELECT r.state FROM run r WHERE r.key = o.key ORDER BY r.attempt DESC LIMIT 1) AS run_state
FROM occurrence o WHERE o.job_id = ? AND o.state <> 'planned' ORDER BY o.slot_at DESC LIMIT ?) part{at}
"""
JOBS_MAX = 100  # parts of one statement


class StripViews:
    """The question."""

    _db: Looks

    def strips(self, job_ids: Sequence[str], length: int) -> dict[str, list[Json]]:
        """By job, at most so many of its latest occurrences that have begun or ended, the newest last."""
        found: dict[str, list[Json]] = {job_id: [] for job_id in job_ids}
        for start in range(0, len(job_ids), JOBS_MAX):
            some = job_ids[start : start + JOBS_MAX]
            sql = " UNION ALL ".join(PART.format(at=at) for at in range(len(some)))
            args = [value for job_id in some for value in (job_id, length)]
            for row in self._db.execute(sql, args).fetchall():
                found[row["job_id"]].append(_mark(row))
        return {job_id: sorted(marks, key=lambda mark: mark["slot"]) for job_id, marks in found.items()}


def _mark(row: Any) -> Json:
    """One of them: `state` is the run's where it ran or runs, else the outcome."""
    ran = row["outcome"] in (None, "ran") and row["run_state"] is not None
    return {
        "key": row["key"],
        "run": row["run_id"],
        "state": row["run_state"] if ran else row["outcome"] or "claimed",
        "slot": zulu(row["slot_at"]),
        "trigger": row["trigger"],
        "reason": row["reason"],
        "count": row["span_count"] or 1,
    }
