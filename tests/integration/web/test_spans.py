"""Traces as a receiver of OpenTelemetry gets them, by its own form; and nothing of it holds up a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.process import TestHome, running, until

STEPS = {"occurrence", "trigger", "claim", "preflight", "run", "settle"}


@contextmanager
def receiver() -> Iterator[tuple[str, list[Any], list[str | None]]]:
    """A real server on loopback: its address, the spans that it got, and who sent them."""
    spans: list[Any] = []
    headers: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.path == "/v1/traces"
            headers.append(self.headers.get("authorization"))
            found = ExportTraceServiceRequest.FromString(body)
            spans.extend(span for one in found.resource_spans for scope in one.scope_spans for span in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", spans, headers
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def values(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_each_attempt_has_its_steps_and_retries_share_a_trace(home: TestHome) -> None:
    home.script("bad.sh", 'echo "$TRACEPARENT"; echo do-not-tell; exit 3\n')
    home.write("bad", script="bad.sh", retries="{max: 1, backoff: 1s}", deliver="[kept]")
    secrets = home.path / "secrets.toml"
    secrets.write_text('OTLP = "Bearer abc"\n', encoding="utf-8")
    secrets.chmod(0o600)
    with receiver() as (address, spans, headers):
        settings = f'[telemetry]\notlp = "{address}"\nheaders = {{authorization = "OTLP"}}\n'
        home.config(f'{settings}[platforms.kept]\nkind = "file"\npath = "{home.path}/kept.txt"\nhome = "here"\n')
        with running(home, "--port", "0"):
            ordered = home.json("run", "bad")
            until(lambda: len([span for span in spans if span.name == "settle"]) == 2, "both attempts have spans")
            until(lambda: any(span.name == "deliver" for span in spans), "what was told has a span")
    assert set(headers) == {"Bearer abc"}
    assert {span.trace_id.hex() for span in spans} == {ordered["key"].replace("-", "")}
    by_id = {span.span_id.hex(): span for span in spans}
    assert len(by_id) == len(spans), "no span is sent twice"
    roots = [span for span in spans if span.name == "occurrence"]
    assert [values(root)["horae.state"] for root in roots] == ["failed", "failed"]
    assert sorted(values(root)["horae.attempt"] for root in roots) == [1, 2]
    for root in roots:
        below = [span for span in spans if span.parent_span_id == root.span_id]
        assert {span.name for span in below} - {"deliver"} == STEPS - {"occurrence"}
        assert root.status.code == 2
        assert "3" in root.status.message
        times = {span.name: (span.start_time_unix_nano, span.end_time_unix_nano) for span in below}
        assert times["trigger"][1] == times["claim"][0] == times["preflight"][0]
        assert times["preflight"][1] == times["run"][0] <= times["run"][1] <= times["settle"][0]
    said = [home.look("log", run["id"])["stdout"] for run in home.runs("bad")]
    for text in said:
        version, trace, parent, _ = text.split("\n")[0].split("-")
        assert (version, trace) == ("00", ordered["key"].replace("-", ""))
        assert by_id[parent].name == "run"
    assert all(b"do-not-tell" not in span.SerializeToString() for span in spans)


def test_nobody_who_listens_is_said_once_and_holds_up_nothing(home: TestHome) -> None:
    home.write("good", script="hi.sh")
    home.config('[telemetry]\notlp = "http://127.0.0.1:9"\n')
    with running(home, "--port", "0") as gateway:
        for _ in range(2):
            assert home.ended(home.json("run", "good")["run_id"])["state"] == "completed"
        gateway.says("traces are dropped")
        assert gateway.stop() == 0
        assert gateway.said().count("traces are dropped") == 1
