"""A model's provider on the loopback that says what a test wrote down: OpenAI's chat completions and
responses, and Anthropic's messages.

The script is a list of steps, or a function of the request that gives one. Each request is kept, with its time. When the
script is over the server says so with status 418, which no test expects.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Step:
    """One answer. `usage` is input, output, and of the input what was cached; None: it is not told."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any] | str], ...] = ()
    usage: tuple[int, ...] | None = (10, 5, 0)
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    fault: str | None = None
    """`stall` (headers, one piece, and then nothing), `silent` (nothing at all), `garbage`, `cut`, `nothing`."""
    stop: str | None = None


def say(text: str, *, usage: tuple[int, ...] | None = (10, 5, 0), stop: str | None = None) -> Step:
    return Step(text, usage=usage, stop=stop)


def call(*calls: tuple[str, dict[str, Any] | str], text: str = "", usage: tuple[int, ...] | None = (10, 5, 0)) -> Step:
    return Step(text, calls, usage)


def status(code: int, words: str = "no", *, retry_after: str | None = None) -> Step:
    headers = (("Retry-After", retry_after),) if retry_after is not None else ()
    return Step(words, status=code, headers=headers)


def fault(name: str, text: str = "half an an") -> Step:
    return Step(text, fault=name)


@dataclass
class Asked:
    """A request."""

    at: float
    """Of the monotonic clock."""
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    raw: bytes

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def tools(self) -> list[str]:
        """Names of the tools that the model is offered."""
        found = self.body.get("tools") or []
        return sorted(tool["function"]["name"] if "function" in tool else tool["name"] for tool in found)

    @property
    def text(self) -> str:
        """All that the model is shown, as JSON."""
        return json.dumps(self.body, ensure_ascii=False)


@dataclass
class ModelServer:
    script: Sequence[Step] | Callable[[Asked], Step]
    asked: list[Asked] = field(default_factory=list)
    came: threading.Event = field(default_factory=threading.Event)
    """A model call has arrived."""
    ending: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._lock, self._taken = threading.Lock(), 0
        outer = self

        class Handler(_Handler):
            server_of = outer

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        """What an Anthropic client takes."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes."""
        return f"{self.address}/v1"

    @property
    def calls(self) -> list[Asked]:
        """The requests that ask a model."""
        return [one for one in self.asked if one.method == "POST"]

    def begin(self, script: Sequence[Step] | Callable[[Asked], Step]) -> None:
        """Forget what was asked, and answer by another script from now on."""
        with self._lock:
            self.script, self.asked, self._taken = script, [], 0
            self.came.clear()

    def take(self, asked: Asked) -> Step:
        with self._lock:
            self.asked.append(asked)
            if asked.method != "POST":
                return Step()
            number, self._taken = self._taken, self._taken + 1
        self.came.set()
        if callable(self.script):
            return self.script(asked)
        if number >= len(self.script):
            return Step("the script of the test is over", status=418)
        return self.script[number]


