"""Slots that were begun and go on later: parked for a person's word, or held until a provider answers again.

Model: the run is over (`park`: running → released), the slot is planned again and due when it goes on, and `resume` holds
from where. `occurrence.later` says in words what it waits for, for as long as it is so: `core/admission.py`, rule 14, tells
what that means for other slots of its job. The next attempt is another run of the same occurrence; no failure is counted.

A parked one has an `ask`. It is due at once when somebody decides it (`agents.py`), and without a word when the ask expires.
What ends such a slot without another run, be it a person, its job's removal or a changed schedule, ends it as `ran`: it was.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from horae.core.admission import early, not_again
from horae.core.compose import title_of
from horae.core.instants import to_us
from horae.core.model import Claim, End
from horae.limits import GO_ON_DEFAULT_S
from horae.store.agentends import AgentEnds, work_in
from horae.store.catalogue import Catalogue
from horae.store.claimrows import AFTERWARDS, candidate
from horae.store.database import Db
from horae.store.journal import Journal
from horae.store.letters import Letter
from horae.store.outbox import Outbox
from horae.store.plan import CHANGED, SETTLE

PARK = "park"  # the event of the run's table
COUNT = "UPDATE run SET held = ? + (SELECT coalesce(max(h.held), 0) FROM run h WHERE h.key = ?) WHERE id = ?"
ASKED_TO_END = "SELECT cancel_reason FROM run WHERE id = ?"
GO_ON = (
    "UPDATE occurrence SET state = 'planned', due_at = ?, later = ?"
    " WHERE key = ? AND state = 'claimed' AND attempts = ?"
)
OVER = (
    "UPDATE occurrence SET state = 'settled', outcome = 'ran', reason = ?, settled_at = ?"
    " WHERE key = ? AND state = 'claimed' AND attempts = ?"
)
REMEMBER = (
    "INSERT INTO resume (key, run_id, state, ask_id, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
    " run_id = excluded.run_id, state = excluded.state, ask_id = excluded.ask_id, at = excluded.at"
)
WAITING = (
    "SELECT o.key, o.job_id, o.trigger, o.later FROM run r JOIN occurrence o ON o.key = r.key"
    " WHERE r.id = ? AND o.state = 'planned' AND o.later IS NOT NULL"
)
NO_MORE = (
    "UPDATE ask SET decided_at = ?, decision = 'denied', decided_by = ?, reason = ? WHERE decided_at IS NULL"
    " AND id = (SELECT ask_id FROM resume WHERE key = ?)"
)


class Parking:
    """The verbs on them, in one transaction."""

    def __init__(
        self, db: Db, now: datetime, journal: Journal, jobs: Catalogue, outbox: Outbox, left: AgentEnds
    ) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._journal = journal
        self._jobs = jobs
        self._outbox = outbox
        self._left = left

    def park(self, end: End, *, outlived: bool) -> bool:
        """What follows for the slot of a run that goes on later. True when a message is to be sent.

        `outlived`: it is no slot of its job's any more.
        """
        claim, work = end.claim, work_in(end.ending)
        parked = work is not None and work.how == "parked"
        self._db.execute(COUNT, (int(not parked), claim.key, claim.run_id))
        what = "parked" if parked else "held"
        told = {"job_id": claim.job_id, "key": claim.key, "run_id": claim.run_id, "reason": end.ending.reason}
        self._journal.append(what, actor="gateway", **told)
        later = f"run {claim.run_id} waits for {'approval' if parked else 'its provider'}"
        over = self._over(claim, later, outlived=outlived)
        if over is not None:
            self._end(claim, over)
            return False
        again_s = GO_ON_DEFAULT_S if end.ending.again_s is None else end.ending.again_s
        due = to_us(self.now + timedelta(seconds=again_s))
        ask_id = self._left.ask(claim, "call", (work.ask if work else None) or {}, due) if parked else None
        self._db.execute(REMEMBER, (claim.key, claim.run_id, work.state if work else None, ask_id, self._us))
        self._db.execute(GO_ON, (due, later, claim.key, claim.attempt))
        return parked and bool(end.ending.message) and self._tell(end)

    def _over(self, claim: Claim, later: str, *, outlived: bool) -> str | None:
        """The reason with which it ends at once; None when it goes on."""
        (asked,) = self._db.execute(ASKED_TO_END, (claim.run_id,)).fetchone()
        if asked is not None or outlived:
            return not_again(later, asked or CHANGED)
        over = early(candidate(self._db.execute(AFTERWARDS, (later, claim.key)).fetchone()))
        return None if over is None else over.reason

    def _end(self, claim: Claim, reason: str) -> None:
        self._db.execute(OVER, (reason, self._us, claim.key, claim.attempt))
        self._journal.append("ran", actor="gateway", job_id=claim.job_id, key=claim.key, reason=reason)
        if claim.trigger == "schedule":
            self._jobs.plan.count_run(claim.job_id, claim.key)
        self._jobs.plan.complete_if_done(claim.job_id)

    def _tell(self, end: End) -> bool:
        """Ask the people who hear of the job. It is no trouble, so there is no incident."""
        claim, kind = end.claim, "approval"
        letter = Letter(
            kind, title_of(kind, claim.job.name, None), alert=True, run_id=claim.run_id, job_id=claim.job_id,
            key=claim.key, body=end.ending.message,
        )  # fmt: skip
        return self._outbox.put(letter, end.to, end.manner)

    def call_off(self, run_id: str, *, actor: str, reason: str) -> bool:
        """A person wants no more of a slot that was begun. False when the run is none of such a slot."""
        row = self._db.execute(WAITING, (run_id,)).fetchone()
        if row is None:
            return False
        key, job_id = row["key"], row["job_id"]
        done = self._db.execute(SETTLE, ("ran", not_again(row["later"], reason), self._us, None, None, key))
        if done.rowcount != 1:
            return False
        self._db.execute(NO_MORE, (self._us, actor, reason, key))
        self.forget([key])
        if row["trigger"] == "schedule":
            self._jobs.plan.count_run(job_id, key)
        self._journal.append("cancelled", actor=actor, job_id=job_id, key=key, run_id=run_id, reason=reason)
        self._jobs.plan.complete_if_done(job_id)
        return True

    def forget(self, keys: list[str]) -> None:
        """These slots are over, or begin anew: from where they were to go on is of no use any more."""
        self._db.execute(f"DELETE FROM resume WHERE {self._db.among('key')}", (self._db.listed(keys),))
