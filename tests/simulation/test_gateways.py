"""Several gateways over one store, each rule in the smallest life that could break it: leases, wrong clocks, hand-overs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from horae.core.delivery import Receipt
from horae.engine.lease import RENEW_EVERY_S
from horae.limits import HANDOVER_S, LEASE_S, POLL_S
from horae.ports import Settings
from tests.simulation.invariants import Expected, check
from tests.simulation.scenario import every, hushed, on_grid
from tests.support.builders import HOUR, MINUTE, SECOND, START, a_job, us
from tests.support.faults import FAR_S, JUST_S
from tests.support.life import Life
from tests.support.virtual import nap, run_virtually
from tests.support.world import Place, World, scratch

TIDES = a_job("tides", deliver=("desk",))
GRID = {TIDES.id: Expected(TIDES, lambda: every(60, START + MINUTE))}
EAST, WEST = Place("east"), Place("west")
FAR = a_job("far", schedule="0 0 1 1 *")  # runs by hand only
HAND = "c" * 16


def life(story: Callable[[World], Awaitable[None]], *places: Place, shared: bool = True, **world: Any) -> None:
    """Tell a story in a new world of gateways that share a store, or of a home of its own."""
    with scratch() as folder, hushed():

        async def main() -> None:
            made = World(folder, places=places or (EAST, WEST), shared=shared, **world)
            try:
                await story(made)
                assert not made.broken, made.broken
            finally:
                made.close()

        run_virtually(main())


def run(world: World, run_id: str = HAND) -> Any:
    (row,) = world.rows("SELECT * FROM run WHERE id = ?", run_id)
    return row


def begin(world: World, *given: Any) -> list[Life]:
    world.take_in(*(given or (TIDES,)))
    return [world.start(place) for place in world.places]


# ── who may take what over, and when


@pytest.mark.parametrize("grouped", [False, True])
def test_P2_two_gateways_share_out_what_is_due(grouped: bool) -> None:
    jobs = [on_grid(f"job{n}", 10, 10, 300, deliver=("desk",)) for n in range(12)]

    async def story(world: World) -> None:
        begin(world, *(each.job for each in jobs))
        await world.pass_time(6 * MINUTE)
        await world.quiet(HOUR)
        check(world, {each.job.id: each for each in jobs})
        by = {life.name: sum(effect.by == life.name for effect in world.effects) for life in world.lives}
        assert sum(by.values()) == 12 * 30
        assert min(by.values()) > 0, by
        assert not world.rows("SELECT 1 FROM journal WHERE what = 'gateway_lost'")

    life(story, grouped=grouped)


def test_P3_a_dead_gateway_on_another_machine_counts_as_alive_until_its_lease_ends() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 200.0
        world.take_in(TIDES)
        first = world.start(EAST)
        await nap(62)
        world.start(WEST)
        await nap(38)
        first.hit("before")
        (row,) = world.rows("SELECT lease_until FROM gateway WHERE id = 'g1'")
        left_s = (row["lease_until"] - us(world.clock.now())) / 1e6
        assert 0 < left_s <= LEASE_S
        await nap(left_s - 1)
        (told,) = world.rows("SELECT state FROM run")
        assert told["state"] == "running"
        await nap(3)
        (told,) = world.rows("SELECT state FROM run WHERE attempt = 1 ORDER BY claimed_at LIMIT 1")
        assert told["state"] == "unknown", "at once: from there nobody can see its program"

    life(story)


def test_a_dead_gateway_on_the_same_machine_is_followed_at_once_and_its_run_adopted() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 50.0
        world.take_in(TIDES)
        first = world.start(EAST)
        await nap(70)
        first.hit("before")
        world.start(EAST)
        await nap(1)
        (entry,) = world.rows("SELECT detail FROM journal WHERE what = 'gateway_lost'")
        assert "its process is gone" in entry["detail"]
        (told,) = world.rows("SELECT * FROM run")
        assert (told["state"], told["gateway_id"]) == ("running", "g2")
        await nap(50)
        told = run(world, told["id"])
        assert (told["state"], told["finished_at"]) == ("completed", us(START + 110 * SECOND))

    life(story)


def test_P4_after_a_power_cut_nothing_is_left_to_wait_for() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 50.0
        world.take_in(TIDES)
        first = world.start(EAST)
        await nap(70)
        first.hit("power")
        assert world.effects[0].ends_s == 70.0
        world.start(EAST)
        await nap(1)
        (told,) = world.rows("SELECT state FROM run")
        assert told["state"] == "unknown"

    life(story)


def test_a_gateway_that_answers_keeps_its_runs_however_long_they_take() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 3000.0
        begin(world)
        await nap(3070)
        assert [effect.ends_s - effect.began_s for effect in world.effects][:1] == [3000.0]
        (first,) = world.rows("SELECT state FROM run ORDER BY claimed_at LIMIT 1")
        assert first["state"] == "completed"
        assert not world.rows("SELECT 1 FROM journal WHERE what = 'gateway_lost'")

    life(story)


# ── whoever stood still


def test_P3_whoever_stood_still_between_the_start_and_the_program_starts_nothing() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 20.0
        world.take_in(TIDES)
        world.start(EAST)
        await nap(55)
        world.start(WEST)
        stall_at(world, "g1", "together", "stall")
        await nap(10 * 60)
        await world.quiet(HOUR)
        check(world, GRID)
        stale = [row["id"] for row in world.rows("SELECT id FROM run WHERE state = 'unknown'")]
        assert stale, "it was taken over before it had begun"
        assert not set(stale) & {effect.run_id for effect in world.effects}

    life(story)


def stall_at(world: World, name: str, method: str, kind: str) -> None:
    """The gateway's next call of a method meets a fault."""
    plan, real = world.plan, world.plan.next
    open_ = [True]

    def next_(what: str, now_s: float) -> str | None:
        found = real(what, now_s)
        if open_ and what.startswith(f"{name} ") and what.endswith(f".{method}"):
            open_.pop()
            return kind
        return found

    plan.next = next_  # pyright: ignore[reportAttributeAccessIssue]


