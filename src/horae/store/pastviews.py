"""A stretch of time, of all jobs: what became of its occurrences, what is waiting in it, and runs for sums over many days.

Each statement reads an index by time and stops at a number of rows, from the newest on; whoever asks is told how many there
were at most, and says what is left out. A span row stands for many missed slots and belongs to each day that it touches: one
that began before the stretch is found from the other side, as the latest row of its job before it.

Imports next to nothing, like `queries.py`. A part of `queries.Reader`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from horae.ports import Record
    from horae.store.database import Looks

SHOWN = """
SELECT o.key, o.job_id, j.slug, j.name, j.timezone, j.removed_at, o.trigger, o.slot_at, o.due_at, o.state, o.outcome,
  o.reason, o.exception, o.missed, o.cause, o.waits_for, o.attempts, o.span_to, o.span_count, r.id AS run_id,
  r.state AS run_state
FROM ({found}) o JOIN job j ON j.id = o.job_id
LEFT JOIN run r ON r.key = o.key AND r.attempt = (SELECT max(x.attempt) FROM run x WHERE x.key = o.key)
ORDER BY o.due_at, o.key
"""
PAST = """
SELECT * FROM occurrence WHERE state <> 'planned' AND due_at >= :start AND due_at < :end {job}
ORDER BY due_at DESC LIMIT :limit
"""
REACHING = """
SELECT o.* FROM (SELECT (SELECT x.key FROM occurrence x WHERE x.job_id = j.id AND x.slot_at < :start
  ORDER BY x.slot_at DESC LIMIT 1) AS key FROM job j WHERE j.removed_at IS NULL {job}) s
JOIN occurrence o ON o.key = s.key WHERE o.span_to >= :start AND o.due_at < :start
"""
WAITING = """
SELECT * FROM occurrence WHERE state = 'planned' AND due_at >= :start AND due_at < :end
  AND (due_at <= :now OR slot_at <= :now OR trigger <> 'schedule') {job} ORDER BY due_at LIMIT :limit
"""
TURNS = """
SELECT key, max(seq) AS entry FROM journal WHERE key IN ({marks}) AND what IN ('skip_planned', 'moved') GROUP BY key
"""
RAN = """
SELECT r.job_id, r.claimed_at, r.state, r.started_at, r.finished_at, r.cost_usd, r.tokens, r.attempt, o.trigger,
  o.missed, coalesce(r.due_at, o.due_at) AS due_at
FROM (SELECT * FROM run WHERE claimed_at >= :start AND claimed_at < :end {job} ORDER BY claimed_at DESC LIMIT :limit) r
JOIN occurrence o ON o.key = r.key ORDER BY r.claimed_at
"""
NOT_RUN = """
SELECT job_id, due_at, outcome, coalesce(span_count, 1) AS slots FROM occurrence
WHERE state <> 'planned' AND outcome IN ('missed', 'skipped') AND due_at >= :start AND due_at < :end {job}
ORDER BY due_at DESC LIMIT :limit
"""
SLUGS = "SELECT id, slug, name, removed_at FROM job WHERE id IN ({marks})"
BOUND_MAX = 500  # values that are bound in one statement


class PastViews:
    """The questions. Instants are microseconds; `end` is not part of a stretch."""

    _db: Looks

    def past(self, start: int, end: int, *, job_id: str | None, limit: int) -> Sequence[Record]:
        """Occurrences that have begun or ended, due in the stretch, at most so many of the newest, by due instant."""
        return self._look(SHOWN.format(found=PAST), start, end, job_id, limit)

    def reaching(self, start: int, *, job_id: str | None) -> Sequence[Record]:
        """Span rows that began before an instant and reach beyond it."""
        args = {"start": start, "job": job_id}
        job = "" if job_id is None else "AND j.id = :job"
        return self._db.execute(SHOWN.format(found=REACHING.format(job=job)), args).fetchall()

    def waiting_slots(self, start: int, end: int, *, job_id: str | None, now: int, limit: int) -> Sequence[Record]:
        """Planned occurrences that no schedule tells: due and not begun, tried again later, ordered by somebody."""
        return self._look(SHOWN.format(found=WAITING), start, end, job_id, limit, now=now)

    def turns(self, keys: Sequence[str]) -> dict[str, int]:
        """By key, the newest entry with which somebody skipped or moved an occurrence."""
        found: dict[str, int] = {}
        for at in range(0, len(keys), BOUND_MAX):
            some = tuple(keys[at : at + BOUND_MAX])
            rows = self._db.execute(TURNS.format(marks=", ".join("?" * len(some))), some).fetchall()
            found |= {row["key"]: int(row["entry"]) for row in rows}
        return found

    def ran(self, start: int, end: int, *, job_id: str | None, limit: int) -> Sequence[Record]:
        """Runs claimed in the stretch, at most so many of the newest, in order: what sums need of them."""
        return self._look(RAN, start, end, job_id, limit)

    def not_run(self, start: int, end: int, *, job_id: str | None, limit: int) -> Sequence[Record]:
        """Slots of the stretch that had no run: missed or skipped."""
        return self._look(NOT_RUN, start, end, job_id, limit)

    def names(self, job_ids: Sequence[str]) -> dict[str, Record]:
        """Jobs by id, those too that are no more."""
        found: dict[str, Record] = {}
        for at in range(0, len(job_ids), BOUND_MAX):
            some = tuple(job_ids[at : at + BOUND_MAX])
            rows = self._db.execute(SLUGS.format(marks=", ".join("?" * len(some))), some).fetchall()
            found |= {row["id"]: row for row in rows}
        return found

    def _look(self, sql: str, start: int, end: int, job_id: str | None, limit: int, **more: int) -> Sequence[Record]:
        job = "" if job_id is None else "AND job_id = :job"
        args = {"start": start, "end": end, "limit": limit, "job": job_id, **more}
        return self._db.execute(sql.format(job=job), args).fetchall()
