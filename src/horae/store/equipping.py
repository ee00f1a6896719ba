"""What a claimed run of an agent may use, reserved before it starts, and what earlier runs have left for it.

`run.reserved_tokens` and `.reserved_usd` are what a run counts for in the budgets of its job and its home, so that a budget
is one sum over an index: its reservation while it is open, what it used once it has ended and that is known, the whole
reservation where nobody knows, nothing where nothing had begun. A day counts what is open, whenever it began, and what has
ended since the day began: a run over midnight counts for both, so no day is overdrawn by it.

Left is the cap less that sum. A run gets the smallest of its own limit, and what is left of its job's day and its home's;
without a limit of its own no more than `DAY_SHARE` of a day's cap. Where nothing is left nothing is reserved. A run that goes
on from where another one was has of its own limit what that one has left: to wait is no way to more.

Two that reserve at once must not both take the last of it. On SQLite writers take turns. On PostgreSQL whoever reserves
under a cap writes the one row of `budget` first, which holds it until the commit: the next one waits, and its sums, which
are read in statements of their own, then show what the first one has reserved.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from horae.core.equipment import Allowance, Earlier, Given, Wish
from horae.core.instants import from_us, to_us
from horae.core.model import Claim
from horae.errors import Stale
from horae.limits import DAY_SHARE
from horae.store.database import Db

OURS = (
    "SELECT equipped_at, reserved_tokens, reserved_usd FROM run"
    " WHERE id = ? AND token = ? AND state = 'claimed'{for_update}"
)
TURN = "INSERT INTO budget (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at"
RESERVE = (
    "UPDATE run SET equipped_at = ?, reserved_tokens = ?, reserved_usd = ?, model = ?"
    " WHERE id = ? AND token = ? AND state = 'claimed'"
)
SUMS = """
SELECT coalesce(sum(s.reserved_tokens), 0) AS tokens, coalesce(sum(s.reserved_usd), 0) AS usd,
  coalesce(sum(CASE WHEN s.live = 1 THEN s.reserved_tokens END), 0) AS live_tokens,
  coalesce(sum(CASE WHEN s.live = 1 THEN s.reserved_usd END), 0) AS live_usd,
  coalesce(sum(s.live), 0) AS live
FROM (
  SELECT reserved_tokens, reserved_usd, 1 AS live FROM run
  WHERE equipped_at IS NOT NULL AND finished_at IS NULL{of_job}
  UNION ALL
  SELECT reserved_tokens, reserved_usd, 0 AS live FROM run
  WHERE equipped_at IS NOT NULL AND finished_at >= :since{of_job}
) s
"""
OF_JOB = " AND job_id = :job"
BEFORE = """
SELECT coalesce(sum(turns), 0) AS turns, coalesce(sum(reserved_tokens), 0) AS tokens,
  coalesce(sum(reserved_usd), 0) AS usd
FROM run WHERE key = :key AND state = 'released' AND attempt > (
  SELECT coalesce(max(attempt), 0) FROM run WHERE key = :key AND state NOT IN ('claimed', 'running', 'released'))
"""  # since it began, or began anew
HELD = "SELECT coalesce(max(held), 0) FROM run WHERE key = ?"
MEANT = """
SELECT id, name FROM job WHERE id IN (
  SELECT id FROM job WHERE id = :ref
  UNION SELECT id FROM job WHERE slug = :ref AND removed_at IS NULL
  UNION SELECT id FROM job WHERE name = :ref AND removed_at IS NULL
  UNION SELECT id FROM job WHERE slug = :ref AND removed_at IS NOT NULL
  UNION SELECT id FROM job WHERE name = :ref AND removed_at IS NOT NULL)
ORDER BY id <> :ref, removed_at IS NOT NULL, state = 'completed', removed_at DESC LIMIT 1
"""  # each has an index of its own
RESULT = """
SELECT r.id, r.finished_at, u.message FROM run r JOIN output u ON u.run_id = r.id JOIN occurrence o ON o.key = r.key
WHERE r.job_id = ? AND r.state = 'completed' AND r.claimed_at >= ? AND r.finished_at >= ? AND u.message <> ''
  AND o.replay_of IS NULL ORDER BY r.claimed_at DESC, r.attempt DESC LIMIT 1