def test_P5_O5_O23_whoever_stood_still_before_a_message_sends_nothing() -> None:
    async def story(world: World) -> None:
        world.take_in(TIDES)
        world.start(EAST)
        await nap(55)
        world.start(WEST)
        sends = []

        def strike(entries: Any) -> None:
            new = [entry for entry in entries if entry.what == "completed"]
            sends.extend(new)
            if new and len(sends) == 1:
                stall_at(world, world.told[-1].by, "commit", "stall")  # after `begin`, before its answer is seen

        for each in world.lives:
            each.store.listen(strike)
        await nap(10 * 60)
        await world.quiet(HOUR)
        check(world, GRID)
        lost = [row["run_id"] for row in world.rows("SELECT run_id FROM delivery WHERE state = 'unknown'")]
        assert lost == [sends[0].run_id]
        assert lost[0] not in {run_id for run_id, *_ in world.sent}

    life(story)


class Slow:
    """A target that takes its time, and notes until when its sender's lease lasts as it begins."""

    timeout_s = 100.0

    def __init__(self) -> None:
        self.world: Any = None
        self.left_s: list[float] = []

    def check(self, address: Any = None) -> None: ...

    async def send(self, message: Any) -> Receipt:
        (row,) = self.world.rows("SELECT max(lease_until) AS until FROM gateway")
        self.left_s.append((row["until"] - us(self.world.clock.now())) / 1e6)
        await nap(90.0)
        return Receipt("accept", evidence="at last")


def test_P3_O5_the_lease_is_prolonged_past_the_end_of_a_long_send() -> None:
    """So nobody takes the message over while it is being sent, although the other gateway judges after half a minute."""
    slow = Slow()

    async def story(world: World) -> None:
        slow.world = world
        world.take_in(a_job("slow", deliver=("slow",), schedule="2026-03-02T08:01:30+00:00"))
        world.start(EAST)
        world.start(WEST)
        await nap(5 * 60)
        await world.quiet(HOUR)
        assert [row["state"] for row in world.rows("SELECT state FROM delivery")] == ["delivered"]

    life(story, senders={"slow": slow})
    (left_s,) = slow.left_s
    assert left_s >= Slow.timeout_s


def test_P5_what_may_have_arrived_is_sent_again_where_the_target_takes_it_as_one() -> None:
    async def story(world: World) -> None:
        world.idempotent = True
        world.take_in(TIDES)
        first = world.start(EAST)
        stall_at(world, first.name, "send", "after")  # it arrives, and its gateway dies before it learns of it
        await nap(130)
        world.start(WEST)
        await nap(10 * 60)
        await world.quiet(HOUR)
        twice = [run for run, count in Counter(run_id for run_id, *_ in world.sent).items() if count > 1]
        assert twice == [world.sent[0][0]]
        assert {row["state"] for row in world.rows("SELECT state FROM delivery")} == {"delivered"}

    life(story)


