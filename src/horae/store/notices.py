"""What nobody's run brings about: messages that reached nobody, reminders, and results that were expected in vain.

A gateway looks whenever it looks at what is due. Each look is bounded, and what it does is decided in `core/incident` and
`core/expect`. Several gateways may look at once: a row is another's, or it has been seen to (`for_update`).
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from horae.core.cadence import DAMAGE
from horae.core.compose import title_of
from horae.core.definition import from_definition
from horae.core.delivery import Manner, Parcel, Receipt
from horae.core.expect import BY, first_looks, overdue_by, overdue_every, window_of
from horae.core.incident import Incident, cause_of, may_remind, reminder, why_untold
from horae.core.instants import from_us, to_us
from horae.core.model import Ending, Job, Owner
from horae.ports.store import Hearers
from horae.store.database import Db
from horae.store.incidents import ON_ITS_WAY, Incidents, incident_of
from horae.store.letters import TRIED_AGAIN, Letter
from horae.store.outbox import Outbox
from horae.store.rows import maybe

AT_ONCE = 100  # rows of a kind in one look
LOST = """
SELECT d.*, coalesce(d.body, u.message) AS says, j.name, j.removed_at FROM delivery d LEFT JOIN output u ON u.run_id = d.run_id
JOIN job j ON j.id = d.job_id
WHERE d.state IN ('failed', 'unknown', 'expired') AND d.followed_at IS NULL ORDER BY d.id LIMIT ?
"""
REMIND = f"""
SELECT i.*, {ON_ITS_WAY}, j.name, j.definition, j.removed_at, j.completed_at, j.paused_by
FROM incident i JOIN job j ON j.id = i.job_id WHERE i.remind_at <= ? AND i.ended_at IS NULL ORDER BY i.remind_at LIMIT ?
"""
ELSEWHERE = f"""
SELECT i.*, {ON_ITS_WAY} FROM incident i WHERE i.kind = 'undelivered' AND i.cause = ? AND i.ended_at IS NULL AND i.id <> ?
"""
EXPECTED = """
SELECT e.kind, e.since_at, e.due_at AS look_at, j.* FROM expectation e JOIN job j ON j.id = e.job_id
WHERE e.due_at <= ? ORDER BY e.due_at LIMIT ?
"""
SLOTS = """
SELECT 1 FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND slot_at <= ? AND coalesce(span_to, slot_at) > ?
  AND (outcome IS NULL OR outcome NOT IN ('skipped', 'void')) LIMIT 1
"""
UNSAID = f"""
SELECT DISTINCT d.run_id, d.job_id, r.key, r.reason, j.definition, u.message,
  EXISTS (SELECT 1 FROM run n WHERE n.key = r.key AND n.attempt > r.attempt AND n.state <> 'released') AS again
