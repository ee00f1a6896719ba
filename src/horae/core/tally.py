"""Counts over the life of a gateway, from what it has journaled; `/metrics` shows them. Pure, and cheap: it counts and adds.

Each count goes by names of labels whose values are few: words of ours, and ids of jobs. Of jobs only so many are told apart as
the settings say; all others are one, `other`, so that what scrapes it never gets more series than that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

OTHER = "other"
HOOKS_MAX = 100
LATE_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 3600.0, 86400.0)
TOOK_S = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)
ENDS = frozenset(("completed", "failed", "cancelled", "unknown", "blocked", "released"))
SLOTS = frozenset(("skipped", "missed", "void"))
SENT = frozenset(("delivered", "delivery_retried", "failed", "unknown", "expired"))
PLAIN = {"retry_planned": "retries", "incident_opened": "incidents", "call_refused": "calls_refused"}
Json = dict[str, Any]


class Histogram:
    """How many were at most so much, for each of some bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """One more."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += max(0.0, value)

    def shown(self) -> Json:
        """Bounds, the number in each, and the sum."""
        return {"bounds": [*self._bounds], "counts": [*self._counts], "sum": self._sum}


class Tally:
    """One gateway's. It is told on one thread, and read on another."""

    def __init__(self, jobs_max: int) -> None:
        self._jobs_max = jobs_max
        self._jobs: set[str] = set()
        self._runs: Counter[tuple[str, str]] = Counter()
        self._slots: Counter[tuple[str, str]] = Counter()
        self._sent: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()
        self._plain: Counter[str] = Counter()
        self._entries = 0
        self._late = Histogram(LATE_S)
        self._took = Histogram(TOOK_S)

    def tell(self, entries: Sequence[Any]) -> None:
        """What was committed."""
        self._entries += len(entries)
        for entry in entries:
            self._one(entry.what, entry.job_id, entry.run_id, entry.detail)

    def _one(self, what: str, job_id: str | None, run_id: str | None, detail: Mapping[str, Any]) -> None:
        if "target" in detail:
            if what in SENT:
                self._sent[what] += 1
        elif what == "claimed":
            self._late.add(detail["late_s"])
        elif what in ENDS and run_id is not None:
            self._runs[self._job(job_id), what] += 1
            if detail.get("took_s") is not None:
                self._took.add(detail["took_s"])
        elif what in SLOTS or what == "blocked":
            self._slots[self._job(job_id), what] += detail.get("slots", 1)
        elif what == "called":
            hook = detail["hook"]
            self._calls[hook if hook in self._calls or len(self._calls) < HOOKS_MAX else OTHER] += 1
        elif what in PLAIN:
            self._plain[PLAIN[what]] += 1

    def _job(self, job_id: str | None) -> str:
        if job_id is None or job_id in self._jobs:
            return job_id or OTHER
        if len(self._jobs) >= self._jobs_max:
            return OTHER
        self._jobs.add(job_id)
        return job_id

    def shown(self) -> Json:
        """All of it, as JSON. Each count is copied at one go, since it may be told meanwhile."""
        plain = dict(self._plain)
        return {
            "runs": [[*key, count] for key, count in dict(self._runs).items()],
            "slots": [[*key, count] for key, count in dict(self._slots).items()],
            "sent": dict(self._sent),
            "calls": dict(self._calls),
            "entries": self._entries,
            "lateness": self._late.shown(),
            "duration": self._took.shown(),
            **{name: plain.get(name, 0) for name in PLAIN.values()},
        }