@pytest.mark.parametrize("fault", ["pause", "far", "asleep", "cut", "cut_far"])
def test_P3_whoever_was_taken_over_ends_its_programs_and_begins_anew(fault: str) -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 300.0
        world.take_in(TIDES)
        first = world.start(EAST)
        await nap(55)
        world.start(WEST)
        await nap(15)
        owner = next(each for each in world.lives if each.name == world.effects[0].by)
        owner.hit(fault)
        lasts_s = FAR_S if fault in ("far", "cut_far") else JUST_S
        await nap(lasts_s + 2 * RENEW_EVERY_S)
        effect = world.effects[0]
        assert effect.ends_s <= 70 + lasts_s + POLL_S, "its program went on beside what others do"
        assert run(world, effect.run_id)["state"] == "unknown"
        before = len(world.effects)
        await nap(400)
        assert {each.by for each in world.effects[before:]} <= {"g1", "g2"}
        await world.quiet(HOUR)
        check(world, GRID)
        started = world.rows("SELECT detail FROM journal WHERE what = 'gateway_started'")
        assert sum(f'"{owner.name}"' in row["detail"] for row in started) == 2, "it began anew under its own name"
        assert first.task is not None

    life(story)


def test_a_pause_shorter_than_the_lease_harms_nobody() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 40.0
        first, _ = begin(world)
        for _ in range(8):
            await nap(37)
            first.stand_still(asyncio.get_running_loop().time() + LEASE_S - RENEW_EVERY_S - 6)
        await world.quiet(HOUR)
        check(world, GRID)
        assert not world.rows("SELECT 1 FROM run WHERE state = 'unknown'")

    life(story)


# ── clocks that are wrong


@pytest.mark.parametrize("off_s", [7.3, 3600.0, -41.0, -86400.0])
def test_S3_a_machine_whose_clock_is_wrong_starts_in_time_and_does_not_spin(off_s: float) -> None:
    async def story(world: World) -> None:
        world.take_in(TIDES)
        alone = world.start(EAST)
        await world.pass_time(30 * MINUTE)
        late = [row["started_at"] - row["due_at"] for row in world.rows(
            "SELECT r.started_at, o.due_at FROM run r JOIN occurrence o ON o.key = r.key")]  # fmt: skip
        assert len(late) >= 29
        assert max(late) == 0, "by its own clock, and not by the net below it"
        assert alone.clock.arms < 30 * 20, "every five seconds, and around each run"

    life(story, EAST, off_s={"east": off_s})


def test_a_lease_is_the_stores_whatever_the_machines_clocks_say() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 45.0
        begin(world)
        await world.pass_time(20 * MINUTE)
        world.hosts["west"].clock.step(HOUR)
        world.hosts["east"].clock.step(-HOUR)
        await world.pass_time(20 * MINUTE)
        await world.quiet(HOUR)
        check(world, GRID)
        assert not world.rows("SELECT 1 FROM journal WHERE what = 'gateway_lost'")
        assert len(world.effects) >= 40

    life(story, off_s={"east": 500.0, "west": -500.0})


def test_what_is_left_of_a_wall_limit_is_reckoned_by_the_stores_clock() -> None:
    """The machine of whoever adopts it is an hour ahead: by that clock the limit would have passed long ago."""

    async def story(world: World) -> None:
        world.takes_s[FAR.id] = 600.0
        world.take_in(FAR)
        first = world.start(EAST)
        world.order(FAR, HAND)
        await nap(10)
        first.hit("before")
        world.start(EAST)
        await nap(700)
        assert run(world)["finished_at"] == us(START + 600 * SECOND), "its program had its time"

    life(story, EAST, off_s={"east": 3600.0 + 3600.0})


# ── labels, stopping, being asked to end


def test_a_job_runs_where_its_labels_are() -> None:
    gpu = a_job("model", runs_on=("gpu",))

    async def story(world: World) -> None:
        world.take_in(gpu, TIDES)
        world.start(EAST)
        await world.pass_time(5 * MINUTE)
        assert {effect.job_id for effect in world.effects} == {TIDES.id}
        fit = world.start(Place("west", frozenset({"gpu", "big"})))
        await world.pass_time(5 * MINUTE)
        assert {effect.by for effect in world.effects if effect.job_id == gpu.id} == {fit.name}
        (row,) = world.rows("SELECT missed FROM occurrence WHERE job_id = ? AND missed > 0", gpu.id)
        assert row["missed"] == 4, "what came due while there was no place for it is told to the run"

    life(story, EAST)


