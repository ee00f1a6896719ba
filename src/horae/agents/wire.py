"""What goes between an agent and its model, in the forms of four calls: what is asked for, and what it has used. Pure.

`bounded` is the request as it may be sent: with the job's model, one answer, no more output than is let, and nothing that
costs without being told in tokens. `Reading` takes an answer as it comes, whole or as a stream of events, and knows in the
end what it used, why it ended and what it said; `said` is in a form in which the same is equal to the letter.

What is not understood is passed over: an answer whose usage is not found is counted by the meter with its bound.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

CALLS = {  # path → its form, and the keys that bound its answer: the first is set where none is
    "/v1/chat/completions": ("chat", ("max_tokens", "max_completion_tokens")),
    "/v1/completions": ("chat", ("max_tokens",)),
    "/v1/responses": ("responses", ("max_output_tokens",)),
    "/v1/messages": ("messages", ("max_tokens",)),
}
FREE = {"/v1/models": "GET", "/v1/messages/count_tokens": "POST"}  # paths that use nothing
LINE_BYTES_MAX = 16 * 1024 * 1024  # of an event: beyond that a stream is passed on, but not read any further
SAID_CHARS_MAX = 200_000
DEARER = (
    *("service_tier", "speed", "web_search_options", "plugins", "mcp_servers", "container", "background", "best_of"),
    *("models", "route"),  # of a service that would answer by another model than it was asked for
)
RUN_ELSEWHERE = (  # beginnings of types of tools that the provider runs itself, at a price of their own
    "web_search",
    "web_fetch",
    "file_search",
    "code_interpreter",
    "code_execution",
    "image_generation",
    "mcp",
)
USED = ("prompt_tokens", "input_tokens", "completion_tokens", "output_tokens", "cache_read_input_tokens")
USED_MAX = 10**9  # tokens of a call: more is a slip, and not counted with
THINKING_LEAST = 1024  # tokens: Anthropic takes no smaller budget


class NotUnderstood(Exception):
    """The request is not one of these calls."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was read."""

    form: str
    body: dict[str, Any]
    model: str | None
    wanted: int | None
    """Tokens of output that it asks for."""
    dearer: tuple[str, ...]
    """What is in it that costs without being told in tokens; it is left out."""

    @property
    def has_tools(self) -> bool:
        """Whether it is part of an agent's work, and not a call on the side, for a title or a summary."""
        return bool(self.body.get("tools"))

    @property
    def streams(self) -> bool:
        """Whether its answer comes as events."""
        return self.body.get("stream") is True


def asked(path: str, raw: bytes) -> Asked:
    """What the body of a call asks for. Raises NotUnderstood."""
    form, keys = CALLS[path]
    body = _object(_json(raw))
    if not body:
        raise NotUnderstood("the body is not a JSON object")
    if _has_many(body.get("prompt")):
        raise NotUnderstood("several prompts in one call: each would have an answer of its own, send them one by one")
    wanted = [value for key in keys if isinstance(value := body.get(key), int) and not isinstance(value, bool)]
    model = body.get("model")
    dear = [key for key in DEARER if body.get(key)]
    dear += sorted({str(tool["type"]) for tool in _objects(body.get("tools")) if _runs_elsewhere(tool)})
    return Asked(form, body, model if isinstance(model, str) else None, max(0, *wanted, 0) or None, tuple(dear))


def bounded(path: str, asked: Asked, model: str, most: int | None, *, new_key: bool = False) -> bytes:
    """The same as it may be sent. `new_key`: the provider takes `max_completion_tokens` and not `max_tokens`."""
    body = {key: value for key, value in asked.body.items() if key not in DEARER} | {"model": model}
    keys = CALLS[path][1]
    if most is not None:
        present = [key for key in keys if body.get(key) is not None]
        for key in present or [keys[-1] if new_key else keys[0]]:
            body[key] = most
    if body.get("n") is not None:
        body["n"] = 1
    if isinstance(body.get("tools"), list):
        body["tools"] = [tool for tool in _objects(body["tools"]) if not _runs_elsewhere(tool)]
        if not body["tools"]:
            del body["tools"]
            body.pop("tool_choice", None)
    if asked.form == "chat" and asked.streams:
        body["stream_options"] = _object(body.get("stream_options")) | {"include_usage": True}
    if asked.form == "messages" and most is not None:
        _think_less(body, most)
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def renamed(raw: bytes, model: str) -> bytes:
    """The body of a call that uses nothing, for this model. Raises NotUnderstood."""
    body = _object(_json(raw))
    if not body:
        raise NotUnderstood("the body is not a JSON object")
    return json.dumps(body | {"model": model}).encode()


def told(data: bytes) -> str | None:
    """What an error of a provider says."""
    error = _object(_json(data)).get("error")
    says = _object(error).get("message") or error
    return " ".join(str(says).split())[:500] if says else None


