"""The meter in front of a provider, over real sockets: what gets through, what does not, and what is counted."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest

from horae.agents.meter import Meter
from horae.agents.proxy import BODY_BYTES_MAX, Proxy
from horae.agents.stop import Stop
from horae.agents.tell import Tell
from tests.support.agentrun import a_model
from tests.support.modelserver import ModelServer, Step, call, fault, say, status

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
PATIENT = {"turns": 20, "tokens": None, "usd": None}


class Kept:
    """A Tell that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def event(self, kind: str, **values: Any) -> bool:
        self.events.append({"kind": kind, **values})
        return True

    def clean(self, text: str) -> str:
        return text

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]


@dataclass
class Before:
    """A proxy before a provider, and a client of it."""

    proxy: Proxy
    tell: Kept
    stops: list[Stop] = field(default_factory=list)

    def ask(
        self,
        body: Any = None,
        path: str = CHAT,
        *,
        method: str = "POST",
        key: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=10)
        given = {"Authorization": f"Bearer {self.proxy.key if key is None else key}", **(headers or {})}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            connection.request(method, path, data, given)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def begun(self) -> socket.socket:
        """A connection on which a call was made whose answer streams."""
        connection = socket.create_connection(("127.0.0.1", self.proxy.port))
        body = json.dumps(a_chat(stream=True)).encode()
        head = ("POST /v1/chat/completions HTTP/1.1", "Host: x", f"Authorization: Bearer {self.proxy.key}")
        connection.sendall("\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body)
        return connection


@contextmanager
def before(
    server: ModelServer | None, allow: dict[str, Any] = PATIENT, *models: Any, **changed: Any
) -> Iterator[Before]:
    used = list(models) or [a_model(server, **changed)]
    tell, stops = Kept(), list[Stop]()
    meter = Meter(used, cast("Any", allow), cast("Tell", tell))
    with Proxy(used, meter, cast("Tell", tell), stops.append) as proxy:
        yield Before(proxy, tell, stops)


def a_chat(**more: Any) -> dict[str, Any]:
    return {"model": "acme/small-1", "messages": [{"role": "user", "content": "When is high water?"}], **more}


# --- what is counted


@pytest.mark.parametrize("stream", [True, False])
def test_a_chat_gets_through_and_is_counted(stream: bool) -> None:
    step = call(("look", {"at": "tides"}), text="I shall look.", usage=(100, 7, 40))
    with ModelServer([step]) as server, before(server) as one:
        code, headers, data = one.ask(a_chat(stream=stream))
    assert code == 200
    assert b"I shall" in data
    assert headers["content-type"] == ("text/event-stream" if stream else "application/json")
    assert data.endswith(b"data: [DONE]\n\n") or not stream
    [asked] = server.calls
    assert asked.headers["authorization"] == "Bearer sk-very-secret"
    assert asked.body["max_tokens"] == 1000
    assert [event["kind"] for event in one.tell.events] == ["ask", "model"]
    counted = one.tell.of("model")[0]
    assert [counted[key] for key in ("input", "output", "cached", "stop")] == [100, 7, 40, "tool_calls"]
    assert one.proxy.trouble is None


@pytest.mark.parametrize("stream", [True, False])
def test_a_message_of_anthropics_gets_through_and_is_counted(stream: bool) -> None:
    with (
        ModelServer([say("Six.", usage=(100, 7, 40))]) as server,
        before(server, PATIENT, a_model(server, kind="anthropic", base_url=server.address)) as one,
    ):
        body = a_chat(max_tokens=5000, stream=stream)
        code, _, data = one.ask(body, MESSAGES, key="none", headers={"x-api-key": one.proxy.key})
        assert code == 401  # it is not looked for behind another one
        code, _, data = one.ask(body, MESSAGES + "?beta=true")
    assert code == 200
    assert b"Six." in data
    [asked] = server.calls
    assert (asked.path, asked.headers["x-api-key"], asked.body["max_tokens"]) == (MESSAGES, "sk-very-secret", 1000)
    assert asked.headers["anthropic-version"]
    assert "authorization" not in asked.headers
    assert [one.tell.of("model")[0][key] for key in ("input", "output", "cached")] == [100, 7, 40]


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[tuple[str, list[bytes]]]:
    """A provider that answers each call so."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            answer(self)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", bodies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("stream", [True, False])
def test_a_response_gets_through_and_is_counted(stream: bool) -> None:
    response = {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Six."}]}],
        "usage": {"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 40}},
    }
    event = {"type": "response.completed", "response": response}
    data = f"event: response.completed\ndata: {json.dumps(event)}\n\n" if stream else json.dumps(response)

    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Type", "text/event-stream" if stream else "application/json")
        to.end_headers()
        to.wfile.write(data.encode())

    with answering(answer) as (url, bodies), before(None, PATIENT, a_model(None, base_url=url)) as one:
        code, _, got = one.ask({"model": "acme/small-1", "input": "When?", "stream": stream}, RESPONSES)
    assert (code, got.decode()) == (200, data)
    assert json.loads(bodies[0])["max_output_tokens"] == 1000
    assert [one.tell.of("model")[0][key] for key in ("input", "output", "cached")] == [100, 7, 40]


def test_an_answer_without_usage_is_counted_with_its_bound_and_that_is_said() -> None:
    with ModelServer([say("Six.", usage=None)]) as server, before(server) as one:
        assert one.ask(a_chat())[0] == 200
    counted = one.tell.of("model")[0]
    assert counted["input"] + counted["output"] == one.tell.of("ask")[0]["bound"]
    assert "does not report its usage" in one.tell.of("usage")[0]["note"]


def test_it_is_counted_before_the_agent_sees_its_end() -> None:
    """Whoever has the whole answer may end at once: nothing of it must be open then."""
    with ModelServer([say("word " * 40)]) as server, before(server) as one:
        connection = one.begun()
        data = b""
        while b"[DONE]" not in data:
            data += connection.recv(65536)
        assert len(one.tell.of("model")) == 1
        connection.close()


# --- limits


def test_a_cap_that_is_reached_midway_refuses_the_next_call_and_ends_the_run() -> None:
    allow = {"turns": None, "tokens": 1200, "usd": None}
    with ModelServer([say("Six.", usage=(900, 100)), say("Seven.")]) as server, before(server, allow) as one:
        assert one.ask(a_chat())[0] == 200
        code, _, data = one.ask(a_chat(note="x" * 300))
        assert code == 402
        assert json.loads(data)["error"]["type"] == "limit_reached"
        assert "token limit of 1200 reached" in json.loads(data)["error"]["message"]
        assert json.loads(one.ask(a_chat(), MESSAGES)[2])["error"]["type"] == "limit_reached"  # nothing any more
    assert len(server.calls) == 1
    assert [(stop.how, stop is one.proxy.stop) for stop in one.stops] == [("limit", True)]


def test_output_is_lowered_to_what_is_left() -> None:
    allow = {"turns": None, "tokens": 600, "usd": None}
    with ModelServer([say("Six.")]) as server, before(server, allow) as one:
        one.ask(a_chat(max_tokens=100_000))
    assert 400 < server.calls[0].body["max_tokens"] < 600


def test_the_same_answer_again_and_again_ends_the_run() -> None:
    with ModelServer(lambda _: call(("look", {"at": "tides"}))) as server, before(server) as one:
        for _ in range(5):
            one.ask(a_chat(stream=True))
        assert [stop.how for stop in one.stops] == ["loop"]
        assert one.ask(a_chat())[0] == 402
    assert len(server.calls) == 5


# --- who is let through, and where to


@pytest.mark.parametrize("key", ["", "sk-very-secret", "horae-"])
def test_nobody_else_is_let_through(key: str) -> None:
    with ModelServer([]) as server, before(server) as one:
        assert one.ask(a_chat(), key=key)[0] == 401
        assert one.ask(None, "/v1/models", method="GET", key=key)[0] == 401
    assert server.asked == []
    assert one.tell.events == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", CHAT),
        ("POST", "/v1/models"),
        ("POST", "/v1/files"),
        ("POST", "/v1/embeddings"),
        ("GET", "/v1/chat/completions/x"),
        ("POST", "/v1/../v1/files"),
        ("GET", "/"),
    ],
)
def test_nothing_else_is_forwarded(method: str, path: str) -> None:
    with ModelServer([]) as server, before(server) as one:
        assert one.ask({} if method == "POST" else None, path, method=method)[0] == 404
    assert server.asked == []


def test_models_are_listed_and_cost_nothing() -> None:
    with ModelServer([]) as server, before(server) as one:
        code, _, data = one.ask(None, "/v1/models", method="GET")
    assert (code, json.loads(data)["data"][0]["id"]) == (200, "acme/small-1")
    assert one.tell.events == []


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Content-Length": str(BODY_BYTES_MAX + 1)}, 413),
        ({"Content-Length": "-1"}, 411),
        ({"Transfer-Encoding": "chunked"}, 411),
        ({"Content-Encoding": "gzip"}, 415),
    ],
)
def test_a_body_is_bounded_and_plain(headers: dict[str, str], code: int) -> None:
    with ModelServer([]) as server, before(server) as one:
        assert one.ask(None, headers=headers)[0] == code
    assert server.asked == []


def test_a_redirect_is_not_followed() -> None:
    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(307)
        to.send_header("Location", "http://127.0.0.1:9/")
        to.send_header("Content-Length", "0")
        to.end_headers()

    with answering(answer) as (url, bodies), before(None, PATIENT, a_model(None, base_url=url)) as one:
        code, headers, _ = one.ask(a_chat())
    assert (code, len(bodies)) == (502, 1)
    assert "location" not in headers


# --- trouble


@pytest.mark.parametrize(
    ("code", "how"), [(429, "held"), (500, "held"), (503, "held"), (401, "failed"), (403, "failed")]
)
def test_what_the_provider_refuses_is_passed_on_and_remembered(code: int, how: str) -> None:
    with ModelServer([status(code, "not now", retry_after="7"), say("Six.")]) as server, before(server) as one:
        got, headers, data = one.ask(a_chat())
        assert (got, headers["retry-after"], json.loads(data)["error"]["message"]) == (code, "7", "not now")
        trouble = one.proxy.trouble
        assert trouble is not None
        assert (trouble.stop().how, trouble.stop().again_s) == (how, 7.0 if how == "held" else None)
        assert one.tell.of("model")[0]["input"] == 0
        one.ask(a_chat())
        assert one.proxy.trouble is None


def test_a_key_that_a_provider_repeats_does_not_reach_the_agent() -> None:
    with ModelServer([status(401, "no such key: sk-very-secret")]) as server, before(server) as one:
        code, _, data = one.ask(a_chat())
    assert code == 401
    assert b"no such key: [key]" in data


def test_a_call_that_was_wrong_is_the_agents_own_trouble() -> None:
    with ModelServer([status(400, "no such parameter")]) as server, before(server) as one:
        assert one.ask(a_chat())[0] == 400
    assert one.proxy.trouble is None


def test_calls_on_the_side_say_nothing_about_the_work() -> None:
    tools = [{"type": "function", "function": {"name": "look"}}]
    with ModelServer([say("Six."), status(429), status(429), say("A title")]) as server, before(server) as one:
        one.ask(a_chat(tools=tools))
        one.ask(a_chat())
        assert one.proxy.trouble is None
        one.ask(a_chat(tools=tools))
        one.ask(a_chat())
        assert one.proxy.trouble is not None


def test_a_provider_that_is_not_there() -> None:
    with before(None) as one:
        code, _, data = one.ask(a_chat())
    assert code == 502
    assert "did not answer" in json.loads(data)["error"]["message"]
    assert one.proxy.trouble is not None
    assert one.proxy.trouble.passes
    assert one.tell.of("model")[0]["stop"] == "error"


def test_the_next_model_is_asked_where_one_cannot_answer() -> None:
    def script(asked: Any) -> Step:
        return say("Six.") if asked.body["model"] == "acme/other-1" else status(503, "down")

    with (
        ModelServer(script) as server,
        before(
            server,
            PATIENT,
            a_model(server),
            a_model(server, "claude", kind="anthropic"),
            a_model(server, "other", id="acme/other-1"),
        ) as one,
    ):
        assert one.ask(a_chat())[0] == 200
    assert [asked.body["model"] for asked in server.calls] == ["acme/small-1", "acme/other-1"]
    assert [event["model"] for event in one.tell.of("model")] == ["small", "other"]
    assert one.tell.of("warning")[0]["text"] == "small cannot answer: other is asked instead"
    assert one.proxy.trouble is None


@pytest.mark.parametrize(
    ("name", "stream"), [("cut", True), ("garbage", True), ("garbage", False), ("nothing", True), ("nothing", False)]
)
def test_an_answer_without_an_end_keeps_its_bound(name: str, stream: bool) -> None:
    with ModelServer([fault(name)]) as server, before(server) as one:
        broken = pytest.raises(http.client.IncompleteRead) if name == "cut" else nullcontext()
        with broken:  # the agent sees that something is missing
            one.ask(a_chat(stream=stream))
    assert one.tell.of("model") == []
    assert "may have used its whole bound" in one.tell.of("usage")[0]["note"]
    assert one.proxy.trouble is not None


def test_an_agent_that_ends_before_its_answer_pays_for_what_may_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.agents.proxy.DRAIN_S", 0.1)
    with ModelServer([fault("silent")]) as server, before(server) as one:
        connection = one.begun()
        server.came.wait(5)
        connection.close()
    assert "the agent ended before it" in one.tell.of("usage")[0]["note"]


def test_several_calls_at_a_time_do_not_share_what_is_left() -> None:
    allow = {"turns": None, "tokens": 1500, "usd": None}
    gate = threading.Event()

    def script(asked: Any) -> Step:
        gate.wait(5)
        return say("Six.", usage=(50, 10))

    with ModelServer(script) as server, before(server, allow) as one:
        codes: list[int] = []
        threads = [threading.Thread(target=lambda: codes.append(one.ask(a_chat())[0])) for _ in range(4)]
        for thread in threads:
            thread.start()
        while not one.stops:  # the third one is refused as long as two have no answer
            server.came.wait(0.01)
        gate.set()
        for thread in threads:
            thread.join()
    assert sum(event["bound"] for event in one.tell.of("ask")) <= 1500
    assert 402 in codes
