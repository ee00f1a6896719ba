"""The bound on live runs: order, closing, and that no slot leaks."""

from __future__ import annotations

import asyncio

import pytest

from horae.engine.slots import Closed, Slots
from horae.errors import Exhausted
from horae.limits import GROW_S, REST_MAX_S, REST_S
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


class Machine:
    """It has room for so many processes."""

    def __init__(self, room: int, limit: int) -> None:
        self.room, self.live = room, 0
        self.slots = Slots(limit)

    async def start(self, takes_s: float = 100.0) -> str:
        """As the flow does: a turn, a process, and a word about a refusal."""
        try:
            async with self.slots.turn():
                if self.live >= self.room:
                    raise Exhausted("no room")
                self.live += 1
                await asyncio.sleep(takes_s)
                self.live -= 1
        except Exhausted as refusal:
            self.slots.refused(refusal.message)
            return "refused"
        except Closed as closed:
            return f"sent away: {closed}"
        return "ran"


def test_beside_live_runs_the_bound_sinks_to_what_the_machine_has_room_for() -> None:
    async def main() -> None:
        machine = Machine(room=3, limit=8)
        slots = machine.slots
        ends = [asyncio.create_task(machine.start(takes_s=5.0)) for _ in range(12)]
        await asyncio.sleep(1)
        assert (slots.held, machine.live, slots.rests_s) == (3, 3, 0)
        assert slots.short_of == "no room: 3 at a time for now, instead of 8"
        assert slots.offered(50, slots.held) == 0
        answers = await asyncio.gather(*ends)
        assert answers.count("ran") >= 10, "who waited has had a turn"
        assert answers.count("ran") + answers.count("refused") == 12

    run_virtually(main())


def test_without_another_refusal_the_bound_grows_until_it_is_what_it_was() -> None:
    async def main() -> None:
        machine = Machine(room=3, limit=8)
        slots = machine.slots
        ends = [asyncio.create_task(machine.start(takes_s=1.0)) for _ in range(4)]
        await asyncio.gather(*ends)
        machine.room = 100
        seen = []
        for _ in range(6):
            seen.append((slots.offered(50, slots.held), slots.changes_in_s))
            await asyncio.sleep(GROW_S)
        assert seen == [(3, GROW_S), (4, GROW_S), (5, GROW_S), (6, GROW_S), (7, GROW_S), (50, None)]
        assert slots.short_of is None

    run_virtually(main())


def test_where_nothing_is_live_those_who_wait_are_sent_away_and_nobody_is_let_in_for_a_while() -> None:
    async def main() -> None:
        machine = Machine(room=0, limit=1)
        slots = machine.slots
        answers = await asyncio.gather(*(machine.start() for _ in range(3)))
        assert answers == ["refused", *["sent away: no room"] * 2]
        assert (slots.offered(5, 0), slots.held, slots.rests_s) == (0, 0, REST_S)
        assert slots.short_of == f"no room: nothing is started for {REST_S:.0f} s"
        assert await machine.start() == "sent away: no room"
        machine.room = 5
        await asyncio.sleep(REST_S + 0.001)
        assert await machine.start() == "ran"

    run_virtually(main())


def test_who_waits_when_the_rest_begins_is_sent_away_even_if_it_was_just_let_in() -> None:
    async def main() -> None:
        machine = Machine(room=0, limit=2)
        answers = await asyncio.gather(*(machine.start() for _ in range(9)))
        assert answers.count("refused") <= 3
        assert machine.slots.rests_s == REST_S

    run_virtually(main())


def test_after_a_rest_one_goes_first() -> None:
    async def main() -> None:
        machine = Machine(room=0, limit=8)
        slots = machine.slots
        await machine.start()
        await asyncio.sleep(REST_S + 0.001)
        assert slots.offered(50, slots.held) == 1
        assert await machine.start() == "refused"
        assert slots.rests_s == 2 * REST_S
        await asyncio.sleep(2 * REST_S + GROW_S - 0.001)
        assert slots.offered(50, slots.held) == 1
        await asyncio.sleep(0.002)
        assert slots.offered(50, slots.held) == 2, "nobody was refused meanwhile"

    run_virtually(main())


def test_the_rests_grow_while_it_goes_on() -> None:
    async def main() -> None:
        machine, rests = Machine(room=0, limit=4), []
        for _ in range(6):
            await asyncio.gather(*(machine.start() for _ in range(3)))
            rests.append(machine.slots.rests_s)
            await asyncio.sleep(machine.slots.rests_s + 0.001)
        assert rests == pytest.approx([REST_S, 2 * REST_S, 4 * REST_S, 8 * REST_S, REST_MAX_S, REST_MAX_S])
        assert REST_MAX_S < 16 * REST_S

    run_virtually(main())


def test_what_was_live_before_the_rest_does_not_end_it() -> None:
    async def main() -> None:
        machine = Machine(room=0, limit=4)
        await machine.start()
        machine.room, machine.live = 5, 0
        async with asyncio.timeout(1):
            assert await machine.start(takes_s=0.1) == "sent away: no room"
        assert machine.slots.offered(5, 0) == 0

    run_virtually(main())
