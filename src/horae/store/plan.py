"""The plan: each job's slots that have a row before they are due.

`cursor_at` names the slot of a job's one ordinary planned row. Rules:
- the next slot is planned in the transaction that uses the current one up (claims, settles, skips or moves it);
- a slot that has a row already (skipped or moved in advance) is passed over, never planned twice;
- a slot is due by the job's spread later; what has passed and is not due yet is still to come;
- a change of cadence deletes planned slots that are not due yet, voids those that are, and keeps exceptions of slots
  that the new schedule has too; a change of anything else touches no slot. `repeat` counts afresh then: a run that was
  claimed before (`cadence_at` is when the cadence changed) is not one of the new ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from horae.core.admission import not_again
from horae.core.cadence import DAMAGE, grace_of, slots_of
from horae.core.catchup import backlog
from horae.core.identity import slot_key
from horae.core.instants import from_us, readable, to_us
from horae.core.model import Job
from horae.core.spread import spread_offset_s
from horae.core.text import clip
from horae.store.database import Db
from horae.store.journal import Journal
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import ON_DEMAND
from horae.timing.zones import offset_s

BY_CELLS_MAX = 200  # of a schedule's text with each slot in the journal: a list of dates is thousands of characters
OPEN = """
SELECT key, slot_at, due_at, exception, attempts, run_id,
       CASE WHEN attempts > 0 THEN coalesce(later, (
         SELECT r.reason FROM run r WHERE r.key = occurrence.key AND r.state = 'failed' ORDER BY r.attempt DESC LIMIT 1
       )) END AS ended
FROM occurrence WHERE job_id = ? AND trigger = '{trigger}' AND state = 'planned'
"""
SLOTS = OPEN.format(trigger="schedule")
CHANGED = "the schedule was changed"
SETTLE = (
    "UPDATE occurrence SET state = 'settled', outcome = ?, reason = ?, settled_at = ?, span_to = ?, span_count = ?,"
    " waits_for = NULL WHERE key = ? AND state = 'planned'"
)
AGAIN = "UPDATE occurrence SET waits_for = NULL WHERE job_id = ? AND state = 'planned' AND waits_for IS NOT NULL"


def paused_words(paused_at: int | None, by: str | None, reason: str | None, enabled: int) -> str | None:
    """Why a job does not run its slots, or None when it does."""
    if paused_at is not None:
        since = from_us(paused_at).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        return f"paused by {by} since {since}" + (f": {reason}" if reason else "")
    return None if enabled else "its file says enabled: false"


def spread_of(row: Any) -> timedelta:
    """How much later than its slots a job is due. `row` is the job's."""
    return timedelta(seconds=spread_offset_s(row["id"], row["spread_s"]))


