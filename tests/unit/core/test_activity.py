"""What is read off an agent's events: all of it where they are as they should be, and always something that can be kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.core.activity import (
    AGAIN_S_MAX,
    COUNT_MAX,
    HOWS,
    TRACE_CHARS_MAX,
    TRACE_FIELDS_MAX,
    TRACE_MAX,
    Work,
    redacted,
    work_of,
)

KINDS = (
    "prompt", "script", "skill", "watched", "ask", "model", "text", "tool", "result", "denied", "note", "draft",
    "warning", "usage", "end", "of another version",
)  # fmt: skip
KEYS = (
    "at", "sha256", "text", "name", "turn", "bound", "model", "input", "output", "usd", "key", "value", "what", "body",
    "how", "says", "again_s", "state", "ask",
)  # fmt: skip


def said(kind: str, **values: Any) -> dict[str, Any]:
    return {"kind": kind, "at": 1.5, **values}


WHOLE = [
    said("skill", name="tides", sha256="s1"),
    said("watched", sha256="w1", text="the page", changed=True),
    said("prompt", sha256="p1", chars=4, text="what"),
    said("ask", turn=1, model="small", bound=4000),
    said("model", turn=1, model="small", input=100, output=10, cached=5, usd=0.25, stop="tool", ms=9),
    said("tool", id="c1", tool="note", toolset="memory", args='{"key":"a"}'),
    said("note", key="a", value="1"),
    said("note", key="b", value=None),
    said("draft", what="job", body={"name": "x"}),
    said("ask", turn=2, model="other", bound=4000),
    said("model", turn=2, model="other", input=200, output=20, usd=0.5),
    said("end", how="done", says="it has answered"),
]


def test_what_a_run_has_told_is_all_there() -> None:
    work = work_of(WHOLE)
    assert (work.model, work.turns, work.input, work.output, work.tokens) == ("other", 2, 300, 30, 330)
    assert (work.usd, work.open_bound) == (0.75, 0)
    assert (work.prompt, work.prompt_sha256) == ("what", "p1")
    assert work.skills == (("tides", "s1"),)
    assert work.watched == ("w1", "the page")
    assert work.notes == (("a", "1"), ("b", None))
    assert work.drafts == ({"what": "job", "body": {"name": "x"}},)
    assert (work.how, work.says, work.again_s, work.state, work.ask) == ("done", "it has answered", None, None, None)
    assert [event["kind"] for event in work.trace] == [event["kind"] for event in WHOLE]


def test_the_trace_leaves_out_what_is_kept_elsewhere() -> None:
    work = work_of([*WHOLE[:3], said("end", how="held", says="later", again_s=60, state="x" * 9000)])
    assert work.trace[2] == {"kind": "prompt", "at": 1.5, "sha256": "p1", "chars": 4}
    assert work.trace[1]["text"] == "the page"
    assert "state" not in work.trace[3]
    assert (work.state, work.again_s, work.prompt) == ("x" * 9000, 60.0, "what")


def test_a_call_that_its_provider_refused_is_no_turn() -> None:
    asked = said("ask", turn=1, bound=10)
    work = work_of([asked, said("model", turn=1, input=0, output=0, usd=0.0, stop="error")])
    assert (work.turns, work.tokens, work.open_bound) == (0, 0, 0)
    assert work_of([asked, said("model", turn=1, input=5, output=0, usd=0.0, stop="error")]).turns == 1


def test_a_call_whose_answer_nobody_saw_counts_with_its_bound() -> None:
    work = work_of([said("ask", turn=1, bound=10), said("model", turn=1), said("ask", turn=2, bound=4000)])
    assert (work.turns, work.open_bound) == (2, 4000)


@pytest.mark.parametrize("usd", [None, "0.1", True, -1.0, float("nan"), float("inf"), 10**400, 1e300])
def test_one_call_without_a_price_and_the_sum_is_not_known(usd: Any) -> None:
    assert work_of([said("model", turn=1, usd=0.5), said("model", turn=2, usd=usd)]).usd is None
    assert work_of([said("model", turn=1, usd=usd), said("model", turn=2, usd=0.5)]).usd is None


@pytest.mark.parametrize("again", [None, "60", True, -1, float("nan"), float("inf"), 10**400, AGAIN_S_MAX + 1])
def test_when_it_goes_on_is_an_instant_that_exists_or_is_not_said(again: Any) -> None:
    assert work_of([said("end", how="held", again_s=again)]).again_s is None


def test_a_number_of_tokens_is_one_that_can_be_kept() -> None:
    work = work_of([said("model", turn=10**400, input=10**400, output=-7), said("ask", turn=2, bound=True)])
    assert (work.input, work.output, work.open_bound) == (COUNT_MAX, 0, 0)


@pytest.mark.parametrize("how", [None, 7, "perfectly", ["done"], {"done": 1}])
def test_an_end_of_no_known_kind_is_a_failure(how: Any) -> None:
    assert work_of([said("end", how=how, says="x")]).how == "failed"


def test_every_end_that_is_described_is_understood() -> None:
    assert [work_of([said("end", how=how)]).how for how in HOWS] == list(HOWS)


def test_without_an_end_nobody_says_how_it_ended() -> None:
    assert work_of(WHOLE[:-1]).how is None
    assert work_of([]) == Work(usd=0.0)


def test_what_is_no_event_is_left_out() -> None:
    assert work_of([{}, {"kind": 7}, {"kind": None, "at": 1}, said("end", how="done")]).trace == (
        said("end", how="done"),
    )


def test_no_text_holds_what_a_database_does_not_take() -> None:
    work = work_of(
        [
            said("note", key="a\0", value="\ud800b"),
            said("end", how="done", says="\0", state="\udfff", ask={"\0": ["\0"]}),
            said("warning", text=float("nan")),
        ]
    )
    told = repr((work.notes, work.says, work.state, work.ask, work.trace))
    told.encode()
    assert "\\x00" not in told
    assert "\\ud" not in told
    assert work.notes == (("a␀", "?b"),)
    assert work.trace[2]["text"] is None


def nested(depth: int) -> Any:
    value: Any = "inside"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [30, 300, 900])
def test_depth_ends_nothing(depth: int) -> None:
    work = work_of(
        [said("draft", what="job", body=nested(depth)), said("end", how="parked", ask={"args": nested(depth)})]
    )
    text = json.dumps([*work.drafts, work.ask])
    assert ("inside" in text) is (depth == 30)
    assert redacted(work, str.upper).how == "PARKED"


def test_of_a_long_run_the_beginning_and_the_end_are_kept_and_the_gap_is_counted() -> None:
    events = [said("text", text=str(number)) for number in range(TRACE_MAX + 40)]
    trace = work_of([*events, said("end", how="done")]).trace
    assert len(trace) == TRACE_MAX + 1
    half = TRACE_MAX // 2
    assert trace[half] == {"kind": "gap", "at": 1.5, "count": 41}
    assert trace[half - 1]["text"] == str(half - 1)
    assert trace[-1]["how"] == "done"
    assert len(work_of(events[:TRACE_MAX]).trace) == TRACE_MAX


def test_a_gap_among_events_without_a_time() -> None:
    assert len(work_of([{"kind": "text"}] * (TRACE_MAX + 1)).trace) == TRACE_MAX + 1


def test_each_event_of_the_trace_is_bounded_whatever_its_keys() -> None:
    long = "é" * 300_000
    (event,) = work_of([{"kind": long, long: long, "args": [long], "b": {"c": long}, "n": 7}]).trace
    assert event["kind"] == "é" * (TRACE_CHARS_MAX - 1) + "…"
    assert (event["args"], event["b"], event["n"]) == ("…", "…", 7)
    assert max(map(len, event)) <= TRACE_CHARS_MAX
    (event,) = work_of([{"kind": "text", **{str(number): "x" for number in range(9000)}}]).trace
    assert event["kind"] == "text"
    assert len(event) <= TRACE_FIELDS_MAX + 1


# ── whatever is told

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.just("x" * 9000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
events = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=9), values, max_size=9).flatmap(
    lambda event: st.builds(lambda kind: {**event, "kind": kind}, st.sampled_from(KINDS) | values)
)


@settings(max_examples=100)
@given(st.lists(events, max_size=12), st.sampled_from([0, 0, 0, 1]))
def test_whatever_is_told_it_comes_to_something_that_can_be_kept(told: list[dict[str, Any]], times: int) -> None:
    end = said("end", how="done", says="fine")
    work = work_of([*told * (times * 100), *told, end])
    assert (work.how, work.says, work.trace[-1]) == ("done", "fine", end)
    assert len(work.trace) <= TRACE_MAX + 1
    for event in work.trace:
        assert len(json.dumps(event, allow_nan=False)) < (TRACE_FIELDS_MAX + 2) * 12 * (TRACE_CHARS_MAX + 20)
    assert all(0 <= number < 2**62 for number in (work.turns, work.input, work.output, work.open_bound))
    assert work.usd is None or 0 <= work.usd < 10**12
    json.dumps([work.notes, work.skills, work.watched, work.ask, work.state], ensure_ascii=False).encode()
    json.dumps([*work.drafts], ensure_ascii=False, allow_nan=False).encode()


@settings(max_examples=100)
@given(st.lists(events, max_size=6))
def test_what_is_taken_out_is_in_no_text_of_it(told: list[dict[str, Any]]) -> None:
    secret = "hunter2-hunter2"
    holds = [
        said("prompt", text=f"a{secret}"),
        said("note", key="k", value=secret),
        said("draft", what="job", body={"b": [secret, {"c": secret}]}),
        said("watched", sha256="x", text=secret),
        said("end", how="parked", says=secret, state=f'"{secret}"', ask={"args": secret}),
    ]
    clean = redacted(work_of([*told, *holds]), lambda text: text.replace(secret, "[x]"))
    assert secret not in repr(clean)
    assert (clean.prompt, clean.says, clean.ask) == ("a[x]", "[x]", {"args": "[x]"})
    assert redacted(clean, lambda text: text) == clean
