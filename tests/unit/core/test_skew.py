"""An instant of the store, by a clock that shows another time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.core.skew import ahead
from tests.support.builders import SECOND, START

NONE = timedelta()


@pytest.mark.parametrize("took_s", [0, 1, 30])
def test_clocks_that_agree_are_never_corrected_however_long_the_answer_took(took_s: int) -> None:
    for read_s in range(took_s + 1):
        assert ahead(START + read_s * SECOND, START, START + took_s * SECOND) == NONE


@pytest.mark.parametrize("off_s", [1, 41, 7200])
@pytest.mark.parametrize("took_s", [0, 1])
def test_what_surely_differs_is_corrected(off_s: int, took_s: int) -> None:
    store, off, took = START, off_s * SECOND, took_s * SECOND
    assert ahead(store, START + off, START + off + took) == off, "we are ahead: what is due at noon is due later for us"
    assert ahead(store + took, START - off, START - off + took) == -off


def test_an_instant_is_never_reached_before_the_store_reaches_it_when_nothing_is_lost_on_the_way() -> None:
    for off_s in range(-5, 6):
        due, asked = START + 10 * SECOND, START + off_s * SECOND
        ours = due + ahead(START, asked, asked)
        assert ours - asked == due - START, "as long as the store would wait"
