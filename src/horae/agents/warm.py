"""What is slow only once is done before the fork: the first call of a model, against an answer that is made up here.

The libraries load much of what they are only when it is used, and build the forms of their messages then. So each kind of
provider is asked once, with all tools on offer. Nothing is connected: the client's transport is a function.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import Any, cast

import httpx2

from horae.agents import builtin
from horae.agents.faults import READABLE
from horae.agents.meter import Meter
from horae.agents.stop import Stop
from horae.agents.task import Task
from horae.agents.tell import Tell
from horae.core.agent import TOOLSETS

KINDS = ("openai", "anthropic", "openai-responses")


def warm() -> None:
    """Some tenths of a second, once."""
    nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        for kind in KINDS:
            _once(_task(kind), Tell(nothing))
    finally:
        os.close(nothing)


def _once(task: Task, tell: Tell) -> None:
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(_answer), trust_env=False)
    meter = Meter(task["models"], task["allow"], tell)
    with contextlib.suppress(Stop, *READABLE):  # then the first run is slower, and says what is wrong
        asyncio.run(builtin.one_run(task, "warm", tell, meter, http))


def _task(kind: str) -> Task:
    model = {"name": "m", "id": "m", "kind": kind, "base_url": "http://warm", "key": None, "price": None}
    task: dict[str, Any] = {
        "models": [model | {"max_output": 1, "context": None}],
        "allow": {"turns": None, "tokens": None, "usd": None},
        "tools": [*TOOLSETS],
        "folder": "",
        **{key: {} for key in ("notes", "env")},
        **{key: [] for key in ("approve", "mcp", "skills")},
        **dict.fromkeys(("state", "decision", "schema", "walls")),
    }
    return cast("Task", task)


def _answer(request: httpx2.Request) -> httpx2.Response:
    events = next(events for end, events in ANSWERS.items() if request.url.path.endswith(end))
    body = "".join(f"event: {json.loads(said).get('type', 'message')}\ndata: {said}\n\n" for said in events)
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=body)


CHAT = (
    (
        '{"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": '
        '{"role": "assistant", "content": "ok"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, '
        '"completion_tokens": 1, "total_tokens": 2}}'
    ),
)
MESSAGES = (
    (
        '{"type": "message_start", "message": {"id": "1", "type": "message", "role": "assistant", "model": "m", "content": '
        '[], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}}}'
    ),
    '{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}',
    '{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}}',
    '{"type": "content_block_stop", "index": 0}',
    (
        '{"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, '
        '"usage": {"input_tokens": 1, "output_tokens": 1}}'
    ),
    '{"type": "message_stop"}',
)
RESPONSES = (
    (
        '{"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": {"type": "message", '
        '"id": "1", "role": "assistant", "status": "in_progress", "content": []}}'
    ),
    (
        '{"type": "response.output_text.delta", "sequence_number": 2, "output_index": 0, "content_index": 0, '
        '"item_id": "1", "delta": "ok", "logprobs": []}'
    ),
    (
        '{"type": "response.completed", "sequence_number": 3, "response": {"id": "1", "object": "response", "created_at": 1, '
        '"model": "m", "status": "completed", "output": [], "parallel_tool_calls": true, "tool_choice": "auto", '
        '"tools": [], "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": '
        '{"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}}}'
    ),
)
ANSWERS = {"/completions": CHAT, "/messages": MESSAGES, "/responses": RESPONSES}
