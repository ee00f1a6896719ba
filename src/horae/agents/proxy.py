"""A meter in front of a provider, for agents that are programs: it alone holds the key, and it counts what they use.

It listens on the loopback for one run, and serves whoever has that run's key. It forwards the paths of `wire` and nothing
else. Before a call the meter is asked, and the call is bounded by what that lets (`wire.bounded`); what was used is read
off the answer, and counted before the agent sees the end of it. So an agent that has its answer has paid for it.

Failures. A limit that is reached: the call is refused with 402, and `stopped` is told, once; the run ends by that and not
by what the agent makes of it. What the provider refuses is passed on, and remembered (`trouble`) until a call succeeds, or
the next of the job's models is asked instead. An answer without an end, or that nobody took, keeps its bound.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, Self

import httpx2

from horae.agents import wire
from horae.agents.stop import Stop
from horae.agents.task import ModelCall
from horae.agents.tell import Tell
from horae.agents.trouble import KEYS_FAULT, Trouble, after_s
from horae.agents.upstream import Upstream, family, is_known, takes_new_key, without_keys
from horae.clock import SystemClock

BODY_BYTES_MAX = 32 * 1024 * 1024
ANSWER_BYTES_MAX = 64 * 1024 * 1024  # of one that does not come as a stream
ERROR_BYTES_MAX = 64 * 1024
DRAIN_S = 3.0  # for calls that are under way when the agent has ended
PASSED_ON = ("content-type", "retry-after", "retry-after-ms", "request-id", "x-request-id")


class Counts(Protocol):
    """What it needs of a meter (`meter.Meter`)."""

    def admit(self, model_name: str, request_bytes: int, wanted_output: int | None) -> tuple[int, int | None]: ...

    def count(
        self,
        turn: int,
        model_name: str,
        *,
        input: int | None,
        output: int | None,
        cached: int = 0,
        stop: str | None = None,
        ms: int = 0,
        answer: str = "",
    ) -> None: ...

    def failed(self, turn: int, model_name: str, why: str) -> None: ...

    def lost(self, turn: int, model_name: str, why: str) -> None: ...


class Proxy:
    """Of one run. `models` are the job's: the first, and those that may stand in for it."""

    def __init__(
        self,
        models: Sequence[ModelCall],
        meter: Counts,
        tell: Tell,
        stopped: Callable[[Stop], None] = lambda _: None,
        port: int | None = None,
    ) -> None:
        first, *others = models
        self.models = [
            first,
            *(one for one in others if family(one) == family(first) and (one["base_url"] or is_known(one))),
        ]
        self.meter, self.tell = meter, tell
        self.key = f"horae-{secrets.token_urlsafe(24)}"
        self.trouble: Trouble | None = None
        """What the last call failed by; None: it was answered, or there was none."""
        self.stop: Stop | None = None
        self.calls = 0
        """That a model has answered."""
        self._wanted = port
        self.stopped, self._said = stopped, set[str]()
        self._works = False
        self._lock = threading.Condition()
        self._under_way: dict[int, str] = {}

    def __enter__(self) -> Self:
        outer = self

        class Handler(_Handler):
            proxy = outer

        self.upstream = Upstream()
        try:
            self._http = ThreadingHTTPServer(("127.0.0.1", self._wanted or 0), Handler)
        except OSError:  # somebody else has that one by now
            self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.block_on_close = False
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._lock.wait_for(lambda: not self._under_way, DRAIN_S)
        self._http.shutdown()
        self._http.server_close()
        for turn, model in dict(self._under_way).items():
            self.settle(turn, partial(self.meter.lost, turn, model, "the agent ended before it"))
        self.upstream.close()

    @property
    def port(self) -> int:
        """Where it listens: `port`, if that was free."""
        return self._http.server_address[1]

    @property
    def address(self) -> str:
        """What a client of Anthropic's takes."""
        return f"http://127.0.0.1:{self.port}"

    def address_for(self, api: str) -> str:
        """What an agent is told that speaks this."""
        return self.address if api == "anthropic" else f"{self.address}/v1"

    def end(self, stop: Stop) -> None:
        """The run ends by this: no call gets through any more."""
        with self._lock:
            first, self.stop = self.stop is None, self.stop or stop
        if first:
            self.stopped(stop)

    def warn(self, text: str) -> None:
        """Say something to whoever reads the record, once."""
        with self._lock:
            new = text not in self._said
            self._said.add(text)
        if new:
            self.tell.event("warning", text=text)

    def remember(self, trouble: Trouble | None, asked: wire.Asked) -> None:
        """What became of a call. Calls on the side, without tools, say nothing about an agent whose others have some."""
        self._works = self._works or asked.has_tools
        self.calls += trouble is None
        if asked.has_tools or not self._works:
            self.trouble = trouble

    def begin(self, model: ModelCall, request_bytes: int, wanted: int | None) -> tuple[int, int | None]:
        """See `Meter.admit`. Raises Stop, also where the run has ended already."""
        if self.stop is not None:
            raise self.stop
        try:
            turn, most = self.meter.admit(model["name"], request_bytes, wanted)
        except Stop as stop:
            self.end(stop)
            raise
        with self._lock:
            self._under_way[turn] = model["name"]
        return turn, most

    def settle(self, turn: int, become: Callable[[], None]) -> None:
        """Say what became of a call: once, whoever comes first."""
        with self._lock:
            if self._under_way.pop(turn, None) is None:
                return
            self._lock.notify_all()
            try:
                become()
            except Stop as stop:
                self.end(stop)


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "Horae", ""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what it does is told as events."""

    def do_GET(self) -> None:
        self._do()

    def do_POST(self) -> None:
        self._do()

    def _do(self) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            if not self._is_known():
                self.refuse(401, "authentication_error", "this is not the key of this run", close=True)
                return
            path = self.path.partition("?")[0]
            raw = self._body()
            if raw is None:
                return
            if wire.FREE.get(path) == self.command:
                self._free(path, raw)
            elif path in wire.CALLS and self.command == "POST":
                self._call(path, raw)
            else:
                self.refuse(404, "not_found_error", f"{self.command} {path} is not forwarded")

    def _is_known(self) -> bool:
        bearer = (self.headers.get("Authorization") or "").partition(" ")[2]
        given = (bearer.strip() or self.headers.get("x-api-key") or "").encode("utf-8", "replace")
        return hmac.compare_digest(given, self.proxy.key.encode())

    def _body(self) -> bytes | None:
        """What was sent with it; None: it is refused already."""
        length = self.headers.get("Content-Length") or "0"
        if self.headers.get("Transfer-Encoding") or not length.isdecimal():
            return self.refuse(411, "invalid_request_error", "send the length of the body with it", close=True)
        if self.headers.get("Content-Encoding", "identity") != "identity":
            return self.refuse(415, "invalid_request_error", "send the body as it is, not packed", close=True)
        if int(length) > BODY_BYTES_MAX:
            return self.refuse(413, "request_too_large", f"a body may have {BODY_BYTES_MAX} bytes", close=True)
        return self.rfile.read(int(length))

    def _free(self, path: str, raw: bytes) -> None:
        """Pass on what costs nothing."""
        model = self.proxy.models[0]
        body: bytes | None = None
        if self.command == "POST":
            try:
                body = wire.renamed(raw, model["id"])
            except wire.NotUnderstood as error:
                return self.refuse(400, "invalid_request_error", str(error))
        try:
            answer = self.proxy.upstream.send(
                self.proxy.upstream.request(model, path, self.command, body, self._given())
            )
            with closing(answer):
                data = _bounded(answer, ANSWER_BYTES_MAX)
        except httpx2.HTTPError as error:
            return self.refuse(502, "api_error", f"the provider cannot be reached: {error}")
        return self.whole(answer.status_code, _headers(answer), without_keys(data, self.proxy.models))

    def _call(self, path: str, raw: bytes) -> None:
        proxy = self.proxy
        try:
            asked = wire.asked(path, raw)
        except wire.NotUnderstood as error:
            return self.refuse(400, "invalid_request_error", str(error))
        if asked.model != proxy.models[0]["id"]:
            proxy.warn(f"the agent asked for model {asked.model}: its calls go to the job's, {proxy.models[0]['id']}")
        if asked.dearer:
            proxy.warn(f"left out of the agent's calls, since it is not counted in tokens: {', '.join(asked.dearer)}")
        for number, model in enumerate(proxy.models):
            if number:
                proxy.warn(f"{proxy.models[number - 1]['name']} cannot answer: {model['name']} is asked instead")
            is_last = number == len(proxy.models) - 1
            try:
                turn, most = proxy.begin(model, len(raw), asked.wanted)
            except Stop as stop:
                return self.refuse(402, "limit_reached", stop.says)
            body = wire.bounded(path, asked, model["id"], most, new_key=takes_new_key(model))
            if _Exchange(self, model, turn, asked).take_place(
                proxy.upstream.request(model, path, "POST", body, self._given()), is_last=is_last
            ):
                return None
        return None

    def _given(self) -> dict[str, str]:
        """Of the agent's headers those that belong to the API."""
        names = ("accept", "anthropic-version", "anthropic-beta", "openai-beta")
        return {name: value for name in names if (value := self.headers.get(name)) is not None}

    def refuse(self, status: int, kind: str, says: str, *, close: bool = False) -> None:
        """Answer with an error of our own."""
        self.close_connection = self.close_connection or close
        self.whole(status, [("content-type", "application/json")], wire.refusal(self.path, status, kind, says))

    def whole(self, status: int, headers: Sequence[tuple[str, str]], data: bytes) -> None:
        """Answer with all of it."""
        self.head(status, [*headers, ("content-length", str(len(data)))])
        self.wfile.write(data)

    def head(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Begin an answer."""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()


class _Exchange:
    """One call to a provider, and what is passed on of its answer."""

    def __init__(self, to: _Handler, model: ModelCall, turn: int, asked: wire.Asked) -> None:
        self._to, self._proxy, self._model, self._turn, self._asked = to, to.proxy, model, turn, asked
        self._began_s = _awake_s()

    def take_place(self, request: httpx2.Request, *, is_last: bool) -> bool:
        """Whether the agent has got an answer. False: another model may be asked."""
        with ExitStack() as stack:
            try:
                answer = stack.enter_context(closing(self._proxy.upstream.send(request)))
                if answer.status_code >= 300:
                    return self._refused(answer, is_last=is_last)
            except httpx2.HTTPError as error:
                return self._unreachable(error, is_last=is_last)
            reading = wire.Reading(self._asked.form, streams="event-stream" in answer.headers.get("content-type", ""))
            try:
                self._pass_on(answer, reading)
            except httpx2.HTTPError as error:
                self._lost(f"the connection to the provider broke: {_words(error)}")
                if reading.is_stream:  # without its end the agent sees that something is missing
                    self._to.close_connection = True
                else:
                    self._to.refuse(502, "api_error", "the answer of the provider cannot be read")
            except OSError:
                self._lost("the agent did not take its answer", is_providers=False)
                raise
            return True

    def _pass_on(self, answer: httpx2.Response, reading: wire.Reading) -> None:
        if not reading.is_stream:
            data = _bounded(answer, ANSWER_BYTES_MAX)
            reading.feed(data)
            self._count(reading)
            self._to.whole(answer.status_code, _headers(answer), data)
            return
        self._to.head(answer.status_code, [*_headers(answer), ("transfer-encoding", "chunked")])
        held = b""  # the last piece waits until what was used is counted
        for piece in answer.iter_bytes():
            reading.feed(piece)
            self._chunk(held)
            held = piece
        self._count(reading)
        self._chunk(held)
        self._to.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        if data:
            self._to.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _count(self, reading: wire.Reading) -> None:
        reading.close()
        if not reading.ended or reading.trouble is not None:
            self._lost(reading.trouble or "the answer has no end")
            return
        self._proxy.remember(None, self._asked)
        self._proxy.settle(
            self._turn,
            lambda: self._proxy.meter.count(
                self._turn,
                self._model["name"],
                input=reading.input,
                output=reading.output,
                cached=reading.cached,
                stop=reading.stop,
                ms=round((_awake_s() - self._began_s) * 1000),
                answer=reading.said,
            ),
        )

    def _refused(self, answer: httpx2.Response, *, is_last: bool) -> bool:
        data = _bounded(answer, ERROR_BYTES_MAX)
        says = wire.told(data) or f"status {answer.status_code}"
        after = after_s(answer.headers.get("retry-after"), SystemClock().now())
        trouble = Trouble(self._model["name"], answer.status_code, says, after)
        self._failed(trouble)
        if trouble.passes and not is_last:
            return False
        if 300 <= answer.status_code < 400:
            self._to.refuse(502, "api_error", "the provider wants to lead elsewhere, which is not followed")
        else:
            self._to.whole(answer.status_code, _headers(answer), without_keys(data, self._proxy.models))
        return True

    def _unreachable(self, error: httpx2.HTTPError, *, is_last: bool) -> bool:
        trouble = Trouble(self._model["name"], None, _words(error))
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol):
            self._failed(trouble)
        else:
            self._lost(trouble.says)
        if is_last:
            self._to.refuse(502, "api_error", trouble.words)
        return is_last

    def _failed(self, trouble: Trouble) -> None:
        if trouble.passes or trouble.status in KEYS_FAULT:
            self._proxy.remember(trouble, self._asked)
        self._proxy.settle(self._turn, lambda: self._proxy.meter.failed(self._turn, self._model["name"], trouble.words))

    def _lost(self, why: str, *, is_providers: bool = True) -> None:
        if is_providers:
            self._proxy.remember(Trouble(self._model["name"], None, why), self._asked)
        self._proxy.settle(self._turn, lambda: self._proxy.meter.lost(self._turn, self._model["name"], why))


def _headers(answer: httpx2.Response) -> list[tuple[str, str]]:
    return [(name, value) for name in PASSED_ON if (value := answer.headers.get(name)) is not None]


def _bounded(answer: httpx2.Response, most: int) -> bytes:
    data = bytearray()
    for piece in answer.iter_bytes():
        data += piece
        if len(data) > most:
            raise httpx2.ReadError(f"an answer of more than {most} bytes")
    return bytes(data)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _awake_s() -> float:
    return SystemClock().reading().awake_s
