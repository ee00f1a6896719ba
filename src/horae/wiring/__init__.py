"""From a home folder to a working system: the only module that names adapters.

It loads them by name and only when asked, because `horae list` must not pay for what the gateway needs. Nothing else in
the package imports inside a function.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from importlib import import_module

from horae import config
from horae.control import place
from horae.core.states import HELD
from horae.errors import NotFound, Problem, Refused, Unavailable
from horae.limits import ANSWER_TIMEOUT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from horae.ports import Home
    from horae.store.queries import Reader


def load(module: str, name: str) -> Any:
    """`horae.<module>.<name>`, imported now."""
    return getattr(import_module(f"horae.{module}"), name)


class House:
    """One home as the command line sees it: whom to ask, and where to look."""

    def __init__(self, option: str | None) -> None:
        self._close: Callable[[], None] | None = None
        self.path = config.home_path(option)
        self.db = os.path.join(self.path, "state", "runtime.db")
        self.jobs = os.path.join(self.path, "jobs")
        self.actor = config.actor()
        self.cluster = config.cluster(self.path)
        """Whether the store is one that many gateways share: then everybody writes to it directly."""
        self._home: Home | None = None
        self._holder: dict[str, Any] | bool | None = False

    @property
    def holder(self) -> dict[str, Any] | None:
        """Who runs the gateway of this home, or None."""
        if self._holder is False:
            self._holder = None if self.cluster else place.holder(self.path)
        return self._holder  # pyright: ignore[reportReturnType]

    @property
    def fires(self) -> bool:
        """Whether somebody is there who starts what is due."""
        return self.home.gateway if self.cluster else self.holder is not None

    def exists(self) -> None:
        """Refuse to work in a folder that is no home: a mistyped path must not become one silently."""
        if not os.path.isdir(self.jobs):
            raise NotFound(
                f"there is no home at {self.path}", f"`horae --home {self.path} init` makes one", home=self.path
            )

    def reader(self) -> Reader:
        """A reader of what the store knows, after taking in edits that no gateway has seen."""
        self.exists()
        if self.cluster:
            return self.home.read()  # pyright: ignore[reportReturnType]
        found = self._current()
        if found is None:
            load("app.reload", "reload")(self.home)
            found = load("store.queries", "open_reader")(self.db)
        if found is None:
            raise NotFound(f"{self.db} is missing", "`horae doctor` says more")
        return found

    def freshen(self) -> None:
        """Without a gateway, take in changed job files and zone data first. With one, it has done that already."""
        if self.cluster:
            return  # there are no files, and gateways see to the zone data
        current = self._current()
        if current is None:
            load("app.reload", "reload")(self.home)
        else:
            current.close()
        if self.holder is None:
            backing = load("wiring.backing", "HomeFile")(self.path)
            load("app.zonedata", "follow_zone_data")(self.home, backing.alone)

    def _current(self) -> Reader | None:
        """A reader, if what the store knows is what the files say (or a gateway sees to that)."""
        reader = load("store.queries", "open_reader")(self.db)
        if reader is None or self.holder is not None:
            return reader
        known, found = reader.signatures(), load("store.jobscan", "signatures")(self.jobs)
        if {slug: signature for slug, signature in known.items() if signature != HELD} == found:
            return reader
        reader.close()
        return None

    @property
    def home(self) -> Home:
        """What use cases work on, in this process."""
        if self._home is None:
            self._home, self._close = load("wiring.assembly", "assemble")(
                self.path, actor=self.actor, gateway=self.holder is not None
            )
        return self._home  # pyright: ignore[reportReturnType]

    def look_again(self, actor: str) -> None:
        """For whoever keeps it: in whose name it works from now on, and whether a gateway runs now."""
        self.actor = actor
        if not self.cluster:
            before, self._holder = self._holder, place.holder(self.path)
            changed = before is not False and (before is None) != (self._holder is None)
        else:
            changed = False
        if self._home is not None and (changed or self._home.actor != actor):
            runs = self._home.gateway if self.cluster else self._holder is not None
            self._home = load("wiring.assembly", "in_name_of")(self._home, actor, runs)

    def __del__(self) -> None:
        """A server is told that we go. A file needs no word, and to close it costs more than most commands."""
        if self._close is not None and self.cluster:
            self._close()

    def call(self, verb: str, /, **args: object) -> dict[str, Any]:
        """Have a use case done that changes something: by the gateway if there is one, else here."""
        self.exists()
        self.refuse_runs(verb)
        if self.holder is not None:
            return self.ask(verb, actor=self.actor, **args)
        self.freshen()
        answer = load("app.verbs", "VERBS")[verb](self.home, **args)
        if self.cluster:
            return answer  # the database has told the gateways
        if place.holder(self.path) is not None:  # one started meanwhile and has not been told
            self.ask("wake")
        return answer

    def served_at(self) -> str | None:
        """Where the dashboard of this home is served from this machine; None when it is not."""
        for number in range(1, place.PLACES_MAX + 1):
            found = place.holder(self.path, number) or {}
            if "web" in found:
                return str(found["web"])
        return place.serves(self.path)

    def so_far(self, run: str) -> dict[str, Any] | None:
        """What a live run has printed until now; None when no gateway of this home watches it."""
        for number in range(1, place.PLACES_MAX + 1 if self.cluster else 2):
            if place.holder(self.path, number) is not None:
                found = load("control.client", "ask")(self.path, "so_far", {"run": run}, ANSWER_TIMEOUT_S, number)
                if found["live"] or not self.cluster:
                    return found
        return None

    def tallies(self) -> list[dict[str, Any]]:
        """What each gateway of this home has counted; one that does not answer is left out."""
        found: list[dict[str, Any]] = []
        for number in range(1, place.PLACES_MAX + 1 if self.cluster else 2):
            if place.holder(self.path, number) is not None:
                with suppress(Problem):
                    found.append(load("control.client", "ask")(self.path, "metrics", {}, ANSWER_TIMEOUT_S, number))
        return found

    def ask(self, verb: str, /, **args: object) -> dict[str, Any]:
        """Ask the gateway."""
        return load("control.client", "ask")(
            self.path, verb, args, ANSWER_TIMEOUT_S * 12 if verb != "status" else ANSWER_TIMEOUT_S
        )

    def view(self, module: str, name: str, **args: object) -> dict[str, Any]:
        """A use case that only looks."""
        self.exists()
        return self._here(module, name, None, args)

    def use(self, call: Callable[..., dict[str, Any]], **args: object) -> dict[str, Any]:
        """The same, of a function that is there already."""
        self.exists()
        self.freshen()
        return call(self.home, **args)

    def _here(self, module: str, name: str, verb: str | None, args: Mapping[str, object]) -> dict[str, Any]:
        try:
            self.freshen()
            found = load(module, name)
            return (found if verb is None else found[verb])(self.home, **args)
        except sqlite3.Error as error:
            raise load("store.sqlite", "explain")(error, self.db) from error

    def gateway(self) -> Mapping[str, Any] | None:
        """The gateway's own word on itself; `alive` is False when it holds the home and does not answer.

        Of a shared store: what the store knows of the newest of its gateways that are alive.
        """
        if self.cluster:
            return self.view("app.status", "cluster_status")
        if self.holder is None:
            return None
        try:
            return self.ask("status")
        except Unavailable:
            return {**self.holder, "alive": False}
        except Problem as problem:
            return {**self.holder, "alive": True, "problems": [problem.message]}

    def refuse_runs(self, verb: str) -> None:
        """Runs cannot breed: from inside one, nothing that changes jobs is done (held by marker; see docs/promises.md)."""
        run = config.inside_run()
        if run is not None:
            raise Refused(
                f"`{verb}` is not for runs: this is run {run}", "a run may look, but jobs are changed by people"
            )


def open_house(option: str | None) -> House:
    """The home that the options mean."""
    return House(option)


def up(house: House, *, echo: Any, web: Any, watched: bool) -> int:
    """Run the gateway in the foreground; returns the exit status. `watched`: somebody sees what it says, and nobody else."""
    return load("wiring.service", "run_gateway")(house.path, echo, web, house.actor if watched else None)
