"""How much of a day is shown one by one. Pure: what is shown is given by job, what is too much becomes summaries.

A day with thousands of slots is not read slot by slot. A job that has more of them on a day than are listed is one summary;
and where a day holds too much still, its busiest jobs are folded first, those with trouble last, since trouble is what
people look for. What remains beyond the number of places of a day is one summary of jobs. Nothing gets lost: the counts of
a day, listed and folded, are those of what was given.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

TROUBLE = frozenset({"failed", "blocked", "unknown", "missed"})


class Mark(NamedTuple):
    """One occurrence, as far as a day's picture is concerned. `at` sorts; `item` is whatever the caller hands on."""

    job: str
    at: int
    word: str
    item: Mapping[str, Any]
    slots: int = 1


@dataclass(slots=True)
class Fold:
    """Slots of one job, or of several (`jobs`), as one. `first` and `last` are instants."""

    jobs: list[str]
    first: int
    last: int
    by: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def count(self) -> int:
        """Slots in all."""
        return sum(self.by.values())


class Day(NamedTuple):
    """What is listed, in order; what is folded by job; and what is folded of several jobs."""

    listed: list[Mark]
    folds: list[Fold]
    rest: Fold | None


def folded(marks: Iterable[Mark], listed_max: int, places: int, others: Sequence[Fold] = ()) -> Day:
    """One day, with at most `places` entries. `others` are summaries that were made elsewhere, and take places too."""
    by_job: dict[str, list[Mark]] = defaultdict(list)
    for mark in marks:
        by_job[mark.job].append(mark)
    single = {fold.jobs[0]: fold for fold in others}
    listed: dict[str, list[Mark]] = {}
    for job, some in by_job.items():
        if len(some) > listed_max or job in single:
            single[job] = _fold([job], some, single.get(job))
        else:
            listed[job] = some
    used = len(single) + sum(map(len, listed.values()))
    for job in sorted(listed, key=lambda job: (_trouble(listed[job]), -len(listed[job]), job)):
        if used <= places or len(listed[job]) == 1:
            continue
        some = listed.pop(job)
        single[job] = _fold([job], some)
        used -= len(some) - 1
    rest = None
    if used > places:
        # what has least to say goes first: folds and single slots without trouble
        quiet = sorted([*single, *listed], key=lambda job: (_troubled(job, single, listed), job))
        gone: list[str] = []
        while used > places - 1 and quiet:
            job = quiet.pop(0)
            fold = single.pop(job, None) or _fold([job], listed[job])
            used -= 1 if job not in listed else len(listed.pop(job))
            gone.append(job)
            rest = fold if rest is None else _joined(rest, fold)
        if rest is not None:
            rest.jobs = sorted(gone)
    shown = sorted((mark for some in listed.values() for mark in some), key=lambda mark: (mark.at, mark.job))
    return Day(shown, sorted(single.values(), key=lambda fold: (fold.first, fold.jobs)), rest)


def _fold(jobs: list[str], marks: Sequence[Mark], into: Fold | None = None) -> Fold:
    by: Counter[str] = Counter()
    for mark in marks:
        by[mark.word] += mark.slots
    ats = [mark.at for mark in marks]
    made = Fold(list(jobs), min(ats), max(ats), dict(by))
    return made if into is None else _joined(into, made)


def _joined(one: Fold, other: Fold) -> Fold:
    by = Counter(one.by)
    by.update(other.by)
    return Fold(one.jobs, min(one.first, other.first), max(one.last, other.last), dict(by))


def _trouble(marks: Iterable[Mark]) -> bool:
    return any(mark.word in TROUBLE for mark in marks)


def _troubled(job: str, single: Mapping[str, Fold], listed: Mapping[str, Sequence[Mark]]) -> bool:
    return bool(TROUBLE & single[job].by.keys()) if job in single else _trouble(listed[job])
