"""Claiming: every due occurrence is settled unrun, claimed, or left to wait, and its job's next slot is planned.

All due rows are read at once, the pure core decides about each, and the answers are written in bulk, so that a burst of
thousands costs one commit and a few statements. A job that can still fire has one ordinary planned row at its cursor
*before it is due*: whatever uses that row up plans the next one here, in the same transaction.

Rows that wait to be written in bulk are not in the database yet. Whatever asks the database about the same job must
write them first (`_flush`).
"""

from __future__ import annotations

import json
from datetime import datetime
from sqlite3 import Connection, Row

from horae.core.admission import Admission, Candidate, admit
from horae.core.catchup import Backlog, backlog
from horae.core.definition import from_definition
from horae.core.identity import run_id as id_of_run
from horae.core.identity import slot_key
from horae.core.model import Claim, Job, Owner
from horae.store.catalogue import Catalogue
from horae.store.journal import Journal
from horae.store.plan import DAMAGE, paused_words
from horae.store.rows import from_us, maybe, to_us
from horae.timing.zones import offset_s

DUE = """
SELECT o.key, o.job_id, o.trigger, o.slot_at, o.due_at, o.offset_s, o.exception, o.attempts, o.missed, o.run_id, o.input,
       j.schedule, j.timezone, j.anchor_at, j.cursor_at, j.problem, j.paused_at, j.paused_by, j.paused_reason, j.enabled,
       j.removed_at, j.definition, j.repeat_max, j.counted,
       (SELECT c.trigger FROM occurrence c WHERE c.job_id = o.job_id AND c.state = 'claimed' LIMIT 1) AS live,
       EXISTS (SELECT 1 FROM occurrence a WHERE a.job_id = o.job_id AND a.slot_at > o.slot_at AND a.run_id IS NULL) AS ahead
FROM occurrence o JOIN job j ON j.id = o.job_id
WHERE o.state = 'planned' AND o.due_at <= ? AND (o.due_at, o.key) > (?, ?)
ORDER BY o.due_at, o.key LIMIT ?
"""
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
        for row in rows:
            try:
                admission = admit(_candidate(row, self._live_now.get(row["job_id"]) or row["live"]))
                if admission.wait:
                    waited += 1
                    continue
                in_order = (
                    row["trigger"] == "schedule" and row["exception"] is None and row["slot_at"] == row["cursor_at"]
                )
                back, following = self._look_ahead(row) if in_order else (None, None)
                if not in_order:
                    _instants(row)
                job = from_definition(json.loads(row["definition"])) if admission.outcome is None else None
            except DAMAGE as error:  # nothing of this row has been written yet
                self._set_aside(row, error)
                continue
            if job is None:
                self._settle_unrun(row, admission, back)
            else:
                token += 1
                claims.append(self._claim(row, job, back, token))
                self._live_now[row["job_id"]] = row["trigger"]
            if in_order:
                self._plan(row, following)
            if job is None:
                self._jobs.plan.complete_if_done(row["job_id"])
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

    def _plan(self, row: Row, slot: datetime | None) -> None:
        """The job's next slot. The ordinary case goes into the bulk; a counted job, or one with rows ahead, asks first."""
        if slot is None or row["ahead"] or row["repeat_max"] is not None or row["removed_at"] is not None:
            self._flush()
            self._jobs.plan.plan_next(row["job_id"], after=max(self.now, from_us(row["slot_at"])))
            return
        key, at = slot_key(row["job_id"], slot), to_us(slot)
        self._bulk[PLAN].append((key, row["job_id"], at, at, offset_s(slot, row["timezone"]), "planned", self._us))
        self._bulk[CURSOR].append((at, row["job_id"]))
        self._jobs.plan.note_planned(row["job_id"], key, row["schedule"], row["timezone"])

    def _look_ahead(self, row: Row) -> tuple[Backlog, datetime | None]:
        """What has passed since the planned slot, and the first slot that is still to come."""
        slot = from_us(row["slot_at"])
        slots = self._jobs.plan.slots(row["schedule"], row["timezone"], row["anchor_at"])
        following = slots.next_after(slot)
        if following is None or following > self.now:
            return Backlog(slot, ()), following
        taken = self._db.execute(
            "SELECT slot_at FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND slot_at > ? AND slot_at <= ?",
            (row["job_id"], row["slot_at"], self._us),
        ).fetchall()
        return backlog(slots, slot, self.now, {from_us(value) for (value,) in taken}), slots.next_after(self.now)

    def _settle_unrun(self, row: Row, admission: Admission, back: Backlog | None) -> None:
        outcome, reason = str(admission.outcome), str(admission.reason)
        if back is not None and back.passed:
            self._pass(row, back, outcome, reason, include_latest=True)
            return
        self._db.execute(SETTLE, (outcome, reason, self._us, None, None, row["key"]))
        self._journal.append(outcome, actor="gateway", job_id=row["job_id"], key=row["key"], reason=reason)

    def _claim(self, row: Row, job: Job, back: Backlog | None, token: int) -> Claim:
        key, slot, due, missed = row["key"], from_us(row["slot_at"]), from_us(row["due_at"]), row["missed"]
        offset, attempts = row["offset_s"], row["attempts"]
        if back is not None and back.passed:
            missed += back.count
            self._pass(row, back, "missed", "nothing was running to start it in time", include_latest=False)
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


def _instants(row: Row) -> None:
    """Raise for a slot, or a cursor, that cannot be: a job whose cursor is nowhere would never plan again."""
    from_us(row["slot_at"])
    maybe(row["cursor_at"])


def _candidate(row: Row, live_trigger: str | None) -> Candidate:
    return Candidate(
        trigger=row["trigger"],
        exception=row["exception"],
        removed=row["removed_at"] is not None,
        problem=json.loads(row["problem"])["message"] if row["problem"] else None,
        paused=paused_words(row["paused_at"], row["paused_by"], row["paused_reason"], row["enabled"]),
        live=live_trigger,
        spent=row["counted"] if row["repeat_max"] is not None and row["counted"] >= row["repeat_max"] else None,
    )
