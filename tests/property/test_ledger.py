"""The ledger under anything that people and time may do to one job: after each step its plan is whole."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horae.errors import Refused
from tests.support.builders import MINUTE, a_job, addressed, an_ending, us
from tests.support.stores import SqliteUnderTest
from tests.support.world import scratch

JOB = a_job("tides")
EVERY = {minutes: a_job("tides", schedule=f"*/{minutes} * * * *") for minutes in (1, 5, 20)}
OVERLAPPED = "SELECT key FROM occurrence WHERE reason = 'the previous run was still going' ORDER BY key"
MINUTE_US = 60_000_000
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(1, 200)),
        st.tuples(st.just("skip"), st.integers(-3, 8)),
        st.tuples(st.just("move"), st.integers(-3, 8)),
        st.tuples(st.just("clear"), st.integers(-3, 8)),
        st.tuples(st.just("edit"), st.sampled_from(sorted(EVERY))),
        st.tuples(
            st.sampled_from(["claim", "start", "end", "release", "pause", "resume", "order", "back", "remove"]),
            st.just(0),
        ),
    ),
    max_size=30,
)


class Play:
    """One job, one owner; the steps are carried out where they make sense."""

    def __init__(self, s: SqliteUnderTest) -> None:
        self.s, self.owner, self.claims, self.running = s, s.sign_on(), [], []
        self.latest = s.clock.time
        self.ordered = 0
        self.removed, self.minutes, self.since = False, 1, s.clock.time
        self.eras: list[tuple[int, int, int]] = []  # (minutes, since, until) of the schedules so far
        self.strides: dict[str, int] = {}  # of a span's row: how many minutes its slots are apart
        s.put(EVERY[1])

    def turn(self, minutes: int | None) -> None:
        """The schedule becomes another, or (None) the job goes."""
        s, now = self.s, self.s.clock.time
        if minutes is None:
            s.do(lambda tx: tx.jobs.remove(JOB.id, actor="person", reason="gone"))
        else:
            s.put(EVERY[minutes])
        self.note()
        if not self.removed:
            self.eras.append((self.minutes, us(self.since), us(now)))
        self.removed, self.minutes, self.since = minutes is None, minutes or self.minutes, now

    def note(self) -> None:
        """Of each new span how far its slots are apart, and whether it counts them right."""
        for row in self.s.rows("SELECT * FROM occurrence WHERE span_to IS NOT NULL"):
            if row["key"] not in self.strides:
                self.strides[row["key"]] = self.minutes * MINUTE_US
                own = {at["slot_at"] for at in self.s.rows("SELECT slot_at FROM occurrence WHERE trigger = 'schedule'")}
                assert len(self.stands_for(row, own)) == row["span_count"], "a span counts wrong"

    def stands_for(self, row: dict[str, Any], own: set[int]) -> list[int]:
        """The slots of a row: its own, and those up to the end of its span that have no row."""
        first, last = row["slot_at"], row["span_to"] or row["slot_at"]
        stride = self.strides.get(row["key"], MINUTE_US)
        return [slot for slot in range(first, last + 1, stride) if slot == first or slot not in own]

    def do(self, what: str, number: int) -> None:
        s = self.s
        slot = s.clock.time.replace(second=0, microsecond=0) + number * MINUTE
        if self.removed and what in ("skip", "move", "clear", "pause", "resume", "order"):
            return
        forward = s.clock.time >= self.latest  # after a step back, slots of the past may come a second time
        match what:
            case "edit" if forward and (self.removed or number != self.minutes):
                self.turn(number)
            case "remove" if forward and not self.removed:
                self.turn(None)
            case "pass":
                s.clock.time += timedelta(seconds=17 * number)
            case "back":
                s.clock.time -= timedelta(minutes=9)
            case "claim":
                free = not s.rows("SELECT 1 FROM occurrence WHERE state = 'claimed'")
                before = s.rows(OVERLAPPED)
                self.claims += s.claim(self.owner)
                assert not free or s.rows(OVERLAPPED) == before, "skipped for a run that was not going"
            case "start" if self.claims:
                self.running.append(self.claims.pop())
                s.do(lambda tx: tx.runs.start(self.running[-1]))
            case "release" if self.claims:
                claim = self.claims.pop()
                s.do(lambda tx: tx.runs.release(claim, "why"))
            case "end" if self.running:
                claim = self.running.pop()
                s.do(lambda tx: tx.runs.finish(claim, an_ending(), addressed(claim)))
                s.do(lambda tx: tx.runs.settle(claim))
            case "skip" | "move" | "clear" if us(slot) % (self.minutes * MINUTE_US) == 0:
                kind = None if what == "clear" else what
                due = s.clock.time + timedelta(seconds=95) if what == "move" else None
                with suppress(Refused):
                    s.do(lambda tx: tx.jobs.set_exception(JOB.id, slot, kind, due=due, actor="person"))
            case "pause":
                s.do(lambda tx: tx.jobs.pause(JOB.id, actor="person", reason=None))
            case "resume":
                s.do(lambda tx: tx.jobs.resume(JOB.id, actor="person"))
            case "order":
                self.ordered += 1
                run_id = f"{self.ordered:016}"
                s.do(lambda tx: tx.jobs.order_run(JOB.id, run_id=run_id, actor="person", input=None))
        self.latest = max(self.latest, s.clock.time)
        self.note()

    def check(self) -> None:
        rows = self.s.rows("SELECT * FROM occurrence WHERE trigger = 'schedule' ORDER BY slot_at")
        own = {row["slot_at"] for row in rows}
        covered: Counter[int] = Counter()
        for row in rows:
            covered.update(self.stands_for(row, own))
        (job,) = self.s.rows("SELECT * FROM job")
        if self.removed:
            assert job["cursor_at"] is None
            assert all(row["state"] != "planned" or row["attempts"] for row in rows), "a removed job has a plan"
        cursor: Any = [row for row in rows if row["slot_at"] == job["cursor_at"]]
        assert self.removed or [(row["state"], row["exception"]) for row in cursor] == [("planned", None)], "no plan"
        assert set(covered.values()) <= {1}, "a slot is accounted for twice"
        eras = self.eras if self.removed else [*self.eras, (self.minutes, us(self.since), job["cursor_at"])]
        for minutes, since, until in eras:
            stride = minutes * MINUTE_US
            slots = range(since - since % stride + stride, until + 1, stride)
            assert all(covered[slot] for slot in slots), (
                "a slot before the cursor, or of an earlier schedule, has no row"
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
