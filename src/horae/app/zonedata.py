"""Planned slots follow the zone data: looked at before anything is claimed, and before a command looks or changes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from horae.ports import Home
from horae.timing.zones import version

JOBS_AT_ONCE = 500  # in one transaction: bounds its length to some tens of milliseconds


@dataclass(frozen=True, slots=True)
class Change:
    """From which version to which, and how many jobs have slots at other instants now."""

    was: str | None
    now: str
    jobs: int


def planned_with(home: Home) -> str | None:
    """The version that planned the slots; None when that was never looked at."""
    reader = home.read()
    try:
        return reader.zone_data()
    finally:
        reader.close()


def follow_zone_data(home: Home, alone: Callable[[], AbstractContextManager[None]] = nullcontext) -> Change | None:
    """Plan anew what another version of the zone data planned. None when the version is the one that planned everything.

    `alone` lets one process at a time do it: the others wait, and find it done.
    """
    if planned_with(home) == version():
        return None
    with alone():
        was = planned_with(home)
        return None if was == version() else _follow(home, was)


def _follow(home: Home, was: str | None) -> Change:
    last: str | None = ""
    jobs = 0
    while last is not None:
        last, changed = home.store.transact(lambda tx, after=last: tx.zones.follow(after, JOBS_AT_ONCE))
        jobs += changed
    home.store.transact(lambda tx: tx.zones.record(jobs))
    home.wake()
    return Change(was, version(), jobs)
