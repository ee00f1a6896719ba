"""Sums over days: how runs ended, how long they took, how late they began, what they cost. Pure.

A run counts on the day on which it was claimed, a slot without a run on the day on which it was due. Percentiles are by
nearest rank, like those of `status`; of no values there is none, which is not zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil
from typing import Any

Json = dict[str, Any]
WORDS = ("completed", "failed", "blocked", "unknown", "cancelled", "missed", "skipped", "running", "released")
GOOD, BAD = ("completed",), ("failed", "blocked", "unknown", "missed")


@dataclass(frozen=True, slots=True)
class Fact:
    """A run, or slots that had none (`slots` of them). Instants are in microseconds."""

    job: str
    at: int
    word: str
    duration_s: float | None = None
    late_ms: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    slots: int = 1


@dataclass(slots=True)
class Sum:
    """Of some facts."""

    words: Counter[str] = field(default_factory=Counter[str])
    durations: list[float] = field(default_factory=list[float])
    late: list[float] = field(default_factory=list[float])
    cost: float = 0.0
    tokens: int = 0

    def add(self, fact: Fact) -> None:
        """One more."""
        self.words[fact.word] += fact.slots
        if fact.duration_s is not None:
            self.durations.append(fact.duration_s)
        if fact.late_ms is not None:
            self.late.append(fact.late_ms)
        self.cost += fact.cost_usd or 0.0
        self.tokens += fact.tokens or 0

    def told(self) -> Json:
        """As JSON."""
        good, bad = sum(self.words[word] for word in GOOD), sum(self.words[word] for word in BAD)
        return {
            "outcomes": {word: self.words[word] for word in WORDS},
            "count": sum(self.words.values()),
            "good_share": round(good / (good + bad), 4) if good + bad else None,
            "duration_p50_s": rank(self.durations, 0.50),
            "duration_p95_s": rank(self.durations, 0.95),
            "lateness_p50_ms": rank(self.late, 0.50),
            "lateness_p99_ms": rank(self.late, 0.99),
            "cost_usd": round(self.cost, 6),
            "tokens": self.tokens,
        }


def rank(values: list[float], share: float) -> float | None:
    """The value at a share of the ordered values, by nearest rank; None where there is none."""
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[max(0, ceil(round(share * len(ordered), 6)) - 1)], 3)


def summed(facts: Iterable[Fact]) -> Sum:
    """All of them."""
    made = Sum()
    for fact in facts:
        made.add(fact)
    return made


def changed(now: Json, before: Json) -> dict[str, float | None]:
    """By how much each number has grown against the period before, as a share; None where there was nothing."""
    found: dict[str, float | None] = {}
    for name in (
        "count",
        "duration_p50_s",
        "duration_p95_s",
        "lateness_p50_ms",
        "lateness_p99_ms",
        "cost_usd",
        "tokens",
    ):
        new, old = now[name], before[name]
        found[name] = None if new is None or not old else round((new - old) / old, 4)
    new, old = now["good_share"], before["good_share"]
    found["good_share"] = None if new is None or old is None else round(new - old, 4)  # of a share: the difference
    return found
