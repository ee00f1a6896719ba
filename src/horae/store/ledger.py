"""Runs: the verbs of the engine on attempts. What each must guarantee is said in `ports.Runs`.

Invariants, held by the schema and by every UPDATE here naming the state and the token that it expects:
- one row per (job, slot), unique; one row per (occurrence, attempt), unique;
- at most one live run per occurrence; terminal rows are never written again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from sqlite3 import Connection, Row
from typing import Any

from horae.core.cadence import DAMAGE
from horae.core.definition import from_definition
from horae.core.instants import from_us, to_us
from horae.core.model import Claim, Ending, Job, Owner, Receipt
from horae.core.outcome import gist
from horae.core.states import RUN, live, sources, target, terminal
from horae.errors import Stale
from horae.ports import Orphan
from horae.store.catalogue import Catalogue
from horae.store.claiming import Claiming, reserve_tokens
from horae.store.journal import Journal
from horae.store.outbox import Outbox
from horae.store.rows import maybe

CLAIM_ROW = """
SELECT r.id, r.token, r.key, r.job_id, r.attempt, r.claimed_at, r.state,
       o.trigger, o.slot_at, o.due_at, o.offset_s, o.missed, o.input, j.slug, j.name, j.schedule, j.timezone, j.definition
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
        self._full = False

    def claim_due(self, owner: Owner, limit: int) -> list[Claim]:
        """Settle or claim every due occurrence, at most `limit`, and plan each job's next slot (see `claiming.py`)."""
        claiming = Claiming(self._db, self.now, self._journal, self._jobs, owner)
        claims = claiming.claim_due(limit)
        self._full = claiming.full
        return claims

    def next_due(self) -> datetime | None:
        """The earliest due instant after now; now itself when a full batch may have left some. What waits, waits for a run."""
        if self._full:
            return self.now
        row = self._db.execute("SELECT min(due_at) FROM occurrence WHERE state = 'planned' AND due_at > ?", (self._us,))
        return maybe(row.fetchone()[0])

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

    def finish(self, claim: Claim, ending: Ending, kept: Mapping[str, Receipt]) -> bool:
        """The run's terminal state, its output and its delivery rows, together. True when something is to be sent."""
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
        left = self._outbox.plan(claim, ending, kept)
        self._journal.append(
            target(RUN, ending.event),
            actor="gateway",
            job_id=claim.job_id,
            key=claim.key,
            run_id=claim.run_id,
            reason=ending.reason,
            took_s=None if started is None else (self._us - started) / 1e6,
            says=gist(ending)[:SAYS_CHARS],
        )
        return left

    def settle(self, claim: Claim) -> None:
        """The occurrence's outcome, from its finished run; the job completes if that was its last slot."""
        row = self._db.execute(
            "SELECT state FROM run WHERE id = ? AND token = ?", (claim.run_id, claim.token)
        ).fetchone()
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
            self._jobs.plan.count_run(claim.job_id, claim.key)
        self._jobs.plan.complete_if_done(claim.job_id)

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
            raise Stale(
                f"run {claim.run_id} cannot {event}: it is no longer ours or not {' or '.join(allowed)}",
                run=claim.run_id,
            )
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
            f"SELECT r.id, r.state, r.pid, r.pid_started, r.started_at, g.boot FROM run r JOIN gateway g ON g.id = r.gateway_id"
            f" WHERE r.gateway_id <> ? AND r.state IN ({', '.join('?' * len(states))})"
            " UNION ALL "
            "SELECT r.id, r.state, r.pid, r.pid_started, r.started_at, g.boot FROM occurrence o"
            " JOIN run r ON r.key = o.key AND r.attempt = o.attempts JOIN gateway g ON g.id = r.gateway_id"
            f" WHERE o.state = 'claimed' AND r.gateway_id <> ? AND r.state NOT IN ({', '.join('?' * len(states))})",
            (owner.id, *states, owner.id, *states),
        ).fetchall()
        return [Orphan(run, state, pid, born, maybe(started), boot) for run, state, pid, born, started, boot in rows]

    def adopt(self, run_id: str, owner: Owner) -> Claim:
        """Take such an attempt over: a new token, so that its former owner is stale from here on."""
        token = reserve_tokens(self._db, 1) + 1
        self._db.execute("UPDATE run SET token = ?, gateway_id = ? WHERE id = ?", (token, owner.id, run_id))
        cursor = self._db.cursor()
        cursor.row_factory = Row
        row = cursor.execute(CLAIM_ROW, (run_id,)).fetchone()
        self._outbox.recall(run_id, row["job_id"], row["key"])
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
            job=_job(row),
        )


def _job(row: Row) -> Job:
    """The run's job. Of a damaged definition what the row itself says, since the run must be ended all the same."""
    try:
        return from_definition(json.loads(row["definition"]))
    except DAMAGE:
        return Job(row["job_id"], row["slug"], row["name"], row["schedule"], row["timezone"])


def _streams(result: Any) -> tuple[str, str, int, int]:
    return result.stdout, result.stderr, result.stdout_cut, result.stderr_cut
