"""Is anything of a run still there? A pid alone proves nothing, since it is used again.

A process belongs to a run when it is the recorded pid with the recorded start, on the same boot, or when its environment
carries the run's marker. The marker survives a crash that came before the pid could be recorded.
"""

from __future__ import annotations

import contextlib
import os
import sys

from horae.core.model import Owner
from horae.ports import Orphan

MARKER = "HORAE_RUN_ID"
HOST = "HORAE_HOST"
UNTOLD = "unknown"  # a boot that the system does not tell
FIRST_SPACE = "pid:[4026531836]"  # the kernel's fixed name of the machine's own process numbers


def boot_id() -> str:
    """What tells this boot of this machine from any other."""
    return _first_line("/proc/sys/kernel/random/boot_id") or UNTOLD


def host_id(named: str | None = None) -> str:
    """What tells this machine from any other, beginning with its name for eyes; where processes are numbered apart, that too.

    `named` is what its owner calls it, where machines are copies of one another.
    """
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = FIRST_SPACE
    name = named or f"{os.uname().nodename}/{_first_line('/etc/machine-id') or ''}".rstrip("/")
    return name if space == FIRST_SPACE else f"{name}/{space}"


def started_at(pid: int) -> int | None:
    """When a process started, in the kernel's ticks since boot; None when there is none (or it cannot be told)."""
    try:
        return _born(pid)
    except OSError:
        return None


def _born(pid: int) -> int | None:
    """The same; None for one that is dead and only waits to be taken note of. Raises OSError where it cannot be looked at."""
    with open(f"/proc/{pid}/stat", "rb") as stat:
        fields = stat.read().rsplit(b") ", 1)[1].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def gone(owner: Owner, host: str) -> bool:
    """Whether a gateway's process is proven to be no more: it was on this machine, and is not there or from before a boot.

    Of another machine, or of another container with processes of its own, nothing can be proven from here; nor where the
    system does not tell its boot, or hides other people's processes.
    """
    boot = boot_id()
    if sys.platform != "linux" or owner.host != host or UNTOLD in (owner.boot, boot):
        return False
    if owner.boot != boot:
        return True
    try:
        return _born(owner.pid) != owner.pid_started
    except OSError:
        return _nobody_has(owner.pid)


def _nobody_has(pid: int) -> bool:
    """Whether the kernel says that no process has that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def remains(orphan: Orphan) -> list[int]:
    """The live processes of a run that an earlier gateway started. Empty after a reboot, and where /proc is not."""
    if sys.platform != "linux" or orphan.boot != boot_id():
        return []
    found: set[int] = set()
    if orphan.pid is not None and orphan.pid_started is not None and started_at(orphan.pid) == orphan.pid_started:
        found.add(orphan.pid)
    marker = f"{MARKER}={orphan.run_id}".encode()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as environ:
                if marker in environ.read().split(b"\0") and started_at(int(name)) is not None:
                    found.add(int(name))
    return sorted(found)


def _first_line(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().strip() or None
    except OSError:
        return None
