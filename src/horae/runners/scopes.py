"""A shim in a scope of its own: a control group that systemd made for it, apart from the gateway's.

A scope outlives a restart of the gateway's service, its processes cannot be lost from sight, and since it is delegated the
shim may make a smaller box for each run in it (`cgroup.py`). As root the machine's manager makes it, else the person's own
one. That one ends with the person's last session and takes its scopes with it, while plain processes may go on: so without
lingering there are none, and the reason says how to have them.

A scope that cannot be had keeps nothing from running: the reason is handed back, and the shim stays a plain process.
`busctl` asks, because it is there wherever systemd is. Every call blocks for some seconds at most.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from horae.app.systemd import REMEDY, THERE, lingering
from horae.ports.command import Said
from horae.runners.command import ask, with_bus

CALL = (
    "call",
    "org.freedesktop.systemd1",
    "/org/freedesktop/systemd1",
    "org.freedesktop.systemd1.Manager",
    "StartTransientUnit",
    "ssa(sv)a(sa(sv))",
)
SLICE = "horae.slice"  # all of them below one name, for whoever wants to see or bound them together
NAME_MAX = 200  # a unit's name may have 255 characters


class Scopes:
    """The scopes that this process can have."""

    def __init__(self, env: Mapping[str, str], *, user: str, uid: int, platform: str = sys.platform) -> None:
        self._env = with_bus(env, uid)
        self._user = user
        self._scope: tuple[str, ...] = () if uid == 0 else ("--user",)
        self._platform = platform
        self._known: tuple[bool, str] | None = None

    def usable(self) -> tuple[bool, str]:
        """Whether scopes can be had, and which or why not. Asked once; `again` forgets."""
        if self._known is None:
            why = self._problem()
            whose = "the machine's" if not self._scope else f"{self._user}'s own"
            self._known = (why is None, why or f"each run's keeper has a scope of its own, from {whose} systemd")
        return self._known

    def again(self) -> None:
        """Ask anew: somebody may have followed the advice."""
        self._known = None

    def adopt(self, name: str, pid: int) -> str | None:
        """Put a process, with what it starts from now on, into a scope of its own. None when systemd took the order.

        The order is carried out a moment later; `holds` tells whether it was.
        """
        usable, why = self.usable()
        if not usable:
            return why
        said = self._ask("busctl", *self._scope, "--quiet", *CALL, *arguments(scope_of(name), pid))
        if said.ok:
            return None
        return f"systemd made no scope: {said.words}"

    def holds(self, name: str, pid: int, proc: str = "/proc") -> bool:
        """Whether the process is in the scope of that name by now."""
        try:
            with open(os.path.join(proc, str(pid), "cgroup"), encoding="utf-8", errors="replace") as file:
                return any(scope_of(name) in line.rstrip("\n").split("/") for line in file)
        except OSError:
            return False

    def _problem(self) -> str | None:
        if self._platform != "linux":
            return "there is no systemd on this system"
        said = self._ask("systemctl", *self._scope, "is-system-running")
        if said.missing:
            return "systemctl is not on this machine: it has no systemd"
        if said.out.strip() not in THERE:
            whose = (
                "systemd does not run this machine" if not self._scope else f"{self._user} has no systemd manager here"
            )
            return f"{whose}: {said.words}"
        found = self._ask("busctl", "--version")
        if not found.ok:
            return f"busctl cannot be asked: {found.words}"
        if self._scope and lingering(lambda argv: self._ask(*argv), self._user) is not True:
            return f"{self._user} does not linger, so scopes would end at logout: {REMEDY} changes that"
        return None

    def _ask(self, *argv: str) -> Said:
        return ask(argv, self._env)


def scope_of(name: str) -> str:
    """The name of the unit."""
    return f"horae-{re.sub('[^A-Za-z0-9_.-]', '_', name)[:NAME_MAX]}.scope"


def arguments(unit: str, pid: int) -> tuple[str, ...]:
    """What follows the signature, as busctl reads it: an array begins with its length, a variant with its signature."""
    properties: tuple[tuple[str, ...], ...] = (
        ("PIDs", "au", "1", str(pid)),
        ("Delegate", "b", "true"),
        ("CollectMode", "s", "inactive-or-failed"),  # one that failed is forgotten too, or its name stays taken
        ("Slice", "s", SLICE),
        ("Description", "s", "The keeper of runs of Horae, and the run that it has"),
    )
    words = [word for each in properties for word in each]
    return (unit, "fail", str(len(properties)), *words, "0")
