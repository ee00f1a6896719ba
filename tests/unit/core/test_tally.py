"""Counts follow from what was journaled, and never have more series than was asked for."""

from __future__ import annotations

from typing import Any

from horae.core.tally import LATE_S, Tally
from horae.store.journal import Entry


def entry(what: str, job: str | None = "j1", run: str | None = "r1", **detail: Any) -> Entry:
    return Entry(1, 0, "gateway", what, job, "k", run, detail)


def test_each_word_counts_where_it_belongs() -> None:
    tally = Tally(10)
    tally.tell(
        [
            entry("claimed", late_s=0.3),
            entry("completed", took_s=2.0),
            entry("failed", took_s=None),
            entry("failed", target="mail"),
            entry("delivered", target="mail"),
            entry("missed", run=None, slots=5),
            entry("blocked", run=None),
            entry("called", job=None, run=None, hook="ci"),
            entry("planned", run=None),
        ]
    )
    shown = tally.shown()
    assert shown["runs"] == [["j1", "completed", 1], ["j1", "failed", 1]]
    assert shown["slots"] == [["j1", "missed", 5], ["j1", "blocked", 1]]
    assert shown["sent"] == {"failed": 1, "delivered": 1}
    assert shown["calls"] == {"ci": 1}
    assert shown["entries"] == 9
    assert shown["lateness"]["counts"][LATE_S.index(0.5)] == 1
    assert shown["lateness"]["sum"] == 0.3
    assert sum(shown["duration"]["counts"]) == 1


def test_so_many_jobs_and_no_more_are_told_apart() -> None:
    tally = Tally(2)
    tally.tell([entry("completed", job=f"j{number}") for number in range(50)])
    assert {job: count for job, _, count in tally.shown()["runs"]} == {"j0": 1, "j1": 1, "other": 48}
    none = Tally(0)
    none.tell([entry("completed")])
    assert none.shown()["runs"] == [["other", "completed", 1]]
