"""What people ask about runs: lists of them, what one printed, its other attempts, its replays.

Read-only; the same SQL on every store; a part of `queries.Reader`. A list walks runs from the newest to older ones, by an
index of their times. How a run came about stands in its occurrence, so no index helps to find those that somebody ordered:
such a page looks through so many runs and no more, and may end early, or empty, with a cursor that leads on.
"""

from __future__ import annotations

from horae.errors import Invalid
from horae.store.posted import deliveries
from horae.store.rows import local
from horae.store.shapes import run_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.ports import Record
    from horae.store.database import Looks

    Json = dict[str, Any]

WALKED = 5000  # runs, or orders of a job, that one question looks through where no index helps
NEWEST = 2**62
RUNS = """
SELECT r.id, r.job_id, j.name AS job, j.slug, r.key, r.attempt, r.state, r.reason, r.claimed_at, r.started_at, r.finished_at,
       r.exit_code, r.signal, r.wall_s, r.cpu_s, r.peak_bytes, r.out_bytes, r.survivors, r.proved, r.files, r.attachments,
       r.tokens, r.tokens_in, r.tokens_out, r.turns, r.cost_usd, r.model, r.prompt_sha256, r.held,
       o.cause, o.replay_of, r.pid, r.resolved_by, r.resolved_at, r.gateway_id,
       (SELECT g.host FROM gateway g WHERE g.id = r.gateway_id) AS host,
       o.slot_at, coalesce(r.due_at, o.due_at) AS due_at, o.offset_s, o.trigger, o.outcome, o.missed
FROM run r JOIN occurrence o ON o.key = r.key JOIN job j ON j.id = r.job_id
WHERE r.claimed_at <= :before AND (r.claimed_at < :before OR r.id < :after) {where}
ORDER BY r.claimed_at DESC, r.id DESC LIMIT :limit
"""
FLOOR = """
SELECT r.claimed_at, r.id FROM run r
WHERE r.claimed_at <= :before AND (r.claimed_at < :before OR r.id < :after) {where}
ORDER BY r.claimed_at DESC, r.id DESC LIMIT 1 OFFSET :walked
"""
AMONG = {  # the words of the partial indexes, which a state that is bound could not use
    **dict.fromkeys(("claimed", "running"), "r.id IN (SELECT id FROM run WHERE state IN ('claimed', 'running'))"),
    **dict.fromkeys(("failed", "blocked"), "r.state IN ('failed', 'blocked')"),
    **dict.fromkeys(("cancelled", "released"), "r.state IN ('cancelled', 'released')"),
    "unknown": "r.state = 'unknown'",
}
ATTEMPTS = """
SELECT r.id, r.attempt, r.state, r.reason, coalesce(r.started_at, r.claimed_at) AS at, o.offset_s
FROM run r JOIN occurrence o ON o.key = r.key WHERE r.key = :key ORDER BY r.attempt DESC LIMIT :limit
"""
REPLAYS = """
SELECT r.id, r.attempt, r.state, r.reason, r.model, coalesce(r.started_at, r.claimed_at) AS at, o.offset_s FROM (
  SELECT key, replay_of, trigger, offset_s FROM occurrence WHERE job_id = :job ORDER BY slot_at DESC LIMIT :walked
) o JOIN run r ON r.key = o.key WHERE o.trigger = 'manual' AND o.replay_of = :id ORDER BY r.claimed_at DESC LIMIT :limit
"""


class RunViews:
    """The questions."""

    _db: Looks

    def list_runs(
        self,
        *,
        job_id: str | None,
        state: str | None,
        limit: int,
        cursor: str | None,
        run_id: str | None = None,
        trigger: str | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> Json:
        """Runs, newest first, one page: the `runs` shape; those that were claimed from `since` on and before `until`."""
        before, _, after = (cursor or f"{NEWEST}-").partition("-")  # a whole batch is claimed at one instant
        if not before.isdecimal() or int(before) > NEWEST:
            raise Invalid(f"{cursor!r} is no cursor", "leave it out, or give the one that the page before ended with")
        where = ""
        for column, value in (("r.job_id", job_id), ("r.state", state), ("r.id", run_id)):
            if value is not None:
                where += f" AND {column} = :{column[2:]}"
        where += f" AND {AMONG[state]}" if state in AMONG else ""
        where += " AND r.claimed_at >= :since" if since is not None else ""
        where += " AND r.claimed_at < :until" if until is not None else ""
        args = {
            "before": int(before) if until is None else min(int(before), until),
            "after": after,
            "limit": limit + 1,
            "job_id": job_id,
            "state": state,
            "id": run_id,
            "since": since,
            "until": until,
            "trigger": trigger,
            "walked": WALKED,
        }
        floor = None if trigger is None else self._db.execute(FLOOR.format(where=where), args).fetchone()
        if trigger is not None:
            where += " AND o.trigger = :trigger"
        if floor is not None:
            where += " AND r.claimed_at >= :floor AND (r.claimed_at > :floor OR r.id >= :lowest)"
            args |= {"floor": floor["claimed_at"], "lowest": floor["id"]}
        rows = self._db.execute(RUNS.format(where=where), args).fetchall()
        last = rows[limit - 1] if len(rows) > limit else floor
        more = None if last is None else f"{last['claimed_at']}-{last['id']}"
        return {"runs": [self._run(row) for row in rows[:limit]], "cursor": more}

    def attempts(self, key: str, limit: int) -> list[Json]:
        """The attempts at one occurrence in brief, the latest of them, the first one first."""
        rows = self._db.execute(ATTEMPTS, {"key": key, "limit": limit}).fetchall()
        return [_brief(row) for row in reversed(rows)]

    def replays(self, run: Record, limit: int) -> list[Json]:
        """The runs that were given its prompt once more, in brief, the newest first, among the latest orders of its job."""
        asked = {"job": run["job_id"], "id": run["id"], "walked": WALKED, "limit": limit}
        return [{**_brief(row), "model": row["model"]} for row in self._db.execute(REPLAYS, asked).fetchall()]

    def _run(self, row: Record) -> Json:
        """One run as `runs` shows it."""
        return run_json(row, deliveries(self._db, row["id"]))

    def output(self, run_id: str) -> Json:
        """The result document of one run: the message, both streams, how much was cut from them, whether it was pruned."""
        row = self._db.execute(
            "SELECT r.pruned, o.* FROM run r LEFT JOIN output o ON o.run_id = r.id WHERE r.id = ?", (run_id,)
        ).fetchone()
        pruned = row is not None and row["pruned"] > 0
        kept = None if row is None or pruned or row["message"] is None else row
        return {
            **{name: None if kept is None else kept[name] for name in ("message", "stdout", "stderr")},
            **{f"{name}_bytes": 0 if kept is None else kept[name] for name in ("stdout_cut", "stderr_cut")},
            "pruned": pruned,
        }

    def last_run(self, key: str) -> str | None:
        """The id of the latest attempt at one occurrence; None when nothing was ever claimed for it."""
        row = self._db.execute("SELECT id FROM run WHERE key = ? ORDER BY attempt DESC LIMIT 1", (key,)).fetchone()
        return None if row is None else str(row["id"])


def _brief(row: Record) -> Json:
    return {
        "id": row["id"],
        "attempt": row["attempt"],
        "state": row["state"],
        "reason": row["reason"],
        "at": local(row["at"], row["offset_s"]),
    }
