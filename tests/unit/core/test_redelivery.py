"""When a message is tried again: ever later, never past its deadline, and not all at once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.redelivery import next_try
from horae.limits import TRY_AGAIN_MAX_S, TRY_AGAIN_S
from tests.support.builders import DAY, MINUTE, START

FAR = START + 365 * DAY
keys = st.text(min_size=1, max_size=20)
waits = st.none() | st.integers(0, 86_400)


def pause(attempts: int, after_s: float | None = None, key: str = "7") -> float:
    found = next_try(START, FAR, attempts, after_s, key)
    assert found is not None
    return (found - START).total_seconds()


def plain(attempts: int) -> float:
    return min(TRY_AGAIN_MAX_S, TRY_AGAIN_S * 2 ** (attempts - 1))


@given(st.integers(1, 60), keys)
def test_the_pause_doubles_up_to_its_bound_with_up_to_a_quarter_to_it(attempts: int, key: str) -> None:
    assert plain(attempts) <= pause(attempts, key=key) <= 1.25 * plain(attempts) + 1e-6


@pytest.mark.parametrize("attempts", [1, 2, 8, 9, 1000, 10**9])
def test_however_often_it_was_tried(attempts: int) -> None:
    assert plain(min(attempts, 50)) <= pause(attempts) <= 1.25 * TRY_AGAIN_MAX_S


@given(st.integers(1, 60), keys, waits)
def test_a_target_that_asks_for_patience_gets_it(attempts: int, key: str, after_s: float | None) -> None:
    found = pause(attempts, after_s, key)
    assert found >= (after_s or 0.0) - 1e-6
    assert found == pytest.approx(max(pause(attempts, key=key), after_s or 0.0), abs=1e-5)


@given(st.integers(1, 60), keys, waits, st.integers(0, 2000) | st.integers(0, 3 * 86_400))
def test_it_is_given_up_exactly_where_the_next_try_would_come_too_late(
    attempts: int, key: str, after_s: int | None, left_s: int
) -> None:
    deadline = START + timedelta(seconds=left_s)
    found = next_try(START, deadline, attempts, after_s, key)
    due = START + timedelta(seconds=pause(attempts, after_s, key))
    assert found == (due if due <= deadline else None)


def test_past_the_deadline_nothing_is_tried() -> None:
    assert next_try(START, START - MINUTE, 1, None, "7") is None
    assert next_try(START, START, 1, 0.0, "7") is None


@pytest.mark.parametrize("after_s", [1e12, 1e300, float("inf")])
def test_a_wait_without_end_is_no_fault(after_s: float) -> None:
    assert next_try(START, FAR, 1, after_s, "7") is None


def test_what_failed_together_is_not_tried_together_and_always_at_the_same_time() -> None:
    tries: set[datetime | None] = {next_try(START, FAR, 3, None, str(number)) for number in range(100)}
    assert len(tries) > 90
    assert next_try(START, FAR, 3, None, "7") == next_try(START, FAR, 3, None, "7")
    assert pause(9) != pause(10), "nor each time after the same wait"
