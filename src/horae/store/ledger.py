"""Runs: the verbs of the engine on attempts. What each must guarantee is said in `ports.Runs`.

Invariants, held by the schema and by every UPDATE here naming the state and the token that it expects:
- one row per (job, slot), unique; one row per (occurrence, attempt), unique;
- at most one live run per occurrence; terminal rows are never written again.

Starts and ends come in bursts, so their verbs take many at once and write them in a few statements. The number of rows
that a statement met tells whether all of them were still ours; only when it does not fit is each looked at by itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from horae.core.admission import early, not_again
from horae.core.cadence import DAMAGE, slots_of
from horae.core.delivery import Addressee
from horae.core.instants import to_us
from horae.core.model import Claim, End, Ending, Owner, Result, Terms
from horae.core.outcome import gist
from horae.core.retry import IN_THE_WAY, gives_way
from horae.core.states import RUN, sources, target, terminal
from horae.errors import Conflict, Stale
from horae.store.agentends import AgentEnds
from horae.store.catalogue import Catalogue
from horae.store.claiming import Claiming
from horae.store.claimrows import AFTERWARDS, candidate
from horae.store.database import Db
from horae.store.incidents import Incidents
from horae.store.journal import Journal
from horae.store.outbox import Outbox
from horae.store.owners import Owners
from horae.store.parking import PARK, Parking
from horae.store.plan import CHANGED
from horae.store.rows import maybe
from horae.store.successors import Successors
from horae.store.waiting import tell_waiting

START = "UPDATE run SET state = 'running', started_at = ? WHERE id = ? AND token = ? AND state = 'claimed'"
FINISH = (
    "UPDATE run SET state = ?, reason = ?, finished_at = ?, exit_code = ?, signal = ?, wall_s = ?, cpu_s = ?,"
    " peak_bytes = ?, out_bytes = ?, survivors = ?, proved = ?, files = ?, attachments = ?"
    " WHERE id = ? AND token = ? AND state = ?"
)
NOTHING_USED = "reserved_tokens = NULL, reserved_usd = NULL"
RELEASE = f"UPDATE run SET state = ?, reason = ?, finished_at = ?, started_at = NULL, {NOTHING_USED}"
CALL_OFF = (
    f"UPDATE run SET state = 'cancelled', reason = cancel_reason, finished_at = ?, started_at = NULL, {NOTHING_USED}"
    " WHERE cancel_reason IS NOT NULL"
)
OUTPUT = "INSERT INTO output (run_id, message, stdout, stderr, stdout_cut, stderr_cut) VALUES (?, ?, ?, ?, ?, ?)"
SETTLE = (
    "UPDATE occurrence SET state = 'settled', outcome = ?, reason = ?, settled_at = ?"
    " WHERE key = ? AND state = 'claimed' AND attempts = ?"
)
BACK = (
    "UPDATE occurrence SET state = 'planned', due_at = coalesce(?, due_at)"
    " WHERE key = ? AND state = 'claimed' AND attempts = ?"
)
ANEW = "UPDATE occurrence SET later = NULL WHERE key = ? AND later IS NOT NULL"
ASKED = (
    "SELECT id, state, cancel_reason FROM run"
    " WHERE gateway_id = ? AND cancel_reason IS NOT NULL AND state IN ('claimed', 'running')"
)
LAST = (
    "SELECT r.reason, o.trigger FROM run r JOIN occurrence o ON o.key = r.key"
    " WHERE r.key = ? AND r.started_at IS NOT NULL ORDER BY r.attempt DESC LIMIT 1"
)
CHANGED_SINCE = (
    "SELECT j.* FROM job j JOIN run r ON r.job_id = j.id"
    " WHERE r.id = ? AND r.claimed_at <= j.cadence_at AND j.removed_at IS NULL"
)
ANYWHERE = Terms()
CONTENDED = timedelta(milliseconds=100)  # a transaction elsewhere that is in the way is over by then
RESOLVED = {"completed": "vouch", "failed": "condemn", "rerun": "condemn"}  # what a person says → the event
SAYS_CHARS = 120  # of a message, in the journal: enough to recognise it


class Ledger(Owners):
    """The verbs on occurrences and runs, in one transaction."""

    def __init__(
        self, db: Db, now: datetime, journal: Journal, jobs: Catalogue, outbox: Outbox, incidents: Incidents
    ) -> None:
        super().__init__(db, now, journal, outbox)
        self._jobs = jobs
        self._incidents = incidents
        self._left = AgentEnds(db, now)
        self._parking = Parking(db, now, journal, jobs, outbox, self._left)
        self._successors = Successors(db, journal, jobs)
        self._full = self._contended = False

    def claim_due(self, owner: Owner, limit: int, terms: Terms = ANYWHERE) -> list[Claim]:
        """Settle or claim every due occurrence, at most `limit`, and plan each job's next slot (see `claiming.py`)."""
        claiming = Claiming(self._db, self.now, self._journal, self._jobs, owner, terms)
        claims = claiming.claim_due(limit)
        self._full, self._contended = claiming.full, claiming.contended
        return claims

    def next_due(self) -> datetime | None:
        """The earliest due instant after now; now itself when a full batch may have left some. What waits, waits for a run."""
        if self._full:
            return self.now
        row = self._db.execute("SELECT min(due_at) FROM occurrence WHERE state = 'planned' AND due_at > ?", (self._us,))
        due = maybe(row.fetchone()[0])
        soon = self.now + CONTENDED
        return min(due or soon, soon) if self._contended else due

    # ── run ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def start_all(self, claims: Sequence[Claim]) -> list[datetime | Stale]:
        """claimed → running. Committed before the process exists, so that nobody starts it again."""
        met = self._each(START, [(self._us, claim.run_id, claim.token) for claim in claims])
        for claim, ours in zip(claims, met, strict=True):
            if ours:
                self._journal.append(
                    "started", actor="gateway", job_id=claim.job_id, key=claim.key, run_id=claim.run_id
                )
        return [self.now if ours else _stale(claim, "start") for claim, ours in zip(claims, met, strict=True)]

    def start(self, claim: Claim) -> datetime:
        """The same of one."""
        return _or_raise(self.start_all([claim])[0])

    def note_process(self, claim: Claim, pid: int, pid_started: int) -> None:
        """Progress: which process it became."""
        self._db.execute(
            "UPDATE run SET pid = ?, pid_started = ? WHERE id = ? AND token = ? AND state = 'running'",
            (pid, pid_started, claim.run_id, claim.token),
        )

    def conclude_all(self, ends: Sequence[End]) -> list[bool | Stale]:
        """The runs' terminal states with their outputs and deliveries; their slots are settled, or due again.

        True for a run of which something is to be sent: that is no matter of the slot any more. One whose retry would be
        in vain is not tried again.
        """
        ends = [end if end.retry_s is None else self._unless_in_vain(end, end.retry_s) for end in ends]
        left = self._finish(ends)
        ours = [place for place, more in enumerate(left) if not isinstance(more, Stale)]
        parked = [place for place in ours if ends[place].ending.event == PARK]
        self._settle([ends[place] for place in ours if ends[place].retry_s is None and place not in parked])
        for place in ours:
            end = ends[place]
            if end.retry_s is not None:
                self._retry(end, end.retry_s)
            elif place in parked:
                left[place] = self._parking.park(end, outlived=self._outlived(end.claim))
        tell_waiting(self._db, [ends[place].claim.job_id for place in parked])
        return left

    def finish(self, claim: Claim, ending: Ending, to: Sequence[Addressee] = ()) -> bool:
        """One run's end, not settled yet. True when something is to be sent."""
        return _or_raise(self._finish([End(claim, ending, tuple(to), tuple(to))])[0])

    def settle(self, claim: Claim) -> None:
        """The occurrence's outcome, from its finished run; the job completes if that was its last slot."""
        row = self._db.execute(
            f"SELECT state, reason FROM run WHERE id = ? AND token = ?{self._db.for_update}",
            (claim.run_id, claim.token),
        ).fetchone()
        if row is None or (row["state"] not in terminal(RUN) and row["state"] != "unknown"):
            raise Stale(f"run {claim.run_id} is not ours to settle", run=claim.run_id)
        event = {"blocked": "block", "completed": "complete"}.get(row["state"], "fail")
        if not self._settle([End(claim, Ending(event, row["reason"], "", alert=False), ())])[0]:
            raise Stale(f"occurrence {claim.key} was settled by another owner", run=claim.run_id)

    def release(self, claim: Claim, reason: str) -> None:
        """Give back a claim of which nothing has begun: the slot is due again. If it was asked to end, it is over."""
        self._release(claim, "release", reason)

    def refuse(self, claim: Claim, reason: str) -> None:
        """The same of a run, started or not, whose machine had no room for its process: so nothing has begun."""
        self._release(claim, "refuse", reason)

    def _release(self, claim: Claim, event: str, reason: str) -> None:
        allowed = sources(RUN, event)
        which = f"id = ? AND token = ? AND state IN ({', '.join('?' * len(allowed))})"
        this = (claim.run_id, claim.token, *allowed)
        asked = self._db.execute(f"{CALL_OFF} AND {which} RETURNING reason", (self._us, *this)).fetchall()
        if asked:
            self._called_off(claim.run_id, claim.job_id, claim.key, claim.attempt, asked[0]["reason"])
            return
        met = self._db.execute(f"{RELEASE} WHERE {which}", (target(RUN, event), reason, self._us, *this))
        if met.rowcount != 1:
            raise _stale(claim, event)
        job_id, key = claim.job_id, claim.key
        self._journal.append("released", actor="gateway", job_id=job_id, key=key, run_id=claim.run_id, reason=reason)
        tell_waiting(self._db, [job_id])
        if not self._outlived(claim):
            self._db.execute(BACK, (None, key, claim.attempt))
            self._db.notify()  # it is due again, for whoever has room
            return
        outcome, why = self._unless_it_ran(job_id, key, "void", CHANGED)
        self._db.execute(SETTLE, (outcome, why, self._us, key, claim.attempt))
        self._journal.append(outcome, actor="gateway", job_id=job_id, key=key, reason=why)
        self._jobs.plan.complete_if_done(job_id)

    def _outlived(self, claim: Claim) -> bool:
        """Whether a slot that was claimed is none of its job's any more: its cadence was changed since."""
        if claim.trigger != "schedule":
            return False
        row = self._db.execute(CHANGED_SINCE, (claim.run_id,)).fetchone()
        if row is None:
            return False
        with suppress(*DAMAGE):  # of a schedule that cannot be read whoever claims next says so
            return not slots_of(row).contains(claim.slot)
        return False

    # ── asked to end ────────────────────────────────────────────────────────────────────────────────────────────────

    def ask_to_end(self, run_id: str, *, actor: str, reason: str) -> bool:
        """Note that a live run shall end; whoever owns it sees to that. False when it is not live, or was asked before.

        One that was given back to go on later is over at once.
        """
        met = self._db.execute(
            "UPDATE run SET cancel_reason = ? WHERE id = ? AND state IN ('claimed', 'running') AND cancel_reason IS NULL"
            " RETURNING job_id, key",
            (reason, run_id),
        ).fetchall()
        for job_id, key in met:
            self._journal.append("cancel_asked", actor=actor, job_id=job_id, key=key, run_id=run_id, reason=reason)
            self._db.notify()
        return bool(met) or self._parking.call_off(run_id, actor=actor, reason=reason)

    def asked_to_end(self, owner: Owner) -> list[tuple[str, str]]:
        """This owner's running attempts that shall end, each with the reason; one that has not begun is over at once."""
        asked = self._db.execute(ASKED, (owner.id,)).fetchall()
        for row in asked:
            if row["state"] == "claimed":
                self._call_off(owner, row["id"], row["cancel_reason"])
        return [(row["id"], row["cancel_reason"]) for row in asked if row["state"] == "running"]

    def _call_off(self, owner: Owner, run_id: str, reason: str) -> None:
        met = self._db.execute(
            f"UPDATE run SET state = 'cancelled', reason = ?, finished_at = ?, {NOTHING_USED}"
            " WHERE id = ? AND gateway_id = ? AND state = 'claimed' RETURNING job_id, key, attempt",
            (reason, self._us, run_id, owner.id),
        ).fetchall()
        for job_id, key, attempt in met:
            self._called_off(run_id, job_id, key, attempt, reason)

    def _called_off(self, run_id: str, job_id: str, key: str, attempt: int, reason: str) -> None:
        """What follows for the slot of a run that was called off before anything had begun."""
        outcome, why = self._unless_it_ran(job_id, key, "skipped", reason)
        self._db.execute(SETTLE, (outcome, why, self._us, key, attempt))
        tell_waiting(self._db, [job_id])
        self._journal.append("cancelled", actor="gateway", job_id=job_id, key=key, run_id=run_id, reason=reason)
        self._jobs.plan.complete_if_done(job_id)

    def _unless_it_ran(self, job_id: str, key: str, outcome: str, reason: str) -> tuple[str, str]:
        """What becomes of a slot whose attempt did not begin after all: an attempt before it may have run, and failed."""
        last = self._db.execute(LAST, (key,)).fetchone()
        if last is None:
            return outcome, reason
        if last["trigger"] == "schedule":
            self._jobs.plan.count_run(job_id, key)
        return "ran", not_again(last["reason"], reason)

    # ── what nobody knows ───────────────────────────────────────────────────────────────────────────────────────────

    def resolve(self, run_id: str, said: str, *, actor: str, reason: str | None, again: str | None) -> int:
        """A person's word on an unknown run; its slot stays accounted for as it was. Returns the journal's entry."""
        event = RESOLVED[said]
        words = f"resolved as {target(RUN, event)} by {actor}"
        words += f", ordered again as run {again}" if again else ""
        words += f": {reason}" if reason else ""
        (source,) = sources(RUN, event)
        met = self._db.execute(
            "UPDATE run SET state = ?, reason = ?, resolved_by = ?, resolved_at = ? WHERE id = ? AND state = ?"
            " RETURNING job_id, key",
            (target(RUN, event), words, actor, self._us, run_id, source),
        ).fetchall()
        if len(met) != 1:
            raise Conflict(f"run {run_id} is not {source} any more", "`horae runs` shows how it is now")
        ((job_id, key),) = met
        self._incidents.resolved(job_id, actor)
        told = {"as": said, "reason": reason, "again": again}
        return self._journal.append("resolved", actor=actor, job_id=job_id, key=key, run_id=run_id, **told)

    # ── in bulk ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _each(self, sql: str, rows: Sequence[Sequence[object]]) -> list[bool]:
        """One guarded update of one row for each of `rows`; says which of them met it."""
        if len(rows) < 2:
            return [self._db.execute(sql, row).rowcount == 1 for row in rows]
        self._db.execute("SAVEPOINT together")
        if self._db.executemany(sql, rows).rowcount == len(rows):
            self._db.execute("RELEASE together")
            return [True] * len(rows)
        self._db.execute("ROLLBACK TO together")
        self._db.execute("RELEASE together")
        return [self._db.execute(sql, row).rowcount == 1 for row in rows]

    def _finish(self, ends: Sequence[End]) -> list[bool | Stale]:
        met = self._each(FINISH, [self._last_words(end) for end in ends])
        noted = self._incidents.note_all([end for end, good in zip(ends, met, strict=True) if good])
        ours = [each.end for each in noted]
        self._db.executemany(OUTPUT, [(end.claim.run_id, *_streams(end.ending)) for end in ours])
        self._left.leave(ours)
        told = [
            replace(end, to=()) if end.ending.event == PARK else end for end in ours
        ]  # that has a message of its own
        left = iter(self._outbox.plan_all(told, [each.untold for each in noted], [each.incident_id for each in noted]))
        for end in ours:
            if end.ending.event != PARK:
                self._tell(end)
        return [
            next(left) if good else _stale(end.claim, end.ending.event) for end, good in zip(ends, met, strict=True)
        ]

    def _last_words(self, end: End) -> tuple[object, ...]:
        claim, ending, result = end.claim, end.ending, end.ending.result
        (source,) = sources(RUN, ending.event)
        how = _how_it_went(ending, result) if result else (None,) * 10
        return (target(RUN, ending.event), ending.reason, self._us, *how, claim.run_id, claim.token, source)

    def _tell(self, end: End) -> None:
        claim = end.claim
        self._journal.append(
            target(RUN, end.ending.event),
            actor="gateway",
            job_id=claim.job_id,
            key=claim.key,
            run_id=claim.run_id,
            reason=end.ending.reason,
            took_s=None if end.started is None else (self.now - end.started).total_seconds(),
            says=gist(end.ending)[:SAYS_CHARS],
        )

    def _settle(self, ends: Sequence[End]) -> list[bool]:
        """Occurrences whose runs have ended, and jobs that this completes. Says which were still open."""
        if not ends:
            return []
        met = self._each(
            SETTLE,
            [(_outcome(end), end.ending.reason, self._us, end.claim.key, end.claim.attempt) for end in ends],
        )
        settled = [end for end, good in zip(ends, met, strict=True) if good]
        for end in settled:
            if _outcome(end) == "ran" and end.claim.trigger == "schedule" and end.claim.job.repeat is not None:
                self._jobs.plan.count_run(end.claim.job_id, end.claim.key)
        self._jobs.plan.complete_done([end.claim.job_id for end in settled])
        agents = [end.claim.key for end in settled if end.claim.job.agent is not False]
        if agents:
            self._parking.forget(agents)
        self._successors.follow([end.claim for end in settled if end.ending.event == "complete"])
        tell_waiting(self._db, [end.claim.job_id for end in settled])
        return met

    def _unless_in_vain(self, end: End, after_s: float) -> End:
        """The end of an attempt that is to be tried again, or of the last one if that could not be: then it is told now."""
        claim, reason = end.claim, end.ending.reason
        row = self._db.execute(AFTERWARDS, (reason, claim.key)).fetchone()
        over = early(candidate(row))
        if over is not None:
            said = over.reason
        elif self._outlived(claim):
            said = not_again(reason, CHANGED)
        elif claim.trigger == "schedule" and gives_way(
            claim.job, self.now + timedelta(seconds=after_s), maybe(row["next_due"])
        ):
            said = not_again(reason, IN_THE_WAY)
        else:
            return end
        return replace(end, retry_s=None, ending=replace(end.ending, reason=said))

    def _retry(self, end: End, after_s: float) -> None:
        claim = end.claim
        due = to_us(self.now + timedelta(seconds=after_s))
        self._db.execute(BACK, (due, claim.key, claim.attempt))
        if claim.job.agent is not False:  # it begins anew, whatever it went on from
            self._db.execute(ANEW, (claim.key,))
            self._parking.forget([claim.key])
        tell_waiting(self._db, [claim.job_id])
        self._journal.append(
            "retry_planned", actor="gateway", job_id=claim.job_id, key=claim.key, run_id=claim.run_id, in_s=after_s
        )


def _outcome(end: End) -> str:
    return "blocked" if end.ending.event == "block" else "ran"


def _stale(claim: Claim, event: str) -> Stale:
    allowed = " or ".join(sources(RUN, event))
    return Stale(f"run {claim.run_id} cannot {event}: it is no longer ours or not {allowed}", run=claim.run_id)


def _or_raise(answer: Any) -> Any:
    if isinstance(answer, Stale):
        raise answer
    return answer


def _how_it_went(ending: Ending, result: Result) -> tuple[object, ...]:
    """How it ended, what it used, and what of it is kept as files."""
    used = result.used
    spent = (
        (used.wall_s, used.cpu_s, used.peak_bytes, used.out_bytes, used.survivors, int(used.proved))
        if used
        else (None,) * 6
    )
    attached = json.dumps(ending.attachments) if ending.attachments else None
    return (result.exit_code, result.signal, *spent, " ".join(result.files) or None, attached)


def _streams(ending: Ending) -> tuple[object, ...]:
    result = ending.result
    streams = (result.stdout, result.stderr, result.stdout_cut, result.stderr_cut) if result else ("", "", 0, 0)
    return (ending.message, *streams)