class Plan:
    """The verbs on planned slots, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._journal = journal

    def plan_next(self, job_id: str, *, after: datetime | None = None) -> None:
        """Put the first free slot after `after`, else the first that is still to come, into a row, or note why not."""
        row = self._one("SELECT * FROM job WHERE id = ?", job_id)
        if row is None or row["removed_at"] is not None or not row["definition"]:
            return
        if row["repeat_max"] is not None and row["counted"] + self._promised(job_id) >= row["repeat_max"]:
            self._db.execute("UPDATE job SET cursor_at = NULL WHERE id = ?", (job_id,))
            return
        try:
            slots = slots_of(row)
            slot = slots.next_after(self.now - spread_of(row) if after is None else after)
            while slot is not None and self._has_row(job_id, slot):
                slot = slots.next_after(slot)
        except DAMAGE as error:
            self.set_aside(job_id, error, after)
            return
        if slot is None and row["schedule"] == ON_DEMAND:  # it is never over
            self._db.execute("UPDATE job SET cursor_at = NULL WHERE id = ?", (job_id,))
            return
        if slot is None:
            ending = (
                "it was to run once"
                if len(slots.dates) == 1 and not slots.recurs
                else "the schedule has no further slot"
            )
            self._db.execute("UPDATE job SET cursor_at = NULL, ending = ? WHERE id = ?", (ending, job_id))
            return
        self.plan_row(row, slot)
        self._db.execute("UPDATE job SET cursor_at = ? WHERE id = ?", (to_us(slot), job_id))

    def set_aside(self, job_id: str, error: Exception, answered: datetime | None = None) -> str:
        """What is stored of a job is damaged. Its file counts as never read, so that reading it again mends the job.

        The place is kept: up to its cursor, or to `answered` where that is used up, its slots have their outcomes.
        """
        problem = f"what is stored of the job is damaged: {error}"
        text = json.dumps(
            {"code": "invalid", "message": problem, "hint": "reading its file again mends it", "details": {}}
        )
        news = self._db.execute(
            "UPDATE job SET problem = ? WHERE id = ? AND problem IS DISTINCT FROM ?", (text, job_id, text)
        )
        (cursor,) = self._db.execute("SELECT cursor_at FROM job WHERE id = ?", (job_id,)).fetchone()
        if answered is None:
            answered = from_us(cursor) if cursor is not None and readable(cursor) else self.now
        self._db.execute(
            "UPDATE job SET signature = '', cursor_at = NULL, aside_at = coalesce(aside_at, ?) WHERE id = ?",
            (to_us(answered), job_id),
        )
        if news.rowcount == 1:  # whoever comes upon it again tells nobody anything new
            self.look_again(job_id)
            self._journal.append("quarantined", actor="gateway", job_id=job_id, problem=problem, damaged=True)
        return problem

    def plan_on(self, row: dict[str, Any]) -> None:
        """A job that was set aside is well again: its plan goes on where it stopped, and what passed since is answered."""
        at = self._db.execute(
            "SELECT slot_at FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND slot_at = ? AND state = 'planned'"
            " AND exception IS NULL",
            (row["id"], row["aside_at"]),
        ).fetchone()
        if at is not None:  # not even that one has come due yet
            self._db.execute("UPDATE job SET cursor_at = ? WHERE id = ?", (at[0], row["id"]))
            return
        self.plan_next(row["id"], after=from_us(row["aside_at"]))
        self.complete_if_done(row["id"])

    def close_gap(self, row: dict[str, Any], outcome: str, reason: str, until: datetime) -> None:
        """The slots that came due while a job was set aside end so, as far as its schedule can be read."""
        if row["aside_at"] is None:
            return
        with suppress(*DAMAGE):
            slots = slots_of(row)
            first = slots.next_after(from_us(row["aside_at"]))
            while first is not None and self._has_row(row["id"], first):
                first = slots.next_after(first)
            if first is not None and first <= until:
                self.plan_row(row, first)
                item = self._one(f"{SLOTS} AND slot_at = ?", row["id"], to_us(first))
                self._settle({**row, "cursor_at": to_us(first)}, item, outcome, reason, until)
        self._db.execute("UPDATE job SET aside_at = ? WHERE id = ?", (to_us(self.now), row["id"]))

    def note_planned(self, job_id: str, key: str, schedule: str, zone: str) -> None:
        """Why a slot has a row."""
        by = clip(schedule, BY_CELLS_MAX)
        self._journal.append("planned", actor="gateway", job_id=job_id, key=key, by=by, zone=zone)

    def count_run(self, job_id: str, key: str) -> None:
        """One more scheduled run, for `repeat`; not of an occurrence that was claimed before the cadence changed."""
        self._db.execute(
            "UPDATE job SET counted = counted + 1 WHERE id = ? AND repeat_max IS NOT NULL AND NOT EXISTS"
            " (SELECT 1 FROM run WHERE run.key = ? AND run.claimed_at <= job.cadence_at)",
            (job_id, key),
        )

    def complete_done(self, job_ids: Sequence[str]) -> None:
        """The same of many, of which most go on: only those that may be done are looked at."""
        over = self._db.execute(
            f"SELECT id FROM job WHERE {self._db.among('id')} AND cursor_at IS NULL AND completed_at IS NULL",
            (self._db.listed(sorted(set(job_ids))),),
        ).fetchall()
        for (job_id,) in over:
            self.complete_if_done(job_id)

    def complete_if_done(self, job_id: str) -> None:
        """Mark the job completed when nothing of it is open and nothing more will be planned."""
        row = self._one(
            "SELECT id, ending, repeat_max, counted, completed_at, cursor_at, removed_at, aside_at FROM job WHERE id = ?",
            job_id,
        )
        if (
            row is None
            or row["cursor_at"] is not None
            or row["completed_at"] is not None
            or row["removed_at"] is not None
            or row["aside_at"] is not None
        ):
            return
        if self._db.execute(
            "SELECT 1 FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND state <> 'settled' LIMIT 1",
            (job_id,),
        ).fetchone():
            return
        reason = row["ending"]
        if row["repeat_max"] is not None and row["counted"] >= row["repeat_max"]:
            reason = f"it ran {row['counted']} of {row['repeat_max']} times"
        if reason is None:  # held back by `repeat`, but the run did not count
            self.plan_next(job_id)
            (reason,) = self._db.execute("SELECT ending FROM job WHERE id = ?", (job_id,)).fetchone()
        if reason is None:
            return
        self._db.execute(
            "UPDATE job SET completed_at = ?, completed_reason = ? WHERE id = ?", (self._us, reason, job_id)
        )
        self._journal.append("completed_job", actor="gateway", job_id=job_id, reason=reason)

    def replan(self, job: Job, old: dict[str, Any] | None) -> None:
        """After a change of cadence: drop the old plan, made for the row `old`, and make the new one."""
        row = self._one("SELECT * FROM job WHERE id = ?", job.id)
        assert row is not None, "it has just been written"
        slots = slots_of(row)
        if old is not None:
            self.drop(old, CHANGED, keep=slots)
        self.plan_next(job.id, after=self.now - grace_of(slots))
        self.complete_if_done(job.id)

    def drop(self, old: dict[str, Any], reason: str, *, keep: RecurrenceSet | None) -> None:
        """Take planned slots back: void if they came due, else as if they had never been, but for exceptions to `keep`.

        `old` is the job's row that they were planned for: what passed since, unseen, is void by its schedule.
        """
        for item in self._db.execute(SLOTS, (old["id"],)).fetchall():
            key, exception = item["key"], item["exception"]
            if exception is not None and keep is not None and keep.contains(from_us(item["slot_at"])):
                continue
            if min(item["slot_at"], item["due_at"]) <= self._us or item["attempts"]:
                self._settle(old, item, "void", reason, self.now)
            else:  # it never came due, so there is nothing to account for
                self._db.execute("DELETE FROM occurrence WHERE key = ?", (key,))
                self._journal.append(
                    "unplanned", actor="gateway", job_id=old["id"], key=key, reason=reason, exception=exception
                )
        self.close_gap(old, "void", reason, self.now)

    def drop_orders(self, job_id: str, reason: str) -> None:
        """Manual runs that were ordered and have not begun, or were given back, will not: they are void.

        One that failed and waits for its retry was run.
        """
        for item in self._db.execute(OPEN.format(trigger="manual"), (job_id,)).fetchall():
            outcome, why = ("void", reason) if item["ended"] is None else ("ran", not_again(item["ended"], reason))
            self._db.execute(SETTLE, (outcome, why, self._us, None, None, item["key"]))
            key, run_id = item["key"], item["run_id"]
            self._journal.append(outcome, actor="gateway", job_id=job_id, key=key, run_id=run_id, reason=why)

    def skip_passed(self, row: dict[str, Any]) -> None:
        """Slots that came due in a pause while no gateway looked: they were skipped, and must not be caught up with."""
        reason = paused_words(row["paused_at"], row["paused_by"], row["paused_reason"], row["enabled"])
        due = self._db.execute(f"{SLOTS} AND due_at <= ?", (row["id"], self._us)).fetchall()
        for item in due:
            self._settle(row, item, "skipped", str(reason), self.now - spread_of(row))
            if item["slot_at"] == row["cursor_at"]:
                self.plan_next(row["id"])
        self.close_gap(row, "skipped", str(reason), self.now - spread_of(row))
        if due:
            self.complete_if_done(row["id"])

    def look_again(self, job_id: str) -> None:
        """What waits is to be decided about anew: something was said about its job."""
        self._db.execute(AGAIN, (job_id,))

    def _settle(self, row: dict[str, Any], item: Any, outcome: str, reason: str, until: datetime) -> None:
        """One planned row without a run, or another one. `row` is its job.

        The row at the cursor stands for all slots up to `until`, by the schedule of `row`.
        """
        key, slot_at = item["key"], item["slot_at"]
        to, count = slot_at, 1
        if item["ended"] is not None:
            outcome, reason = "ran", not_again(item["ended"], reason)
            self.count_run(row["id"], key)
        elif item["exception"] is None and slot_at == row["cursor_at"]:
            spoken = self._db.execute(
                "SELECT slot_at FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND slot_at > ?",
                (row["id"], slot_at),
            )
            with suppress(*DAMAGE):  # of a schedule that nobody can read only the row itself is known
                passed = backlog(slots_of(row), from_us(slot_at), until, {from_us(at) for (at,) in spoken})
                to, count = to_us(passed.latest), 1 + passed.count
        several = count > 1
        self._db.execute(SETTLE, (outcome, reason, self._us, to if several else None, count if several else None, key))
        self._journal.append(outcome, actor="gateway", job_id=row["id"], key=key, reason=reason, slots=count)

    def plan_row(self, row: dict[str, Any], slot: datetime) -> None:
        """One slot into a row."""
        key, due = slot_key(row["id"], slot), to_us(slot + spread_of(row))
        self._db.execute(
            "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, priority, planned_at)"
            " VALUES (?, ?, 'schedule', ?, ?, ?, ?, ?)",
            (key, row["id"], to_us(slot), due, offset_s(slot, row["timezone"]), row["priority"], self._us),
        )
        self.note_planned(row["id"], key, row["schedule"], row["timezone"])

    def _promised(self, job_id: str) -> int:
        """Slots that are being run or still will be, and count for `repeat` then."""
        return int(
            self._db.execute(
                "SELECT count(*) FROM occurrence o JOIN job j ON j.id = o.job_id WHERE o.job_id = ?"
                " AND o.trigger = 'schedule'"
                " AND (o.state = 'claimed'"
                "  OR (o.state = 'planned' AND (o.exception IS DISTINCT FROM 'skip' OR o.attempts > 0)))"
                " AND NOT EXISTS (SELECT 1 FROM run r WHERE r.key = o.key AND r.claimed_at <= j.cadence_at)",
                (job_id,),
            ).fetchone()[0]
        )

    def _has_row(self, job_id: str, slot: datetime) -> bool:
        return (
            self._db.execute(
                "SELECT 1 FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND slot_at = ?",
                (job_id, to_us(slot)),
            ).fetchone()
            is not None
        )

    def _one(self, sql: str, *args: object) -> dict[str, Any] | None:
        row = self._db.execute(sql, args).fetchone()
        return None if row is None else dict(row)