FROM delivery d JOIN run r ON r.id = d.run_id JOIN occurrence o ON o.key = r.key JOIN job j ON j.id = d.job_id
LEFT JOIN output u ON u.run_id = r.id
WHERE d.state = 'suppressed' AND d.reason = '{TRIED_AGAIN}' AND d.followed_at IS NULL AND o.state = 'settled' LIMIT ?
"""
COMPLETED = "SELECT max(finished_at) FROM run WHERE job_id = ? AND state = 'completed' AND finished_at > ?"
SOONEST = (
    "SELECT min(remind_at) FROM incident WHERE remind_at > ? AND ended_at IS NULL",
    "SELECT min(due_at) FROM expectation WHERE due_at > ?",
)


class Notices:
    """The verbs on them, in one transaction."""

    def __init__(self, db: Db, now: datetime, outbox: Outbox, incidents: Incidents) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._outbox = outbox
        self._incidents = incidents
        self._more = False

    def record(self, parcel: Parcel, receipt: Receipt, following: Owner | None = None) -> Parcel | None:
        """What a sender knows, and what that means for incidents: they are told, or a target is well again.

        Returns what else is due at that address, on its way now for `following`.
        """
        if self._outbox.record(parcel, receipt) == "delivered":
            self._incidents.arrived(parcel.address)
            for item in parcel.items:
                if item.incident_id is not None:
                    self._incidents.told(item.incident_id)
        return None if following is None else self._outbox.take_next(following, parcel.address)

    def look(self, hearers: Hearers) -> None:
        """See to what has come due."""
        unsaid = self._db.execute(UNSAID, (AT_ONCE,)).fetchall()
        for row in unsaid:
            self._say(row, hearers)
        lost = self._db.execute(LOST, (AT_ONCE,)).fetchall()
        for row in lost:
            self._follow(row, hearers)
        remind = self._db.execute(REMIND, (self._us, AT_ONCE)).fetchall()
        for row in remind:
            self._remind(row, hearers)
        expected = self._db.execute(EXPECTED, (self._us, AT_ONCE)).fetchall()
        for row in expected:
            self._expected(row, hearers)
        self._more = AT_ONCE in (len(unsaid), len(lost), len(remind), len(expected))

    def next_due(self) -> datetime | None:
        """When the next of them comes due: now, when a look has not seen to all, or has ended what must be followed."""
        if self._more or self._outbox.ended:
            return self.now
        found = [self._db.execute(sql, (self._us,)).fetchone()[0] for sql in SOONEST]
        return min((from_us(at) for at in found if at is not None), default=None)

    # ── what was to be tried again, and was not ────────────────────────────────────────────────────────────────────

    def _say(self, row: Any, hearers: Hearers) -> None:
        """A failure of which nobody was told, since it was to be tried again: its slot is over without that."""
        done = self._db.execute(
            f"UPDATE delivery SET followed_at = ? WHERE run_id = ? AND reason = '{TRIED_AGAIN}' AND followed_at IS NULL",
            (self._us, row["run_id"]),
        )
        if done.rowcount == 0 or row["again"]:
            return
        try:
            job = from_definition(json.loads(row["definition"]))
        except DAMAGE:
            return
        ending = Ending("fail", row["reason"], row["message"] or "", alert=True)
        why = (cause_of(ending), row["reason"])
        incident, before = self._incidents.goes_on(row["job_id"], "failed", why, row["run_id"])
        if why_untold(before, self.now) is None:
            to, manner = hearers.alerts(job)
            title = title_of("alert", job.name, "failed")
            letter = Letter(
                "alert", title, alert=True, run_id=row["run_id"], job_id=row["job_id"], key=row["key"],
                incident_id=incident.id,
            )  # fmt: skip
            self._incidents.tell(incident, letter, to, manner, round=1)

    # ── what reached nobody ─────────────────────────────────────────────────────────────────────────────────────────

    def _follow(self, row: Any, hearers: Hearers) -> None:
        """The fallback hears of each alert that reached nobody, and once of results that do not."""
        done = self._db.execute(
            "UPDATE delivery SET followed_at = ? WHERE id = ? AND followed_at IS NULL", (self._us, row["id"])
        )
        if done.rowcount != 1 or row["kind"] == "undelivered" or row["removed_at"] is not None:
            return
        why = row["address"], f"{row['target']}: {row['reason']}"
        incident, before = self._incidents.goes_on(row["job_id"], "undelivered", why, row["run_id"])
        if not row["alert"] and (why_untold(before, self.now) is not None or self._known(row["address"], incident)):
            return
        title = title_of("undelivered", row["title"], None)
        how = "may not have arrived" if row["state"] == "unknown" else "was not taken"
        text = f"A message for {row['target']} {how}: {row['reason']}"
        text += f"\n`horae log {row['run_id']}` has it." if row["run_id"] else ""
        text += f"\n\n{row['says']}" if row["alert"] and row["says"] else ""
        letter = Letter("undelivered", title, alert=True, job_id=row["job_id"], incident_id=incident.id, body=text)
        to = tuple(one for one in hearers.fallback() if one.address != row["address"])
        self._incidents.tell(incident, letter, to, self._manner(row, hearers))

    def _known(self, address: str, but: Incident) -> bool:
        """Whether somebody has been told already, of another job, that nothing arrives there."""
        rows = self._db.execute(ELSEWHERE, (address, but.id)).fetchall()
        return any(why_untold(incident_of(row), self.now) is not None for row in rows)

    def _manner(self, row: Any, hearers: Hearers) -> Manner:
        found = self._db.execute("SELECT definition FROM job WHERE id = ?", (row["job_id"],)).fetchone()
        with suppress(*DAMAGE):
            return hearers.alerts(from_definition(json.loads(found["definition"])))[1]
        return Manner()

    # ── reminders ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _remind(self, row: Any, hearers: Hearers) -> None:
        incident = incident_of(row)
        if incident.snoozed_until is not None and incident.snoozed_until <= self.now:
            self._db.execute(
                "UPDATE incident SET acked_at = NULL, acked_by = NULL, snoozed_until = NULL WHERE id = ?",
                (incident.id,),
            )
        try:
            job = from_definition(json.loads(row["definition"]))
        except DAMAGE:
            job = None
        over = row["removed_at"] is not None or row["completed_at"] is not None  # it would never end
        if job is None or over or not may_remind(incident, self.now):
            self._db.execute("UPDATE incident SET remind_at = NULL WHERE id = ?", (incident.id,))
            return
        to, manner = hearers.alerts(job)
        if incident.kind == "undelivered":
            to = tuple(one for one in hearers.fallback() if one.address != incident.cause)
        rests = row["paused_by"] not in (None, "gateway")  # a person has paused it, and knows
        later = None if manner.remind_s is None else self._us + round(manner.remind_s * 1e6)
        mine = "UPDATE incident SET reminders = reminders + ?, remind_at = ? WHERE id = ? AND remind_at = ?"
        put_off = rests or incident.on_its_way  # or what was told first has not even arrived
        met = self._db.execute(mine, (int(not put_off), later, incident.id, row["remind_at"]))
        if met.rowcount != 1 or put_off:
            return  # or another gateway sees to it
        text = reminder(job.name, incident, self.now)
        title = title_of("reminder", job.name, None)
        letter = Letter("reminder", title, alert=True, job_id=row["job_id"], incident_id=incident.id, body=text)
        self._incidents.tell(incident, letter, to, manner)

    # ── what was expected ───────────────────────────────────────────────────────────────────────────────────────────

    def _expected(self, row: Any, hearers: Hearers) -> None:
        job_id, kind = row["id"], row["kind"]
        try:
            job = from_definition(json.loads(row["definition"]))
            overdue = self._overdue(row, job)
        except DAMAGE:
            job = overdue = None
        if job is None or row["removed_at"] is not None or row["completed_at"] is not None:
            self._db.execute("DELETE FROM expectation WHERE job_id = ?", (job_id,))
            return
        again = first_looks(job, self.now).get(kind)
        if again is None:
            self._db.execute("DELETE FROM expectation WHERE job_id = ? AND kind = ?", (job_id, kind))
            return
        move = "UPDATE expectation SET due_at = ? WHERE job_id = ? AND kind = ? AND due_at = ?"
        moved = self._db.execute(move, (to_us(again), job_id, kind, row["look_at"]))
        if overdue is None or row["state"] not in ("active", "quarantined") or moved.rowcount != 1:
            return
        cause, text = overdue
        incident, before = self._incidents.goes_on(job_id, "overdue", (cause, cause), None)
        if why_untold(before, self.now) is None:
            title = title_of("overdue", job.name, None)
            letter = Letter("overdue", title, alert=True, job_id=job_id, incident_id=incident.id, body=text)
            self._incidents.tell(incident, letter, *hearers.alerts(job))

    def _overdue(self, row: Any, job: Job) -> tuple[str, str] | None:
        """The cause and the text, when what was expected has not come."""
        if row["kind"] != BY:
            assert job.expect_every_s is not None, "the expectation is replaced with the definition"
            last = maybe(self._db.execute(COMPLETED, (row["id"], 0)).fetchone()[0])
            if last is not None and last + timedelta(seconds=job.expect_every_s) > self.now:
                return None
            return overdue_every(job.name, job.slug, job.expect_every_s, last)
        assert job.expect_by is not None, "the expectation is replaced with the definition"
        begin, end = window_of(job.expect_by, job.timezone, self.now)
        begin = max(begin, from_us(row["since_at"]))  # what was due before anything was expected is not missed
        if not self._had_slots(row, begin, end):
            return None
        completed = self._db.execute(COMPLETED, (row["id"], to_us(begin))).fetchone()[0]
        return None if completed is not None else overdue_by(job.name, job.slug, job.expect_by, job.timezone)

    def _had_slots(self, row: Any, begin: datetime, end: datetime) -> bool:
        """Whether the job had a slot in between that nobody has called off: each that came due has a row."""
        found = self._db.execute(SLOTS, (row["id"], to_us(end), to_us(begin))).fetchone()
        return found is not None
