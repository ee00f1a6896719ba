"""What goes over the wire to a model: requests as they may be sent, and answers as they are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from horae.agents import wire
from horae.agents.wire import NotUnderstood, Reading

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"


def sent(path: str, body: dict[str, Any], most: int | None = None, **more: Any) -> dict[str, Any]:
    return json.loads(wire.bounded(path, wire.asked(path, json.dumps(body).encode()), "m-1", most, **more))


def read(form: str, *pieces: Any, streams: bool = True) -> Reading:
    reading = Reading(form, streams=streams)
    for piece in pieces:
        data = piece if isinstance(piece, str) else json.dumps(piece)
        reading.feed(f"data: {data}\n\n".encode() if streams else data.encode())
    reading.close()
    return reading


@pytest.mark.parametrize(
    ("path", "body", "wanted"),
    [
        (CHAT, {"max_tokens": 5}, 5),
        (CHAT, {"max_completion_tokens": 7}, 7),
        (CHAT, {"max_tokens": 5, "max_completion_tokens": 7}, 7),
        (CHAT, {"messages": []}, None),
        (CHAT, {"max_tokens": True}, None),
        ("/v1/completions", {"max_tokens": 5}, 5),
        (RESPONSES, {"max_output_tokens": 9}, 9),
        (RESPONSES, {"max_tokens": 9}, None),
        (MESSAGES, {"max_tokens": 11}, 11),
    ],
)
def test_what_is_asked_for_is_read(path: str, body: dict[str, Any], wanted: int | None) -> None:
    assert wire.asked(path, json.dumps(body).encode()).wanted == wanted


@pytest.mark.parametrize("prompt", [["a", "b"], [[1, 2], [3]]])
def test_P14_several_prompts_in_one_call_are_not_understood(prompt: list[Any]) -> None:
    with pytest.raises(NotUnderstood, match="one by one"):
        wire.asked("/v1/completions", json.dumps({"prompt": prompt, "max_tokens": 5}).encode())


@pytest.mark.parametrize("prompt", ["a", ["a"], [1, 2, 3], None, []])
def test_one_prompt_is_understood_however_it_is_written(prompt: Any) -> None:
    assert sent("/v1/completions", {"prompt": prompt, "max_tokens": 5}, 5)["prompt"] == prompt


@pytest.mark.parametrize("number", [2, 2.0, "2"])
def test_P14_there_is_one_answer_however_many_are_asked_for(number: Any) -> None:
    assert sent(CHAT, {"n": number}, 64)["n"] == 1


def test_a_service_cannot_be_asked_to_answer_by_another_model() -> None:
    body = {"model": "m", "models": ["dear/model"], "route": "fallback"}
    assert sent(CHAT, body) == {"model": "m-1"}
    assert wire.asked(CHAT, json.dumps(body).encode()).dearer == ("models", "route")


@pytest.mark.parametrize("usage", [{"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 10**400}, {}])
def test_P14_usage_that_cannot_be_true_is_none(usage: dict[str, int]) -> None:
    answer = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}], "usage": usage}
    found = read("chat", answer, streams=False)
    assert (found.ended, found.input, found.output) == (True, None, None)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"7", b"\xff", b"[" * 100_000])
def test_what_is_no_call_is_not_understood(raw: bytes) -> None:
    with pytest.raises(NotUnderstood):
        wire.asked(CHAT, raw)


@pytest.mark.parametrize(
    ("path", "body", "keys"),
    [
        (CHAT, {"max_tokens": 500}, {"max_tokens": 64}),
        (CHAT, {"max_completion_tokens": 500}, {"max_completion_tokens": 64}),
        (CHAT, {"max_tokens": 500, "max_completion_tokens": 9}, {"max_tokens": 64, "max_completion_tokens": 64}),
        (CHAT, {"a": 1}, {"a": 1, "max_tokens": 64}),
        (RESPONSES, {"a": 1}, {"a": 1, "max_output_tokens": 64}),
        (MESSAGES, {"max_tokens": 500}, {"max_tokens": 64}),
    ],
)
def test_output_is_bounded_whatever_it_is_called(path: str, body: dict[str, Any], keys: dict[str, int]) -> None:
    assert sent(path, body, 64) == {"model": "m-1", **keys}


def test_openai_itself_gets_the_newer_key() -> None:
    assert sent(CHAT, {"a": 1}, 64, new_key=True) == {"a": 1, "model": "m-1", "max_completion_tokens": 64}


def test_where_nothing_bounds_it_nothing_is_added() -> None:
    assert sent(CHAT, {"a": 1}) == {"a": 1, "model": "m-1"}


def test_a_stream_tells_its_usage_and_only_a_chat_is_asked_for_it() -> None:
    assert sent(CHAT, {"stream": True})["stream_options"] == {"include_usage": True}
    kept = sent(CHAT, {"stream": True, "stream_options": {"include_usage": False, "x": 1}})
    assert kept["stream_options"] == {"include_usage": True, "x": 1}
    assert "stream_options" not in sent(RESPONSES, {"stream": True})


def test_what_costs_without_being_told_in_tokens_is_left_out_and_named() -> None:
    function = {"type": "function", "function": {"name": "f"}}
    body = {
        "n": 4,
        "service_tier": "priority",
        "background": True,
        "tools": [function, {"type": "web_search_20250305"}, {"type": "code_interpreter"}],
    }
    asked = wire.asked(RESPONSES, json.dumps(body).encode())
    assert asked.dearer == ("service_tier", "background", "code_interpreter", "web_search_20250305")
    assert sent(RESPONSES, body) == {"model": "m-1", "n": 1, "tools": [function]}
    assert sent(RESPONSES, {"tools": [{"type": "mcp"}], "tool_choice": "auto"}) == {"model": "m-1"}


@pytest.mark.parametrize(("most", "thinking"), [(8000, 4096), (2000, 1024), (500, None)])
def test_thinking_fits_into_what_an_answer_may_have(most: int, thinking: int | None) -> None:
    found = sent(MESSAGES, {"max_tokens": 9000, "thinking": {"type": "enabled", "budget_tokens": 4096}}, most)
    assert found.get("thinking", {}).get("budget_tokens") == thinking


def test_a_chat_that_streams() -> None:
    def piece(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    call = {"index": 1, "id": "x", "function": {"name": "run", "arguments": ""}}
    more = [{"index": 1, "function": {"arguments": part}} for part in ('{"a"', ":1}")]
    found = read(
        "chat",
        piece({"role": "assistant", "content": "He"}),
        piece({"content": "llo"}),
        piece({"tool_calls": [call]}),
        *(piece({"tool_calls": [one]}) for one in more),
        piece({}, "tool_calls"),
        {
            "choices": [],
            "usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}},
        },
        "[DONE]",
    )
    assert (found.input, found.output, found.cached, found.stop, found.ended) == (9, 4, 3, "tool_calls", True)
    assert found.said == 'Hello\nrun({"a":1})'


def test_a_chat_that_comes_whole_says_the_same() -> None:
    message = {"content": "Hello", "tool_calls": [{"id": "y", "function": {"name": "run", "arguments": '{"a":1}'}}]}
    value = {
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4},
    }
    found = read("chat", value, streams=False)
    assert (found.input, found.output, found.cached, found.ended) == (9, 4, 0, True)
    assert found.said == 'Hello\nrun({"a":1})'


def test_a_message_that_streams_counts_its_cache() -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 2, "output_tokens": 1}
    found = read(
        "messages",
        {"type": "message_start", "message": {"content": [], "usage": usage, "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "name": "run", "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 25}},
        {"type": "message_stop"},
    )
    assert (found.input, found.output, found.cached, found.stop) == (42, 25, 30, "tool_use")
    content = [{"type": "text", "text": "Hello"}, {"type": "tool_use", "name": "run", "input": {"a": 1}}]
    whole = read("messages", {"content": content, "stop_reason": "tool_use", "usage": usage}, streams=False)
    assert whole.said == found.said == 'Hello\nrun({"a": 1})'


def test_a_response_is_read_off_its_last_event() -> None:
    output = [
        {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
        {"type": "function_call", "name": "run", "arguments": "{}"},
    ]
    usage = {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 3}}
    response = {"status": "completed", "output": output, "usage": usage}
    found = read(
        "responses",
        {"type": "response.created", "response": {"status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_text.delta", "delta": "Hello"},
        {"type": "response.completed", "response": response},
    )
    assert (found.input, found.output, found.cached, found.stop, found.ended) == (9, 4, 3, "completed", True)
    assert found.said == "Hello\nrun({})" == read("responses", response, streams=False).said
    failed = read("responses", {"response": {"status": "failed", "error": {"message": "overloaded"}}})
    assert (failed.ended, failed.trouble) == (False, "overloaded")


def test_a_stream_may_be_cut_anywhere_between_its_pieces() -> None:
    text = 'data: {"choices": [{"delta": {"content": "né"}, "finish_reason": "stop"}]}\r\n\r\ndata: [DONE]\r\n\r\n'.encode()
    for size in (1, 2, 3, 7):
        reading = Reading("chat", streams=True)
        for at in range(0, len(text), size):
            reading.feed(text[at : at + size])
        reading.close()
        assert (reading.said, reading.ended) == ("né", True)


@pytest.mark.parametrize(
    "data", ["{", "[]", "null", '{"choices": 7, "usage": 9}', '{"choices": [null, {"delta": []}]}']
)
@pytest.mark.parametrize("form", ["chat", "messages", "responses"])
def test_what_is_not_understood_is_passed_over(form: str, data: str) -> None:
    found = read(form, data)
    assert (found.input, found.output, found.ended, found.said) == (None, None, False, "")


def test_an_error_within_a_stream_is_told() -> None:
    assert (
        read("messages", {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}).trouble
        == "later"
    )


def test_errors_have_the_form_of_their_api() -> None:
    told = [json.loads(wire.refusal(path, 402, "limit_reached", "enough")) for path in (CHAT, MESSAGES)]
    assert told[0]["error"] == {
        "type": "limit_reached",
        "message": "enough",
        "code": "limit_reached",
        "param": None,
        "status": 402,
    }
    assert told[1] == {"type": "error", "error": {"type": "limit_reached", "message": "enough"}}
