"""The process tree below this process: look at it, freeze it, end it, prove that nothing of it is left.

This process is a *child subreaper* (Linux): whatever loses its parent becomes its child, also in a session of its own and
after a double fork. So what began below it stays below it until it is reaped, and `ECHILD` from wait proves that nothing
is left.

A tree that forks while it is looked at is never seen whole. So it is frozen first: whatever is found is stopped, until a
look finds nothing new; what is stopped forks no more. Only then it is told to end (TERM, and go on) or killed.

Without /proc there are only process groups, and emptiness is not proved.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

LINUX = sys.platform == "linux"
PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36
FREEZE_S = 5.0  # a tree that still grows after this is killed as it is
LOOK_EVERY_S = 0.01
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def become_subreaper(name: bytes) -> None:
    """Inherit every orphan below this process, which is shown under that name."""
    if LINUX:
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(PR_SET_NAME, ctypes.c_char_p(name), 0, 0, 0)


def children(pid: int) -> list[int]:
    """The children of all threads of a process; none of one that is gone."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            fd = os.open(f"/proc/{pid}/task/{thread}/children", os.O_RDONLY | os.O_CLOEXEC)
            try:
                while data := os.read(fd, 65536):
                    found += map(int, data.split())
            finally:
                os.close(fd)
    except OSError:
        pass
    return found


def stat_of(pid: int) -> list[bytes] | None:
    """What the kernel says of a process, from its state on (field 3 of proc(5)); None of one that is gone."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(fd, 4096).rsplit(b") ", 1)[1].split()
    except (OSError, IndexError):
        return None
    finally:
        os.close(fd)


def born(pid: int) -> int:
    """When it began, in ticks since boot; 0 when that cannot be told."""
    fields = stat_of(pid)
    return int(fields[19]) if fields else 0


def name_of(pid: int) -> str:
    """How a process calls itself: its command line, else its short name."""
    for file in ("cmdline", "comm"):
        try:
            with open(f"/proc/{pid}/{file}", "rb") as opened:
                said = opened.read(200).replace(b"\0", b" ").strip()
        except OSError:
            continue
        if said:
            return said.decode("utf-8", "replace")
    return "?"


class Tree:
    """Everything below this process but `spared` and what is below those."""

    def __init__(self, spared: Collection[int] = ()) -> None:
        self._spared = spared

    def below(self) -> list[int]:
        """Its processes, parents before children. Zombies that nobody has reaped count."""
        found: list[int] = []
        todo = [os.getpid()]
        while todo:
            more = [pid for pid in children(todo.pop()) if pid not in self._spared]
            found += more
            todo += more
        return found

    def usage(self) -> tuple[int, int, float]:
        """How many processes it has, their resident memory in bytes, and their CPU seconds (with reaped children).

        Those that have ended and that nobody waits for count: they keep their numbers, and what they have used was used.
        """
        count = pages = ticks = 0
        for pid in self.below():
            fields = stat_of(pid)
            if fields is not None and fields[0] != b"X":
                count += 1
                ticks += sum(map(int, fields[11:15]))
                pages += int(fields[21])
        return count, pages * PAGE, ticks / TICKS

    def proportional(self) -> int:
        """Its memory in bytes, what several share counted once. Dear: for when the other sum is over a limit."""
        total = 0
        for pid in self.below():
            try:
                with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
                    total += sum(
                        int(line.split()[1]) * 1024 for line in file if line.startswith((b"Pss:", b"SwapPss:"))
                    )
            except OSError:
                fields = stat_of(pid)
                total += int(fields[21]) * PAGE if fields else 0
        return total

    def freeze(self, group: int | None = None) -> list[int]:
        """Stop all of it, until a look finds nothing new. Returns what was found, parents before children."""
        if group is not None:
            send(-group, signal.SIGSTOP)
        seen: dict[int, None] = {}
        deadline = time.monotonic() + FREEZE_S
        while time.monotonic() < deadline:
            fresh = [pid for pid in self.below() if pid not in seen]
            if not fresh:
                break
            for pid in fresh:
                send(pid, signal.SIGSTOP)
            seen |= dict.fromkeys(fresh)
        return list(seen)

    def ask(self, group: int | None, spared: int | None = None) -> int:
        """Ask all of it to end, but for `spared`. Returns how many were asked.

        A sandbox's outermost process is to be spared: it would end at once, and take the grace from what is in it.
        """
        if not LINUX:
            if group is not None:
                send(-group, signal.SIGTERM)
            return 1
        found = self.freeze(group)
        for number in (signal.SIGTERM, signal.SIGCONT):
            for pid in found:
                if pid != spared or number == signal.SIGCONT:
                    send(pid, number)
        return len(found)

    def clear(
        self,
        group: int | None,
        reap: Callable[[], bool],
        bound_s: float,
        main: int | None = None,
        kill: Callable[[], object] | None = None,
    ) -> tuple[list[str], bool]:
        """Kill all of it. Returns what it was, but for `main` and zombies; and whether it is proved that nothing is left.

        `reap` takes note of what has ended, and says whether no child is left. `kill` is the kernel's own way to kill all.
        """
        if not LINUX:
            if group is not None:
                send(-group, signal.SIGKILL)
            reap()
            return [], False
        hurry()
        deadline = time.monotonic() + bound_s
        names: dict[int, str] = {}
        while True:
            found = self.freeze(group)
            for pid in found:
                if (
                    pid not in names
                    and pid != main
                    and (fields := stat_of(pid)) is not None
                    and fields[0] not in (b"Z", b"X")
                ):
                    names[pid] = name_of(pid)
            if kill is not None:
                kill()
            for pid in found:
                send(pid, signal.SIGKILL)
            if reap():
                return list(names.values()), True
            if time.monotonic() > deadline:
                return list(names.values()), False
            time.sleep(LOOK_EVERY_S)


def hurry() -> None:
    """Come before what forks without end, where we may."""
    try:
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except (OSError, AttributeError):
        pass


def calm() -> None:
    """Undo `hurry`."""
    try:
        if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK != os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except (OSError, AttributeError):
        pass


def send(pid: int, number: int) -> None:
    """A signal, to whoever is still there and may get it from us."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