class _Handler(BaseHTTPRequestHandler):
    server_of: ModelServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self.server_of.take(self._asked(b""))
        if self.path.endswith("/models"):
            self._whole(200, {"object": "list", "data": [{"id": "acme/small-1", "object": "model"}]})
        else:
            self._whole(404, {"error": {"message": "no such path"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = self._asked(raw)
        step = self.server_of.take(asked)
        form = next((form for end, form in FORMS.items() if self.path.endswith(end)), _Chat)
        with suppress(BrokenPipeError, ConnectionResetError):
            self._answer(step, form, asked.body)

    def _asked(self, raw: bytes) -> Asked:
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {key.lower(): value for key, value in self.headers.items()}
        return Asked(time.monotonic(), self.command, self.path, headers, body, raw)

    def _answer(self, step: Step, form: Any, body: Any) -> None:
        stream = bool(body and body.get("stream"))
        if step.status != 200:
            self._whole(step.status, {"error": {"message": step.text, "type": "test"}}, step.headers)
        elif step.fault == "silent":
            self._wait()
        elif step.fault == "nothing":
            self._head(200, "text/event-stream" if stream else "application/json", length=0)
        elif step.fault == "garbage":
            self._bytes(b"data: {this is no JSON\n\n" if stream else b"<html>what?</html>", stream=stream)
        elif stream:
            with_usage = form is not _Chat or bool((body.get("stream_options") or {}).get("include_usage"))
            self._stream(step, list(form.events(step, with_usage=with_usage)))
        else:
            self._whole(200, form.whole(step))

    def _stream(self, step: Step, events: list[bytes]) -> None:
        self._head(200, "text/event-stream")
        if step.fault in ("stall", "cut"):
            for event in events[:2]:
                self._chunk(event)
            if step.fault == "stall":
                self._wait()
            self.close_connection = True
            return
        for event in events:
            self._chunk(event)
        self.wfile.write(b"0\r\n\r\n")

    def _wait(self) -> None:
        self.server_of.ending.wait(60)
        self.close_connection = True

    def _bytes(self, data: bytes, *, stream: bool) -> None:
        self._head(200, "text/event-stream" if stream else "application/json", length=len(data))
        self.wfile.write(data)

    def _whole(self, code: int, value: Any, headers: Sequence[tuple[str, str]] = ()) -> None:
        data = json.dumps(value).encode()
        self._head(code, "application/json", length=len(data), headers=headers)
        self.wfile.write(data)

    def _head(self, code: int, kind: str, length: int | None = None, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        for key, value in headers:
            self.send_header(key, value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def _arguments(args: dict[str, Any] | str) -> str:
    return args if isinstance(args, str) else json.dumps(args)


def _pieces(text: str) -> list[str]:
    return [text[at : at + 7] for at in range(0, len(text), 7)]


class _Chat:
    """OpenAI's chat completions."""

    @staticmethod
    def usage(step: Step) -> dict[str, Any]:
        assert step.usage is not None
        read, written, *cached = step.usage
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": cached[0] if cached else 0},
        }

    @staticmethod
    def calls(step: Step) -> list[dict[str, Any]]:
        return [
            {"id": f"call_{n}_{name}", "type": "function", "function": {"name": name, "arguments": _arguments(args)}}
            for n, (name, args) in enumerate(step.calls)
        ]

    @staticmethod
    def stop(step: Step) -> str:
        return step.stop or ("tool_calls" if step.calls else "stop")

    @classmethod
    def whole(cls, step: Step) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": step.text or None}
        if step.calls:
            message["tool_calls"] = cls.calls(step)
        answer: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "acme/small-1",
            "choices": [{"index": 0, "message": message, "finish_reason": cls.stop(step)}],
        }
        if step.usage is not None:
            answer["usage"] = cls.usage(step)
        return answer

    @classmethod
    def events(cls, step: Step, *, with_usage: bool) -> Iterator[bytes]:
        def event(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
            choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
            value = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "acme/small-1"}
            return b"data: " + json.dumps(value | {"choices": choices} | more).encode() + b"\n\n"

        yield event({"role": "assistant", "content": ""})
        for piece in _pieces(step.text):
            yield event({"content": piece})
        for n, one in enumerate(cls.calls(step)):
            yield event({"tool_calls": [{"index": n, **one}]})
        yield event({}, cls.stop(step))
        if with_usage and step.usage is not None:
            yield event(None, usage=cls.usage(step))
        yield b"data: [DONE]\n\n"


class _Anthropic:
    """Anthropic's messages. Its `input_tokens` are without what was cached."""

    @staticmethod
    def usage(step: Step) -> dict[str, Any]:
        read, written, *cached = step.usage or (0, 0)
        of_cache = cached[0] if cached else 0
        return {"input_tokens": read - of_cache, "output_tokens": written, "cache_read_input_tokens": of_cache}

    @staticmethod
    def stop(step: Step) -> str:
        return step.stop or ("tool_use" if step.calls else "end_turn")

    @classmethod
    def whole(cls, step: Step) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": step.text}] if step.text else []
        for n, (name, args) in enumerate(step.calls):
            given = json.loads(args) if isinstance(args, str) else args
            content.append({"type": "tool_use", "id": f"toolu_{n}_{name}", "name": name, "input": given})
        return cls._message(step, content, cls.stop(step))

    @classmethod
    def _message(cls, step: Step, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "acme-large",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": cls.usage(step),
        }

    @classmethod
    def events(cls, step: Step, *, with_usage: bool) -> Iterator[bytes]:
        def event(kind: str, **values: Any) -> bytes:
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n".encode()

        yield event("message_start", message=cls._message(step, [], None))
        at = 0
        if step.text:
            yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
            for piece in _pieces(step.text):
                yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
            yield event("content_block_stop", index=0)
            at = 1
        for n, (name, args) in enumerate(step.calls):
            block = {"type": "tool_use", "id": f"toolu_{n}_{name}", "name": name, "input": {}}
            yield event("content_block_start", index=at + n, content_block=block)
            delta = {"type": "input_json_delta", "partial_json": _arguments(args)}
            yield event("content_block_delta", index=at + n, delta=delta)
            yield event("content_block_stop", index=at + n)
        delta = {"stop_reason": cls.stop(step), "stop_sequence": None}
        yield event("message_delta", delta=delta, usage=cls.usage(step))
        yield event("message_stop")


class _Responses:
    """OpenAI's responses."""

    @classmethod
    def whole(cls, step: Step, *, done: bool = True) -> dict[str, Any]:
        output: list[dict[str, Any]] = []
        if step.text:
            part = {"type": "output_text", "text": step.text, "annotations": []}
            output.append(
                {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
            )
        for n, (name, args) in enumerate(step.calls):
            call_id = f"call_{n}_{name}"
            output.append({
                "type": "function_call", "id": f"f{n}", "call_id": call_id, "name": name,
                "arguments": _arguments(args), "status": "completed",
            })  # fmt: skip
        answer: dict[str, Any] = {
            "id": "r1", "object": "response", "created_at": 1, "model": "acme/small-1",
            "status": "completed" if done else "in_progress", "output": output if done else [],
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        }  # fmt: skip
        if done and step.usage is not None:
            read, written, *cached = step.usage
            answer["usage"] = {
                "input_tokens": read, "output_tokens": written, "total_tokens": read + written,
                "input_tokens_details": {"cached_tokens": cached[0] if cached else 0},
                "output_tokens_details": {"reasoning_tokens": 0},
            }  # fmt: skip
        return answer

    @classmethod
    def events(cls, step: Step, *, with_usage: bool) -> Iterator[bytes]:
        number = 0

        def event(kind: str, **values: Any) -> bytes:
            nonlocal number
            number += 1
            return (
                f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': number, **values})}\n\n".encode()
            )

        yield event("response.created", response=cls.whole(step, done=False))
        whole = cls.whole(step)
        for at, item in enumerate(whole["output"]):
            where = {"output_index": at, "item_id": item["id"]}
            empty = {"content": []} if item["type"] == "message" else {"arguments": ""}
            yield event("response.output_item.added", output_index=at, item=item | empty | {"status": "in_progress"})
            if item["type"] == "message":
                part = {"type": "output_text", "text": "", "annotations": []}
                yield event("response.content_part.added", content_index=0, part=part, **where)
                for piece in _pieces(step.text):
                    yield event("response.output_text.delta", content_index=0, delta=piece, logprobs=[], **where)
                yield event("response.output_text.done", content_index=0, text=step.text, logprobs=[], **where)
            else:
                yield event("response.function_call_arguments.delta", delta=item["arguments"], **where)
                yield event(
                    "response.function_call_arguments.done", arguments=item["arguments"], name=item["name"], **where
                )
            yield event("response.output_item.done", output_index=at, item=item)
        yield event("response.completed", response=whole)


FORMS: dict[str, Any] = {"/messages": _Anthropic, "/responses": _Responses}
