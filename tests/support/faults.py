"""Faults are a wrapper around the ports, so the product has no hooks.

Every call of a wrapped port is numbered over the whole world. At the k-th call the gateway that makes it meets one of
KINDS. A dead gateway's later calls raise, so that no `finally` tidies up what a SIGKILL would not have. A gateway that
stands still learns no answer and begins nothing before it goes on; its programs, its machine and everybody else do go on.

A call that is not awaited cannot stand still in the middle: there the gateway stands still directly after it, which is
the same to everybody outside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from horae.limits import LEASE_MARGIN_S, LEASE_S
from tests.support.virtual import Others

JUST_S = LEASE_S + 2.0  # just past a lease that was renewed this moment
FAR_S = 3 * LEASE_S
SHORT_S = LEASE_S - LEASE_MARGIN_S / 2  # past what its owner trusts, not past what others must wait for
FULL_S = 12.0
KINDS = {
    "before": "it dies, and the call does not happen",
    "after": "it dies, and the call has happened, but nobody learns its answer",
    "pause": "it stands still just past its lease before the call",
    "stall": "it stands still just past its lease after the call, before it learns the answer",
    "far": "it stands still far past its lease before the call",
    "usurped": "it stands still, another gateway begins in its place, and then it goes on as if nothing had been",
    "short": "it stands still after the call, longer than it trusts its lease, not as long as others must wait",
    "cut": "it does not reach the store until just past its lease; it and its programs go on",
    "cut_far": "it does not reach the store until far past its lease",
    "outage": "no gateway at all reaches the store until just past the lease",
    "asleep": "its machine is suspended, with all programs on it, just past the lease",
    "power": "its machine dies with everything on it, and comes back by another boot",
    "stepped": "its machine's wall clock is set by an hour",
    "shims": "what watches the programs on its machine is killed, and they with it",
    "full": "its machine has no room for another process for some seconds",
}
MUST = ("before", "after", "pause", "far", "usurped")  # at every call of every port, whatever else
LATE = {"after": 0.0, "stall": JUST_S, "short": SHORT_S}  # these strike when the call has happened
AWAITED = ("commit", "together", "run", "adopt", "send")


class Crash(BaseException):
    """The gateway died here. Nothing of it may run any more."""


class Plan:
    """Which call is hit by what: the k-th one of all, or one of the next after an instant. `log` names every call."""

    def __init__(self, faults: dict[int, str] | None = None, later: Sequence[tuple[float, int, str]] = ()) -> None:
        self.faults = faults or {}
        self.later = list(later)
        """(seconds, how many calls are spared after that, kind), in order."""
        self.log: list[str] = []
        self.marks: dict[str, int] = {}
        self._due = list(later)
        self._next_s = later[0][0] if later else float("inf")
        assert {*self.faults.values(), *(kind for *_, kind in later)} <= set(KINDS)

    def mark(self, what: str) -> None:
        """Note how many calls there were until now."""
        self.marks.setdefault(what, len(self.log))

    def next(self, what: str, now_s: float) -> str | None:
        self.log.append(what)
        if now_s >= self._next_s:
            _, spared, kind = self._due.pop(0)
            self.faults[len(self.log) + spared - 1] = kind
            self._next_s = self._due[0][0] if self._due else float("inf")
        return self.faults.get(len(self.log) - 1)


class Faulty:
    """A port whose named methods are subject to the plan. `life` is the gateway that calls."""

    def __init__(
        self,
        real: Any,
        methods: tuple[str, ...],
        plan: Plan,
        life: Any,
        noise: Callable[[], int] = lambda: 0,
        *,
        store: bool = False,
    ) -> None:
        self._real, self._methods, self._plan, self._life, self._noise = real, methods, plan, life, noise
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name not in self._methods:
            return getattr(self._real, name)
        what = f"{self._life.name} {type(self._real).__name__}.{name}"
        wrapped = self._awaited(name, what) if name in AWAITED else self._at_once(name, what)
        self.__dict__[name] = wrapped  # made once
        return wrapped

    def _awaited(self, name: str, what: str) -> Callable[..., Any]:
        life, plan, loop = self._life, self._plan, asyncio.get_running_loop()

        async def call(*args: Any, **kwargs: Any) -> Any:
            asked_s = loop.time()
            for _ in range(self._noise()):
                await Others()
            await life.while_paused()
            fault = plan.next(what, loop.time())
            if fault is not None and fault not in LATE:
                life.hit(fault)
            await life.while_paused()
            if self._store:
                await life.while_cut_off()
            life.stood_still = loop.time() > asked_s  # since whatever it looked at before this call
            answer = await getattr(self._real, name)(*args, **kwargs)
            if self._store and life.world.look is not None:
                life.world.look(life.world)
            if fault in LATE:
                life.hit(fault)
            await life.while_paused()
            return answer

        return call

    def _at_once(self, name: str, what: str) -> Callable[..., Any]:
        life, plan, loop = self._life, self._plan, asyncio.get_running_loop()

        def call(*args: Any, **kwargs: Any) -> Any:
            life.must_live()
            fault = plan.next(what, loop.time())
            if fault is not None and fault not in LATE:
                life.hit(fault)
            life.must_live()
            answer = getattr(self._real, name)(*args, **kwargs)
            if fault in LATE:
                life.hit(fault)
            life.must_live()
            return answer

        return call
