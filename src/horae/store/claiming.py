"""Claiming: every due occurrence is settled unrun, claimed, or left to wait, and its job's next slot is planned.

All due rows are read at once, the pure core decides about each, and the answers are written in bulk, so that a burst of
thousands costs one commit and a few statements. A job that can still fire has one ordinary planned row at its cursor
*before it is due*: whatever uses that row up plans the next one here, in the same transaction.

Several slots of one job may be due at once after a downtime: its cursor's, moved ones, one whose skip was taken back, one
that was released. They are answered together when the first of them is met: the latest runs, and stands for the others.
(A moved slot that is read only in a later batch of a burst is not known yet; it meets a job that has a run by then.)

Rows that wait to be written in bulk are not in the database yet. Whatever asks the database about the same job must
write them first (`_flush`).
"""

from __future__ import annotations

import json
from datetime import datetime
from sqlite3 import Connection, Row
from typing import NamedTuple

from horae.core.admission import MISSED, Admission, Candidate, admit
from horae.core.cadence import DAMAGE, slots_of
from horae.core.catchup import Backlog, backlog
from horae.core.definition import from_definition
from horae.core.identity import run_id as id_of_run
from horae.core.identity import slot_key
from horae.core.instants import from_us, to_us
from horae.core.model import Claim, Job, Owner
from horae.store.catalogue import Catalogue
from horae.store.journal import Journal
from horae.store.plan import paused_words
from horae.store.rows import maybe
from horae.timing.zones import offset_s

ROWS = """
SELECT o.key, o.job_id, o.trigger, o.slot_at, o.due_at, o.offset_s, o.exception, o.reason, o.attempts, o.missed,
       o.run_id, o.input,
       j.schedule, j.timezone, j.anchor_at, j.clock_gap, j.clock_repeat, j.cursor_at,
       j.problem, j.paused_at, j.paused_by, j.paused_reason, j.enabled,
       j.removed_at, j.definition, j.repeat_max, j.counted,
       (SELECT c.trigger FROM occurrence c WHERE c.job_id = o.job_id AND c.state = 'claimed' LIMIT 1) AS live,
       EXISTS (SELECT 1 FROM occurrence a WHERE a.job_id = o.job_id AND a.slot_at > o.slot_at AND a.run_id IS NULL) AS ahead
FROM occurrence o JOIN job j ON j.id = o.job_id
WHERE o.state = 'planned' AND o.due_at <= ?
"""
DUE = ROWS + "AND (o.due_at, o.key) > (?, ?) ORDER BY o.due_at, o.key LIMIT ?"
RIVALS = ROWS + "AND o.job_id = ? AND o.trigger = 'schedule' AND o.exception IS NOT 'skip' ORDER BY o.slot_at"
PLAN = (
    "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, state, planned_at)"
    " VALUES (?, ?, 'schedule', ?, ?, ?, ?, ?)"
)
CLAIM = "UPDATE occurrence SET state = 'claimed', attempts = ?, missed = ? WHERE key = ? AND state IN ('planned', 'claimed')"
RUN = (
    "INSERT INTO run (id, key, job_id, attempt, token, gateway_id, state, claimed_at)"
    " VALUES (?, ?, ?, ?, ?, ?, 'claimed', ?)"
)
CURSOR = "UPDATE job SET cursor_at = ? WHERE id = ?"
SETTLE = (
    "UPDATE occurrence SET state = 'settled', outcome = ?, reason = ?, settled_at = ?, span_to = ?, span_count = ?"
    " WHERE key = ? AND state = 'planned'"
)


def reserve_tokens(db: Connection, count: int) -> int:
    """Reserve fencing numbers; they only rise. Returns the last one before the reserved ones."""
    (value,) = db.execute(
        "INSERT INTO fence (id, token) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET token = token + ? RETURNING token",
        (count, count),
    ).fetchone()
    return int(value) - count


class Ahead(NamedTuple):
    """A due row, and what follows its slot when that is where its job's cursor stands."""

    row: Row
    back: Backlog
    following: datetime | None = None
    in_order: bool = True