def test_a_planned_stop_hands_its_orphans_over_to_whoever_comes_back() -> None:
    """The program of a dead gateway, adopted by a second one that is stopped: the third of that machine waits for it."""

    async def story(world: World) -> None:
        world.takes_s[FAR.id] = 400.0
        world.take_in(FAR)
        first = world.start(EAST)
        world.start(WEST)
        world.lives[1].stand_still(5.0)  # so that the other one gets it
        world.order(FAR, HAND)
        await nap(10)
        assert world.effects[0].by == "g1"
        first.hit("before")
        second = world.start(EAST)
        await nap(20)
        assert run(world)["gateway_id"] == second.name
        second.gateway.stop()
        await nap(150)
        assert run(world)["state"] == "running", "the other machine waits for it to come back"
        third = world.start(EAST)
        await nap(5)
        assert run(world)["gateway_id"] == third.name
        await nap(300)
        assert (run(world)["state"], run(world)["finished_at"]) == ("completed", us(START + 400 * SECOND))

    life(story)


@pytest.mark.parametrize(("on_stop", "state"), [("leave", "completed"), ("end", "cancelled")])
def test_O8_a_drain_waits_and_then_leaves_or_ends_what_is_live(on_stop: Any, state: str) -> None:
    """What is left to its shim goes on, and whoever comes back adopts it."""

    async def story(world: World) -> None:
        world.takes_s[FAR.id] = 300.0
        world.take_in(FAR)
        first = world.start(EAST)
        world.order(FAR, HAND)
        await nap(10)
        first.gateway.stop()
        await nap(35)
        assert first.stopped
        assert run(world)["state"] == ("running" if on_stop == "leave" else "cancelled")
        world.start(EAST)
        await nap(400)
        told = run(world)
        assert told["state"] == state
        effect = world.effects_of(told["id"])[0]
        assert effect.ends_s - effect.began_s == (300.0 if on_stop == "leave" else pytest.approx(40.0, abs=1))

    life(story, EAST, settings=Settings("/h", drain_s=30.0, on_stop=on_stop))


def test_what_nobody_comes_back_for_is_taken_over_when_the_hand_over_ends() -> None:
    async def story(world: World) -> None:
        world.takes_s[FAR.id] = 3000.0
        world.take_in(FAR)
        first = world.start(EAST)
        world.start(WEST)
        world.lives[1].stand_still(5.0)
        world.order(FAR, HAND)
        await nap(10)
        first.hit("before")
        second = world.start(EAST)
        await nap(20)
        second.gateway.stop()
        await nap(HANDOVER_S - 5)
        assert run(world)["state"] == "running"
        await nap(20)
        assert run(world)["state"] == "unknown"

    life(story)


def test_a_run_of_a_gateway_that_is_full_can_be_cancelled() -> None:
    jobs = [a_job(f"job{n}", schedule="2026-03-02T08:01:00+00:00") for n in range(4)]

    async def story(world: World) -> None:
        for job in jobs:
            world.takes_s[job.id] = 1000.0
        world.take_in(*jobs)
        world.start(EAST)
        await nap(70)
        (effect,) = world.effects
        due = "SELECT 1 FROM occurrence WHERE state = 'planned' AND due_at <= ?"
        assert world.rows(due, us(world.clock.now())), "it has no room for more"
        world.people(lambda tx: tx.runs.ask_to_end(effect.run_id, actor="anna", reason="cancelled by anna"))
        await nap(1)
        told = run(world, effect.run_id)
        assert (told["state"], told["reason"]) == ("cancelled", "cancelled by anna")

    life(story, EAST, settings=Settings("/h", parallel=1))


def test_a_run_can_be_cancelled_while_its_gateway_stops() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 500.0
        world.take_in(TIDES)
        first = world.start(EAST)
        await nap(70)
        first.gateway.stop()
        await nap(5)
        run_id = world.effects[0].run_id
        world.people(lambda tx: tx.runs.ask_to_end(run_id, actor="anna", reason="enough"))
        await nap(1)
        assert run(world, run_id)["state"] == "cancelled"
        assert first.stopped

    life(story, EAST)


