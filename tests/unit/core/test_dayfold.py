"""How much of a day is shown: nothing gets lost, whatever is folded, and trouble is folded last."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from horae.core.dayfold import Fold, Mark, folded


def marks(job: str, *words: str, at: int = 0) -> list[Mark]:
    return [Mark(job, at + number, word, {}) for number, word in enumerate(words)]


def test_a_few_slots_are_listed_in_order_and_a_job_with_many_is_one_summary() -> None:
    day = folded([*marks("often", *["completed"] * 9, "failed"), *marks("daily", "planned", at=3)], 4, 50)
    assert [mark.job for mark in day.listed] == ["daily"]
    (fold,) = day.folds
    assert (fold.jobs, fold.first, fold.last, fold.by) == (["often"], 0, 9, {"completed": 9, "failed": 1})
    assert day.rest is None


def test_what_was_summed_up_elsewhere_and_what_is_listed_of_one_job_are_one_summary() -> None:
    ahead = Fold(["often"], 50, 90, {"planned": 5})
    day = folded(marks("often", "completed", "failed"), 4, 50, [ahead])
    assert not day.listed
    (fold,) = day.folds
    assert (fold.first, fold.last, fold.count, fold.by) == (0, 90, 7, {"planned": 5, "completed": 1, "failed": 1})


def test_of_a_full_day_the_busiest_are_folded_first_and_trouble_last() -> None:
    quiet, busy = marks("quiet", "completed"), marks("busy", *["completed"] * 4)
    day = folded([*quiet, *busy, *marks("bad", "failed", "completed", "failed")], 4, 5)
    assert Counter(mark.job for mark in day.listed) == {"bad": 3, "quiet": 1}
    assert [fold.jobs for fold in day.folds] == [["busy"]]


def test_of_too_many_jobs_those_without_trouble_go_together() -> None:
    some = [mark for number in range(30) for mark in marks(f"job{number:02}", "completed", at=number)]
    day = folded([*some, *marks("bad", "failed", at=5)], 4, 10)
    assert day.rest is not None
    assert "bad" not in day.rest.jobs
    assert len(day.listed) + len(day.folds) + 1 <= 10
    assert day.rest.count == len(day.rest.jobs) == 31 - len(day.listed)


WORDS = st.sampled_from(["completed", "failed", "planned", "missed"])
MARK = st.builds(Mark, st.sampled_from("abcdefgh"), st.integers(0, 1000), WORDS, st.just({}), st.just(1))
MARKS = st.lists(MARK, max_size=60)
FOLDS = st.lists(
    st.builds(lambda job, word, n: Fold([job], 0, 9, {word: n}), st.sampled_from("abcdxyz"), WORDS, st.integers(1, 9)),
    max_size=4,
    unique_by=lambda fold: fold.jobs[0],
)


@given(MARKS, FOLDS, st.integers(1, 9), st.integers(2, 40))
def test_nothing_is_lost_nothing_is_twice_and_the_day_holds_what_it_may(
    some: list[Mark], others: list[Fold], listed: int, places: int
) -> None:
    expected = Counter(mark.word for mark in some)
    for fold in others:
        expected.update(fold.by)
    day = folded(some, listed, places, others)
    told = Counter(mark.word for mark in day.listed)
    folds = [*day.folds, *([day.rest] if day.rest else [])]
    for fold in folds:
        told.update(fold.by)
    assert told == expected
    assert len(day.listed) + len(folds) <= places
    assert max(Counter(mark.job for mark in day.listed).values(), default=0) <= listed
    jobs = [job for fold in folds for job in fold.jobs] + sorted({mark.job for mark in day.listed})
    assert len(jobs) == len(set(jobs)), "a job is listed or folded, not both"