class Claiming:
    """One pass over what is due, in one transaction."""

    def __init__(self, db: Connection, now: datetime, journal: Journal, jobs: Catalogue, owner: Owner) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._journal = journal
        self._jobs = jobs
        self._owner = owner
        self.full = False
        """Whether there may be more that is due."""
        self._live_now: dict[str, str] = {}
        self._answered: set[str] = set()  # rows that were read with a rival of theirs
        self._bulk: dict[str, list[tuple[object, ...]]] = {PLAN: [], CLAIM: [], RUN: [], CURSOR: []}  # in writing order

    def claim_due(self, limit: int) -> list[Claim]:
        """Settle or claim due occurrences, at most `limit`, and plan each job's next slot. Those that wait do not count."""
        claims: list[Claim] = []
        position, room = (-1, ""), limit
        while room > 0:
            cursor = self._db.cursor()
            cursor.row_factory = Row
            rows = cursor.execute(DUE, (self._us, *position, room)).fetchall()
            waited = self._answer(rows, claims) if rows else 0
            if len(rows) < room:
                return claims
            position, room = (rows[-1]["due_at"], rows[-1]["key"]), waited
        self.full = True
        return claims

    def _answer(self, rows: list[Row], claims: list[Claim]) -> int:
        """Decide about each row; claims are added to `claims`. Returns how many rows wait."""
        token = reserve_tokens(self._db, len(rows))
        waited = 0
        moved = {row["job_id"] for row in rows if row["exception"] == "move"}
        for row in rows:
            if row["key"] in self._answered:
                continue
            due = [row]
            try:
                admission = admit(_candidate(row, self._live_now.get(row["job_id"]) or row["live"]))
                if admission.wait:
                    waited += 1
                    continue
                job = from_definition(json.loads(row["definition"])) if admission.outcome is None else None
                if job is not None and row["trigger"] == "schedule" and (_astray(row) or row["job_id"] in moved):
                    due = self._rivals(row)
                *others, ahead = [self._look_ahead(each) for each in due]
                if others:
                    *others, ahead = sorted((*others, ahead), key=_rank)
            except DAMAGE as error:  # nothing of these rows has been written yet
                for each in due:
                    self._set_aside(each, error)
                continue
            missed = 0
            for other in others:
                missed += other.row["missed"] + 1 + other.back.count
                self._settle_unrun(other, MISSED)
            if job is None:
                self._settle_unrun(ahead, admission)
                continue
            token += 1
            claims.append(self._claim(ahead, job, token, missed))
            self._live_now[row["job_id"]] = row["trigger"]
            self._plan(ahead)
        self._flush()
        return waited

    def _set_aside(self, row: Row, error: Exception) -> None:
        """One damaged record harms only itself: its slot is blocked, its job quarantined until its file is read again."""
        reason = self._jobs.plan.set_aside(row["job_id"], error)
        self._db.execute(SETTLE, ("blocked", reason, self._us, None, None, row["key"]))
        self._journal.append("blocked", actor="gateway", job_id=row["job_id"], key=row["key"], reason=reason)

    def _flush(self) -> None:
        for sql, rows in self._bulk.items():
            if rows:
                self._db.executemany(sql, rows)
                rows.clear()

    def _rivals(self, row: Row) -> list[Row]:
        """All slots of the row's job that could run now, itself among them: only one of them will."""
        cursor = self._db.cursor()
        cursor.row_factory = Row
        rows = cursor.execute(RIVALS, (self._us, row["job_id"])).fetchall()
        self._answered.update(each["key"] for each in rows)
        return rows

    def _look_ahead(self, row: Row) -> Ahead:
        """What has passed since a planned slot at its job's cursor, and the first slot that is still to come."""
        slot = from_us(row["slot_at"])
        if row["trigger"] != "schedule" or row["exception"] is not None or row["slot_at"] != row["cursor_at"]:
            maybe(
                row["cursor_at"]
            )  # raises for one that cannot be: a job whose cursor is nowhere would never plan again
            return Ahead(row, Backlog(slot, ()), in_order=False)
        slots = slots_of(row)
        following = slots.next_after(slot)
        if following is None or following > self.now:
            return Ahead(row, Backlog(slot, ()), following)
        taken = self._db.execute(
            "SELECT slot_at FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND slot_at > ? AND slot_at <= ?",
            (row["job_id"], row["slot_at"], self._us),
        ).fetchall()
        back = backlog(slots, slot, self.now, {from_us(value) for (value,) in taken})
        return Ahead(row, back, slots.next_after(self.now))

    def _plan(self, ahead: Ahead) -> None:
        """The job's next slot. The ordinary case goes into the bulk; a counted job, or one with rows ahead, asks first."""
        if not ahead.in_order:
            return
        row, slot = ahead.row, ahead.following
        if slot is None or row["ahead"] or row["repeat_max"] is not None or row["removed_at"] is not None:
            self._flush()
            self._jobs.plan.plan_next(row["job_id"], after=max(self.now, from_us(row["slot_at"])))
            return
        key, at = slot_key(row["job_id"], slot), to_us(slot)
        self._bulk[PLAN].append((key, row["job_id"], at, at, offset_s(slot, row["timezone"]), "planned", self._us))
        self._bulk[CURSOR].append((at, row["job_id"]))
        self._jobs.plan.note_planned(row["job_id"], key, row["schedule"], row["timezone"])

    def _settle_unrun(self, ahead: Ahead, admission: Admission) -> None:
        row, outcome, reason = ahead.row, str(admission.outcome), str(admission.reason)
        if ahead.back.passed:
            self._pass(row, ahead.back, outcome, reason, include_latest=True)
        else:
            self._db.execute(SETTLE, (outcome, reason, self._us, None, None, row["key"]))
            self._journal.append(outcome, actor="gateway", job_id=row["job_id"], key=row["key"], reason=reason)
        self._plan(ahead)
        self._jobs.plan.complete_if_done(row["job_id"])

    def _claim(self, ahead: Ahead, job: Job, token: int, others: int) -> Claim:
        row, back = ahead.row, ahead.back
        key, slot, due, missed = row["key"], from_us(row["slot_at"]), from_us(row["due_at"]), row["missed"] + others
        offset, attempts = row["offset_s"], row["attempts"]
        if back.passed:
            missed += back.count
            self._pass(row, back, str(MISSED.outcome), str(MISSED.reason), include_latest=False)
            slot = due = back.latest
            key, attempts, offset = slot_key(row["job_id"], slot), 0, offset_s(slot, row["timezone"])
            self._bulk[PLAN].append((key, row["job_id"], to_us(slot), to_us(slot), offset, "claimed", self._us))
        attempt = attempts + 1
        run = row["run_id"] if row["run_id"] and attempt == 1 else id_of_run(key, attempt)
        self._bulk[CLAIM].append((attempt, missed, key))
        self._bulk[RUN].append((run, key, row["job_id"], attempt, token, self._owner.id, self._us))
        late = (self.now - due).total_seconds()
        self._journal.append(
            "claimed",
            actor="gateway",
            job_id=row["job_id"],
            key=key,
            run_id=run,
            attempt=attempt,
            late_s=late,
            missed=missed,
        )
        return Claim(
            run_id=run,
            token=token,
            key=key,
            job_id=row["job_id"],
            attempt=attempt,
            trigger=row["trigger"],
            slot=slot,
            due=due,
            claimed_at=self.now,
            timezone=row["timezone"],
            offset_s=offset,
            missed=missed,
            input=row["input"],
            job=job,
        )

    def _pass(self, row: Row, back: Backlog, outcome: str, reason: str, *, include_latest: bool) -> None:
        """Write the slots that passed. The planned row becomes the first of them, or the span that stands for all."""
        spans = [(span.first, span.last, span.count) for span in back.passed]
        if include_latest and len(spans) == 1 and spans[0][2] > 1:
            first, _, count = spans[0]
            spans = [(first, back.latest, count + 1)]
        elif include_latest:
            spans.append((back.latest, back.latest, 1))
        for first, last, count in spans:
            key = slot_key(row["job_id"], first)
            if key != row["key"]:
                at = to_us(first)
                self._db.execute(
                    PLAN, (key, row["job_id"], at, at, offset_s(first, row["timezone"]), "planned", self._us)
                )
            several = count if count > 1 else None
            self._db.execute(SETTLE, (outcome, reason, self._us, to_us(last) if several else None, several, key))
            self._journal.append(outcome, actor="gateway", job_id=row["job_id"], key=key, reason=reason, slots=count)


def _astray(row: Row) -> bool:
    """Whether another slot of the job may be due: never so when the only row that it has is the one at its cursor."""
    return bool(row["ahead"]) or row["slot_at"] != row["cursor_at"]


def _rank(ahead: Ahead) -> tuple[int, int]:
    """The latest slot runs, by when it is due; of two that are due at once, the later slot."""
    latest = to_us(ahead.back.latest)
    return (latest if ahead.in_order else ahead.row["due_at"]), latest


def _candidate(row: Row, live_trigger: str | None) -> Candidate:
    return Candidate(
        trigger=row["trigger"],
        exception=row["exception"],
        removed=row["removed_at"] is not None,
        problem=json.loads(row["problem"])["message"] if row["problem"] else None,
        paused=paused_words(row["paused_at"], row["paused_by"], row["paused_reason"], row["enabled"]),
        live=live_trigger,
        closed=row["reason"],
        spent=row["counted"] if row["repeat_max"] is not None and row["counted"] >= row["repeat_max"] else None,
    )
