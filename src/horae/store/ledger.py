"""Occurrences and runs: the verbs of the engine. What each must guarantee is said in `ports.Runs`.

Invariants, held by the schema and by every UPDATE here naming the state and the token that it expects:
- one row per (job, slot), unique; one row per (occurrence, attempt), unique;
- at most one live run per occurrence; terminal rows are never written again;
- a job that can still fire has one ordinary planned row at its cursor, *before it is due*.

`claim_due` reads every due row at once, asks the pure core about each, and writes the answers in bulk: a burst of
thousands costs one commit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from sqlite3 import Connection, Row
from typing import Any

from horae.core.admission import Admission, Candidate, admit
from horae.core.catchup import Backlog, backlog
from horae.core.identity import run_id as id_of_run
from horae.core.identity import slot_key
from horae.core.jobfile import from_definition
from horae.core.model import Claim, Ending, Owner
from horae.core.states import RUN, live, sources, target, terminal
from horae.errors import Stale
from horae.ports import Orphan
from horae.store.catalogue import Catalogue, paused_words
from horae.store.journal import Journal
from horae.store.outbox import Outbox
from horae.store.rows import from_us, maybe, to_us
from horae.timing.zones import offset_s

DUE = """
SELECT o.key, o.job_id, o.trigger, o.slot_at, o.due_at, o.offset_s, o.exception, o.attempts, o.missed, o.run_id, o.input,
       j.schedule, j.timezone, j.anchor_at, j.cursor_at, j.problem, j.paused_at, j.paused_by, j.paused_reason, j.enabled,
       j.removed_at, j.definition,
       (SELECT c.trigger FROM occurrence c WHERE c.job_id = o.job_id AND c.state = 'claimed' LIMIT 1) AS live
FROM occurrence o JOIN job j ON j.id = o.job_id
WHERE o.state = 'planned' AND o.due_at <= ?
ORDER BY o.due_at, o.key LIMIT ?
"""
CLAIM_ROW = """
SELECT r.id, r.token, r.key, r.job_id, r.attempt, r.claimed_at, r.state,
       o.trigger, o.slot_at, o.due_at, o.offset_s, o.missed, o.input, j.timezone, j.definition
