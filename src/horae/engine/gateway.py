"""The long-lived process's heart, and the only `while` of the engine.

There is no tick. The loop claims what is due, then sleeps until the next due instant or until something wakes it: a new
or changed job, an ordered run, a run that ended, a stepped clock. A wait never exceeds `WAIT_MAX_S`, as the net below a
wake-up that was lost.

Its lease is renewed while it owns runs, and always where others share the store. Being told that its runs were taken over
(it was suspended, or cut off), it ends its programs and begins anew.

Stopping: the first request drains (nothing new starts, queued claims are given back, live runs may end). What is live at
the drain's own limit is left to its shims, for the next gateway to adopt, or is ended where the settings say so; a second
request ends it, and records that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import datetime, timedelta

from horae.core.clockwatch import compare
from horae.core.delivery import Parcel
from horae.core.model import Claim
from horae.engine.flow import step
from horae.engine.lease import RENEW_EVERY_S
from horae.engine.pace import Pace
from horae.engine.recover import ABANDONED, ORPHAN, abandon, recover, unsent
from horae.engine.slots import Slots
from horae.errors import Problem, Stale
from horae.limits import (
    CLAIM_BATCH_MAX,
    HANDOVER_S,
    KILL_GRACE_S,
    POLL_S,
    SEND_GRACE_S,
    SENDS_MAX,
    SHARED_AHEAD,
    WAIT_MAX_S,
)
from horae.ports import Ports

LATELY_MAX = 1000  # addresses of which it is known that they had their turn
TAKEN = "another gateway took its runs over"

log = logging.getLogger("horae.gateway")


class Gateway:
    """One running gateway. `run` returns when it has stopped."""

    def __init__(
        self, ports: Ports, slots: Slots, stop_runs: Callable[[str], None], version: str, *, shared: bool = False
    ) -> None:
        self.ports = ports
        self._shared = shared
        self._slots = slots
        self._stop_runs = stop_runs
        self._version = version
        self._woken = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], Claim] = {}
        self._sends: dict[asyncio.Task[None], Parcel] = {}
        self._lately: dict[str, None] = {}
        """Addresses that had their turn, the last one last."""
        self._pace = Pace(ports.clock)
        self._orphans: set[asyncio.Task[None]] = set()  # those of the tasks that start nothing, and so take no room
        self._loop: asyncio.AbstractEventLoop | None = None
        self._recover_at: datetime | None = None
        self._ends_runs = False
        self.stopping = False
        self.next_due: datetime | None = None
        self.looked_at: datetime | None = None

    @property
    def live(self) -> list[Claim]:
        """Claims that are on their way."""
        return list(self._tasks.values())

    @property
    def short_of(self) -> str | None:
        """What its machine has no room for, and what follows; None while it has."""
        return self._slots.short_of

    def wake(self) -> None:
        """Look again now. Safe from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._woken.set)

    def soon(self, call: Callable[..., object], *args: object) -> None:
        """Have something done on the engine's own thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(call, *args)

    def stop(self) -> None:
        """Once: drain. Again: end the live runs too."""
        if self.stopping:
            self._ends_runs = True
            self._stop_runs("the gateway was stopped")
        self.stopping = True
        self._slots.close()
        self.wake()

    async def run(self) -> None:
        """Sign on, make good what was left, fire until stopped, drain, sign off."""
        self._loop = asyncio.get_running_loop()
        p = self.ports
        await self._sign_on()
        before = p.clock.reading()
        while not self.stopping:
            self._woken.clear()
            self.looked_at = p.clock.now()
            try:
                if await self._look():
                    continue  # there may be more
            except Stale:
                await self._begin_anew()
                continue
            p.clock.arm(self._wake_at(), self._woken.set)
            await self._woken.wait()
            noticed, before = compare(before, now := p.clock.reading()), now
            if noticed:
                await p.store.commit(
                    lambda tx, n=noticed: tx.journal.append(
                        "clock_changed", actor="gateway", stepped_s=n.stepped_s, slept_s=n.slept_s
                    )
                )
        await self._drain()
        handover_s = HANDOVER_S if self._shared else 0.0
        await p.store.commit(lambda tx: tx.runs.sign_off(p.owner, handover_s))

    async def _sign_on(self) -> None:
        p = self.ports
        asked = p.lease.asking()
        await p.store.commit(lambda tx: tx.runs.sign_on(p.owner, self._version))
        p.lease.renewed(asked)
        await self._recover()

    async def _look(self) -> bool:
        """Take over, claim and renew what there is. True when it must be done again at once."""
        p = self.ports
        if self._recover_at is not None and p.clock.now() >= self._recover_at:
            await self._recover()
        owns = bool(self._tasks or self._sends) or self._shared
        claimed = len(self._tasks)
        most = self._most()
        room = most - claimed + len(self._orphans)
        if self._queued > 0 and room * 2 < most:
            room = 0  # a burst is claimed in a few large bites, not anew at each run that ends
        room = self._slots.offered(room, claimed - len(self._orphans))
        offered = max(0, room) if room > 0 or self._came_due else None
        self.next_due = await step(
            p, self._spawn, offered, keep=owns and p.lease.is_old, sends=self._may_send, lately=tuple(self._lately)
        )
        return 0 < room <= len(self._tasks) - claimed

    @property
    def _may_send(self) -> int:
        """How many messages more it may have under way."""
        return SENDS_MAX - len(self._sends) if self._slots.posts else 0

    @property
    def _came_due(self) -> bool:
        """Whether there is anything to decide about that was not there at the last look."""
        return self.next_due is not None and self.ports.clock.now() >= self.next_due

    @property
    def _queued(self) -> int:
        """Runs of its own that wait for a place."""
        return len(self._tasks) - len(self._orphans) - self._slots.held

    def _most(self) -> int:
        """How many runs it may own. Where others could start them sooner, no more than it can begin before long."""
        if not self._shared:
            return CLAIM_BATCH_MAX
        parallel = self.ports.settings.parallel
        return min(CLAIM_BATCH_MAX, parallel + min(parallel * SHARED_AHEAD, self._pace.lately))

    def _wake_at(self) -> datetime:
        """The next due instant, or when something else must be looked at."""
        now = self.ports.clock.now()
        net_s = WAIT_MAX_S
        if self._shared:
            net_s = POLL_S
        elif self._tasks or self._sends:
            net_s = RENEW_EVERY_S
        net_s = min(net_s, self._slots.changes_in_s or net_s)
        wanted = (now + timedelta(seconds=net_s), self.next_due, self._recover_at)
        return min(instant for instant in wanted if instant is not None)

    async def _recover(self) -> None:
        """Take over what others left, and note when to look for more."""
        judges_in_s = self.ports.lease.judges_in_s if self._shared else None
        lease_ends = await recover(self.ports, self._spawn, judges_in_s, {claim.run_id for claim in self.live})
        regularly = self.ports.clock.now() + timedelta(seconds=RENEW_EVERY_S) if self._shared else None
        self._recover_at = min((at for at in (lease_ends, regularly) if at is not None), default=None)

    async def _begin_anew(self) -> None:
        """Its runs are somebody else's now: their programs must not go on beside what others do about them."""
        log.warning("this gateway was taken for lost, and its runs are another's now: it ends their programs")
        self.ports.lease.lost()
        self._end_taken()
        await _cancel({*self._orphans, *self._sends})
        if self._tasks:  # what has not begun ends by itself: it is stale
            _, stuck = await asyncio.wait(self._tasks, timeout=2 * KILL_GRACE_S)
            await _cancel(stuck)
        await self._sign_on()

    def _end_taken(self) -> None:
        for claim in self.live:
            self.ports.runner.cancel(claim.run_id, TAKEN)

    async def _drain(self) -> None:
        """Wait for what is live; past the limit, leave or end it. What an earlier gateway started is left to the next one."""
        await _cancel(set(self._orphans))
        if self._slots.held:
            log.info("waiting for %d live run(s); press Ctrl-C again to end them", self._slots.held)
        late = await self._wait_for_runs(self.ports.settings.drain_s)
        if late and self.ports.settings.on_stop == "leave" and not self._ends_runs:
            log.info("%d live run(s) go on by themselves; the next gateway adopts them", len(late))
            await _cancel(late)
        elif late:
            self._stop_runs(f"the gateway stopped and the run did not end within {self.ports.settings.drain_s:.0f} s")
            _, stuck = await asyncio.wait(late, timeout=2 * KILL_GRACE_S)
            await _cancel(stuck)  # not even KILL ends it: the next gateway takes it over
            await self._wait_for_runs(SEND_GRACE_S)  # what they said of it
        await self._end_sends()

    async def _end_sends(self) -> None:
        """No message is begun any more. Those under way have a moment; of what is then given up nobody knows what became."""
        self._slots.posts = False
        if self._sends:
            await asyncio.wait(set(self._sends), timeout=SEND_GRACE_S)
        await _cancel(set(self._sends))
        if self._sends:  # what was given up is being written down
            await asyncio.wait(set(self._sends), timeout=SEND_GRACE_S)

    async def _wait_for_runs(self, limit_s: float) -> set[asyncio.Task[None]]:
        """Wait for what is live and for its messages, still owning them. Returns the runs that did not end in time."""
        loop, p = asyncio.get_running_loop(), self.ports
        end = loop.time() + limit_s
        if self._shared:
            await p.store.commit(lambda tx: tx.runs.drain(p.owner))
        while (left_s := end - loop.time()) > 0:
            self._woken.clear()
            try:
                await step(p, self._spawn, None, keep=p.lease.is_old, sends=self._may_send)
            except Stale:
                self._end_taken()
            if not self._tasks and not self._sends:
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), min(RENEW_EVERY_S, left_s))
        return set(self._tasks)

    def _spawn(self, claim: Claim | Parcel, way: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(way, name=name)
        if isinstance(claim, Parcel):
            self._sends[task] = claim
            self._lately.pop(claim.address, None)
            self._lately[claim.address] = None
            if len(self._lately) > LATELY_MAX:
                del self._lately[next(iter(self._lately))]
            task.add_done_callback(self._sent)
            return
        self._tasks[task] = claim
        if name == ORPHAN:
            self._orphans.add(task)
        task.add_done_callback(self.ended)

    def _sent(self, task: asyncio.Task[None]) -> None:
        """A message is through, or somebody else's, or a fault of ours broke it off: then nobody knows what became of it."""
        parcel = self._sends.pop(task)
        self._woken.set()
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Stale) or (error is None and not task.cancelled()):
            return
        if error is not None:
            log.error("a message to %s: a fault of Horae broke it off", parcel.address, exc_info=error)
        if task.get_name() != ABANDONED:  # once: after a second fault it is left to the next start
            why = "the gateway stopped while it was being sent" if error is None else f"a fault of Horae: {error!r}"
            self._spawn(parcel, unsent(parcel, why, self.ports), ABANDONED)

    def ended(self, task: asyncio.Task[None]) -> None:
        """A claim's way is over: at its end, where somebody else had moved the run on, or by a fault of ours."""
        claim = self._tasks.pop(task)
        if not task.cancelled():
            self.ports.runner.collected(claim.run_id)
        self._orphans.discard(task)
        self._pace.ended()
        self._woken.set()
        error = None if task.cancelled() else task.exception()
        if error is None or isinstance(error, Stale):
            return
        if self.stopping and isinstance(error, Problem):
            log.warning("run %s: its end could not be recorded and is left to the next start: %s", claim.run_id, error)
        else:
            log.error("run %s: a fault of Horae ended its flow", claim.run_id, exc_info=error)
            if task.get_name() != ABANDONED:  # once: a fault in this as well is left to the next start
                self._spawn(claim, abandon(claim, f"a fault of Horae ended its flow: {error!r}", self.ports), ABANDONED)


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
