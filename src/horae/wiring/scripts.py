"""A runner on a machine that keeps a copy of a cluster's scripts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from horae.core.model import Bounds, Job, Order, Owner, Result
from horae.core.preflight import Facts
from horae.errors import Problem
from horae.ports import Orphan, Runner
from horae.store.scriptmirror import ScriptMirror


@dataclass(frozen=True, slots=True)
class Following:
    """Looks once more before a job is blocked: the script that is not there may have come with the job, a moment ago."""

    runner: Runner
    mirror: ScriptMirror

    def facts(self, job: Job) -> Facts:
        """See `ports.Runner`."""
        found = self.runner.facts(job)
        if not found.problems or job.script is None:
            return found
        try:
            self.mirror.refresh()
        except Problem:
            return found  # it is said already why it cannot be started
        return self.runner.facts(job)

    async def run(
        self,
        order: Order,
        started: Callable[[int, int], Awaitable[None]],
        ready: Callable[[], Awaitable[None]],
    ) -> Result:
        """See `ports.Runner`."""
        return await self.runner.run(order, started, ready)

    def collected(self, run_id: str) -> None:
        """See `ports.Runner`."""
        self.runner.collected(run_id)

    def cancel(self, run_id: str, reason: str) -> bool:
        """See `ports.Runner`."""
        return self.runner.cancel(run_id, reason)

    def gone(self, owner: Owner) -> bool:
        """See `ports.Runner`."""
        return self.runner.gone(owner)

    async def adopt(self, orphan: Orphan, bounds: Bounds, secrets: Sequence[str]) -> Result:
        """See `ports.Runner`."""
        return await self.runner.adopt(orphan, bounds, secrets)

    def sweep(self, keep: Collection[str]) -> None:
        """See `ports.Runner`."""
        self.runner.sweep(keep)
