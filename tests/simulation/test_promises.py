"""The promises, each in the smallest life that could break it. The gateway and the store are the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from horae.ports import Settings
from tests.simulation.invariants import Expected, check, outcomes
from tests.simulation.scenario import every
from tests.support.builders import DAY, HOUR, MINUTE, SECOND, START, a_job, a_result, us
from tests.support.virtual import run_virtually
from tests.support.world import World, scratch

TIDES = a_job("tides")
GRID = {TIDES.id: Expected(TIDES, lambda: every(60, START + MINUTE))}


def life(story: Callable[[World], Awaitable[None]], **world: Any) -> None:
    """Tell a story in a new world."""
    with scratch() as folder:

        async def main() -> None:
            made = World(folder, **world)
            try:
                await story(made)
                assert not made.broken, made.broken
            finally:
                made.close()

        run_virtually(main())


# ── P1, P2: every slot once, whatever the clock does


def test_P1_hours_of_slots_each_have_one_outcome() -> None:
    async def story(world: World) -> None:
        world.take_in(TIDES)
        world.start()
        await world.pass_time(3 * HOUR)
        await world.quiet(HOUR)
        check(world, GRID)
        assert outcomes(world, TIDES)["ran"] >= 180
        late = [row["started_at"] - row["due_at"] for row in world.rows(
            "SELECT r.started_at, o.due_at FROM run r JOIN occurrence o ON o.key = r.key")]  # fmt: skip
        assert max(late) == 0, "in virtual time nothing is late"

    life(story)


def test_P1_a_downtime_is_accounted_for_slot_by_slot() -> None:
    async def story(world: World) -> None:
        world.take_in(TIDES)
        first = world.start()
        await world.pass_time(5 * MINUTE + 10 * SECOND)
        first.hit("before")
        await asyncio.sleep(3 * 3600)
        await world.pass_time(5 * MINUTE)
        await world.quiet(HOUR)
        check(world, GRID)
        found = outcomes(world, TIDES)
        assert found["missed"] >= 175
        assert found["ran"] >= 11

    life(story)


def test_P2_a_clock_that_goes_back_an_hour_fires_nothing_twice() -> None:
    async def story(world: World) -> None:
        world.take_in(TIDES)
        world.start()
        await world.pass_time(10 * MINUTE + 10 * SECOND)
        before = len(world.effects)
        world.clock.step(-HOUR)
        await world.pass_time(HOUR)
        assert len(world.effects) == before, "all these slots have run"
        await world.pass_time(5 * MINUTE)
        assert len(world.effects) == before + 5
        await world.quiet(HOUR)
        check(world, GRID)
        (row,) = world.rows("SELECT detail FROM journal WHERE what = 'clock_changed'")
        assert '"stepped_s": -3600' in row["detail"]

    life(story)


def test_P1_a_clock_that_goes_forward_a_day_is_caught_up_with_once() -> None:
    async def story(world: World) -> None:
        world.take_in(TIDES)
        world.start()
        await world.pass_time(10 * MINUTE + 30 * SECOND)
        before = len(world.effects)
        world.clock.step(DAY)
        await world.pass_time(20 * SECOND)
        assert len(world.effects) == before + 1
        (row,) = world.rows("SELECT * FROM occurrence WHERE missed > 0")
        assert row["missed"] == 24 * 60 - 1
        (run,) = world.rows("SELECT * FROM run WHERE key = ?", row["key"])
        assert us(START + DAY + 10 * MINUTE) == row["due_at"]
        assert run["started_at"] - row["due_at"] == 30 * 1_000_000, "late, and it says so"
        await world.quiet(HOUR)
        check(world, GRID)

    life(story)


def test_P1_a_sleep_is_noticed_and_caught_up_with() -> None:
    async def story(world: World) -> None:
        world.take_in(TIDES)
        world.start()
        await world.pass_time(2 * MINUTE + 30 * SECOND)
        world.clock.suspend(2 * HOUR)
        await world.pass_time(MINUTE)
        (row,) = world.rows("SELECT detail FROM journal WHERE what = 'clock_changed'")
        assert '"slept_s": 7200' in row["detail"]
        await world.quiet(HOUR)
        check(world, GRID)
        assert outcomes(world, TIDES)["missed"] == 119

    life(story)


# ── P4, P5, S4, S9: crashes, failing neighbours


@pytest.mark.parametrize("dies_s", [70, 85])
def test_P4_a_run_outlives_its_gateway_and_its_end_is_known(dies_s: int) -> None:
    """Whether it ends while nobody is there (the next gateway begins twenty seconds later) or is adopted while it runs."""

    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 30.0
        world.take_in(TIDES)
        first = world.start()
        await asyncio.sleep(dies_s)
        first.hit("before")
        await world.pass_time(5 * MINUTE)
        await world.quiet(HOUR)
        check(world, GRID)
        assert {row["state"] for row in world.rows("SELECT state FROM run")} <= {"completed", "released"}
        effect = world.effects[0]
        (run,) = world.rows("SELECT * FROM run WHERE id = ?", effect.run_id)
        assert (run["id"], run["state"], effect.ends_s - effect.began_s) == (effect.run_id, "completed", 30.0)

    life(story)


def test_P4_a_run_whose_shim_died_is_unknown_and_not_run_again() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 30.0
        world.take_in(TIDES)
        first = world.start()
        await asyncio.sleep(70)
        first.hit("shims")
        first.hit("before")
        await world.pass_time(5 * MINUTE)
        await world.quiet(HOUR)
        check(world, GRID)
        (run,) = world.rows("SELECT * FROM run WHERE state = 'unknown'")
        assert len([effect for effect in world.effects if effect.key == run["key"]]) == 1

    life(story)


def test_S9_a_restart_reloads_the_jobs_and_fires_nothing_twice() -> None:
    async def story(world: World) -> None:
        world.take_in(TIDES)
        for _ in range(5):
            world.start()
            await world.pass_time(95 * SECOND)
            await world.quiet(HOUR)
        check(world, GRID)

    life(story)


def test_S4_a_long_run_delays_no_other_job() -> None:
    slow = a_job("slow", schedule="2026-03-02T08:01:00+00:00")

    async def story(world: World) -> None:
        world.takes_s[slow.id] = 1800.0
        world.take_in(slow, TIDES)
        world.start()
        await world.pass_time(10 * MINUTE)
        mine = [effect.at for effect in world.effects if effect.run_id not in _runs(world, slow)]
        assert mine[:9] == [START + n * MINUTE for n in range(1, 10)]

    life(story)


def test_S3_there_is_no_tick_a_slot_runs_at_its_second() -> None:
    odd = a_job("odd", schedule="every 7 seconds from 2026-03-02T08:00:03+00:00")

    async def story(world: World) -> None:
        world.take_in(odd)
        life = world.start()
        await world.pass_time(2 * MINUTE)
        assert [effect.at for effect in world.effects] == [START + timedelta(seconds=3 + 7 * n) for n in range(17)]
        assert life.clock.arms < 60, "it looks when something is due or ends, not all the time"

    life(story)


def test_S3_a_sleeping_gateway_hardly_looks() -> None:
    async def story(world: World) -> None:
        world.take_in(a_job("rare", schedule="0 0 1 1 *"))
        life = world.start()
        await world.pass_time(HOUR)
        assert life.clock.arms <= 62, "once a minute, as the net below a lost wake-up"

    life(story)


def test_P5_O4_a_blocked_run_whose_target_is_unknown_is_settled_all_the_same() -> None:
    """The alert cannot be sent to a target that does not exist: that is a failed delivery, not a job that hangs."""
    lost = a_job("lost", deliver=("nowhere",))

    async def story(world: World) -> None:
        world.take_in(lost, TIDES)
        world.start()
        await world.pass_time(3 * MINUTE + 10 * SECOND)
        assert outcomes(world, lost) == {"blocked": 3}
        assert {row["state"] for row in world.rows("SELECT state FROM delivery WHERE target = 'nowhere'")} == {"failed"}
        (row,) = world.rows("SELECT DISTINCT reason FROM delivery WHERE target = 'nowhere'")
        assert "no such target" in row["reason"]
        assert outcomes(world, TIDES)["ran"] == 3

    life(story)


@pytest.mark.parametrize("where", ["facts", "run", "send", "kept"])
def test_P9_a_fault_of_ours_in_one_run_does_not_leave_its_job_hanging(where: str) -> None:
    """An error that nobody foresaw ends one run, as unknown or blocked; the next slot comes, others never notice."""
    odd = a_job("odd", deliver=("desk",))

    async def story(world: World) -> None:
        world.take_in(odd, TIDES)
        life = world.start()
        _break(life, where, odd.id)
        await world.pass_time(2 * MINUTE + 10 * SECOND)
        found = world.rows("SELECT outcome FROM occurrence WHERE job_id = ? AND state = 'settled'", odd.id)
        assert [row["outcome"] for row in found] in (
            ["ran", "ran"],
            ["blocked", "blocked"],
            ["blocked", "ran"],
            ["ran", "blocked"],
        )
        assert not world.rows("SELECT 1 FROM occurrence WHERE state = 'claimed'")
        assert not world.rows("SELECT 1 FROM delivery WHERE state IN ('sending', 'pending')")
        assert outcomes(world, TIDES)["ran"] == 2

    life(story)


def _break(life: Any, where: str, job_id: str) -> None:
    def boom(*args: Any) -> None:
        raise RuntimeError("a fault of ours")

    if where == "facts":
        real = life.runner.facts
        life.runner.facts = lambda job: boom() if job.id == job_id else real(job)
    elif where == "run":
        run = life.runner.run
        life.runner.run = lambda order, started: boom() if order.env["HORAE_JOB_ID"] == job_id else run(order, started)
    else:
        setattr(life.desk, where, boom)


def _runs(world: World, job: Any) -> set[str]:
    return {row["id"] for row in world.rows("SELECT id FROM run WHERE job_id = ?", job.id)}


# ── stopping, and not spinning


def test_O4_a_drain_lets_live_runs_end_and_gives_queued_ones_back() -> None:
    jobs = [a_job(f"job{n}", schedule="2026-03-02T08:01:00+00:00") for n in range(6)]

    async def story(world: World) -> None:
        for job in jobs:
            world.takes_s[job.id] = 30.0
        world.take_in(*jobs)
        life = world.start()
        await asyncio.sleep(65)
        life.gateway.stop()
        assert life.task is not None
        await asyncio.wait_for(life.task, 100)
        states = sorted(row["state"] for row in world.rows("SELECT state FROM run"))
        assert states == ["completed"] * 4 + ["released"] * 2
        await world.pass_time(2 * MINUTE)
        assert len(world.effects) == 6
        assert all(outcomes(world, job) == {"ran": 1} for job in jobs)

    life(story)


def test_O4_a_machine_without_room_for_a_process_gives_its_claims_back_and_runs_them_later() -> None:
    jobs = [a_job(f"job{n}", schedule="2026-03-02T08:01:00+00:00") for n in range(30)]

    async def story(world: World) -> None:
        world.take_in(*jobs)
        gateway = world.start()
        gateway.host.full_until_s = asyncio.get_running_loop().time() + 4 * MINUTE.total_seconds()
        await world.pass_time(3 * MINUTE)
        assert world.effects == []
        given_back = world.rows("SELECT * FROM run")
        assert {(run["state"], run["started_at"]) for run in given_back} == {("released", None)}
        assert len(given_back) < 2 * len(jobs), "it does not claim all of them again and again"
        (why,) = {run["reason"] for run in given_back}
        assert why == "the machine has no room for another process"
        await world.pass_time(3 * MINUTE)
        assert [outcomes(world, job) for job in jobs] == [{"ran": 1}] * len(jobs)
        assert len(world.effects) == len(jobs)

    life(story)


def test_a_second_request_to_stop_ends_live_runs_and_says_so() -> None:
    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 3000.0
        world.take_in(TIDES)
        life = world.start()
        await asyncio.sleep(65)
        life.gateway.stop()
        await asyncio.sleep(5)
        life.gateway.stop()
        assert life.task is not None
        await asyncio.wait_for(life.task, 10)
        (run,) = world.rows("SELECT * FROM run")
        assert (run["state"], run["reason"]) == ("cancelled", "the gateway was stopped")

    life(story)


def test_a_drain_leaves_what_an_earlier_gateway_started_to_the_next_one() -> None:

    async def story(world: World) -> None:
        world.takes_s[TIDES.id] = 10 * 3600.0
        world.take_in(TIDES)
        first = world.start()
        await asyncio.sleep(65)
        first.hit("before")
        second = world.start()
        await asyncio.sleep(30)
        second.gateway.stop()
        assert second.task is not None
        await asyncio.wait_for(second.task, 2000)
        (run,) = world.rows("SELECT * FROM run")
        assert run["state"] == "running", "nobody knows yet"
        world.start()
        await world.pass_time(11 * HOUR)
        (run,) = world.rows("SELECT * FROM run WHERE id = ?", run["id"])
        assert (run["state"], run["reason"]) == ("failed", "wall limit reached"), "its shim keeps its limits meanwhile"

    life(story)


def test_a_gateway_with_no_room_left_waits_without_spinning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.engine.gateway.CLAIM_BATCH_MAX", 3)
    jobs = [a_job(f"job{n}", schedule="2026-03-02T08:01:00+00:00") for n in range(5)]

    async def story(world: World) -> None:
        for job in jobs:
            world.takes_s[job.id] = 600.0
        world.take_in(*jobs, TIDES)
        life = world.start()
        await world.pass_time(9 * MINUTE)
        assert life.clock.arms < 70, "it renews its lease, and looks when a run ends"
        await world.pass_time(30 * MINUTE)
        assert all(outcomes(world, job) == {"ran": 1} for job in jobs)

    life(story, settings=Settings("/h", parallel=3))


def test_a_burst_of_paused_slots_does_not_delay_what_is_due_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.engine.gateway.CLAIM_BATCH_MAX", 3)
    paused = [a_job(f"paused{n}", schedule="2026-03-02T08:01:00+00:00") for n in range(7)]
    after = a_job("after", schedule="2026-03-02T08:01:00+00:00")

    async def story(world: World) -> None:
        world.take_in(*paused, after)
        for job in paused:
            world.outside.transact(lambda tx, job=job: tx.jobs.pause(job.id, actor="person", reason=None))
        world.start()
        await world.pass_time(70 * SECOND)
        assert [effect.at for effect in world.effects] == [START + MINUTE]
        assert all(outcomes(world, job) == {"skipped": 1} for job in paused)

    life(story)


def test_the_results_reach_the_targets_and_silence_does_not() -> None:
    loud, silent = a_job("loud", deliver=("desk",)), a_job("silent", deliver=("desk",))

    async def story(world: World) -> None:
        world.results |= {
            loud.id: lambda: a_result(exit_code=2, stderr="no space left"),
            silent.id: lambda: a_result(stdout="\n \n"),
        }
        world.take_in(loud, silent)
        world.start()
        await world.pass_time(65 * SECOND)
        ((_, target, body),) = world.sent
        assert target == "desk"
        assert "exit status 2" in body
        assert "no space left" in body

    life(story)
