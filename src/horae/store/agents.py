"""What people decide about agents, and what an agent's run is equipped with (`equipping.py`).

A model is frozen when its job is made, and only `freeze` changes it: not the settings, not an edit of anything else.
A question is decided once. A call's is decided only while its slot waits; the slot is due at once then.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from horae.core.cadence import DAMAGE
from horae.core.definition import from_definition
from horae.core.equipment import Earlier, Given, Wish
from horae.core.instants import from_us, to_us
from horae.core.model import Claim
from horae.errors import Conflict, NotFound, Refused
from horae.store.catalogue import Catalogue, Cause
from horae.store.database import Db
from horae.store.equipping import Equipping
from horae.store.journal import Journal

DECIDE = "UPDATE ask SET decided_at = ?, decision = ?, decided_by = ?, reason = ? WHERE id = ? AND decided_at IS NULL"
DUE = (
    "UPDATE occurrence SET due_at = ?, waits_for = NULL WHERE key = ? AND state = 'planned' AND later IS NOT NULL"
    " AND EXISTS (SELECT 1 FROM resume m WHERE m.key = occurrence.key AND m.ask_id = ?)"
)
FREEZE = "UPDATE job SET model = ? WHERE id = ? AND model IS DISTINCT FROM ?"


class Agents:
    """The verbs on them, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal, jobs: Catalogue) -> None:
        self._db = db
        self._us = to_us(now)
        self._journal = journal
        self._jobs = jobs
        self._equipping = Equipping(db, now)

    def equip(self, claim: Claim, wish: Wish) -> Given:
        """What a run may use, reserved, and what it is given (see `equipping.py`)."""
        return self._equipping.equip(claim, wish)

    def context(self, job_id: str, refs: Sequence[str], wish: Wish) -> tuple[Earlier, ...]:
        """What the jobs that a job names have said last, in its order."""
        return self._equipping.context(job_id, refs, wish)

    def freeze(self, job_ids: Sequence[str], model: str, *, actor: str) -> list[str]:
        """Let jobs without a pin use another model from now on. Returns the ids of those that are changed."""
        return [job_id for job_id in job_ids if self._freeze(job_id, model, actor)]

    def _freeze(self, job_id: str, model: str, actor: str) -> bool:
        row = self._jobs.get(job_id)
        if row is None or row["removed_at"] is not None or not row["definition"]:
            return False
        try:
            job = from_definition(json.loads(row["definition"]))
        except DAMAGE:
            return False
        if job.agent is False or job.model is not None:
            return False
        if self._db.execute(FREEZE, (model, job_id, model)).rowcount != 1:
            return False
        undo = None if row["model"] is None else {"verb": "freeze", "model": row["model"]}
        self._journal.append("frozen", actor=actor, job_id=job_id, model=model, was=row["model"], undo=undo)
        return True

    def decide(self, ask_id: str, *, approved: bool, actor: str, reason: str | None) -> dict[str, Any]:
        """A person's word on what waits for it: a call, whose slot is due at once then, or a draft, which is returned."""
        row = self._db.execute(f"SELECT * FROM ask WHERE id = ?{self._db.for_update}", (ask_id,)).fetchone()
        if row is None:
            raise NotFound(f"nothing with the id {ask_id!r} waits for approval", "`horae status` lists what does")
        if row["decided_at"] is not None:
            when, by = f"{from_us(row['decided_at']):%Y-%m-%d %H:%M}Z", row["decided_by"]
            raise Conflict(f"{ask_id} is {row['decision']} since {when}, by {by}", "what is decided stays so")
        if row["expires_at"] is not None and row["expires_at"] <= self._us:
            says = f"{ask_id} could be answered until {from_us(row['expires_at']):%Y-%m-%d %H:%M}Z"
            goes_on = f"the run goes on without it; `horae log {row['run_id']}` has what it asked"
            raise Conflict(says, goes_on if row["run_id"] is not None else "have it proposed again")
        if row["kind"] == "call":
            due = self._db.execute(DUE, (self._us, row["key"], ask_id))
            if due.rowcount != 1:
                says = f"{ask_id} is of no use any more: what it was for has ended, or goes on already"
                raise Conflict(says, f"`horae log {row['run_id']}` has what it asked")
            self._db.notify()
        decision = "approved" if approved else "denied"
        self._db.execute(DECIDE, (self._us, decision, actor, reason, ask_id))
        what = "approved" if approved else "denied"
        told = {"job_id": row["job_id"], "key": row["key"], "run_id": row["run_id"], "ask": ask_id, "kind": row["kind"]}
        entry = self._journal.append(what, actor=actor, reason=reason, **told)
        return {
            **{name: row[name] for name in ("id", "kind", "job_id", "run_id", "key")},
            "approved": approved,
            "body": json.loads(row["body"]),
            "entry": entry,
        }

    def replay(self, run_id: str, *, new_run: str, model: str | None, actor: str) -> dict[str, Any]:
        """Order a run of the same job that is given the prompt of that one. Raises NotFound, Refused without a prompt."""
        row = self._db.execute("SELECT job_id, pruned FROM run WHERE id = ?", (run_id,)).fetchone()
        if row is None:
            raise NotFound(f"no run has the id {run_id!r}", "`horae runs` lists them")
        if self._db.execute("SELECT 1 FROM agent_prompt WHERE run_id = ?", (run_id,)).fetchone() is None:
            why = "its prompt was pruned" if row["pruned"] else "no agent was sent anything in it"
            raise Refused(f"run {run_id} cannot be replayed: {why}", "`horae run JOB` runs the job as it is now")
        cause = Cause(f"replay of {run_id}", None, run_id, model)
        return self._jobs.order_run(row["job_id"], run_id=new_run, actor=actor, input=None, cause=cause)