"""
NOTES = "SELECT key, value FROM notepad WHERE job_id = ? ORDER BY key"
BASELINE = "SELECT sha256, text FROM watched WHERE job_id = ?"
PROMPT = "SELECT text FROM agent_prompt WHERE run_id = ?"
FROM_WHERE = """
SELECT m.state, m.ask_id, a.decision, a.decided_by, a.reason, a.body FROM resume m LEFT JOIN ask a ON a.id = m.ask_id
WHERE m.key = ?
"""
EXPIRE = (
    "UPDATE ask SET decided_at = ?, decision = 'expired', decided_by = 'gateway', reason = ?"
    " WHERE id = ? AND decided_at IS NULL"
)
NOBODY = "nobody answered in time"
LONGEST = timedelta(days=7)  # that a run takes whose result is of use: what was claimed earlier is not looked at
THIS, HOME = "this job", "all agents here"
LEAST_USD = 1e-6  # less is nothing, but for how sums of such numbers come out


class Day(NamedTuple):
    """A budget of a day, and what of it is taken."""

    whose: str
    cap: Allowance
    tokens: int
    usd: float
    live_tokens: int
    live_usd: float
    live: int
    """How many runs are open."""


class Equipping:
    """The verb, in one transaction."""

    def __init__(self, db: Db, now: datetime) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)

    def equip(self, claim: Claim, wish: Wish) -> Given:
        """Reserve what a claimed run may use, and gather what it is given. Raises Stale."""
        capped = any(cap != Allowance(turns=cap.turns) for cap in (wish.job_day, wish.home_day))
        if capped:
            self._db.execute(TURN, (self._us,))
        sql = OURS.format(for_update=self._db.for_update)
        row = self._db.execute(sql, (claim.run_id, claim.token)).fetchone()
        if row is None:
            raise Stale(f"run {claim.run_id} cannot be equipped: it is no longer ours or not claimed", run=claim.run_id)
        own = self._own(claim, wish.run)
        if row["equipped_at"] is not None:
            allowance = Allowance(own.turns, row["reserved_tokens"], row["reserved_usd"])
            return self._gather(claim, wish, allowance)
        days = (
            []
            if not capped
            else [self._day(THIS, wish.job_day, wish, claim.job_id), self._day(HOME, wish.home_day, wish)]
        )
        reasons = tuple(says for day in days for says in _used_up(day, wish.since))
        given = self._gather(claim, wish, Allowance())
        if reasons or given.reasons:
            return Given(reasons=(*reasons, *given.reasons))
        tokens = _share(own.tokens, [(day.cap.tokens, day.tokens) for day in days])
        usd = _share(own.usd, [(day.cap.usd, day.usd) for day in days])
        allowance = Allowance(own.turns, None if tokens is None else max(1, int(tokens)), usd)
        row = (self._us, allowance.tokens, usd, claim.job.model, claim.run_id, claim.token)
        self._db.execute(RESERVE, row)
        return replace(given, allowance=allowance)

    def _own(self, claim: Claim, run: Allowance) -> Allowance:
        """What is left of a run's own limit: all of it, unless it goes on."""
        used = self._db.execute(BEFORE, {"key": claim.key}).fetchone()
        return Allowance(
            None if run.turns is None else max(0, run.turns - int(used["turns"])),
            None if run.tokens is None else max(0, run.tokens - int(used["tokens"])),
            None if run.usd is None else max(0.0, run.usd - float(used["usd"])),
        )

    def _day(self, whose: str, cap: Allowance, wish: Wish, job_id: str | None = None) -> Day:
        args: dict[str, object] = {"since": to_us(wish.since)}
        if job_id is not None:
            args["job"] = job_id
        row = self._db.execute(SUMS.format(of_job="" if job_id is None else OF_JOB), args).fetchone()
        return Day(
            whose,
            cap,
            int(row["tokens"]),
            float(row["usd"]),
            int(row["live_tokens"]),
            float(row["live_usd"]),
            int(row["live"]),
        )

    # ── what earlier runs have left

    def _gather(self, claim: Claim, wish: Wish, allowance: Allowance) -> Given:
        notes = dict(self._db.execute(NOTES, (claim.job_id,)).fetchall())
        state, decision = self._from_where(claim)
        (held,) = self._db.execute(HELD, (claim.key,)).fetchone()
        if claim.replay is not None:
            row = self._db.execute(PROMPT, (claim.replay,)).fetchone()
            if row is None:
                return Given(reasons=(f"the prompt of run {claim.replay} was pruned: it cannot be replayed any more",))
            return Given(allowance, (), notes, None, state, decision, held, row["text"])
        lacking = self._lacking(claim.job.context_from)
        if lacking:
            return Given(reasons=lacking)
        context = self.context(claim.job_id, claim.job.context_from, wish)
        row = self._db.execute(BASELINE, (claim.job_id,)).fetchone()
        baseline = None if row is None else (row["sha256"], row["text"])
        return Given(allowance, context, notes, baseline, state, decision, held)

    def context(self, job_id: str, refs: Sequence[str], wish: Wish) -> tuple[Earlier, ...]:
        """What the jobs that a job names have said last, in its order; those that have said nothing are left out."""
        return tuple(filter(None, (self._result(job_id, ref, wish) for ref in refs)))

    def _lacking(self, refs: Sequence[str]) -> tuple[str, ...]:
        """Of the jobs that a job names those that never were."""
        unknown = [ref for ref in refs if ref != "self" and self._db.execute(MEANT, {"ref": ref}).fetchone() is None]
        return tuple(f"context_from: there is no job {ref!r}" for ref in unknown)

    def _result(self, job_id: str, ref: str, wish: Wish) -> Earlier | None:
        """The newest result of a job; of one that is completed or removed too."""
        ref = job_id if ref == "self" else ref
        job = self._db.execute(MEANT, {"ref": ref}).fetchone()
        if job is None:
            return None
        oldest = self.now - timedelta(seconds=wish.context_age_s)
        row = self._db.execute(RESULT, (job["id"], to_us(oldest - LONGEST), to_us(oldest))).fetchone()
        if row is None:
            return None
        text, most = row["message"], wish.context_chars
        if len(text) > most:
            text = f"{text[:most]}\n… (cut: {len(row['message'])} characters in all; run {row['id']} has the rest)"
        return Earlier(job["name"], row["id"], from_us(row["finished_at"]), text)

    def _from_where(self, claim: Claim) -> tuple[str | None, dict[str, Any] | None]:
        """From where a slot goes on that was begun, and what was decided about what it asked."""
        row = self._db.execute(FROM_WHERE, (claim.key,)).fetchone()
        if row is None:
            return None, None
        if row["ask_id"] is None or row["body"] is None:
            return row["state"], None
        digest = json.loads(row["body"]).get("digest")
        if row["decision"] is None:
            self._db.execute(EXPIRE, (self._us, NOBODY, row["ask_id"]))
            return row["state"], {"approved": False, "by": None, "reason": NOBODY, "digest": digest}
        by = None if row["decision"] == "expired" else row["decided_by"]
        approved = row["decision"] == "approved"
        return row["state"], {"approved": approved, "by": by, "reason": row["reason"], "digest": digest}


