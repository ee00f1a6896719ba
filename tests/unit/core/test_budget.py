"""Whether a model call may begin, and how long its answer may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.agent import Price
from horae.core.budget import OUTPUT_GUESS, OUTPUT_LEAST, Admitted, Refused, Used, admit, cost, estimate
from horae.core.equipment import Allowance

PRICE = Price(1.0, 2.0, 0.5)


def test_without_limits_only_the_models_own_bound_holds() -> None:
    assert admit(Allowance(), Used(), 100, 4000, None) == Admitted(4000, 4100, 0.0)
    assert admit(Allowance(), Used(), 100, None, None) == Admitted(None, 100 + OUTPUT_GUESS, 0.0)


def test_the_answer_is_cut_to_what_is_left() -> None:
    found = admit(Allowance(tokens=1000), Used(tokens=300), 200, 4000, None)
    assert found == Admitted(500, 700, 0.0)


def test_money_cuts_the_answer_too() -> None:
    found = admit(Allowance(usd=0.01), Used(usd=0.005), 1000, 4000, PRICE)
    assert isinstance(found, Admitted)
    assert found.max_output == 2000
    assert found.usd == pytest.approx(0.005)


def test_what_is_free_is_not_bounded_by_money() -> None:
    found = admit(Allowance(usd=0.01), Used(), 1000, 4000, Price(1.0, 0.0))
    assert isinstance(found, Admitted)
    assert found.max_output == 4000


@pytest.mark.parametrize(
    ("allowance", "used", "says"),
    [
        (Allowance(turns=50), Used(turns=50), "turn limit of 50 reached"),
        (Allowance(turns=0), Used(), "turn limit reached before it went on"),
        (
            Allowance(tokens=200_000),
            Used(tokens=198_400),
            f"token limit of 200000 reached: 198400 used and the next call needs about {2000 + OUTPUT_LEAST}",
        ),
        (Allowance(usd=0.5), Used(usd=0.499), "money limit of $0.50 reached: $0.50 used and the next call needs about"),
    ],
)
def test_a_limit_is_named(allowance: Allowance, used: Used, says: str) -> None:
    found = admit(allowance, used, 2000, 4000, PRICE)
    assert isinstance(found, Refused)
    assert says in found.words


def test_an_answer_that_is_bounded_to_less_than_the_least_is_still_one() -> None:
    assert admit(Allowance(tokens=110), Used(), 100, 10, None) == Admitted(10, 110, 0.0)


def test_what_was_cached_has_its_own_price() -> None:
    assert cost(PRICE, 1000, 100, cached=400) == pytest.approx((600 * 1.0 + 400 * 0.5 + 100 * 2.0) / 1e6)
    assert cost(Price(1.0, 2.0), 1000, 0, cached=400) == pytest.approx(1000 / 1e6)
    assert cost(PRICE, 100, 0, cached=1000) == pytest.approx(100 * 0.5 / 1e6)


def test_an_estimate_is_rather_too_high() -> None:
    assert estimate(0) == 0
    assert estimate(1) == 1
    assert estimate(300) == 100


@given(
    tokens=st.integers(0, 10_000),
    used=st.integers(0, 10_000),
    reads=st.integers(0, 5000),
    wanted=st.none() | st.integers(1, 5000),
    usd=st.none() | st.floats(0, 0.05),
    spent=st.floats(0, 0.05),
)
def test_P14_a_call_that_is_let_begin_fits_into_what_is_left(
    tokens: int, used: int, reads: int, wanted: int | None, usd: float | None, spent: float
) -> None:
    found = admit(Allowance(None, tokens, usd), Used(0, used, spent), reads, wanted, PRICE)
    if isinstance(found, Admitted):
        assert used + found.bound <= tokens
        assert usd is None or spent + found.usd <= usd + 1e-9
        assert found.max_output is not None
        assert found.max_output >= 1
        assert wanted is None or found.max_output <= wanted
