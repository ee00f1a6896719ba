"""Faults are a wrapper around the ports, so the product has no hooks.

Every call of a wrapped port is numbered over the whole world. At the k-th call the gateway that makes it

- `before`: dies, and the call does not happen;
- `after`: dies, and the call has happened, but nobody learns its answer;
- `pause`: stands still for a while, and then goes on;
- `usurped`: stands still, another gateway takes the home over, and then the first one goes on as if nothing had been.

A dead gateway's later calls raise, so that no `finally` tidies up what a SIGKILL would not have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

KINDS = ("before", "after", "pause", "usurped")


class Crash(BaseException):
    """The gateway died here. Nothing of it may run any more."""


class Plan:
    """Which call is hit by what. `log` names every call, so that a failure can be read."""

    def __init__(self, faults: dict[int, str] | None = None) -> None:
        self.faults = faults or {}
        self.log: list[str] = []

    def next(self, what: str) -> str | None:
        self.log.append(what)
        return self.faults.get(len(self.log) - 1)


class Faulty:
    """A port whose named method is subject to the plan. `life` is the gateway that calls."""

    def __init__(self, real: Any, method: str, plan: Plan, life: Any, noise: Callable[[], int] = lambda: 0) -> None:
        self._real, self._method, self._plan, self._life, self._noise = real, method, plan, life, noise

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        if name != self._method:
            return real

        async def call(*args: Any, **kwargs: Any) -> Any:
            for _ in range(self._noise()):
                await asyncio.sleep(0)
            await self._life.while_paused()
            self._life.must_live()
            fault = self._plan.next(f"{self._life.name} {type(self._real).__name__}.{name}")
            if fault is not None:
                self._life.hit(fault, args)
            self._life.must_live()
            await self._life.while_paused()
            self._life.must_live()
            answer = await real(*args, **kwargs)
            if fault == "after":
                self._life.die()
            self._life.must_live()
            return answer

        return call
