"""The ledger under anything that people and time may do to one job: after each step its plan is whole."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horae.errors import Refused
from tests.support.builders import MINUTE, START, a_job, an_ending, us
from tests.support.stores import SqliteUnderTest
from tests.support.world import scratch

JOB = a_job("tides")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(1, 200)),
        st.tuples(st.just("skip"), st.integers(-3, 8)),
        st.tuples(st.just("move"), st.integers(-3, 8)),
        st.tuples(st.just("clear"), st.integers(-3, 8)),
        st.tuples(
            st.sampled_from(["claim", "start", "end", "release", "pause", "resume", "order", "back"]), st.just(0)
        ),
    ),
    max_size=30,
)


class Play:
    """One job, one owner; the steps are carried out where they make sense."""

    def __init__(self, s: SqliteUnderTest) -> None:
        self.s, self.owner, self.claims, self.running = s, s.sign_on(), [], []
        self.latest = s.clock.time
        s.put(JOB)

    def do(self, what: str, number: int) -> None:
        s = self.s
        slot = s.clock.time.replace(second=0, microsecond=0) + number * MINUTE
        match what:
            case "pass":
                s.clock.time += timedelta(seconds=17 * number)
            case "back":
                s.clock.time -= timedelta(minutes=9)
            case "claim":
                self.claims += s.claim(self.owner)
            case "start" if self.claims:
                self.running.append(self.claims.pop())
                s.do(lambda tx: tx.runs.start(self.running[-1]))
            case "release" if self.claims:
                claim = self.claims.pop()
                s.do(lambda tx: tx.runs.release(claim, "why"))
            case "end" if self.running:
                claim = self.running.pop()
                s.do(lambda tx: tx.runs.finish(claim, an_ending(), {}))
                s.do(lambda tx: tx.runs.settle(claim))
            case "skip" | "move" | "clear":
                kind = None if what == "clear" else what
                due = s.clock.time + timedelta(seconds=95) if what == "move" else None
                with suppress(Refused):
                    s.do(lambda tx: tx.jobs.set_exception(JOB.id, slot, kind, due=due, actor="person"))
            case "pause":
                s.do(lambda tx: tx.jobs.pause(JOB.id, actor="person", reason=None))
            case "resume":
                s.do(lambda tx: tx.jobs.resume(JOB.id, actor="person"))
            case "order":
                run_id = f"{len(s.rows('SELECT 1 FROM occurrence')):016}"
                s.do(lambda tx: tx.jobs.order_run(JOB.id, run_id=run_id, actor="person", input=None))
        self.latest = max(self.latest, s.clock.time)

    def check(self) -> None:
        rows = self.s.rows("SELECT * FROM occurrence WHERE trigger = 'schedule' ORDER BY slot_at")
        own = {row["slot_at"] for row in rows}
        covered: Counter[int] = Counter()
        for row in rows:
            last = row["span_to"] or row["slot_at"]
            for slot in range(row["slot_at"], last + 1, 60_000_000):
                covered[slot] += slot == row["slot_at"] or slot not in own
        (job,) = self.s.rows("SELECT * FROM job")
        cursor: Any = [row for row in rows if row["slot_at"] == job["cursor_at"]]
        assert [(row["state"], row["exception"]) for row in cursor] == [("planned", None)], "no plan"
        assert set(covered.values()) == {1}
        first, reached = us(START + MINUTE), job["cursor_at"]
        assert all(covered[slot] for slot in range(first, reached + 1, 60_000_000)), (
            "a slot before the cursor has no row"
        )
        live = self.s.rows("SELECT count(*) AS n FROM run WHERE state IN ('claimed', 'running')")[0]["n"]
        assert live <= 1, "two at once"


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_P1_P2_whatever_happens_the_plan_is_whole(steps: list[tuple[str, int]]) -> None:
    with scratch() as folder:
        s = SqliteUnderTest(folder)
        try:
            play = Play(s)
            for what, number in steps:
                play.do(what, number)
                play.check()
        finally:
            s.close()
