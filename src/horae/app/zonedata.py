"""Planned slots follow the zone data: looked at before anything is claimed, and before a command looks or changes."""

from __future__ import annotations

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


def follow_zone_data(home: Home) -> Change | None:
    """Plan anew what another version of the zone data planned. None when the version is the one that planned everything."""
    reader = home.read()
    try:
        was = reader.zone_data()
    finally:
        reader.close()
    if was == version():
        return None
    last: str | None = ""
    jobs = 0
    while last is not None:
        last, changed = home.store.transact(lambda tx, after=last: tx.zones.follow(after, JOBS_AT_ONCE))
        jobs += changed
    home.store.transact(lambda tx: tx.zones.record(jobs))
    home.wake()
    return Change(was, version(), jobs)
