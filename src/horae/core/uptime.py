"""When nothing could be started: the times at which no gateway ran, and those at which the machine slept.

A gateway that was killed says nothing about its end: it was up at least until it was last *heard* of, and whether it was
up after that nobody knows, so it counts as down from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Uptime:
    """One gateway: from when, until when (None: it is up), and whether that is when it stopped or was last heard of."""

    since: datetime
    until: datetime | None
    stopped: bool


@dataclass(frozen=True, slots=True)
class Downtime:
    """A time without any gateway. `since` is None when there had never been one, `until` None when there still is none."""

    since: datetime | None
    until: datetime | None
    stopped: bool
    """Whether the last one had stopped of its own will; otherwise it was last heard of at `since`."""


def downtimes(uptimes: Sequence[Uptime], start: datetime, end: datetime) -> list[Downtime]:
    """The times without a gateway between two instants, oldest first."""
    found: list[Downtime] = []
    since: datetime | None = None
    stopped = True
    for each in sorted(uptimes, key=lambda each: each.since):
        if since is None or each.since > since:
            found.append(Downtime(since, each.since, stopped))
        if each.until is None:  # it is up, so no time behind it is without one
            return _touching(found, start, end)
        if since is None or each.until > since:
            since, stopped = each.until, each.stopped
    return _touching([*found, Downtime(since, None, stopped)], start, end)


def _touching(times: Sequence[Downtime], start: datetime, end: datetime) -> list[Downtime]:
    """Those that hold part of [start, end); what begins as something is done did not keep it from being done."""
    return [
        each
        for each in times
        if (each.since is None or each.since < end) and (each.until is None or each.until > start)
    ]
