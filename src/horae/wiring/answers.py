"""What a gateway answers over its socket: the use cases in the name of whoever asks, and its word on itself."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from horae import __version__
from horae.app.status import status_of
from horae.app.verbs import VERBS
from horae.core.tally import Tally
from horae.engine.gateway import Gateway
from horae.errors import Problem
from horae.ports import Home
from horae.runners.process import ProcessRunner
from horae.store.sqlite import explain
from horae.wiring.heartbeat import Heartbeat

STUCK_S = 10.0  # a due instant that the loop has not looked at for so long means that it is stuck


class Answers:
    """The verbs of one gateway's socket."""

    def __init__(
        self,
        home: Home,
        gateway: Gateway,
        runner: ProcessRunner,
        since: datetime,
        trouble: list[Problem],
        store: str,
        heartbeat: Heartbeat,
        tally: Tally,
    ) -> None:
        self._tally = tally
        self._heartbeat = heartbeat
        self._home = home
        self._gateway = gateway
        self._runner = runner
        self._since = since
        self._trouble = trouble
        self._store = store

    def verbs(self) -> dict[str, Callable[..., Any]]:
        """By the names under which they are asked for."""
        verbs: dict[str, Callable[..., Any]] = {name: self._as_actor(verb) for name, verb in VERBS.items()}
        verbs["status"] = self._named(self._status)
        verbs["so_far"] = self._so_far
        verbs["metrics"] = self._tally.shown
        verbs["wake"] = self._gateway.wake
        return verbs

    def _as_actor(self, verb: Callable[..., Any]) -> Callable[..., Any]:
        def call(*, actor: str, **args: Any) -> Any:
            return verb(replace(self._home, actor=actor), **args)

        return self._named(call)

    def _named(self, verb: Callable[..., Any]) -> Callable[..., Any]:
        """What a file that is damaged says to a reader is put into words; of a shared store its readers do that."""

        def call(**args: Any) -> Any:
            try:
                return verb(**args)
            except sqlite3.Error as error:
                raise explain(error, self._store) from error

        return call

    def _so_far(self, run: str) -> Mapping[str, Any]:
        found, work = self._runner.so_far(run), self._runner.work_so_far(run)
        return {
            "live": found is not None,
            "stdout": found[0] if found else "",
            "stderr": found[1] if found else "",
            "events": [] if work is None else [*work.trace],
        }

    def _status(self) -> dict[str, Any]:
        now, gateway = self._home.clock.now(), self._gateway
        problems = [problem.message for problem in self._trouble]
        looked = gateway.looked_at
        overdue = gateway.next_due is not None and (now - gateway.next_due).total_seconds() > STUCK_S
        if overdue and (looked is None or (now - looked).total_seconds() > STUCK_S):
            problems.append("the timer is stuck: a due instant passed and was not looked at")
        if gateway.short_of is not None:
            problems.append(gateway.short_of)
        if self._heartbeat.problem is not None:
            problems.append(self._heartbeat.problem)
        found = status_of(self._home)
        return {
            **found,
            "alive": True,
            "pid": os.getpid(),
            "since": self._since.isoformat(timespec="seconds"),
            "version": __version__,
            "stopping": gateway.stopping,
            "live_runs": [{"run": claim.run_id, "job": claim.job.slug} for claim in gateway.live],
            "problems": [*problems, *found["problems"]],
        }
