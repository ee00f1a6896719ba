"""Prune what is older than the settings say, in many small transactions, so that whoever else writes does not wait.

A gateway does it once a day; `horae prune` does it now, or says what it would do.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from horae.core.retention import KINDS
from horae.ports import Gone, Home, Tx

Json = dict[str, Any]
RUNS_AT_ONCE = 300  # each has a row in three tables
ENTRIES_AT_ONCE = 500
DOORS_AT_ONCE = 500
ENDED_FOR = timedelta(
    days=30
)  # a credential that lets nobody in any more is still listed for so long; the journal has it
ONCE_FOR = timedelta(hours=24)  # whoever sends a request twice does it by then
CALLS_FOR = timedelta(days=7)  # no signature of a hook is good for as long
START = (-1, "")
Step = Callable[[Tx, tuple[int, str]], Gone]


class Round:
    """One call: what it has done so far, and how much it may do."""

    def __init__(self, home: Home, most: int | None, *, dry: bool) -> None:
        self.home = home
        self.dry = dry
        self.left = most
        self.more = False
        """Whether it stopped although there may be more."""

    def all(self, step: Step) -> int:
        """One step after another, each in a transaction of its own, until nothing is left or enough is done."""
        count, place = 0, START
        while place is not None:
            if self.left is not None and self.left <= 0:
                self.more = True
                break
            done = self.home.store.transact(lambda tx, at=place: step(tx, at))
            count, place = count + done.gone, done.place
            if self.left is not None:
                self.left -= done.gone
        return count


def prune(home: Home, *, dry_run: bool = False, most: int | None = None) -> Json:
    """Take away what is too old. What is counted is what went, or with `dry_run` what would go.

    After about `most` rows it stops and says that there is `more`, so that nobody waits long for an answer.
    """
    kept, now = home.settings.retention, home.clock.now()
    before = {kind: kept.before(kind, now) for kind in KINDS}
    turn = Round(home, most, dry=dry_run)
    output, runs, entries = (
        _texts(turn, before["output"]),
        _runs(turn, before["runs"]),
        _entries(turn, before["journal"]),
    )
    if not dry_run:
        _files(home)
        _doors(home)
    if (output or runs or entries) and not dry_run:
        home.store.transact(
            lambda tx: tx.journal.append("pruned", actor=home.actor, output=output, runs=runs, journal=entries)
        )
    return {
        "dry_run": dry_run,
        "pruned": {"output": output, "runs": runs, "journal": entries},
        "before": {kind: None if at is None else at.isoformat(timespec="seconds") for kind, at in before.items()},
        "more": turn.more,
    }


def _files(home: Home) -> None:
    """The files of runs whose text is gone. Those of runs that nobody knows here are left alone."""
    folder = os.path.join(home.settings.home, "state", "output")
    try:
        names = os.listdir(folder)
    except OSError:
        return
    reader = home.read()
    try:
        gone = [name for name in names if reader.output(name)["pruned"]]
    finally:
        reader.close()
    for name in gone:
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


def _doors(home: Home) -> None:
    """What faces have kept for a time of their own."""
    now = home.clock.now()
    steps: tuple[Callable[[Tx], int], ...] = (
        lambda tx: tx.doors.credentials.prune(now - ENDED_FOR, DOORS_AT_ONCE),
        lambda tx: tx.doors.once.prune(now - ONCE_FOR, DOORS_AT_ONCE),
        lambda tx: tx.doors.hook_calls.prune(now - CALLS_FOR, DOORS_AT_ONCE),
    )
    for step in steps:
        while home.store.transact(step) == DOORS_AT_ONCE:
            pass


def _texts(turn: Round, before: datetime | None) -> int:
    if before is None:
        return 0
    return turn.all(lambda tx, place: tx.retention.prune_text(before, RUNS_AT_ONCE, place, dry=turn.dry))


def _runs(turn: Round, before: datetime | None) -> int:
    """Runs whose text is gone already, and those of which it is kept longer than the run itself."""
    if before is None:
        return 0

    def step(stage: int) -> Step:
        return lambda tx, place: tx.retention.prune_runs(stage, before, RUNS_AT_ONCE, place, dry=turn.dry)

    return turn.all(step(0)) + turn.all(step(1))


def _entries(turn: Round, before: datetime | None) -> int:
    if before is None:
        return 0

    def older(tx: Tx, place: tuple[int, str]) -> Gone:
        return tx.retention.prune_unchained(before, ENTRIES_AT_ONCE, max(0, place[0]), dry=turn.dry)

    def step(chain: str) -> Step:
        return lambda tx, place: tx.retention.prune_chain(
            chain, before, ENTRIES_AT_ONCE, max(0, place[0]), turn.home.key, dry=turn.dry
        )

    chains = turn.home.store.transact(lambda tx: tx.retention.chains())
    return turn.all(older) + sum(turn.all(step(chain)) for chain in chains)
