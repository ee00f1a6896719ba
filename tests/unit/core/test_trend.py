"""Sums over days: what is counted, ranked and compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.trend import WORDS, Fact, changed, rank, summed


def fact(word: str = "completed", **values: object) -> Fact:
    return Fact("tides", 0, word, **values)  # type: ignore[arg-type]


def test_facts_are_summed_by_outcome_and_slots_without_a_run_count_by_their_number() -> None:
    told = summed(
        [
            fact(duration_s=2.0, late_ms=4.0, cost_usd=0.25, tokens=100),
            fact("failed", duration_s=8.0, late_ms=40.0, cost_usd=0.5, tokens=50),
            fact("missed", slots=30),
            fact("skipped", slots=2),
        ]
    ).told()
    assert {word: count for word, count in told["outcomes"].items() if count} == {
        "completed": 1, "failed": 1, "missed": 30, "skipped": 2,
    }  # fmt: skip
    assert told["count"] == 34
    assert told["good_share"] == pytest.approx(1 / 32, abs=1e-4), "what was skipped on purpose is neither good nor bad"
    assert (told["duration_p50_s"], told["duration_p95_s"]) == (2.0, 8.0)
    assert (told["lateness_p50_ms"], told["lateness_p99_ms"]) == (4.0, 40.0)
    assert (told["cost_usd"], told["tokens"]) == (0.75, 150)


def test_of_nothing_there_is_no_percentile_and_no_share() -> None:
    told = summed([]).told()
    assert told["duration_p50_s"] is told["lateness_p99_ms"] is told["good_share"] is None
    assert told["count"] == told["tokens"] == 0


def test_what_has_changed_is_a_share_and_of_a_share_the_difference() -> None:
    now, before = summed([fact(cost_usd=3.0), fact("failed")]).told(), summed([fact(cost_usd=2.0)]).told()
    change = changed(now, before)
    assert change["cost_usd"] == 0.5
    assert change["count"] == 1.0
    assert change["good_share"] == -0.5
    assert change["tokens"] is None, "of nothing there is no share"
    assert change["duration_p50_s"] is None


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1))
def test_a_rank_is_a_value_that_enough_others_do_not_exceed(values: list[float], share: float) -> None:
    found = rank(values, share)
    assert found is not None
    assert any(abs(found - value) <= 0.0006 for value in values)
    assert sum(value <= found + 0.0006 for value in values) >= share * len(values) - 1e-6


FACT = st.builds(Fact, st.just("a"), st.just(0), st.sampled_from(WORDS), tokens=st.integers(0, 9), slots=st.just(1))


@given(st.lists(FACT, max_size=30), st.integers(0, 30))
def test_sums_of_parts_are_the_sum(facts: list[Fact], cut: int) -> None:
    whole, one, other = (summed(some).told() for some in (facts, facts[:cut], facts[cut:]))
    assert whole["count"] == one["count"] + other["count"] == len(facts)
    assert whole["tokens"] == one["tokens"] + other["tokens"]