def _json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _think_less(body: dict[str, Any], most: int) -> None:
    """What an answer may think must be less than what it may have."""
    thinking = _object(body.get("thinking"))
    budget = thinking.get("budget_tokens")
    if isinstance(budget, int) and budget >= most:
        if most > THINKING_LEAST:
            body["thinking"] = thinking | {"budget_tokens": max(THINKING_LEAST, most // 2)}
        else:
            del body["thinking"]


def _runs_elsewhere(tool: Mapping[str, Any]) -> bool:
    return str(tool.get("type")).startswith(RUN_ELSEWHERE)


def _has_many(prompt: object) -> bool:
    """A list of numbers is one prompt, in tokens."""
    return isinstance(prompt, list) and len(cast("list[object]", prompt)) > 1 and not isinstance(prompt[0], int)


def refusal(path: str, status: int, kind: str, says: str) -> bytes:
    """An error in the form of the call's API."""
    error = {"type": kind, "message": says}
    if path.startswith("/v1/messages"):
        return json.dumps({"type": "error", "error": error}).encode()
    return json.dumps({"error": error | {"code": kind, "param": None, "status": status}}).encode()


class Reading:
    """An answer as it comes."""

    def __init__(self, form: str, *, streams: bool) -> None:
        self._form, self.is_stream = form, streams
        self._rest = bytearray()
        self._text: list[str] = []
        self._calls: dict[int, list[str]] = {}
        self._chars, self._blind = 0, False
        self._used: dict[str, int] = {}
        self.stop: str | None = None
        self.ended = False
        """Whether it is all of an answer."""
        self.trouble: str | None = None
        """What the provider says went wrong on the way."""

    def feed(self, data: bytes) -> None:
        """A piece of it."""
        if self._blind:
            return
        self._rest += data
        if self.is_stream:
            *lines, rest = self._rest.split(b"\n")
            self._rest = bytearray(rest)
            for line in lines:
                self._line(bytes(line))
        self._blind = len(self._rest) > 2 * LINE_BYTES_MAX

    def close(self) -> None:
        """There is no more of it."""
        if self.is_stream:
            self._line(bytes(self._rest))
        elif not self._blind:
            self._value(bytes(self._rest))
        self._rest.clear()

    @property
    def input(self) -> int | None:
        """Tokens that it has read, those of a cache included. None: it does not say, or says that it used nothing."""
        if not any(self._used.get(name) for name in USED):
            return None
        if self._form != "messages":
            return self._used.get("prompt_tokens", self._used.get("input_tokens"))
        if "input_tokens" not in self._used:
            return None
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return sum(self._used.get(name, 0) for name in names)

    @property
    def output(self) -> int | None:
        """Tokens that it has written. None: the same."""
        if not any(self._used.get(name) for name in USED):
            return None
        return self._used.get("completion_tokens", self._used.get("output_tokens"))

    @property
    def cached(self) -> int:
        """Of `input`, what was in the provider's cache."""
        return self._used.get("cached_tokens", self._used.get("cache_read_input_tokens", 0))

    @property
    def said(self) -> str:
        """Text and calls, without ids."""
        return "".join(self._text) + "".join(f"\n{name}({given})" for name, given in self._calls.values())

    def _line(self, line: bytes) -> None:
        line = line.strip()
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.ended = True
        else:
            self._value(data)

    def _value(self, data: bytes) -> None:
        told = _object(_json(data))
        if told.get("error"):
            error = told["error"]
            self.trouble = str(_object(error).get("message") or error)[:500]
        if self._form == "chat":
            self._chat(told)
        elif self._form == "messages":
            self._messages(told)
        else:
            self._responses(told)

    def _chat(self, told: dict[str, Any]) -> None:
        self._usage(told)
        for choice in _objects(told.get("choices")):
            message = _object(choice.get("delta") or choice.get("message"))
            self._say(message.get("content") or choice.get("text"))
            for number, call in enumerate(_objects(message.get("tool_calls"))):
                function = _object(call.get("function"))
                at = call.get("index", number)
                self._call(at if isinstance(at, int) else number, function.get("name"), function.get("arguments"))
            if isinstance(reason := choice.get("finish_reason"), str):
                self.stop, self.ended = reason, True

    def _messages(self, told: dict[str, Any]) -> None:
        message = _object(told.get("message")) if told.get("type") == "message_start" else told
        self._usage(message)
        for number, block in enumerate(_objects(message.get("content"))):
            self._block(number, block)
        at = told.get("index")
        at = at if isinstance(at, int) else 0
        if told.get("type") == "content_block_start":
            self._block(at, _object(told.get("content_block")))
        delta = _object(told.get("delta"))
        self._say(delta.get("text"))
        if isinstance(part := delta.get("partial_json"), str):
            self._call(at, None, part)
        if isinstance(reason := (delta.get("stop_reason") or message.get("stop_reason")), str):
            self.stop, self.ended = reason, True

    def _block(self, at: int, block: dict[str, Any]) -> None:
        self._say(block.get("text"))
        if isinstance(name := block.get("name"), str):
            given = block.get("input")
            self._call(at, name, json.dumps(given, sort_keys=True, ensure_ascii=False) if given else "")

    def _responses(self, told: dict[str, Any]) -> None:
        response = _object(told.get("response")) if "response" in told else told
        if response.get("status") not in ("completed", "incomplete", "failed"):
            return
        self._usage(response)
        self.stop, self.ended = str(response["status"]), response["status"] != "failed"
        if error := _object(response.get("error")):
            self.trouble = str(error.get("message") or error)[:500]
        for number, item in enumerate(_objects(response.get("output"))):
            for part in _objects(item.get("content")):
                self._say(part.get("text"))
            if isinstance(name := item.get("name"), str):
                self._call(number, name, item.get("arguments") or item.get("input"))

    def _usage(self, told: dict[str, Any]) -> None:
        usage = _object(told.get("usage"))
        for part in (usage, *(_object(usage.get(key)) for key in ("prompt_tokens_details", "input_tokens_details"))):
            for key, value in part.items():
                if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= USED_MAX:
                    self._used[key] = value

    def _say(self, text: object) -> None:
        if isinstance(text, str) and self._chars < SAID_CHARS_MAX:
            self._text.append(text)
            self._chars += len(text)

    def _call(self, at: int, name: object, given: object) -> None:
        call = self._calls.setdefault(at, ["", ""])
        for place, part in enumerate((name, given)):
            if isinstance(part, str) and self._chars < SAID_CHARS_MAX:
                call[place] += part
                self._chars += len(part)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
