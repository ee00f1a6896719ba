"""What an agent uses is counted, and stopped before a call that would pass a limit."""

from __future__ import annotations

from typing import Any

import pytest

from horae.agents.meter import SAME_MAX, Meter
from horae.agents.stop import Stop
from horae.core.activity import work_of

MODEL: Any = {
    "name": "small", "id": "m", "kind": "openai", "base_url": None, "key": None,
    "price": [1.0, 2.0, 0.5], "max_output": 1000, "context": None,
}  # fmt: skip


def a_meter(
    heard: Any, *, turns: int | None = None, tokens: int | None = None, usd: float | None = None, **model: Any
) -> Meter:
    return Meter([MODEL | model], {"turns": turns, "tokens": tokens, "usd": usd}, heard)


def test_a_call_is_told_before_and_after(heard: Any) -> None:
    meter = a_meter(heard)
    turn, most = meter.admit("small", 300, None)
    assert (turn, most) == (1, 1000)
    assert heard.of("ask") == [{"kind": "ask", "turn": 1, "model": "small", "bound": 1100}]
    meter.count(turn, "small", input=90, output=10, cached=40, stop="stop", ms=7)
    told = heard.of("model")[0]
    assert told["usd"] == pytest.approx((50 * 1.0 + 40 * 0.5 + 10 * 2.0) / 1e6)
    work = work_of(heard.events)
    assert (work.turns, work.tokens, work.open_bound) == (1, 100, 0)


def test_P14_the_limit_is_named_and_the_call_does_not_begin(heard: Any) -> None:
    meter = a_meter(heard, turns=1)
    turn, _ = meter.admit("small", 30, None)
    meter.count(turn, "small", input=1, output=1)
    with pytest.raises(Stop, match="turn limit of 1 reached") as stop:
        meter.admit("small", 30, None)
    assert stop.value.how == "limit"
    assert len(heard.of("ask")) == 1


def test_P14_calls_under_way_count_with_their_bounds(heard: Any) -> None:
    meter = a_meter(heard, tokens=1500)
    _, first = meter.admit("small", 300, 1000)
    assert first == 1000
    _, second = meter.admit("small", 300, 1000)
    assert second == 300
    with pytest.raises(Stop, match="token limit of 1500 reached: 1500 used"):
        meter.admit("small", 300, 1000)


def test_a_call_that_failed_gives_back_what_it_had(heard: Any) -> None:
    meter = a_meter(heard, tokens=1500)
    turn, _ = meter.admit("small", 300, 1000)
    meter.failed(turn, "small", "refused")
    _, most = meter.admit("small", 300, 1000)
    assert most == 1000
    assert work_of(heard.events).tokens == 0


def test_a_call_without_an_end_stays_counted(heard: Any) -> None:
    meter = a_meter(heard, tokens=1500)
    turn, _ = meter.admit("small", 300, 1000)
    meter.lost(turn, "small", "cut")
    assert meter.admit("small", 300, 1000)[1] == 300
    assert work_of(heard.events).open_bound == 1100 + 400
    assert "may have used its whole bound" in heard.of("usage")[0]["note"]


def test_usage_that_is_not_told_counts_with_the_bound_and_is_said_once(heard: Any) -> None:
    meter = a_meter(heard)
    for _ in range(2):
        turn, _ = meter.admit("small", 300, None)
        meter.count(turn, "small", input=None, output=None)
    assert [(one["input"], one["output"]) for one in heard.of("model")] == [(100, 1000), (100, 1000)]
    assert len(heard.of("usage")) == 1


def test_money_cannot_be_counted_without_a_price(heard: Any) -> None:
    with pytest.raises(Stop, match="model small has no price"):
        a_meter(heard, usd=1.0, price=None).admit("small", 30, None)
    turn, _ = (meter := a_meter(heard, price=None)).admit("small", 30, None)
    meter.count(turn, "small", input=1, output=1)
    assert heard.of("model")[0]["usd"] is None


def test_the_same_answer_again_and_again_stops_it_with_the_evidence(heard: Any) -> None:
    meter = a_meter(heard)
    for number in range(SAME_MAX - 1):
        turn, _ = meter.admit("small", 30, None)
        meter.count(turn, "small", input=1, output=1, answer="look(sk-secret)")
        assert number < SAME_MAX
    turn, _ = meter.admit("small", 30, None)
    with pytest.raises(Stop, match=r"the same 5 times in a row: look\(\[key\]\)") as stop:
        meter.count(turn, "small", input=1, output=1, answer="look(sk-secret)")
    assert stop.value.how == "loop"
    assert len(heard.of("model")) == SAME_MAX


def test_answers_that_differ_or_are_not_known_are_no_loop(heard: Any) -> None:
    meter = a_meter(heard)
    for number in range(3 * SAME_MAX):
        turn, _ = meter.admit("small", 30, None)
        meter.count(turn, "small", input=1, output=1, answer="" if number % 2 else f"a{number % 4}")
