"""What a pass of claiming writes: ends, waits, claims and the next slots, collected and written in a few statements.

The order of the statements is that in which rows come into being: a slot has its row before anything is said of it.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import Any

from horae.core.admission import FOR_RUN
from horae.core.catchup import Open, Settled
from horae.core.identity import run_id as id_of_run
from horae.core.identity import slot_key
from horae.core.instants import to_us
from horae.core.model import Claim, Owner
from horae.core.states import OPEN
from horae.store.claimrows import LIVE, Found, outfitted
from horae.store.database import Db
from horae.store.journal import Journal
from horae.store.plan import SETTLE, Plan
from horae.store.waiting import FOR_GROUP, MARK_RUN, Groups
from horae.timing.zones import offset_s

PLAN = (
    "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, state, priority, planned_at)"
    " VALUES (?, ?, 'schedule', ?, ?, ?, ?, ?, ?)"
)
HOLD = "UPDATE occurrence SET reason = ?, missed = ?, waits_for = ? WHERE key = ? AND state = 'planned'"
MARK = "UPDATE occurrence SET reason = ?, waits_for = ? WHERE key = ? AND state = 'planned'"
CLAIM = (
    "UPDATE occurrence SET state = 'claimed', attempts = ?, missed = ?, reason = NULL, waits_for = NULL"
    " WHERE key = ? AND state IN ('planned', 'claimed')"
)
RUN = (
    "INSERT INTO run (id, key, job_id, attempt, token, gateway_id, state, due_at, claimed_at)"
    " VALUES (?, ?, ?, ?, ?, ?, 'claimed', ?, ?)"
)
CURSOR = "UPDATE job SET cursor_at = ? WHERE id = ?"
CANCEL = "UPDATE run SET cancel_reason = ? WHERE id = ? AND state IN ('claimed', 'running') AND cancel_reason IS NULL"
IN_WRITING_ORDER = (PLAN, SETTLE, HOLD, MARK, CLAIM, RUN, CURSOR)
TOKENS = 100  # that are taken at once when more runs begin than rows were read


class Writes:
    """What one pass has decided, on its way into the database."""

    def __init__(self, db: Db, now: datetime, journal: Journal, plan: Plan, owner: Owner, groups: Groups) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._journal = journal
        self._planner = plan
        self._owner = owner
        self._groups = groups
        self.claims: list[Claim] = []
        self.live: dict[str, str] = {}
        """Job → the trigger of what began in this pass; of several, `schedule`."""
        self.done = 0
        """How many slots and orders were settled or claimed."""
        self.waits = False
        """Whether a row has begun to wait."""
        self._ended: set[str] = set()  # jobs of which a slot ended
        self._tokens: deque[int] = deque()
        self._bulk: dict[str, list[tuple[object, ...]]] = {sql: [] for sql in IN_WRITING_ORDER}

    def expect(self, rows: int) -> None:
        """So many rows will be decided about: most of them need a token."""
        self._tokens.extend(self._db.next_tokens(rows))

    def flush(self) -> None:
        """Write what was collected."""
        for sql, rows in self._bulk.items():
            if rows:
                self._db.executemany(sql, rows)
                rows.clear()

    def finish(self) -> None:
        """The same, and complete the jobs that this has brought to their end."""
        self.flush()
        if self._ended:
            self._planner.complete_done([*self._ended])
            self._ended.clear()

    def live_runs(self, job_id: str) -> list[Any]:
        """What of a job is claimed, by now."""
        if job_id in self.live:
            self.flush()
        return self._db.execute(LIVE, (job_id,)).fetchall()

    def carry_out(self, found: Found) -> None:
        """Write what was decided."""
        answers = found.answers
        for settled in answers.settled:
            self._settle(found, settled)
        stands_for = iter((answers.missed,))  # the first one to start, else to be held
        for each in answers.start:
            self._claim(found, each, next(stands_for, 0))
        if answers.hold or answers.stay:
            mark, words = self._obstacle(found, started=bool(answers.start))
            for each, reason in answers.hold:
                self._hold(found, each, reason, mark, next(stands_for, 0))
            for each in answers.stay:
                self._stay(found, each, mark, words)
        if answers.cancel is not None:
            self._cancel(found.row["job_id"], answers.cancel)
        if found.cursor is not None and all(each.begin != found.cursor for each in answers.stay):
            self._plan(found, found.cursor)

    def set_aside(self, row: Any, error: Exception) -> None:
        """One damaged record harms only itself: its slot is blocked, its job set aside until its file is read again."""
        reason = self._planner.set_aside(row["job_id"], error)
        self._db.execute(SETTLE, ("blocked", reason, self._us, None, None, row["key"]))
        self._journal.append("blocked", actor="gateway", job_id=row["job_id"], key=row["key"], reason=reason)
        self.done += 1

    # ── one by one ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _obstacle(self, found: Found, *, started: bool) -> tuple[str | None, str | None]:
        """What keeps the rows of a job from starting now: its mark, and in words."""
        group, job = found.row["concurrency_group"], found.job
        if (found.busy or started) and job is not None and job.overlap != "allow":
            return MARK_RUN, FOR_RUN
        full = self._groups.full(group)
        return (None, None) if full is None else (f"{FOR_GROUP}{group}", full)

    def _settle(self, found: Found, settled: Settled) -> None:
        """One row, or the row that stands for many, ends unrun."""
        some, outcome, reason, job_id = settled.open, settled.outcome, settled.reason, found.row["job_id"]
        key = self._row_for(found, some.begin, some, "planned")
        several = some.count if some.count > 1 else None
        to = to_us(some.slot) if several else None
        self._bulk[SETTLE].append((outcome, reason, self._us, to, several, key))
        told: dict[str, Any] = {"slots": some.count} if len(found.answers.settled) > 1 or several else {}
        self._journal.append(outcome, actor="gateway", job_id=job_id, key=key, reason=reason, **told)
        if outcome == "ran" and found.row["trigger"] == "schedule" and found.row["repeat_max"] is not None:
            self._planner.count_run(job_id, key)
        self._ended.add(job_id)
        self.done += 1

    def _row_for(self, found: Found, slot: datetime, some: Open, state: str) -> str:
        """The key of a slot, which gets a row if it has none."""
        row, of = found.rows.get(slot), found.row
        if row is not None:
            return row["key"]
        key, at, due = slot_key(of["job_id"], slot), to_us(slot), to_us(slot + (some.due - some.slot))
        offset = offset_s(slot, of["timezone"])
        self._bulk[PLAN].append((key, of["job_id"], at, due, offset, state, of["priority"], self._us))
        return key

    def _claim(self, found: Found, some: Open, missed: int) -> None:
        """A run begins."""
        row, of = found.rows.get(some.slot), found.row
        assert found.job is not None, "whoever lets a run begin has read its job"
        job_id, timezone, missed = of["job_id"], of["timezone"], missed + some.missed
        key = self._row_for(found, some.slot, some, "claimed")
        attempt = 1 if row is None else row["attempts"] + 1
        run = row["run_id"] if row is not None and row["run_id"] and attempt == 1 else id_of_run(key, attempt)
        if not self._tokens:
            self.expect(TOKENS)
        token = self._tokens.popleft()
        self._bulk[CLAIM].append((attempt, missed, key))
        self._bulk[RUN].append((run, key, job_id, attempt, token, self._owner.id, to_us(some.due), self._us))
        late = (self.now - some.due).total_seconds()
        self._journal.append(
            "claimed", actor="gateway", job_id=job_id, key=key, run_id=run, attempt=attempt, late_s=late, missed=missed
        )
        claim = Claim(
            run_id=run,
            token=token,
            key=key,
            job_id=job_id,
            attempt=attempt,
            trigger=of["trigger"],
            slot=some.slot,
            due=some.due,
            claimed_at=self.now,
            timezone=timezone,
            offset_s=offset_s(some.slot, timezone) if row is None else row["offset_s"],
            missed=missed,
            input=None if row is None else row["input"],
            job=outfitted(found.job, of if row is None else row),
            replay=None if row is None else row["replay_of"],
            failures=0 if row is None else row["failures"],
            cause=None if row is None else row["cause"],
        )
        self.claims.append(claim)
        self.live[job_id] = max(self.live.get(job_id, ""), claim.trigger)
        self._groups.take(of["concurrency_group"])
        self.done += 1

    def _hold(self, found: Found, some: Open, reason: str, mark: str | None, missed: int) -> None:
        """From now on the slot waits, and its job goes on without it."""
        key, missed = self._row_for(found, some.slot, some, "planned"), missed + some.missed
        self._bulk[HOLD].append((reason, missed, mark, key))
        told: dict[str, Any] = {"missed": missed} if missed else {}
        self._journal.append("held", actor="gateway", job_id=found.row["job_id"], key=key, reason=reason, **told)
        self.waits = True

    def _stay(self, found: Found, some: Open, mark: str | None, words: str | None) -> None:
        """It goes on waiting where it is; the row says for what, so that nobody looks at it in vain."""
        row = found.rows.get(some.begin)
        if row is None or mark == row["waits_for"] or some.due > self.now:
            return
        self._bulk[MARK].append((words if some.held and words else row["reason"], mark, row["key"]))
        if row["waits_for"] is None and not some.held:
            self._journal.append("waiting", actor="gateway", job_id=row["job_id"], key=row["key"], reason=words)
        self.waits = True

    def _cancel(self, job_id: str, reason: str) -> None:
        """The scheduled runs of a job that are live shall end; whoever owns them sees to that."""
        for run in self.live_runs(job_id):
            if run["trigger"] != "schedule" or not can_be_asked(run):
                continue
            if self._db.execute(CANCEL, (reason, run["id"])).rowcount == 1:
                told = {"key": run["key"], "run_id": run["id"], "reason": reason}
                self._journal.append("cancel_asked", actor="gateway", job_id=job_id, **told)
                self._db.notify()

    def _plan(self, found: Found, cursor: datetime) -> None:
        """The job's next slot. The ordinary case goes into the bulk; a counted job, or one with rows ahead, asks first."""
        row, slot, used = found.row, found.following, found.rows[cursor]
        if slot is None or used["ahead"] or row["repeat_max"] is not None or row["removed_at"] is not None:
            self.flush()
            self._planner.plan_next(row["job_id"], after=found.after)
            return
        key, at, job_id = slot_key(row["job_id"], slot), to_us(slot), row["job_id"]
        due, offset = at + used["due_at"] - used["slot_at"], offset_s(slot, row["timezone"])
        self._bulk[PLAN].append((key, job_id, at, due, offset, "planned", row["priority"], self._us))
        self._bulk[CURSOR].append((at, job_id))
        self._planner.note_planned(job_id, key, row["schedule"], row["timezone"])


def can_be_asked(run: Any) -> bool:
    """Whether a live run can still be asked to end."""
    return run["state"] in OPEN and run["cancel_reason"] is None
