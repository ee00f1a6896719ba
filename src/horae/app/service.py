"""Keep a home's gateway running: install it with what keeps services on this machine, look at it, take it away.

The same verbs for systemd and launchd; what differs is behind `Keeper`. Nothing is done twice: what is there already is
left alone. Every step names the command that failed and what it said, and what was done before it stays said: the file is
there, and so `uninstall` can take it away.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from horae.app.servicefile import Service
from horae.errors import Conflict, Refused, Trouble
from horae.ports.command import Ask, Said

Json = dict[str, Any]
BY_HAND = (
    "`horae up` in a terminal that stays open (tmux, screen) does without; `horae service install --dry` prints the file, "
    "which can be put into its place by hand"
)


@dataclass(frozen=True, slots=True)
class State:
    """How the service stands with its keeper. None is what nobody told."""

    enabled: bool | None = None
    """Whether it is started without a person: at login, at boot."""
    active: str | None = None
    """The keeper's own word: active, activating, failed, inactive, running …"""
    running: bool = False
    pid: int | None = None
    loaded: bool = False
    stale: bool = False
    """The keeper knows an older text of the file."""


class Keeper(Protocol):
    """What keeps services on this machine."""

    manager: str
    scope: str
    unit: str
    file: str

    def text(self) -> str:
        """What the file must say."""
        ...

    def home_in(self, text: str) -> str | None:
        """The home that a file of ours is for; None when it is not ours."""
        ...

    def same(self, text: str) -> bool:
        """Whether a file says what would be written, but for the environment of whoever asks."""
        ...

    def missing(self) -> str | None:
        """Why it cannot be asked for anything here, or None."""
        ...

    def state(self) -> State:
        """How the service stands now."""
        ...

    def beginning(self, state: State, *, changed: bool) -> list[Sequence[str]]:
        """The commands that make it run by what its file says."""
        ...

    def ending(self, state: State) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
        """The commands before its file is removed, and those after."""
        ...

    def lasting(self) -> tuple[bool | None, str | None]:
        """Whether it goes on when its person logs out, and how to have that."""
        ...

    def advice(self) -> str:
        """Where to read more after a command failed."""
        ...


def install(service: Service, keeper: Keeper, ask: Ask, holder: Mapping[str, Any] | None, *, dry: bool) -> Json:
    """Write the file, have it started now and at every login or boot. `holder` is who runs the gateway of the home now."""
    text = keeper.text()
    if dry:
        steps = keeper.beginning(State(), changed=True)
        return _answer(service, keeper, "would install", text=text, steps=steps, dry=True, notes=_notes(service))
    _available(keeper)
    there = _read(keeper)
    _ours(service, keeper, there)
    state = keeper.state()
    if holder is not None and holder.get("pid") != state.pid:
        raise Conflict(
            f"a gateway runs for this home already, outside the service: pid {holder.get('pid')}",
            "stop it first, then install the service: two cannot hold one home",
            gateway=dict(holder),
        )
    changed = there != text or state.stale or not state.loaded
    if there != text:
        _write(keeper.file, text)
    steps = keeper.beginning(state, changed=changed)
    _carry_out(keeper, ask, steps)
    did = "installed" if there is None else "updated" if there != text else "was installed already"
    return _answer(service, keeper, did, steps=steps, notes=_notes(service), changed=changed or not state.running)


def uninstall(service: Service, keeper: Keeper, ask: Ask, *, dry: bool) -> Json:
    """Stop it, and see that nothing starts it again."""
    if dry:
        before, after = keeper.ending(State(loaded=True))
        return _answer(service, keeper, "would uninstall", steps=[*before, ("rm", keeper.file), *after], dry=True)
    _available(keeper)
    there = _read(keeper)
    _ours(service, keeper, there)
    state = keeper.state()
    if there is None and not state.loaded:
        return _answer(service, keeper, "was not installed", changed=False)
    before, after = keeper.ending(state)
    _carry_out(keeper, ask, before)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(keeper.file)
    _carry_out(keeper, ask, after)
    return _answer(service, keeper, "uninstalled", steps=[*before, ("rm", keeper.file), *after], changed=True)


