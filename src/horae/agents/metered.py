"""A model of the library behind the meter: asked before each call, told after it, and what it answers is looked at.

Four things end an agent's work here, between its model and its tools: a limit, answers that repeat, calls of tools that it
does not have, and an answer that says nothing. Each raises; what was sent last is remembered, so that whoever goes on later
can send it again.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from horae.agents.meter import Meter
from horae.agents.stop import Stop
from horae.agents.task import ModelCall
from horae.agents.tools.place import Place
from horae.clock import SystemClock

SETTINGS = ModelSettings(max_retries=0)
OF_TOOLSETS = {
    "run": "shell",
    "fetch": "web",
    "draft_job": "jobs",
    "draft_message": "messages",
    **dict.fromkeys(("list_files", "read_file", "write_file", "edit_file", "search_files"), "files"),
    **dict.fromkeys(("remember", "recall", "forget"), "memory"),
}
"""To say which grant is missing."""


class Empty(Exception):
    """It answered, and said nothing."""


@dataclass(slots=True)
class Sent:
    """What was sent last."""

    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])


class Metered(WrapperModel):
    """See above."""

    def __init__(self, model: Model, call: ModelCall, meter: Meter, place: Place, sent: Sent) -> None:
        super().__init__(model)
        self._call, self._meter, self._place, self._sent = call, meter, place, sent
        self._clock = SystemClock()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """In one piece: the same, without what comes on the way."""
        async with self.request_stream(messages, model_settings, model_request_parameters) as stream:
            async for _ in stream:
                pass
        return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """One call."""
        self._sent.messages = list(messages)
        name = self._call["name"]
        turn, most = self._meter.admit(name, size_of(messages, model_request_parameters), None)
        settings: ModelSettings = {**(model_settings or {}), **SETTINGS}
        if most is not None:
            settings["max_tokens"] = most
        began = self._clock.reading().steady_s
        try:
            async with self.wrapped.request_stream(messages, settings, model_request_parameters, run_context) as stream:
                yield stream
        except BaseException as error:
            self._over(turn, error)
            raise
        ms = round((self._clock.reading().steady_s - began) * 1000)
        self._answered(turn, stream.get(), messages, model_request_parameters, ms=ms, most=most)

    def _over(self, turn: int, error: BaseException) -> None:
        """It failed: say whether it may have used anything."""
        why = type(error).__name__
        nothing = (isinstance(error, ModelHTTPError) and not error.in_stream) or (
            isinstance(error, ModelConnectionError) and error.phase in ("connect", "pool")
        )
        if nothing:
            self._meter.failed(turn, self._call["name"], why)
        else:
            self._meter.lost(turn, self._call["name"], why)

    def _answered(
        self,
        turn: int,
        response: ModelResponse,
        messages: Sequence[ModelMessage],
        parameters: ModelRequestParameters,
        *,
        ms: int,
        most: int | None,
    ) -> None:
        usage = response.usage
        known = not usage.unmeasured_requests and (usage.input_tokens > 0 or usage.output_tokens > 0)
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        self._meter.count(
            turn,
            self._call["name"],
            input=usage.input_tokens if known else None,
            output=usage.output_tokens if known else None,
            cached=usage.cache_read_tokens,
            stop=response.finish_reason,
            ms=ms,
            answer=_shown(calls, text, messages),
        )
        if response.finish_reason == "length":
            self._cut(most)
        offered = {tool.name for tool in (*parameters.function_tools, *parameters.output_tools)}
        for call in calls:
            if call.tool_name not in offered:
                self._place.deny(call.tool_name, call.args or {}, _missing(call.tool_name))
        if not calls and not text.strip():
            raise Empty

    def _cut(self, most: int | None) -> None:
        """Its answer was cut: by what was left, which ends it, or by the model's own bound."""
        if most is not None and most != self._call["max_output"]:
            raise Stop("limit", f"its answer was cut after {most} tokens, which is all that its limits had left")
        self._place.tell.event("warning", text=f"an answer of {self._call['name']} was cut at its greatest length")


def _missing(tool: str) -> str:
    toolset = OF_TOOLSETS.get(tool)
    return f"the job does not grant {toolset}" if toolset else "there is no such tool"


def _shown(calls: Sequence[ToolCallPart], text: str, messages: Sequence[ModelMessage]) -> str:
    """The answer in a form in which the same is equal, with a digest of what its last calls brought.

    Who asks again and gets something else is getting on; who gets the same is not.
    """
    said = "; ".join(f"{call.tool_name}({call.args_as_json_str()})" for call in calls) or text.strip()
    if not said or not calls:
        return said
    last = messages[-1] if messages else None
    brought = [
        part.model_response_str() for part in (last.parts if isinstance(last, ModelRequest) else ())
        if isinstance(part, ToolReturnPart)
    ]  # fmt: skip
    return f"{said} [{sha256(json.dumps(brought).encode()).hexdigest()[:12]}]"


def size_of(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
    """About how many bytes a request has."""
    size = 0
    for message in messages:
        size += 16
        if isinstance(message, ModelRequest) and message.instructions:
            size += len(message.instructions.encode("utf-8", "replace"))
        for part in message.parts:
            size += 32 + _size_of_part(part)
    for tool in (*parameters.function_tools, *parameters.output_tools):
        schema = json.dumps(tool.parameters_json_schema)
        size += len(tool.name) + len((tool.description or "").encode("utf-8", "replace")) + len(schema) + 32
    return size


def _size_of_part(part: Any) -> int:
    if isinstance(part, ToolCallPart):
        return len(part.tool_name) + len(part.args_as_json_str().encode("utf-8", "replace"))
    if isinstance(part, ToolReturnPart):
        return len(part.model_response_str().encode("utf-8", "replace"))
    content = getattr(part, "content", "")
    return len((content if isinstance(content, str) else str(content)).encode("utf-8", "replace"))
