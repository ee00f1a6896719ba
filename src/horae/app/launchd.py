"""A gateway kept by launchd, as an agent of the person who is logged in at the screen."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from horae.app.service import State
from horae.app.servicefile import Service, launchd_home, launchd_label, launchd_plist, launchd_same
from horae.ports.command import Ask


class Launchd:
    """See `service.Keeper`."""

    manager = "launchd"
    scope = "user"

    def __init__(self, service: Service, ask: Ask, *, uid: int, folder: str) -> None:
        self._service = service
        self._ask = ask
        self._domain = f"gui/{uid}"
        self.unit = launchd_label(service)
        self.file = os.path.join(folder, f"{self.unit}.plist")

    def text(self) -> str:
        """See `service.Keeper`."""
        return launchd_plist(self._service)

    def home_in(self, text: str) -> str | None:
        """See `service.Keeper`."""
        return launchd_home(text)

    def same(self, text: str) -> bool:
        """See `service.Keeper`."""
        return launchd_same(text, self.text())

    def missing(self) -> str | None:
        """See `service.Keeper`."""
        said = self._ask(("launchctl", "print", self._domain))
        if said.missing:
            return "launchctl is not on this machine"
        if said.ok:
            return None
        return f"launchd has no {self._domain} here: {said.words}. It is there for who is logged in at the screen."

    def state(self) -> State:
        """See `service.Keeper`."""
        said = self._ask(("launchctl", "print", self._target))
        if not said.ok:
            return State(enabled=False, active="not loaded")
        active = re.search(r"^\s*state = (.+)$", said.out, re.MULTILINE)
        pid = re.search(r"^\s*pid = (\d+)$", said.out, re.MULTILINE)
        return State(
            enabled=True,  # what is loaded is in LaunchAgents, from where each login loads it
            active=active[1].strip() if active else None,
            running=active is not None and active[1].strip() == "running",
            pid=int(pid[1]) if pid else None,
            loaded=True,
        )

    def beginning(self, state: State, *, changed: bool) -> list[Sequence[str]]:
        """See `service.Keeper`."""
        if state.loaded and not changed:
            return []
        steps: list[Sequence[str]] = [("launchctl", "bootout", self._target)] if state.loaded else []
        return [*steps, ("launchctl", "enable", self._target), ("launchctl", "bootstrap", self._domain, self.file)]

    def ending(self, state: State) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
        """See `service.Keeper`."""
        return ([("launchctl", "bootout", self._target)] if state.loaded else []), []

    def lasting(self) -> tuple[bool | None, str | None]:
        """See `service.Keeper`."""
        return None, None

    def advice(self) -> str:
        """See `service.Keeper`."""
        return f"`launchctl print {self._target}` says more"

    @property
    def _target(self) -> str:
        return f"{self._domain}/{self.unit}"
