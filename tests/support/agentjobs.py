"""Agents' jobs on a store under test: what their runs ask for, are given, use and leave, step by step and without agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from horae.core.activity import Work
from horae.core.delivery import Addressee, Manner
from horae.core.equipment import Allowance, Given, Wish
from horae.core.model import Claim, End, Ending, Job, Owner
from tests.support.builders import START, a_job, a_result
from tests.support.stores import SqliteUnderTest

YEARLY = "0 0 1 1 *"
NOTHING = Allowance()
TODAY = START.replace(hour=0)


def an_agents_job(slug: str = "tides", **given: Any) -> Job:
    """A job that an agent works on, and that no slot of these days starts."""
    return a_job(slug, **{"agent": True, "script": None, "prompt": "high water?", "schedule": YEARLY, **given})


def a_wish(run: Allowance = NOTHING, job_day: Allowance = NOTHING, home_day: Allowance = NOTHING, **given: Any) -> Wish:
    values: dict[str, Any] = {"since": TODAY, "context_age_s": 86_400.0, "context_chars": 1000}
    return Wish(run, job_day, home_day, **(values | given))


def a_work(**given: Any) -> Work:
    values: dict[str, Any] = {"model": "small", "turns": 1, "input": 90, "output": 10, "usd": 0.01, "how": "done"}
    return Work(**(values | given))


class Fleet:
    """Runs of agents' jobs that a person orders, on one gateway."""

    def __init__(self, s: SqliteUnderTest, name: str = "g1") -> None:
        self.s = s
        self.owner: Owner = s.sign_on(name)
        self._count = 0

    def put(self, slug: str = "tides", *, frozen: str | None = "small", **given: Any) -> Job:
        job = an_agents_job(slug, **given)
        self.s.do(lambda tx: tx.jobs.upsert(job, signature="s", meaning="m", actor="test", frozen=frozen))
        return job

    def order(self, job: Job) -> str:
        self._count += 1
        run_id = f"{self._count:016}"
        self.s.do(lambda tx: tx.jobs.order_run(job.id, run_id=run_id, actor="anna", input=None))
        return run_id

    def claim(self, job: Job | None = None) -> Claim:
        """What is due, after an order of it where a job is named."""
        if job is not None:
            self.order(job)
        (claim,) = self.s.claim(self.owner)
        return claim

    def equip(self, claim: Claim, wish: Wish | None = None) -> Given:
        return self.s.do(lambda tx: tx.agents.equip(claim, wish or a_wish()))

    def start(self, claim: Claim) -> None:
        self.s.do(lambda tx: tx.runs.start(claim))

    def begun(self, job: Job | None = None, wish: Wish | None = None) -> Claim:
        """A run that is equipped and has started."""
        claim = self.claim(job)
        assert not self.equip(claim, wish).reasons
        self.start(claim)
        return claim

    def end(self, claim: Claim, event: str = "complete", message: str = "high water at noon", **given: Any) -> bool:
        """A run that is live ends; `work` is what its agent did."""
        work = given.pop("work", None) or a_work()
        to: Sequence[Addressee] = given.pop("to", ())
        retry_s = given.pop("retry_s", None)
        result = given.pop("result", a_result(work=work))
        reason = given.pop("reason", "it has answered")
        ending = Ending(event, reason, message, given.pop("alert", False), result, **given)
        end = End(claim, ending, tuple(to), tuple(to), Manner(), retry_s=retry_s)
        (left,) = self.s.do(lambda tx: tx.runs.conclude_all([end]))
        if isinstance(left, Exception):
            raise left
        return left

    def park(self, claim: Claim, again_s: float | None = 3600.0, how: str = "parked", **given: Any) -> bool:
        """It waits for a person's word on a call of a shell, or for its provider."""
        ask: Mapping[str, Any] | None = (
            {"tool": "run", "toolset": "shell", "args": "ls\n-l", "digest": "d1"} if how == "parked" else None
        )
        work = a_work(how=how, state='["so far"]', ask=ask, again_s=again_s, **given.pop("work", {}))
        reason = given.pop("reason", "it waits")
        return self.end(claim, "park", given.pop("message", ""), work=work, again_s=again_s, reason=reason, **given)

    def run(self, job: Job, wish: Wish | None = None, **end: Any) -> Claim:
        """A whole run."""
        claim = self.begun(job, wish)
        self.end(claim, **end)
        return claim

    def at(self, clock: datetime) -> None:
        self.s.clock.time = clock

    def row(self, claim: Claim, *columns: str) -> tuple[Any, ...]:
        found = self.s.run(claim.run_id)
        return tuple(found[name] for name in columns)

    def asks(self, *, open: bool = True) -> list[dict[str, Any]]:
        return self.s.reader().asks(open=open)
