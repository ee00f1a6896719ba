"""The gate of faces that serve others, over a home: whoever asks is checked, then it goes the way of the command line.

So a face is a client of the gateway like `horae` itself: what changes something is done by the gateway where one runs, and
here where none does; what only looks is read from the store beside it. A home that is open is used by one caller at a time;
those that nobody uses are kept for the next.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Lock
from typing import Any

from horae.app.metrics import metrics
from horae.app.status import status_of
from horae.app.usecases import permitted
from horae.clock import SystemClock
from horae.core.access import Who, digest_of
from horae.core.instants import from_us
from horae.errors import Problem
from horae.store.jobfolder import JobFolder
from horae.store.sqlite import explain
from horae.wiring import House
from horae.wiring.hookdoor import taken_in

Json = dict[str, Any]
TOUCH_AFTER = timedelta(hours=1)  # a note of each look would be a write for each


class HomeGate:
    """`app.gate.Gate` over a home folder."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._clock = SystemClock()
        self._lock = Lock()
        self._idle: list[House] = []
        self._config: object = None

    def do(self, who: Who, name: str, /, **args: Any) -> Json:
        """A use case in the name of somebody. Raises Problem."""
        case = permitted(who, name)
        with self._house(who.actor) as house:
            if case.changes:
                return house.call(name, **args)
            return SPECIAL[name](house) if name in SPECIAL else house.use(case.call, **args)

    def once(self, who: Who, key: str | None, name: str, /, **args: Any) -> Json:
        """The same; with a key, one that was done before is answered as it was then."""
        permitted(who, name)
        if key is None:
            return self.do(who, name, **args)
        with self._house(who.actor) as house:
            return house.call("once", scope=f"{who.face}:{who.id or who.name}", key=key, verb=name, args=args)

    def who(self, secret: str, face: str) -> Who | None:
        """Whose secret this is; None when nobody's (any more)."""
        with self._house("faces") as house:
            reader = house.home.read()
            try:
                row = reader.credential(digest_of(secret))
            finally:
                reader.close()
            now = self._clock.now()
            wanted = "session" if face == "dashboard" else "token"
            if (
                row is None
                or row["kind"] != wanted
                or (row["expires_at"] is not None and from_us(row["expires_at"]) <= now)
            ):
                return None
            used = row["used_at"]
            if used is None or now - from_us(used) > TOUCH_AFTER:
                with suppress(Problem):  # whoever is known comes in also where nothing can be written
                    house.call("touch", credential=row["id"], kind=row["kind"])
        person = row["kind"] == "session"
        name = row["name"] if person else f"token {row['name']}"
        return Who(name, row["role"], "dashboard" if person else face, person, row["id"])

    def hook(self, name: str, headers: Mapping[str, str], body: bytes) -> Json | str | None:
        """A call of a hook: looked at here, by the settings as they are now, and taken by the gateway."""
        with self._house("faces") as house:
            taken = taken_in(house.home.settings, name, headers, body, self._clock.now())
        if not isinstance(taken, Mapping):
            return taken
        with self._house(f"hook {name}") as house:
            return house.call("take_call", **taken)

    def metrics(self) -> Json:
        """What gateways have counted, and how it stands; also where none runs."""
        with self._house("faces") as house:
            return house.use(metrics, tallies=house.tallies())

    def live(self, run_id: str) -> Json | None:
        """What a live run has printed and done until now."""
        with self._house("faces") as house:
            return house.so_far(run_id)

    def changes(self, after: int, limit: int) -> Sequence[Json]:
        """Entries of the journal behind a number."""
        with self._house("faces") as house:
            reader = house.home.read()
            try:
                return reader.entries(after, limit)
            finally:
                reader.close()

    def newest(self) -> int:
        """The number of the newest entry."""
        with self._house("faces") as house:
            reader = house.home.read()
            try:
                return reader.newest_entry()
            finally:
                reader.close()

    @contextmanager
    def _house(self, actor: str) -> Generator[House]:
        """A home for one caller; anew where its settings have changed since it was opened."""
        try:
            config = os.stat(os.path.join(self.path, "config.toml")).st_mtime_ns
        except FileNotFoundError:  # there need be none; and editors take it away for a moment
            config = None
        with self._lock:
            if config != self._config:
                self._config, self._idle = config, []
            house = self._idle.pop() if self._idle else None
        house = house or House(self.path)
        house.look_again(actor)
        sound = True
        try:
            yield house
        except sqlite3.Error as error:
            sound = False
            raise explain(error, house.db) from error
        finally:
            with self._lock:
                if sound and config == self._config:
                    self._idle.append(house)


def _status(house: House) -> Json:
    """What `horae status` tells, also where no gateway runs: then it is only that which the store knows."""
    found = house.gateway()
    if found is None or "next_due" not in found:
        alive = {"alive": False, "pid": None, "since": None, "version": None, "stopping": False}
        found = {**alive, **house.use(status_of), **(found or {})}
    gateway = {key: found.get(key) for key in ("alive", "pid", "since", "version")}
    return {"gateway": gateway, **{key: value for key, value in found.items() if key not in gateway}}


def _doctor(house: House) -> Json:
    doctor = permitted(EVERYBODY, "doctor").call
    return house.use(doctor, gateway=house.gateway(), misnamed=JobFolder(house.jobs).misnamed())


EVERYBODY = Who("horae", "admin", "dashboard")
SPECIAL = {"status": _status, "doctor": _doctor}
