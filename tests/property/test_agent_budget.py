"""Budgets of agents under anything that runs, people, crashes and midnight may do: no day is ever overdrawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horae.core.equipment import Allowance
from horae.core.model import Claim, Owner
from horae.core.outcome import blocked, lost
from tests.support.agentjobs import Fleet, a_wish, a_work
from tests.support.builders import HOUR
from tests.support.stores import SqliteUnderTest
from tests.support.world import scratch

HOME, JOB, BOUND = 1000, 600, 50  # of a day, of a day of each job, of a call
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.sampled_from([0, 300, 5000])),
        st.tuples(st.just("begin"), st.sampled_from([0, 300, 5000])),
        st.tuples(st.just("calls"), st.integers(1, BOUND)),
        st.tuples(st.just("calls"), st.just(BOUND)),
        st.tuples(st.sampled_from(["hang", "finish", "fail", "park"]), st.integers(1, BOUND)),
        st.tuples(st.just("order"), st.integers(0, 2)),
        st.tuples(st.sampled_from(["look", "start", "give back", "crash"]), st.just(0)),
        st.tuples(st.just("equip"), st.sampled_from([0, 40, 300])),
        st.tuples(st.just("wait"), st.sampled_from([2, 5, 16])),
    ),
    min_size=10,
    max_size=40,
)


@dataclass
class Run:
    """An attempt, as its process knows it."""

    claim: Claim
    allowed: int = 0
    used: int = 0
    started: bool = False


class Play:
    """Three jobs, whose gateway may crash; the steps are carried out where they make sense, on the run that waits longest."""

    def __init__(self, s: SqliteUnderTest) -> None:
        self.s, self.fleet = s, Fleet(s)
        self.owner: Owner = self.fleet.owner
        self.jobs = [self.fleet.put(slug, overlap="allow") for slug in "abc"]
        self.claimed: list[Run] = []
        self.equipped: list[Run] = []
        self.running: list[Run] = []
        self.spent: Counter[tuple[Any, str]] = Counter()
        """What was really used, known or not: of the home and of each job, by day."""
        self.crashes = self.orders = 0

    def do(self, what: str, number: int) -> None:
        match what:
            case "begin":  # from the order to the start, as it goes when nothing happens in between
                self.orders += 1
                for step in (("order", self.orders % 3), ("look", 0), ("equip", number), ("start", 0)):
                    self.do(*step)
            case "calls":  # of all that run, until their limits if nothing ends them before
                for _ in range(12 * len(self.running)):
                    self.do("call", number)
            case "order":
                self.fleet.order(self.jobs[number])
            case "wait":
                self.s.clock.time += number * HOUR
            case "look":
                self.claimed += [Run(claim) for claim in self.s.claim(self.owner)]
            case "crash":
                self.crash()
            case "equip" if self.claimed:
                self.equip(self.claimed.pop(0), number)
            case "give back" if self.equipped:
                run = self.equipped.pop(0)
                self.s.do(lambda tx: tx.runs.release(run.claim, "no room"))
            case "start" if self.equipped:
                run = self.equipped.pop(0)
                self.fleet.start(run.claim)
                self.running.append(run)
            case "call" if self.running:
                run = self.running.pop(0)
                if run.used + BOUND <= run.allowed:  # what its meter looks at before each call
                    self.use(run, number)
                    run.used += number
                self.running.append(run)
            case "hang" | "finish" | "fail" | "park" if self.running:
                self.end(self.running.pop(0), what, number)
            case _:
                pass

    def equip(self, run: Run, own: int) -> None:
        midnight = self.s.clock.time.replace(hour=0)
        limit = Allowance(tokens=own or None)
        wish = a_wish(limit, Allowance(tokens=JOB), Allowance(tokens=HOME), since=midnight)
        given_ = self.fleet.equip(run.claim, wish)
        if given_.reasons:
            assert given_.allowance == Allowance()
            self.fleet.end(run.claim, "block", reason="; ".join(given_.reasons), result=blocked("A", ()).result)
            return
        assert given_.allowance.tokens is not None
        run.allowed = given_.allowance.tokens
        assert 0 < run.allowed <= (own or HOME // 4)
        self.equipped.append(run)

    def use(self, run: Run, tokens: int) -> None:
        day = self.s.clock.time.date()
        self.spent[day, "home"] += tokens
        self.spent[day, run.claim.job_id] += tokens

    def end(self, run: Run, what: str, number: int) -> None:
        hangs = what == "hang" and run.used + BOUND <= run.allowed
        if hangs:  # the answer never comes, and is paid for
            self.use(run, number)
        work = a_work(input=run.used, output=0, open_bound=BOUND if hangs else 0)
        if what == "park":
            self.fleet.park(run.claim, 3600.0, "held", work={"input": run.used, "output": 0})
        else:
            self.fleet.end(run.claim, "complete" if what == "finish" else "fail", work=work)

    def crash(self) -> None:
        """Another gateway finds what was left: what has not started is given back, of the rest nobody knows the end."""
        self.crashes += 1
        self.owner = self.fleet.owner = self.s.sign_on(f"g{self.crashes + 1}")
        for orphan, claim in self.s.take_over(self.owner):
            if orphan.state == "claimed":
                self.s.do(lambda tx, claim=claim: tx.runs.release(claim, "its gateway died"))
            else:
                self.s.do(lambda tx, claim=claim: tx.runs.finish(claim, lost("A", "nobody saw it end")))
                self.s.do(lambda tx, claim=claim: tx.runs.settle(claim))
        self.claimed, self.equipped, self.running = [], [], []

    def check(self) -> None:
        over = {key: spent for key, spent in self.spent.items() if spent > (HOME if key[1] == "home" else JOB)}
        assert not over, "a day is overdrawn"
        open_ = self.s.rows("SELECT * FROM run WHERE equipped_at IS NOT NULL AND finished_at IS NULL")
        assert len(open_) == len(self.equipped) + len(self.running)
        assert sum(row["reserved_tokens"] for row in open_) <= HOME
        assert not self.s.rows(
            "SELECT 1 FROM run WHERE started_at IS NULL AND finished_at IS NOT NULL AND reserved_tokens > 0"
        )


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_P14_no_day_is_ever_overdrawn(steps: list[tuple[str, int]]) -> None:
    with scratch() as folder:
        s = SqliteUnderTest(folder)
        play = Play(s)
        for what, number in steps:
            play.do(what, number)
            play.check()
        s.close()


def test_P14_the_play_reaches_the_end_of_a_budget() -> None:
    """Or the law above would hold for want of trying."""
    with scratch() as folder:
        s = SqliteUnderTest(folder)
        play = Play(s)
        for _ in range(12):
            for step in (("order", 0), ("order", 1), ("look", 0), *[("equip", 300)] * 2, *[("start", 0)] * 2):
                play.do(*step)
            for _ in range(20):
                play.do("call", BOUND)
            play.do("hang", BOUND)
            play.do("crash", 0)
            play.check()
        s.clock.time += timedelta(minutes=1)
        day = s.clock.time.date()
        assert play.spent[day, "home"] > HOME - 2 * BOUND
        states = Counter(row["state"] for row in s.rows("SELECT state FROM run"))
        assert states["blocked"] > 5
        assert states["unknown"] >= 1
        s.close()
