"""The bound on live runs: order, closing, and that no slot leaks."""

from __future__ import annotations

import asyncio

import pytest

from horae.engine.slots import Closed, Slots
from horae.errors import Exhausted
from horae.limits import PROBE_S, REST_MAX_S, REST_S
from tests.support.virtual import run_virtually


async def hold(slots: Slots, log: list[str], name: str, gate: asyncio.Event) -> None:
    try:
        async with slots.turn():
            log.append(name)
            await gate.wait()
    except Closed:
        log.append(f"{name} closed")


def test_no_more_than_the_limit_and_in_order_of_asking() -> None:
    async def main() -> None:
        slots, log, gate = Slots(2), [], asyncio.Event()
        tasks = [asyncio.create_task(hold(slots, log, name, gate)) for name in "abcde"]
        await asyncio.sleep(1)
        assert (log, slots.held) == (["a", "b"], 2)
        gate.set()
        await asyncio.gather(*tasks)
        assert (log, slots.held) == (list("abcde"), 0)

    run_virtually(main())


def test_the_highest_priority_goes_first_and_equals_in_order_of_asking() -> None:
    async def one(slots: Slots, log: list[str], name: str, priority: int) -> None:
        async with slots.turn(priority):
            log.append(name)
            await asyncio.sleep(1)

    async def main() -> None:
        slots, log = Slots(1), []
        asked = [("now", 0), ("low", -5), ("a", 0), ("high", 9), ("b", 0)]
        await asyncio.gather(*(one(slots, log, name, priority) for name, priority in asked))
        assert log == ["now", "high", "a", "b", "low"]

    run_virtually(main())


def test_closing_turns_waiting_ones_and_later_ones_away() -> None:
    async def main() -> None:
        slots, log, gate = Slots(1), [], asyncio.Event()
        tasks = [asyncio.create_task(hold(slots, log, name, gate)) for name in "abc"]
        await asyncio.sleep(1)
        slots.close()
        tasks.append(asyncio.create_task(hold(slots, log, "late", gate)))
        gate.set()
        await asyncio.gather(*tasks)
        assert log == ["a", "b closed", "c closed", "late closed"]

    run_virtually(main())


def test_whoever_was_let_in_at_the_moment_of_closing_is_turned_away_too() -> None:
    async def main() -> None:
        slots, log, gate = Slots(1), [], asyncio.Event()
        turn = slots.turn()
        await turn.__aenter__()
        waiting = asyncio.create_task(hold(slots, log, "b", gate))
        await asyncio.sleep(1)
        await turn.__aexit__(None, None, None)  # its turn has come ...
        slots.close()  # ... and before it wakes, the drain begins
        await waiting
        assert log == ["b closed"]

    run_virtually(main())


@pytest.mark.parametrize("when", ["while it waits", "when its turn has just come"])
def test_a_cancelled_waiter_leaks_no_slot(when: str) -> None:
    async def main() -> None:
        slots, log, gate = Slots(1), [], asyncio.Event()
        turn = slots.turn()
        await turn.__aenter__()
        waiting = asyncio.create_task(hold(slots, log, "b", gate))
        await asyncio.sleep(1)
        if when == "while it waits":
            waiting.cancel()
            await asyncio.sleep(1)
            await turn.__aexit__(None, None, None)
        else:
            await turn.__aexit__(None, None, None)
            waiting.cancel()
        await asyncio.sleep(1)
        assert log == []
        last = slots.turn()
        await asyncio.wait_for(last.__aenter__(), 5)
        assert slots.held == 1

    run_virtually(main())


def test_an_error_inside_gives_the_slot_back() -> None:
    async def main() -> None:
        slots = Slots(1)
        for _ in range(3):
            with pytest.raises(RuntimeError):
                async with slots.turn():
                    raise RuntimeError
        assert slots.held == 0

    run_virtually(main())


# ── a machine that has no room for a process


async def start(slots: Slots, refuses: bool, takes_s: float = 100.0) -> str:
    try:
        async with slots.turn():
            if refuses:
                raise Exhausted("no room")
            await asyncio.sleep(takes_s)
    except Exhausted:
        return "refused"
    except Closed as closed:
        return f"sent away: {closed}"
    return "ran"


def test_where_one_is_refused_those_who_wait_are_sent_away_and_nothing_is_offered_for_a_while() -> None:
    async def main() -> None:
        slots = Slots(1)
        assert slots.offered(5, 0) == 5
        assert await asyncio.gather(*(start(slots, n == 0) for n in range(3))) == [
            "refused",
            *["sent away: no room"] * 2,
        ]
        assert (slots.offered(5, 0), slots.held) == (0, 0)
        assert slots.asks_in_s == REST_S
        assert slots.rests == f"no room: nothing is started for {REST_S:.0f} s"
        await asyncio.sleep(REST_S + 0.001)
        assert (slots.offered(5, 0), slots.offered(5, 1)) == (1, 0), "one goes first"

    run_virtually(main())


def test_when_the_first_one_fares_well_all_are_offered_again() -> None:
    async def main() -> None:
        slots = Slots(4)
        await start(slots, refuses=True)
        await asyncio.sleep(REST_S + 0.001)
        long = asyncio.create_task(start(slots, refuses=False))
        await asyncio.sleep(PROBE_S / 2)
        assert slots.offered(5, 0) == 0
        await asyncio.sleep(PROBE_S)
        assert (slots.offered(5, 0), slots.asks_in_s, slots.rests) == (5, None, None)
        await start(slots, refuses=True)
        assert slots.asks_in_s == REST_S, "it begins anew"
        assert await long == "ran"

    run_virtually(main())


def test_a_short_run_that_ends_well_is_enough() -> None:
    async def main() -> None:
        slots = Slots(4)
        await start(slots, refuses=True)
        await asyncio.sleep(REST_S + 0.001)
        await start(slots, refuses=False, takes_s=0.1)
        assert slots.offered(5, 0) == 5

    run_virtually(main())


def test_the_rests_grow_while_it_goes_on_and_several_refusals_at_once_are_one() -> None:
    async def main() -> None:
        slots, rests = Slots(4), []
        for _ in range(6):
            await asyncio.gather(*(start(slots, refuses=True) for _ in range(3)))
            rests.append(slots.rests_s)
            await asyncio.sleep(slots.rests_s + 0.001)
        assert rests == pytest.approx([REST_S, 2 * REST_S, 4 * REST_S, 8 * REST_S, REST_MAX_S, REST_MAX_S])
        assert REST_MAX_S < 16 * REST_S

    run_virtually(main())


def test_what_began_before_and_ends_during_a_rest_does_not_end_it() -> None:
    async def main() -> None:
        slots = Slots(4)
        early = asyncio.create_task(start(slots, refuses=False, takes_s=1.0))
        await asyncio.sleep(0.1)
        await start(slots, refuses=True)
        assert await early == "ran"
        assert slots.offered(5, 0) == 0

    run_virtually(main())