def test_what_was_asked_to_end_before_it_began_does_not_begin_elsewhere() -> None:
    """Its gateway died before it looked; whoever takes the claim over must not give it back to the plan."""
    jobs = [a_job(f"job{n}", schedule="2026-03-02T08:01:00+00:00") for n in range(2)]

    async def story(world: World) -> None:
        for job in jobs:
            world.takes_s[job.id] = 30.0
        world.take_in(*jobs)
        first = world.start(EAST)
        await nap(65)
        (waits,) = world.rows("SELECT id, key FROM run WHERE state = 'claimed'")
        first.hit("before")
        world.people(lambda tx: tx.runs.ask_to_end(waits["id"], actor="anna", reason="cancelled by anna"))
        await world.pass_time(5 * MINUTE)
        assert run(world, waits["id"])["state"] == "cancelled"
        (row,) = world.rows("SELECT outcome, reason FROM occurrence WHERE key = ?", waits["key"])
        assert tuple(row) == ("skipped", "cancelled by anna")
        assert waits["id"] not in {effect.run_id for effect in world.effects}
        assert len(world.effects) == 1

    life(story, EAST, shared=False, settings=Settings("/h", parallel=1))


def test_whoever_is_taken_over_while_it_stops_ends_its_programs() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 500.0
        world.take_in(TIDES)
        first = world.start(EAST)
        await nap(55)
        world.start(WEST)
        world.lives[1].stand_still(65.0)
        await nap(15)
        assert world.effects[0].by == "g1"
        first.gateway.stop()
        await nap(1)
        first.hit("pause")
        await nap(JUST_S + RENEW_EVERY_S + 1)
        assert world.effects[0].ends_s <= 71 + JUST_S + RENEW_EVERY_S
        await world.quiet(HOUR)
        check(world, GRID)

    life(story, settings=Settings("/h", parallel=4, drain_s=600.0))


# ── when the store was away, or all slept


def test_P2_when_the_store_was_away_nobody_is_taken_for_lost() -> None:
    """All leases ended meanwhile. Whoever reaches it first must not take over what all others are doing."""

    async def story(world: World) -> None:
        for slug, labels in (("one", ("one",)), ("two", ("two",)), ("three", ())):
            job = a_job(slug, schedule="2026-03-02T08:01:00+00:00", runs_on=labels)
            world.takes_s[job.id] = 400.0
            world.take_in(job)
        for place in world.places:
            world.start(place)
        await nap(70)
        assert len({effect.by for effect in world.effects}) == 2
        for n, each in enumerate(world.lives):
            each.cut_until_s = 70.0 + 5 * LEASE_S + n  # one of them is back a second before the other
        await nap(5 * LEASE_S + 20)
        assert not world.rows("SELECT 1 FROM journal WHERE what = 'gateway_lost'")
        await nap(400)
        assert {row["state"] for row in world.rows("SELECT state FROM run")} == {"completed"}

    life(story, Place("east", frozenset({"one"})), Place("west", frozenset({"two"})))


def test_P1_whoever_was_lost_learns_it_before_it_takes_over() -> None:
    """It is cut off and lost to a second one, which dies. What it adopts of that one on its return it must not forget."""

    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 45.0
        world.takes_s[FAR.id] = 300.0
        world.take_in(TIDES, FAR)
        first = world.start(EAST)
        await nap(70)
        second = world.start(EAST)
        first.hit("cut_far")
        await nap(60)
        assert world.rows("SELECT 1 FROM gateway WHERE id = 'g1' AND lost_at IS NOT NULL")
        world.order(FAR, HAND)
        await nap(1)
        assert run(world)["gateway_id"] == second.name
        second.hit("before")
        await nap(60)
        assert run(world)["gateway_id"] == first.name
        await nap(300)
        assert run(world)["state"] == "completed"

    life(story)


def test_what_waits_for_its_turn_can_be_called_off() -> None:
    jobs = [a_job(f"job{n}", schedule="2026-03-02T08:01:00+00:00") for n in range(2)]

    async def story(world: World) -> None:
        for job in jobs:
            world.takes_s[job.id] = 30.0
        world.take_in(*jobs)
        world.start(EAST)
        await nap(65)
        (waits,) = world.rows("SELECT id FROM run WHERE state = 'claimed'")
        world.people(lambda tx: tx.runs.ask_to_end(waits["id"], actor="anna", reason="cancelled by anna"))
        await nap(200)
        assert run(world, waits["id"])["state"] == "cancelled"
        assert len(world.effects) == 1

    life(story, EAST, shared=False, settings=Settings("/h", parallel=1))
