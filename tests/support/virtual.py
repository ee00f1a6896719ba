"""Time that passes only when nobody has anything to do: hours of a gateway's life in a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, TypeVar

from horae.core.clockwatch import Reading
from tests.support.builders import START

T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TICKS_AFTER = 5_000  # rounds of the loop at one moment: then a microsecond has passed, as it has on any machine
AT_ONCE_MAX = 15_000  # rounds of the loop at one moment: a busy one has some hundreds


class _Jumping:
    """A selector that never waits: where it would, the loop's time jumps instead. No file is ever ready."""

    def __init__(self, loop: VirtualLoop, real: Any) -> None:
        self._loop, self._real = loop, real
        self._at_once = 0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise AssertionError("everybody waits and nothing will ever happen")
        if timeout:  # in whole microseconds, or what is left of a wait would one day be less than a number can show
            us = round(self._loop.seconds * 1e6)
            self._loop.seconds = max(us + 1, ceil(self._loop.seconds * 1e6 + timeout * 1e6 - 1e-3)) / 1e6
        self._at_once = 0 if timeout else self._at_once + 1
        if self._at_once == TICKS_AFTER:  # whoever waits for less than a number can show
            self._loop.seconds = (round(self._loop.seconds * 1e6) + 1) / 1e6
        assert self._at_once < AT_ONCE_MAX or not self._loop.watched, "something goes on and on, and no time passes"
        return ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        self.watched = True
        self._selector = _Jumping(self, self._selector)  # pyright: ignore[reportAttributeAccessIssue]

    def time(self) -> float:
        return self.seconds

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken by another thread."""


async def nap(seconds: float) -> None:
    """Let virtual time pass."""
    waiter = (loop := asyncio.get_running_loop()).create_future()
    timer = loop.call_later(seconds, _over, waiter)
    try:
        await waiter
    finally:
        timer.cancel()


def _over(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Others:
    """`await Others()`: let everybody else go first who can go on at this moment."""

    def __await__(self) -> Generator[None]:
        yield


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on virtual time. Tasks that are left are cancelled."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.watched = False  # what is left may take as long as it likes
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.close()


class VirtualClock:
    """`ports.Clock` on a virtual loop. It can be stepped, and the machine under it can be put to sleep.

    A sleep is as on Linux: the wall clock and the steady one go on, the loop's own timers stand still. `sibling` is a
    clock that shows the same time and has a timer of its own, for another gateway on the same machine. `off_s` is by how
    much this machine's wall clock is wrong.
    """

    def __init__(self, start: datetime = START, off_s: float = 0.0) -> None:
        self._time = {"start": start.timestamp(), "off": off_s, "stepped": 0.0, "slept": 0.0}
        self._dozed = {"s": 0.0}
        self._family: list[VirtualClock] = [self]
        self._armed: tuple[datetime, Callable[[], None]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.arms = 0
        self.dead = False

    def sibling(self) -> VirtualClock:
        other = VirtualClock()
        other._time, other._family, other._dozed = self._time, self._family, self._dozed
        self._family.append(other)
        return other

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=round(sum(self._time.values()) + self._awake_s(), 6))

    def reading(self) -> Reading:
        passed = self._awake_s()
        return Reading(self.now().timestamp(), passed + self._time["slept"], passed - self._dozed["s"])

    def arm(self, until: datetime, wake: Callable[[], None]) -> None:
        self.arms += 1
        self._armed = (until, wake)
        self._set()

    def step(self, by: timedelta) -> None:
        """Somebody sets the wall clock; whoever waits is woken at once."""
        self._time["stepped"] += by.total_seconds()
        for clock in self._family:
            clock._fire()

    def suspend(self, by: timedelta) -> None:
        """The lid is closed for a while; on waking, a timer fires if it is due by now."""
        self._time["slept"] += by.total_seconds()
        for clock in self._family:
            if clock._armed is not None:
                clock._set()

    def doze(self, by_s: float) -> None:
        """The machine was asleep for so long while others went on."""
        self._dozed["s"] += by_s

    @staticmethod
    def _awake_s() -> float:
        return asyncio.get_running_loop().time()

    def _set(self) -> None:
        assert self._armed is not None
        if self._timer is not None:
            self._timer.cancel()
        left = max(0.0, (self._armed[0] - self.now()).total_seconds())
        self._timer = asyncio.get_running_loop().call_later(left, self._fire)

    def _fire(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        armed, self._armed = self._armed, None
        if armed is not None and not self.dead:
            armed[1]()