FROM run r JOIN occurrence o ON o.key = r.key JOIN job j ON j.id = r.job_id WHERE r.id = ?
"""


SAYS_CHARS = 120  # of a message, in the journal: enough to recognise it


class Ledger:
    """The verbs on occurrences and runs, in one transaction."""

    def __init__(self, db: Connection, now: datetime, journal: Journal, jobs: Catalogue) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._journal = journal
        self._jobs = jobs
        self._outbox = Outbox(db, now, journal)

    # ── plan and claim ──────────────────────────────────────────────────────────────────────────────────────────────

    def claim_due(self, owner: Owner, limit: int) -> list[Claim]:
        """Settle or claim every due occurrence, at most `limit`, and plan each job's next slot."""
        cursor = self._db.cursor()
        cursor.row_factory = Row
        rows = cursor.execute(DUE, (self._us, limit)).fetchall()
        if not rows:
            return []
        token = self._tokens(len(rows))
        live_now: dict[str, str] = {}
        claims: list[Claim] = []
        for row in rows:
            admission = admit(self._candidate(row, live_now.get(row["job_id"]) or row["live"]))
            if admission.wait:
                continue
            in_order = row["trigger"] == "schedule" and row["exception"] is None and row["slot_at"] == row["cursor_at"]
            back = self._backlog(row) if in_order else None
            if admission.outcome is not None:
                self._settle_unrun(row, admission, back)
            else:
                token += 1
                claims.append(self._claim(row, back, owner, token))
                live_now[row["job_id"]] = row["trigger"]
            if in_order:
                self._jobs.plan_next(row["job_id"], after=max(self.now, from_us(row["slot_at"])))
            if admission.outcome is not None:
                self._jobs.complete_if_done(row["job_id"])
        return claims

    def next_due(self) -> datetime | None:
        """The earliest due instant after now. What is due and waits is looked at again when a run ends."""
        row = self._db.execute("SELECT min(due_at) FROM occurrence WHERE state = 'planned' AND due_at > ?", (self._us,))
        return maybe(row.fetchone()[0])

    def _tokens(self, count: int) -> int:
        """Reserve fencing numbers; they only rise. Returns the last one before the reserved ones."""
        (value,) = self._db.execute(
            "INSERT INTO fence (id, token) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET token = token + ? RETURNING token",
            (count, count),
        ).fetchone()
        return int(value) - count

    def _candidate(self, row: Row, live_trigger: str | None) -> Candidate:
        problem = json.loads(row["problem"])["message"] if row["problem"] else None
        return Candidate(
            trigger=row["trigger"],
            exception=row["exception"],
            removed=row["removed_at"] is not None,
            problem=problem,
            paused=paused_words(row["paused_at"], row["paused_by"], row["paused_reason"], row["enabled"]),
            live=live_trigger,
        )

    def _backlog(self, row: Row) -> Backlog:
        slot = from_us(row["slot_at"])
        slots = self._jobs.slots(row["schedule"], row["timezone"], row["anchor_at"])
        following = slots.next_after(slot)
        if following is None or following > self.now:
            return Backlog(slot, ())
        taken = self._db.execute(
            "SELECT slot_at FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND slot_at > ? AND slot_at <= ?",
            (row["job_id"], row["slot_at"], self._us),
        ).fetchall()
        return backlog(slots, slot, self.now, {from_us(value) for (value,) in taken})

    def _settle_unrun(self, row: Row, admission: Admission, back: Backlog | None) -> None:
        outcome, reason = admission.outcome, admission.reason
        if back is not None and back.passed:
            self._pass(row, back, str(outcome), str(reason), include_latest=True)
            return
        self._db.execute(
            "UPDATE occurrence SET state = 'settled', outcome = ?, reason = ?, settled_at = ? WHERE key = ? AND state = 'planned'",
            (outcome, reason, self._us, row["key"]),
        )
        self._journal.append(str(outcome), actor="gateway", job_id=row["job_id"], key=row["key"], reason=reason)

    def _claim(self, row: Row, back: Backlog | None, owner: Owner, token: int) -> Claim:
        key, slot, due, missed = row["key"], from_us(row["slot_at"]), from_us(row["due_at"]), row["missed"]
        offset, attempts = row["offset_s"], row["attempts"]
        if back is not None and back.passed:
            missed += back.count
            self._pass(row, back, "missed", "nothing was running to start it in time", include_latest=False)
            slot = due = back.latest
            key, attempts, offset = slot_key(row["job_id"], slot), 0, offset_s(slot, row["timezone"])
            self._insert(row["job_id"], key, slot, offset, "claimed")
        attempt = attempts + 1
        run = row["run_id"] if row["run_id"] and attempt == 1 else id_of_run(key, attempt)
        self._db.execute(
            "UPDATE occurrence SET state = 'claimed', attempts = ?, missed = ? WHERE key = ?", (attempt, missed, key)
        )
        self._db.execute(
            "INSERT INTO run (id, key, job_id, attempt, token, gateway_id, state, claimed_at)"
            " VALUES (?, ?, ?, ?, ?, ?, 'claimed', ?)",
            (run, key, row["job_id"], attempt, token, owner.id, self._us),
        )
        late = (self.now - due).total_seconds()
        self._journal.append(
            "claimed", actor="gateway", job_id=row["job_id"], key=key, run_id=run, attempt=attempt, late_s=late, missed=missed
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
            job=from_definition(json.loads(row["definition"])),
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
                self._insert(row["job_id"], key, first, offset_s(first, row["timezone"]), "planned")
            self._db.execute(
                "UPDATE occurrence SET state = 'settled', outcome = ?, reason = ?, settled_at = ?, span_to = ?, span_count = ?"
                " WHERE key = ? AND state = 'planned'",
                (outcome, reason, self._us, to_us(last) if count > 1 else None, count if count > 1 else None, key),
            )
            self._journal.append(outcome, actor="gateway", job_id=row["job_id"], key=key, reason=reason, slots=count)

    def _insert(self, job_id: str, key: str, slot: datetime, offset: int, state: str) -> None:
        self._db.execute(
            "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, state, planned_at)"
            " VALUES (?, ?, 'schedule', ?, ?, ?, ?, ?)",
            (key, job_id, to_us(slot), to_us(slot), offset, state, self._us),
        )

    # ── run ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, claim: Claim) -> None:
        """claimed → running. Committed before the process exists, so that nobody starts it again."""
        self._move(claim, "start", started_at=self._us)
        self._journal.append("started", actor="gateway", job_id=claim.job_id, key=claim.key, run_id=claim.run_id)

    def note_process(self, claim: Claim, pid: int, pid_started: int) -> None:
        """Progress: which process it became."""
        self._db.execute(
            "UPDATE run SET pid = ?, pid_started = ? WHERE id = ? AND token = ? AND state = 'running'",
            (pid, pid_started, claim.run_id, claim.token),
        )

    def finish(self, claim: Claim, ending: Ending) -> None:
        """The run's terminal state, its output and its delivery rows, together."""
        result = ending.result
        started = self._move(
            claim,
            ending.event,
            reason=ending.reason,
            finished_at=self._us,
            exit_code=result.exit_code if result else None,
            signal=result.signal if result else None,
        )
        self._db.execute(
            "INSERT INTO output (run_id, message, stdout, stderr, stdout_cut, stderr_cut) VALUES (?, ?, ?, ?, ?, ?)",
            (claim.run_id, ending.message, *(_streams(result) if result else ("", "", 0, 0))),
        )
        self._outbox.plan(claim, ending)
        self._journal.append(
            target(RUN, ending.event),
            actor="gateway",
            job_id=claim.job_id,
            key=claim.key,
            run_id=claim.run_id,
            reason=ending.reason,
            took_s=None if started is None else (self._us - started) / 1e6,
            says=ending.message.split("\n", 1)[0][:SAYS_CHARS],
        )

    def settle(self, claim: Claim) -> None:
        """The occurrence's outcome, from its finished run; the job completes if that was its last slot."""
        row = self._db.execute("SELECT state FROM run WHERE id = ? AND token = ?", (claim.run_id, claim.token)).fetchone()
        if row is None or row[0] not in terminal(RUN):
            raise Stale(f"run {claim.run_id} is not ours to settle", run=claim.run_id)
        outcome = "blocked" if row[0] == "blocked" else "ran"
        done = self._db.execute(
            "UPDATE occurrence SET state = 'settled', outcome = ?, reason ="
            " (SELECT reason FROM run WHERE id = ?), settled_at = ? WHERE key = ? AND state = 'claimed' AND attempts = ?",
            (outcome, claim.run_id, self._us, claim.key, claim.attempt),
        )
        if done.rowcount != 1:
            raise Stale(f"occurrence {claim.key} was settled by another owner", run=claim.run_id)
        if outcome == "ran" and claim.trigger == "schedule":
            self._jobs.count_run(claim.job_id)
        self._jobs.complete_if_done(claim.job_id)

    def release(self, claim: Claim, reason: str) -> None:
        """Give back a claim that has started nothing: the slot is due again."""
        self._move(claim, "release", reason=reason, finished_at=self._us)
        self._db.execute(
            "UPDATE occurrence SET state = 'planned' WHERE key = ? AND state = 'claimed' AND attempts = ?",
            (claim.key, claim.attempt),
        )
        self._journal.append(
            "released", actor="gateway", job_id=claim.job_id, key=claim.key, run_id=claim.run_id, reason=reason
        )

    def _move(self, claim: Claim, event: str, **columns: Any) -> int | None:
        """The one guarded update of a run: token and expected state, or `Stale`. Returns when it was started."""
        allowed = sources(RUN, event)
        assign = ", ".join(f"{name} = ?" for name in columns)
        done = self._db.execute(
            f"UPDATE run SET state = ?, {assign} WHERE id = ? AND token = ? AND state IN ({', '.join('?' * len(allowed))})"
            " RETURNING started_at",
            (target(RUN, event), *columns.values(), claim.run_id, claim.token, *allowed),
        ).fetchall()
        if len(done) != 1:
            raise Stale(f"run {claim.run_id} cannot {event}: it is no longer ours or not {' or '.join(allowed)}", run=claim.run_id)
        return done[0][0]

    # ── owners and what they leave behind ───────────────────────────────────────────────────────────────────────────

    def sign_on(self, owner: Owner, version: str) -> None:
        """A gateway begins to own claims."""
        self._db.execute(
            "INSERT INTO gateway (id, host, boot, pid, pid_started, version, since_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (owner.id, owner.host, owner.boot, owner.pid, owner.pid_started, version, self._us),
        )
        self._journal.append("gateway_started", actor="gateway", pid=owner.pid, version=version)

    def sign_off(self, owner: Owner) -> None:
        """It has stopped of its own will."""
        self._db.execute("UPDATE gateway SET stopped_at = ? WHERE id = ?", (self._us, owner.id))
        self._journal.append("gateway_stopped", actor="gateway", pid=owner.pid)

    def orphans(self, owner: Owner) -> list[Orphan]:
        """Attempts that an earlier owner left claimed, running, or finished but unsettled."""
        states: Sequence[str] = live(RUN)
        rows = self._db.execute(
            f"SELECT r.id, r.state, r.pid, r.pid_started, g.boot FROM run r JOIN gateway g ON g.id = r.gateway_id"
            f" WHERE r.gateway_id <> ? AND r.state IN ({', '.join('?' * len(states))})"
            " UNION ALL "
            "SELECT r.id, r.state, r.pid, r.pid_started, g.boot FROM occurrence o"
            " JOIN run r ON r.key = o.key AND r.attempt = o.attempts JOIN gateway g ON g.id = r.gateway_id"
            f" WHERE o.state = 'claimed' AND r.gateway_id <> ? AND r.state NOT IN ({', '.join('?' * len(states))})",
            (owner.id, *states, owner.id, *states),
        ).fetchall()
        return [Orphan(*row) for row in rows]

    def adopt(self, run_id: str, owner: Owner) -> Claim:
        """Take such an attempt over: a new token, so that its former owner is stale from here on."""
        token = self._tokens(1) + 1
        self._db.execute("UPDATE run SET token = ?, gateway_id = ? WHERE id = ?", (token, owner.id, run_id))
        cursor = self._db.cursor()
        cursor.row_factory = Row
        row = cursor.execute(CLAIM_ROW, (run_id,)).fetchone()
        self._outbox.recall(run_id, {"local"})
        return Claim(
            run_id=run_id,
            token=token,
            key=row["key"],
            job_id=row["job_id"],
            attempt=row["attempt"],
            trigger=row["trigger"],
            slot=from_us(row["slot_at"]),
            due=from_us(row["due_at"]),
            claimed_at=from_us(row["claimed_at"]),
            timezone=row["timezone"],
            offset_s=row["offset_s"],
            missed=row["missed"],
            input=row["input"],
            job=from_definition(json.loads(row["definition"])),
        )


def _streams(result: Any) -> tuple[str, str, int, int]:
    return result.stdout, result.stderr, result.stdout_cut, result.stderr_cut
