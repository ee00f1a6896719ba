"""A gateway's steps by hand, one look at a time, on a store under test: for policies, where it matters when what happens."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from horae.core.exclusion import Calendar
from horae.core.model import Claim, End, Job, Owner, Terms
from horae.core.outcome import judge
from horae.core.retry import retry_delay
from tests.support.builders import a_job, a_result, addressed, at
from tests.support.stores import SqliteUnderTest, hhmm


class Hands:
    """One gateway, and the runs that it has begun."""

    def __init__(self, s: SqliteUnderTest, name: str = "g1", **terms: Any) -> None:
        self.s = s
        self.owner: Owner = s.sign_on(name)
        self.terms = Terms(**terms)
        self.claims: list[Claim] = []
        """Those that are live."""

    def put(self, slug: str = "tides", **given: Any) -> Job:
        """A job is taken in, or changed."""
        return self.s.put(a_job(slug, **given))

    def at(self, clock: str | datetime, limit: int = 1000) -> list[str]:
        """It is that time: look. What begins, as "08:01", or "tides 08:01" where there are several jobs."""
        return [self.called(claim) for claim in self.look(clock, limit)]

    def look(self, clock: str | datetime, limit: int = 1000) -> list[Claim]:
        """The same, with the claims."""
        self.s.clock.time = at(clock) if isinstance(clock, str) else clock
        found: list[Claim] = self.s.do(lambda tx: tx.runs.claim_due(self.owner, limit, self.terms))
        self.s.do(lambda tx: tx.runs.start_all(found))
        self.claims += found
        return found

    def called(self, claim: Claim) -> str:
        several = len(self.s.rows("SELECT 1 FROM job WHERE definition <> '' LIMIT 2")) > 1
        slot = "by hand" if claim.trigger == "manual" else f"{claim.slot:%H:%M}"
        return f"{claim.job.slug} {slot}" if several else slot

    def end(self, claim: Claim | None = None, **result: Any) -> bool:
        """A live run ends, the oldest without a name; as the engine would see to it. True when it is tried again."""
        claim = claim or self.claims[0]
        self.claims.remove(claim)
        ending = judge(claim.job.name, a_result(**result))
        again = retry_delay(claim.job, ending, claim.failures + 1, claim.key)
        self.s.do(lambda tx: tx.runs.conclude_all([End(claim, ending, addressed(claim, "local"), retry_s=again)]))
        return self.s.occurrence(claim.key)["state"] == "planned"

    def fail(self, claim: Claim | None = None) -> bool:
        """It fails."""
        return self.end(claim, exit_code=1)

    def order(self, job: Job, number: int = 1) -> str:
        """A person orders a run."""
        run_id = f"{number:016}"
        self.s.do(lambda tx: tx.jobs.order_run(job.id, run_id=run_id, actor="person", input=None))
        return run_id

    def exception(self, job: Job, clock: str, kind: str | None, to: str | None = None) -> None:
        due = at(to) if to else None
        self.s.do(lambda tx: tx.jobs.set_exception(job.id, at(clock), kind, due=due, actor="person"))

    # ── how things stand

    def outcomes(self, job: Job) -> dict[str, str]:
        """slot → outcome, or its state while it has none."""
        return {slot: outcome or state for slot, state, outcome in self.s.slots(job)}

    def reasons(self, job: Job) -> dict[str, str]:
        """slot → reason, of those that have one."""
        return {slot: reason for slot, _, _, reason in self.s.slots(job, "reason") if reason is not None}

    def held(self, job: Job) -> list[str]:
        return [slot for slot, state, _, reason in self.s.slots(job, "reason") if state == "planned" and reason]

    def waits_for(self, job: Job) -> dict[str, str]:
        """slot → what it is marked with."""
        rows = self.s.rows(
            "SELECT * FROM occurrence WHERE job_id = ? AND waits_for IS NOT NULL ORDER BY slot_at", job.id
        )
        return {hhmm(row["slot_at"]): row["waits_for"] for row in rows if row["state"] == "planned"}

    def told(self, job: Job, *whats: str) -> list[str]:
        """What the journal says about a job, in these words."""
        return [row["what"] for row in self.s.journal(*whats) if row["job_id"] == job.id]


def calendar(name: str, **given: Any) -> dict[str, Calendar]:
    """One exclusion calendar, by name."""
    return {name: Calendar(name, **given)}
