"""A gateway kept by systemd: by a person's own manager, or as root by the machine's.

A person's manager ends with the last session of that person, unless it lingers. So that is told, with the command that
changes it; it is not changed here, since it is about everything that this person runs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from horae.app.service import State
from horae.app.servicefile import Service, systemd_home, systemd_same, systemd_unit
from horae.ports.command import Ask, Said

SYSTEM_FOLDER = "/etc/systemd/system"
LINGERS = "/var/lib/systemd/linger"
THERE = ("running", "degraded", "starting", "initializing", "maintenance", "stopping")  # what a manager says of itself
ASKED = "LoadState,ActiveState,SubState,MainPID,UnitFileState,NeedDaemonReload"


class Systemd:
    """See `service.Keeper`."""

    manager = "systemd"

    def __init__(self, service: Service, ask: Ask, *, user: str, config_home: str) -> None:
        self._service = service
        self._ask = ask
        self._user = user
        self.scope = "system" if service.system else "user"
        self.unit = f"{service.name}.service"
        folder = SYSTEM_FOLDER if service.system else os.path.join(config_home, "systemd", "user")
        self.file = os.path.join(folder, self.unit)

    def text(self) -> str:
        """See `service.Keeper`."""
        return systemd_unit(self._service)

    def home_in(self, text: str) -> str | None:
        """See `service.Keeper`."""
        return systemd_home(text)

    def same(self, text: str) -> bool:
        """See `service.Keeper`."""
        return systemd_same(text, self.text())

    def missing(self) -> str | None:
        """See `service.Keeper`."""
        said = self._ask(self._systemctl("is-system-running"))
        if said.missing:
            return "systemctl is not on this machine: it has no systemd"
        if said.out.strip() in THERE:
            return None
        words = said.words if said.err else said.out.strip() or said.words
        if self.scope == "system":
            return f"systemd does not run this machine: {words}"
        root = " As root, `--system` makes it a service of the machine." if self._user == "root" else ""
        return f"systemd has no manager for {self._user} here: {words}.{root}"

    def state(self) -> State:
        """See `service.Keeper`."""
        said = self._ask(self._systemctl("show", self.unit, f"--property={ASKED}"))
        found = dict(line.split("=", 1) for line in said.out.splitlines() if "=" in line)
        active = found.get("ActiveState")
        pid = found.get("MainPID", "")
        return State(
            enabled=found["UnitFileState"] == "enabled" if "UnitFileState" in found else None,
            active=active,
            running=active in ("active", "reloading"),
            pid=int(pid) if pid.isdigit() and pid != "0" else None,
            loaded=found.get("LoadState", "not-found") != "not-found",
            stale=found.get("NeedDaemonReload") == "yes",
        )

    def beginning(self, state: State, *, changed: bool) -> list[Sequence[str]]:
        """See `service.Keeper`."""
        steps: list[Sequence[str]] = [self._systemctl("daemon-reload")] if changed else []
        steps.append(self._systemctl("enable", "--now", self.unit))
        if changed and state.running:  # its runs go on meanwhile
            steps.append(self._systemctl("restart", self.unit))
        return steps

    def ending(self, state: State) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
        """See `service.Keeper`."""
        before: list[Sequence[str]] = [self._systemctl("disable", "--now", self.unit)] if state.loaded else []
        return before, [self._systemctl("daemon-reload")]

    def lasting(self) -> tuple[bool | None, str | None]:
        """See `service.Keeper`."""
        if self.scope == "system":
            return None, None
        lingers = lingering(self._ask, self._user)
        if lingers is not False:
            return lingers, None
        how = f"it ends when {self._user} logs out, and does not start at boot: {REMEDY} changes that"
        return False, how

    def advice(self) -> str:
        """See `service.Keeper`."""
        return f"`journalctl {'--user ' if self.scope == 'user' else ''}-u {self.unit} -n 20` says more"

    def _systemctl(self, *words: str) -> tuple[str, ...]:
        return ("systemctl", *(() if self.scope == "system" else ("--user",)), *words)


REMEDY = "`loginctl enable-linger`"


def lingering(ask: Ask, user: str, folder: str = LINGERS) -> bool | None:
    """Whether a person's manager stays when that person logs out; None when nobody tells."""
    said: Said = ask(("loginctl", "show-user", user, "--property=Linger"))
    if said.ok and said.out.startswith("Linger="):
        return said.out.strip() == "Linger=yes"
    if os.path.isdir(folder):  # it knows nothing of somebody who is not logged in
        return os.path.exists(os.path.join(folder, user))
    return None
