"""When to look whether a job has done what is expected of it: its rows, as definitions and people change them."""

from __future__ import annotations

from datetime import datetime

from horae.core.definition import cadence_digest
from horae.core.expect import first_looks
from horae.core.instants import to_us
from horae.core.model import Job
from horae.store.database import Db


class Expectations:
    """The verbs on them, in one transaction."""

    def __init__(self, db: Db, now: datetime) -> None:
        self._db = db
        self._now = now

    def expect(self, job_id: str, job: Job | None, before: Job | None = None) -> None:
        """What is expected of a job counts from now, unless the same was before; None: nothing is expected any more."""
        looks = {} if job is None else first_looks(job, self._now)
        if before is not None and job is not None:
            if (before.expect_by, before.expect_every_s) == (None, None) and not looks:
                return
            if _said(before) == _said(job):
                return
        self._db.execute("DELETE FROM expectation WHERE job_id = ?", (job_id,))
        if not looks:
            self._db.execute(
                "UPDATE incident SET ended_at = ?, ended_by = 'nothing is expected any more', remind_at = NULL"
                " WHERE job_id = ? AND kind = 'overdue' AND ended_at IS NULL",
                (to_us(self._now), job_id),
            )
        for kind, at in looks.items():
            self._db.execute(
                "INSERT INTO expectation (job_id, kind, since_at, due_at) VALUES (?, ?, ?, ?)",
                (job_id, kind, to_us(self._now), to_us(at)),
            )


def _said(job: Job) -> tuple[object, ...]:
    return job.expect_by, job.expect_every_s, cadence_digest(job)
