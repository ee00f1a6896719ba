"""What ended lately, by a clock that stands where it is put."""

from __future__ import annotations

import pytest

from horae.engine.pace import Pace
from tests.support.builders import SECOND, SetClock


@pytest.mark.parametrize(("later_s", "lately"), [(0, 3), (1, 3), (2, 0), (60, 0)])
def test_ends_count_for_their_second_and_the_next(later_s: int, lately: int) -> None:
    clock = SetClock()
    pace = Pace(clock)
    for _ in range(3):
        pace.ended()
    clock.time += later_s * SECOND
    assert pace.lately == lately


def test_the_better_of_two_seconds_counts() -> None:
    clock = SetClock()
    pace = Pace(clock)
    for count in (5, 2):
        for _ in range(count):
            pace.ended()
        assert pace.lately == 5
        clock.time += SECOND
    assert pace.lately == 2
