"""Wrong secrets: how many are looked at, by address and in all."""

from __future__ import annotations

from horae.core.attempts import ADDRESSES_MAX, ALL_AT_ONCE, ALL_EVERY_S, AT_ONCE, EVERY_S, Attempts


def test_so_many_at_once_then_one_every_few_seconds() -> None:
    attempts = Attempts()
    assert [attempts.wrong("a", 100.0) for _ in range(AT_ONCE)] == [0.0] * AT_ONCE
    assert 0 < attempts.wrong("a", 100.0) <= EVERY_S
    assert attempts.wrong("b", 100.0) == 0.0
    assert attempts.wrong("a", 100.0 + EVERY_S) == 0.0
    assert attempts.wrong("a", 100.0 + EVERY_S) > 0.0


def test_one_that_goes_on_trying_waits_no_longer_for_it() -> None:
    attempts = Attempts()
    for step in range(1000):
        attempts.wrong("a", step / 1000)
    assert attempts.wrong("a", 1.0) <= EVERY_S
    assert attempts.wrong("a", 1.0 + EVERY_S) == 0.0


def test_many_addresses_together_are_bounded_and_so_is_what_is_remembered() -> None:
    attempts = Attempts()
    answers = [attempts.wrong(f"address {n}", 0.0) for n in range(ADDRESSES_MAX + 50)]
    assert answers.count(0.0) == ALL_AT_ONCE
    assert max(answers) <= ALL_EVERY_S
    assert len(attempts._by) == ADDRESSES_MAX  # pyright: ignore[reportPrivateUsage]


def test_a_clock_that_goes_back_gives_nothing() -> None:
    attempts = Attempts()
    for _ in range(AT_ONCE):
        attempts.wrong("a", 100.0)
    assert attempts.wrong("a", 50.0) > 0.0
