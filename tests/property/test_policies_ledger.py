"""The policies in the ledger against a naive reckoning: all slots of a job in one list, each with what became of it.

The oracle knows no rows, cursors, spans, marks or batches. It goes by the sentences of docs/guide/job-files.md, slot by
slot, and says after each look which slots begin, for how many others, which wait, and how each one has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, get_args
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horae.core import admission, catchup
from horae.core.exclusion import Calendar, Hours
from horae.core.model import CatchUp, Claim, Job, Overlap, Retries
from horae.core.outcome import judge
from horae.core.retry import retry_delay
from horae.core.spread import spread_offset_s
from tests.property import test_ledger as ledger
from tests.support.builders import MINUTE, START, a_job, a_result, us
from tests.support.policies import Hands
from tests.support.stores import SqliteUnderTest
from tests.support.world import scratch

EVERY = 7 * MINUTE
SCHEDULE = "every 7 minutes from 2026-03-02T08:07:00+00:00"
ROWS_MAX, ALL_MAX, QUEUE_MAX, GRACE = 7, 5, 3, timedelta(seconds=60)
WINDOWS = ((500, 520), (530, 550), (600, 690), (720, 1000))  # minutes of the day
QUIET = {"quiet": Calendar("quiet", hours=tuple(Hours(first, last, "quiet") for first, last in WINDOWS))}
FAILED = judge("", a_result(exit_code=1))
RESULTS: dict[str, Any] = {
    "ok": {}, "fail": {"exit_code": 1}, "cancel": {"exit_code": None, "signal": 15, "ended_by": "cancelled by anna"},
}  # fmt: skip


@contextmanager
def small_limits() -> Iterator[None]:
    """So that what happens beyond them happens often."""
    with (
        mock.patch.object(catchup, "MISSED_ROWS_MAX", ROWS_MAX),
        mock.patch.object(catchup, "CATCH_UP_ALL_MAX", ALL_MAX),
        mock.patch.object(admission, "QUEUE_MAX", QUEUE_MAX),
    ):
        yield


@dataclass(eq=False)
class Slot:
    """One slot, or a run that a person ordered."""

    at: datetime
    due: datetime
    state: str = "ahead"
    """ahead, open, held, live, retry; or its outcome."""
    missed: int = 0
    failures: int = 0
    decided: str | None = None
    blocked_by: str | None = None
    """What it waits for: nobody looks at it before that is over."""
    asked: bool = False
    ordered: bool = False

    @property
    def turn(self) -> tuple[datetime, datetime]:
        return self.due, self.at


@dataclass
class Oracle:
    """One job, and a group with a neighbour."""

    job: Job
    room: int
    slots: list[Slot] = field(default_factory=list)
    orders: list[Slot] = field(default_factory=list)
    paused: bool = False
    neighbour: int = 0

    def __post_init__(self) -> None:
        self.off = timedelta(seconds=spread_offset_s(self.job.id, self.job.spread_s))
        self.reach(START + timedelta(days=2))

    def reach(self, end: datetime) -> None:
        at = START + EVERY
        while at <= end:
            self.slots.append(Slot(at, at + self.off))
            at += EVERY

    def of(self, *states: str) -> list[Slot]:
        return [slot for slot in self.slots if slot.state in states]

    @property
    def live(self) -> tuple[list[Slot], list[Slot]]:
        return self.of("live"), [order for order in self.orders if order.state == "live"]

    def busy(self) -> bool:
        return any(self.live)

    def full(self) -> bool:
        return self.job.group is not None and len(self.live[0]) + len(self.live[1]) + self.neighbour >= self.room

    # ── what people do

    def person(self, what: str, slot: Slot, due: datetime) -> None:
        """Skips, moves, or takes it back."""
        slot.decided = {"skip": "skip", "move": "move"}.get(what)
        slot.due = due if what == "move" else slot.at + self.off
        slot.blocked_by = None
        if slot.state == "held":
            slot.state = "open"

    def pause(self) -> None:
        self.paused = True
        for slot in self.slots:
            slot.blocked_by = None

    def resume(self, now: datetime) -> None:
        for slot in self.of("ahead", "open", "held", "retry"):
            if slot.due <= now:
                slot.state = "ran" if slot.state == "retry" else "skipped"
        self.paused = False

    # ── a look

    def look(self, now: datetime) -> list[tuple[datetime | None, int, int]]:
        """(slot, how many it stands for, attempt) of each that begins."""
        self.come_due(now)
        for slot in [slot for slot in self.slots if slot.due <= now and slot.state in ("open", "held", "retry")]:
            if self.hidden(slot):
                continue
            if slot.decided == "skip" or self.paused:
                slot.state = "ran" if slot.state == "retry" else "skipped"
        begun: list[tuple[datetime | None, int, int]] = []
        waiting = [o for o in self.orders if o.state == "open" and o.due <= now and not self.hidden(o)]
        seen = [slot for slot in self.of("open", "held", "retry") if slot.due <= now and not self.hidden(slot)]
        turns: list[tuple[datetime, Slot | None]] = [(order.due, order) for order in waiting]
        if seen:
            turns.append((min(slot.due for slot in seen), None))
        for _, order in sorted(turns, key=lambda turn: turn[0]):
            begun += self.by_hand(order) if order is not None else self.decide(now)
        return begun

    def come_due(self, now: datetime) -> None:
        in_place = [slot for slot in self.of("open") if slot.blocked_by is not None and slot.decided is None]
        for slot in self.of("ahead"):
            if slot.due <= now:
                slot.state = "open"
                if in_place and slot.decided is None:  # nobody has planned it: it stands behind the one that waits
                    slot.blocked_by = in_place[0].blocked_by

    def hidden(self, slot: Slot) -> bool:
        return (slot.blocked_by == "run" and self.busy()) or (slot.blocked_by == "group" and self.full())

    def by_hand(self, order: Slot) -> list[tuple[datetime | None, int, int]]:
        if self.busy() and self.job.overlap != "allow":
            order.blocked_by = "run"
        elif self.full():
            order.blocked_by = "group"
        else:
            order.state, order.blocked_by = "live", None
            return [(None, 0, order.failures + 1)]
        return []

    def decide(self, now: datetime) -> list[tuple[datetime | None, int, int]]:
        job, (scheduled, manual) = self.job, self.live
        some = sorted(
            (s for s in self.of("open", "held", "retry") if s.due <= now or s.state == "retry"), key=lambda s: s.turn
        )
        if job.overlap == "skip" and scheduled:
            for slot in some:
                if slot.state == "open":
                    slot.state = "skipped"
            self.mark(now)
            return []
        if job.overlap == "skip" and (manual or self.full()) and job.catch_up != "skip":
            self.mark(now)
            return []
        ended: list[Slot] = []
        kept = self.caught_up(some, now, ended)
        retries = [slot for slot in kept if slot.state == "retry"]
        if job.overlap in ("skip", "queue_one", "cancel_running") and len(retries) < len(kept):
            for slot in retries:
                slot.state = "ran"
            kept = [slot for slot in kept if slot.state != "ran"]
        ready = [slot for slot in kept if slot.due <= now]
        start: list[Slot] = []
        if job.overlap == "allow":
            while ready and not self.full():
                start.append(ready.pop(0))
                start[-1].state = "live"
        elif not scheduled and not manual and not self.full() and ready:
            start.append(ready.pop(-1 if job.overlap == "cancel_running" else 0))
            start[-1].state = "live"
            if job.overlap == "cancel_running":
                for slot in ready:
                    slot.state = "skipped"
                    ended.append(slot)
                ready = []
        held = self.wait(ready, bool(start), ended)
        stands_for = sum((slot.state == "missed") + slot.missed for slot in ended)
        for slot in [*start, *held][:1]:
            slot.missed += stands_for
        if job.overlap == "cancel_running" and scheduled and self.of("held"):
            for slot in scheduled:
                slot.asked = True
        self.mark(now)
        for slot in start:
            slot.blocked_by = None
        return [(slot.at, slot.missed, slot.failures + 1) for slot in start]

    def caught_up(self, some: list[Slot], now: datetime, ended: list[Slot]) -> list[Slot]:
        job = self.job
        limit = None if job.not_later_than_s is None else timedelta(seconds=job.not_later_than_s)
        kept, fresh = list[Slot](), list[Slot]()
        for slot in some:
            late = now - slot.due
            if slot.state == "retry":
                if limit is not None and late > limit:
                    slot.state = "ran"
                else:
                    kept.append(slot)
            elif slot.state == "open" and slot.decided is None and self.excluded(slot):
                slot.state = "skipped"
                ended.append(slot)
            elif limit is not None and late > limit:
                slot.state = "missed"
                ended.append(slot)
            elif slot.state == "held":
                kept.append(slot)
            elif job.catch_up == "skip" and late > (limit or GRACE):
                slot.state = "missed"
                ended.append(slot)
            else:
                fresh.append(slot)
        most = ALL_MAX if job.catch_up == "all" else 1
        for slot in fresh[:-most]:
            slot.state = "missed"
            ended.append(slot)
        return sorted(kept + fresh[-most:], key=lambda slot: slot.turn)

    def excluded(self, slot: Slot) -> bool:
        minute = slot.at.hour * 60 + slot.at.minute
        return bool(self.job.exclude) and any(first <= minute < last for first, last in WINDOWS)

    def wait(self, ready: list[Slot], started: bool, ended: list[Slot]) -> list[Slot]:
        """Those that are held from now on. What has no place in the queue is skipped."""
        overlap, held = self.job.overlap, list[Slot]()
        if overlap in ("queue_one", "cancel_running") or (overlap == "skip" and not started):
            for slot in ready[:-1]:
                slot.state = "skipped"
                ended.append(slot)
            ready = ready[-1:]
        places = QUEUE_MAX - sum(slot.state == "held" for slot in ready)
        for slot in ready:
            if slot.state != "open":
                continue
            if places > 0 or overlap in ("queue_one", "cancel_running"):
                slot.state = "held"
                held.append(slot)
            else:
                slot.state = "skipped"
                ended.append(slot)
            places -= 1
        return held

    def mark(self, now: datetime) -> None:
        mark = "run" if self.busy() and self.job.overlap != "allow" else "group" if self.full() else None
        for slot in self.of("open", "held", "retry"):
            if slot.due <= now:
                slot.blocked_by = mark

    # ── a run ends

    def end(self, slot: Slot, how: str, now: datetime, key: str) -> None:
        slot.state, slot.asked = "ran", False
        if how != "fail":
            return
        slot.failures += 1
        pause = retry_delay(self.job, FAILED, slot.failures, key)
        if pause is None:
            return
        due = now + timedelta(seconds=pause)
        if not slot.ordered:
            nexts = [s.due for s in self.of("ahead", "open", "held") if s.decided != "skip"]
            if self.paused or (self.job.overlap not in ("queue", "allow") and min(nexts) <= due):
                return
        slot.due, slot.state = due, "open" if slot.ordered else "retry"


class Play:
    """The store and the oracle, side by side."""

    def __init__(self, s: SqliteUnderTest, job: Job, room: int) -> None:
        self.s, self.job = s, job
        self.hands = Hands(s, groups={"gpu": room}, calendars=QUIET)
        self.oracle = Oracle(job, room)
        self.neighbour = a_job("neighbour", schedule="0 0 1 1 *", group="gpu")
        s.put(self.neighbour)
        s.put(job)
        self.ordered = 0
        self.beside: list[Claim] = []

    @property
    def now(self) -> datetime:
        return self.s.clock.time

    def do(self, what: str, number: int) -> None:
        s, oracle, hands = self.s, self.oracle, self.hands
        match what:
            case "pass":
                s.clock.time += timedelta(seconds=13 * number)
            case "down":
                s.clock.time += timedelta(minutes=11 * number, seconds=1)
            case "look":
                self.look()
            case "ok" | "fail" | "cancel" if hands.claims:
                self.end(hands.claims[number % len(hands.claims)], what)
            case "order" if self.ordered < 3:
                s.clock.time += timedelta(seconds=17.3)  # never at the instant of a slot: whose key decides is chance
                self.ordered += 1
                hands.order(self.job, self.ordered)
                oracle.orders.append(Slot(self.now, self.now, "open", ordered=True))
            case "pause" if not oracle.paused:
                s.do(lambda tx: tx.jobs.pause(self.job.id, actor="person", reason=None))
                oracle.pause()
            case "resume" if oracle.paused:
                s.do(lambda tx: tx.jobs.resume(self.job.id, actor="person"))
                oracle.resume(self.now)
            case "nap":
                for step in (("pause", 0), ("pass", 2 * number), ("resume", 0)):
                    self.do(*step)
            case "skip" | "move" | "clear":
                self.decide(what, number)
            case "neighbour" if not self.beside:
                self.look()  # whatever of the job is due is answered first
                if not oracle.full():
                    self.ordered += 1
                    hands.order(self.neighbour, 100 + self.ordered)
                    self.look()
            case "leaves" if self.beside:
                self.end(self.beside[0], "ok")
            case _:
                pass

    def decide(self, what: str, number: int) -> None:
        """A person decides about a slot that is still to come."""
        oracle = self.oracle
        ahead = [slot for slot in oracle.of("ahead") if slot.at > self.now and slot.due > self.now]
        slot = ahead[number % 6]
        if what == "clear" and slot.decided is None:
            return
        due = self.now + timedelta(seconds=1 + 97 * (number + 1))
        self.s.do(
            lambda tx: tx.jobs.set_exception(
                self.job.id,
                slot.at,
                None if what == "clear" else what,
                due=due if what == "move" else None,
                actor="person",
            )
        )
        oracle.person(what, slot, due)

    def end(self, claim: Claim, how: str) -> None:
        oracle = self.oracle
        again = self.hands.end(claim, **RESULTS[how])
        if claim in self.beside:
            self.beside.remove(claim)
            oracle.neighbour -= 1
            return
        if claim.trigger == "manual":
            slot = next(order for order in oracle.orders if order.state == "live" and order.failures == claim.failures)
        else:
            slot = next(slot for slot in oracle.slots if slot.at == claim.slot)
        oracle.end(slot, how, self.now, claim.key)
        assert again == (slot.state in ("retry", "open")), f"{claim.slot}: tried again: {again}"

    def look(self) -> None:
        oracle = self.oracle
        claims = self.hands.look(self.now)
        beside = [claim for claim in claims if claim.job_id == self.neighbour.id]
        oracle.neighbour += len(beside)
        self.beside += beside
        own = [claim for claim in claims if claim not in beside]
        expected = oracle.look(self.now)
        began = [(None if claim.trigger == "manual" else claim.slot, claim.missed, claim.failures + 1) for claim in own]
        if self.inexact:
            began, expected = [(slot, attempt) for slot, _, attempt in began], [(s, a) for s, _, a in expected]  # type: ignore[misc]
        assert began == expected
        assert all(claim.due <= self.now for claim in own)
        assert self.oracle.job.group is None or len(self.hands.claims) <= oracle.room
        asked = {row["id"] for row in self.s.rows("SELECT id FROM run WHERE cancel_reason IS NOT NULL")}
        live = {claim.slot: claim.run_id in asked for claim in self.hands.claims if claim.trigger == "schedule"}
        assert all(live[slot.at] == slot.asked for slot in oracle.of("live"))
        self.check()

    @property
    def inexact(self) -> bool:
        """In a span nobody looks which of its slots are excluded."""
        return bool(self.job.exclude) and bool(
            self.s.rows("SELECT 1 FROM occurrence WHERE span_to IS NOT NULL LIMIT 1")
        )

    def check(self) -> None:
        """Each slot that has come due has ended as it should, or waits, or is being run."""
        rows = self.s.rows(
            "SELECT * FROM occurrence WHERE trigger = 'schedule' AND job_id = ? ORDER BY slot_at", self.job.id
        )
        own = {row["slot_at"]: row for row in rows}
        spans = [row for row in rows if row["span_to"] is not None]
        for slot in self.oracle.slots:
            if slot.state == "ahead" and slot.decided is None:
                break
            row = own.get(us(slot.at)) or next((r for r in spans if r["slot_at"] < us(slot.at) <= r["span_to"]), None)
            if row is None:
                assert slot.state == "open", f"{slot} has no row"
                continue
            if row["span_to"] is not None and self.job.exclude:
                assert {slot.state, row["outcome"]} <= {"missed", "skipped"}
                continue
            expected = {"live": "claimed", "ahead": "planned", "open": "planned", "held": "planned", "retry": "planned"}
            assert expected.get(slot.state, slot.state) == (row["outcome"] or row["state"]), f"{slot}: {row}"
            if row["state"] == "planned" and row["exception"] != "skip":
                assert (row["reason"] is not None) == (slot.state == "held"), f"{slot}: {row}"
        counted = sum(row["span_count"] or 1 for row in rows if row["state"] == "settled")
        assert counted == len(self.oracle.of("ran", "skipped", "missed", "blocked", "void"))

    def run_down(self) -> None:
        """Everything comes to its end."""
        for _ in range(60):
            for claim in [*self.hands.claims]:
                self.end(claim, "ok")
            self.look()
            if not self.hands.claims:
                break
        late = [order for order in self.oracle.orders if order.due > self.now] + self.oracle.of("retry")
        open_ones = [
            slot for slot in [*self.oracle.of("open", "held"), *self.oracle.orders] if slot.state in ("open", "held")
        ]
        assert [slot for slot in open_ones if slot not in late] == []


POLICIES = st.fixed_dictionaries(
    {
        "catch_up": st.sampled_from(get_args(CatchUp)),
        "overlap": st.sampled_from(get_args(Overlap)),
        "not_later_than_s": st.sampled_from([None, None, 500, 3000]),
        "exclude": st.sampled_from([(), ("quiet",)]),
        "spread_s": st.sampled_from([0, 0, 240, 3000]),
        "group": st.sampled_from([None, "gpu"]),
        "retries": st.sampled_from([Retries(), Retries(max=2, backoff_s=260.0)]),
    }
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["look"] * 6
            + ["pass"] * 6
            + ["ok", "fail", "fail", "fail", "cancel", "down", "order", "pause", "resume", "nap"]
            + ["skip", "move", "move", "clear", "neighbour", "leaves"]
        ),
        st.integers(0, 40),
    ),
    min_size=6,
    max_size=40,
)


@settings(max_examples=max(250, settings().max_examples), suppress_health_check=[HealthCheck.too_slow])
@given(POLICIES, STEPS, st.sampled_from([1, 2]))
def test_P1_P2_every_slot_ends_once_and_as_the_policies_say(
    policies: dict[str, Any], steps: list[tuple[str, int]], room: int
) -> None:
    play_through(policies, steps, room)


def play_through(policies: dict[str, Any], steps: list[tuple[str, int]], room: int) -> None:
    """A job with these policies, in a group with so much room, lives through the steps."""
    with scratch() as folder, small_limits():
        s = SqliteUnderTest(folder)
        try:
            play = Play(s, a_job("tides", schedule=SCHEDULE, **policies), room)
            for what, number in steps:
                play.do(what, number)
            play.look()
            play.run_down()
        finally:
            s.close()


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(POLICIES, ledger.STEPS, st.sampled_from([None, None, 3]))
def test_P1_P2_whatever_happens_the_plan_is_whole_under_any_policy(
    policies: dict[str, Any], steps: list[tuple[str, int]], repeat: int | None
) -> None:
    """What test_ledger.py does to an ordinary job: edits, removals, runs that are given back, a clock that is set back."""
    jobs = {minutes: replace(job, repeat=repeat, **policies) for minutes, job in ledger.EVERY.items()}
    with scratch() as folder, mock.patch.dict(ledger.EVERY, jobs):
        s = SqliteUnderTest(folder)
        try:
            play = Whole(s)
            for what, number in steps:
                play.do(what, number)
                play.check()
        finally:
            s.close()


class Whole(ledger.Play):
    """A job of any policy: several of its runs may be live, and it may be over."""

    def check(self) -> None:
        job = ledger.EVERY[1]
        (row,) = self.s.rows("SELECT * FROM job")
        live = self.s.rows("SELECT 1 FROM run WHERE state IN ('claimed', 'running')")
        if job.repeat is None and len(live) < 2:
            super().check()
        assert len(live) < 2 or (job.overlap == "allow" and job.group is None)
        since = (
            "SELECT 1 FROM run r JOIN occurrence o ON o.key = r.key WHERE o.trigger = 'schedule' AND r.claimed_at > ?"
        )
        begun = self.s.rows(f"{since} AND r.state <> 'released'", row["cadence_at"])
        assert job.repeat is None or row["counted"] <= len(begun) <= job.repeat
        waits = self.s.rows("SELECT * FROM occurrence WHERE state = 'planned' AND waits_for IS NOT NULL")
        assert all(each["due_at"] <= us(self.latest) for each in waits), "nothing waits before it is due"
