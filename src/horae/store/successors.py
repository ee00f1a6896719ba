"""`after`: the success of one job's run orders a run of each active job that names it, in the transaction that settles it.

Once for each completed run, since a slot is settled once and the ordered run's id follows from the two; also when it had
nothing to say; not for replays. The ordered run knows the run that it comes from (`occurrence.caused_by`), so the chain of
causes can be walked back: a job that is in it already is not ordered again, or jobs that follow each other would run for
ever. That is journaled, and nothing else happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from horae.core.identity import run_after
from horae.core.model import Claim
from horae.limits import CAUSES_MAX
from horae.store.catalogue import Catalogue, Cause
from horae.store.database import Db
from horae.store.journal import Journal

ANY = "SELECT 1 FROM job WHERE after_ref IS NOT NULL LIMIT 1"
FOLLOWERS = """
SELECT f.id, f.slug FROM job f WHERE f.after_ref IN (?, ?, ?) AND f.state = 'active' AND f.removed_at IS NULL ORDER BY f.id
"""
BEFORE = """
SELECT r.key, r.job_id FROM occurrence o JOIN run r ON r.id = o.caused_by WHERE o.key = ?
"""


class Successors:
    """The verb on them, in one transaction."""

    def __init__(self, db: Db, journal: Journal, jobs: Catalogue) -> None:
        self._db = db
        self._journal = journal
        self._jobs = jobs

    def follow(self, claims: Sequence[Claim]) -> None:
        """These runs have completed, and their slots have just been settled as `ran`."""
        claims = [claim for claim in claims if claim.replay is None]
        if not claims or self._db.execute(ANY).fetchone() is None:
            return
        for claim in claims:
            job = self._jobs.get(claim.job_id)
            if job is not None:
                for follower in self._db.execute(FOLLOWERS, (job["id"], job["slug"], job["name"])).fetchall():
                    self._order(claim, job, follower)

    def _order(self, claim: Claim, job: dict[str, Any], follower: Any) -> None:
        seen, words = self._chain(claim), f"after {job['slug']} (run {claim.run_id})"
        if follower["id"] in seen or len(seen) >= CAUSES_MAX:
            why = (
                "it is in that chain of causes already" if follower["id"] in seen else f"{len(seen)} causes in a chain"
            )
            told = {"job_id": follower["id"], "run_id": claim.run_id, "reason": f"{words}: not ordered, {why}"}
            self._journal.append("after_refused", actor="gateway", **told)
            return
        run_id = run_after(claim.run_id, follower["id"])
        cause = Cause(words, claim.run_id)
        self._jobs.order_run(follower["id"], run_id=run_id, actor="gateway", input=None, cause=cause)
        self._db.notify()

    def _chain(self, claim: Claim) -> list[str]:
        """The jobs of the runs of which each started the next one, from this one back."""
        jobs, key = [claim.job_id], claim.key
        while len(jobs) < CAUSES_MAX:
            row = self._db.execute(BEFORE, (key,)).fetchone()
            if row is None:
                break
            jobs.append(row["job_id"])
            key = row["key"]
        return jobs