def status(service: Service, keeper: Keeper) -> Json:
    """How it stands. `problems` is empty when it is installed, started without a person, and running."""
    _available(keeper)
    return _answer(service, keeper, None)


def _answer(
    service: Service,
    keeper: Keeper,
    did: str | None,
    *,
    text: str | None = None,
    steps: Sequence[Sequence[str]] = (),
    notes: Sequence[str] = (),
    changed: bool = False,
    dry: bool = False,
) -> Json:
    there = _read(keeper)
    ours = there is not None and keeper.home_in(there) == service.home
    state = State() if dry else keeper.state()
    lasting, how = (None, None) if dry else keeper.lasting()
    found = [*notes, *([how] if how else [])]
    problems: list[str] = []
    if there is not None and ours and not keeper.same(there):
        found.append("its file is not what would be written today: `horae service install` brings it up to date")
    if state.stale:
        found.append(f"{keeper.manager} knows an older text of the file: `horae service install` tells it")
    if there is None:
        problems.append("it is not installed: `horae service install`")
    elif not ours:
        problems.append(f"{keeper.file} was not written by Horae for this home")
    elif not dry:
        if not state.enabled:
            problems.append("nothing starts it by itself: `horae service install`")
        if not state.running:
            problems.append(f"it is not running ({state.active or 'unknown'}); {keeper.advice()}")
    return {
        "did": did,
        "dry": dry,
        "changed": changed,
        "manager": keeper.manager,
        "scope": keeper.scope,
        "unit": keeper.unit,
        "file": keeper.file,
        "home": service.home,
        "installed": ours,
        "enabled": state.enabled,
        "active": state.active,
        "running": state.running,
        "pid": state.pid,
        "linger": lasting,
        "text": text,
        "steps": [Said(tuple(step), None).command for step in steps],
        "problems": [] if dry or did in ("uninstalled", "was not installed") else problems,
        "notes": [] if did in ("uninstalled", "was not installed") else found,
    }


def _available(keeper: Keeper) -> None:
    why = keeper.missing()
    if why is not None:
        raise Refused(why, BY_HAND, manager=keeper.manager, scope=keeper.scope)


def _notes(service: Service) -> list[str]:
    """What a service will not have that the person who installs it has."""
    found: list[str] = []
    if service.env.get("VIRTUAL_ENV") and not service.python.startswith(service.env["VIRTUAL_ENV"]):
        found.append(f"it is started with {service.python}, not with the environment that is active here")
    return found


def _ours(service: Service, keeper: Keeper, there: str | None) -> None:
    if there is None:
        return
    home = keeper.home_in(there)
    if home is None:
        raise Refused(
            f"{keeper.file} was not written by Horae, so it is left alone",
            "remove or rename that file, or go on using it as it is",
            file=keeper.file,
        )
    if home != service.home:
        raise Refused(
            f"{keeper.file} is the service of another home: {home}",
            f"`horae --home {home} service uninstall` removes it",
            file=keeper.file,
            home=home,
        )


def _read(keeper: Keeper) -> str | None:
    """What stands in the file; a link to nowhere or to a device is somebody's decision, and not ours."""
    if not os.path.lexists(keeper.file):
        return None
    if not os.path.isfile(keeper.file):
        return ""
    try:
        with open(keeper.file, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError as error:
        raise _trouble(keeper.file, "read", error) from error


def _write(path: str, text: str) -> None:
    """All of it or nothing, under a name that no keeper of services takes for one."""
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name}.part")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(part, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, 0o644)
        os.replace(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise _trouble(path, "written", error) from error


def _trouble(path: str, done: str, error: OSError) -> Trouble:
    return Trouble(f"{path} cannot be {done}: {error.strerror}", "check the owner and mode of its folder", file=path)


def _carry_out(keeper: Keeper, ask: Ask, steps: Sequence[Sequence[str]]) -> None:
    for step in steps:
        said = ask(step)
        if not said.ok:
            raise Trouble(
                f"`{said.command}` failed: {said.words}",
                f"{keeper.advice()}; the file is {keeper.file}",
                command=said.command,
                exit_status=said.code,
                file=keeper.file,
            )