def _share(own: float | None, days: list[tuple[float | None, float]]) -> Any:
    """What a run gets of one kind; None: no limit."""
    least = [] if own is None else [own]
    for cap, used in days:
        if cap is not None:
            least.append(cap - used if own is not None else min(cap - used, cap * DAY_SHARE))
    return min(least, default=None)


def _used_up(day: Day, since: datetime) -> list[str]:
    """Why nothing of a day's budget is left, in words, of each kind that has a cap."""
    found: list[str] = []
    for kind, cap, used, live, say, least in (
        ("token", day.cap.tokens, day.tokens, day.live_tokens, _amount, 1),
        ("money", day.cap.usd, day.usd, day.live_usd, _dollars, LEAST_USD),
    ):
        if cap is None or cap - used >= least:
            continue
        runs = "1 live run" if day.live == 1 else f"{day.live} live runs"
        reserved = f" ({say(live)} of it reserved by {runs})" if live else ""
        again = (since + timedelta(days=1)).isoformat(timespec="minutes")
        whose = f"the {kind} budget of the day for {day.whose} is used up"
        found.append(f"{whose}: {say(used)} of {say(cap)}{reserved}; it begins again at {again}")
    return found


def _amount(tokens: float) -> str:
    """Tokens as people write them."""
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f}{letter}"
    return f"{tokens:.0f}"


def _dollars(usd: float) -> str:
    return f"${usd:.2f}"
