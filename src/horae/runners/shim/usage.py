"""What a run uses: how its limits are looked at, and what is said when one is passed.

In a scope of systemd the kernel bounds the whole tree as well (`cgroup.py`). A process's own bounds (`prlimit`) are the
net, and this looks at the tree every so often: soon after the start, then less and less often.
"""

from __future__ import annotations

import os
import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.runners.shim.tree import Tree

FIRST_S, EVERY_S, CALM_S = 0.1, 0.25, 1.0  # after the start; where a limit is set; where only the default bounds it
DATA_MARGIN = 64 * 1024 * 1024  # above twice its limit a process gets no more memory, however rarely it is looked at


class Usage:
    """The looks at one run's tree."""

    def __init__(self, order: dict[str, Any], tree: Tree) -> None:
        self._tree = tree
        self._memory: int | None = order["memory"]
        self._cpu: float | None = order["cpu"]
        self._processes: int = order["processes"]
        self._every = EVERY_S if order["tight"] else CALM_S
        self._pause = FIRST_S
        self.peak = 0
        self.next_at = 0.0

    def begin(self, pid: int, now: float) -> None:
        """The main process is there."""
        self.next_at = now + self._pause
        if self._memory is None and self._cpu is None:
            return
        try:
            if self._memory is not None:
                bound = 2 * self._memory + DATA_MARGIN
                resource.prlimit(pid, resource.RLIMIT_DATA, (bound, bound))
            if self._cpu is not None:
                bound = int(self._cpu) + 2
                resource.prlimit(pid, resource.RLIMIT_CPU, (bound, bound + 5))
        except (AttributeError, OSError, ValueError):
            return  # gone already, or no such bound here

    def look(self, now: float, spent: float) -> str | None:
        """Which limit was passed: memory, cpu, process. `spent` are the CPU seconds of those that have ended."""
        self._pause = min(self._every, 2 * self._pause)
        self.next_at = now + self._pause
        count, resident, cpu = self._tree.usage()
        over = False
        if self._memory is not None and resident > self._memory:
            resident = self._tree.proportional()
            over = resident > self._memory
        self.peak = max(self.peak, resident)
        if count > self._processes:
            return "process"
        if self._cpu is not None and spent + cpu > self._cpu:
            return "cpu"
        return "memory" if over else None


def beat_at(path: str) -> int | None:
    """When the beat file was last touched, as it says itself, in nanoseconds; None when it was not."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return None
