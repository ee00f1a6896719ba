"""Traces for OpenTelemetry: one span for each step of an attempt, made from what is on record after it has happened.

Whatever is told of ended attempts and sent messages waits in a bounded queue; a thread of its own reads their rows, makes
spans and sends them. So no run waits for it and none fails for it: what does not fit, or cannot be sent, is dropped, and the
log says so once until it works again. The library is loaded on that thread, and only where `[telemetry]` asks for it.

Ids follow from what they are about (`core/tracing.py`), so an attempt that a gateway takes over has its spans all the same.
No prompt, output or message is in any of them.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from importlib import import_module
from queue import Empty, Full, Queue
from threading import Thread
from typing import Any, NamedTuple, Self

from horae.core.tally import ENDS, SENT
from horae.core.tracing import span_id, trace_id
from horae.core.watchform import Telemetry
from horae.errors import Problem
from horae.ports import Reader, Settings
from horae.secretfile import SecretFile

INSTALL = "traces need `pip install 'horae[otel]'`"
QUEUE_MAX = 2048
BATCH_MAX = 256
SEND_S, CLOSE_S = 5.0, 1.0  # a receiver that is gone keeps no gateway from stopping
SPANS_OF_AGENT_MAX = 500
GOOD = frozenset(("completed", "released", "cancelled"))

log = logging.getLogger("horae")


class Step(NamedTuple):
    """One span; instants are microseconds since 1970."""

    name: str
    id: str
    parent: str | None
    begun: int
    ended: int
    facts: dict[str, Any]
    error: str | None = None


class Spans:
    """Told on any thread. Use as a context: at its end it sends what is left, for a moment."""

    def __init__(self, settings: Settings, telemetry: Telemetry, read: Callable[[], Reader], host: str) -> None:
        self._settings = settings
        self._telemetry = telemetry
        self._read = read
        self._host = host
        self._queue: Queue[Any] = Queue(QUEUE_MAX)
        self._thread = Thread(target=self._work, name="spans", daemon=True)
        self._lost = False

    def __enter__(self) -> Self:
        """From now on."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Send what is left, if that takes no time worth speaking of."""
        try:
            self._queue.put(None, timeout=0.1)
        except Full:
            return
        self._thread.join(CLOSE_S)

    def tell(self, entries: Sequence[Any]) -> None:
        """Take what makes a span; never waits."""
        for entry in entries:
            if (
                entry.run_id is not None
                and entry.key is not None
                and entry.what in (SENT if "target" in entry.detail else ENDS)
            ):
                try:
                    self._queue.put_nowait(entry)
                except Full:
                    self._lose("more came than could be sent")

    def _work(self) -> None:
        try:
            sender = _Sender(self._telemetry, self._headers(), self._host)
        except ImportError:
            log.warning("%s", INSTALL)
            sender = None
        more = True
        while more:
            more, batch = self._batch()
            if sender is not None and batch:
                self._send(sender, batch)
        if sender is not None:
            sender.close()

    def _batch(self) -> tuple[bool, list[Any]]:
        found: list[Any] = []
        entry = self._queue.get()
        while entry is not None:
            found.append(entry)
            if len(found) >= BATCH_MAX:
                return True, found
            try:
                entry = self._queue.get(timeout=0.2)
            except Empty:
                return True, found
        return False, found

    def _send(self, sender: _Sender, entries: Sequence[Any]) -> None:
        try:
            reader = self._read()
            try:
                made = [(entry.key, step) for entry in entries for step in steps_of(reader, entry)]
            finally:
                reader.close()
        except (Problem, sqlite3.Error) as error:
            self._lose(str(error))
            return
        if sender.send(made):
            self._lost = False
        else:
            self._lose(f"{self._telemetry.otlp} does not take them")

    def _lose(self, why: str) -> None:
        if not self._lost:
            self._lost = True
            log.warning("traces are dropped: %s", why)

    def _headers(self) -> dict[str, str]:
        wanted = self._telemetry.headers
        values, missing = SecretFile.of(self._settings).lookup(tuple(wanted.values()))
        for why in missing:
            log.warning("telemetry: %s", why)
        return {header: values[name] for header, name in wanted.items() if name in values}


def steps_of(reader: Reader, entry: Any) -> Iterator[Step]:
    """The spans that an entry brings about. What has been pruned since has none."""
    run = _row(reader, entry.run_id)
    if run is None:
        return
    root, at = span_id("attempt", entry.run_id), entry.at
    if "target" in entry.detail:
        reason = entry.detail.get("reason") if entry.what != "delivered" else None
        facts = {"horae.delivery.state": entry.what, "horae.target": entry.detail["target"]}
        error = (reason or entry.what) if entry.what != "delivered" else None
        begun = min(run["finished_at"] or at, at)
        yield Step("deliver", span_id("deliver", str(entry.seq)), root, begun, at, facts, error)
        return
    claimed, begun, reason = run["claimed_at"], run["started_at"], entry.detail.get("reason")
    of = reader.occurrence_by_key(entry.key)
    due = claimed if of is None else min(of["due_at"], claimed)
    error = None if entry.what in GOOD else reason or entry.what
    job = reader.slug_of(entry.job_id) or entry.job_id
    facts = {
        "horae.job": job,
        "horae.run": entry.run_id,
        "horae.key": entry.key,
        "horae.attempt": run["attempt"],
        "horae.state": entry.what,
        "horae.trigger": "schedule" if of is None else of["trigger"],
    }
    yield Step("occurrence", root, None, due, at, facts, error)
    named = partial(_named, entry.run_id)
    yield Step("trigger", named("trigger"), root, due, claimed, {})
    yield Step("claim", named("claim"), root, claimed, claimed, {"horae.token": run["token"]})
    blocked = error if entry.what == "blocked" else None
    yield Step("preflight", named("preflight"), root, claimed, max(claimed, begun or at), {}, blocked)
    if begun is not None:
        exit_facts = {} if run["exit_code"] is None else {"process.exit.code": run["exit_code"]}
        yield Step("run", named("run"), root, begun, max(begun, at), exit_facts, error)
        yield from _of_agent(reader, entry.run_id, named("run"))
    yield Step("settle", named("settle"), root, at, at, {})


def _of_agent(reader: Reader, run_id: str, parent: str) -> Iterator[Step]:
    """Calls of models and tools: names and numbers, nothing of what was said."""
    open_ones: dict[str, dict[str, Any]] = {}
    for event in reader.activity(run_id)[:SPANS_OF_AGENT_MAX]:
        kind, at = event.get("kind"), _us(event.get("at"))
        begun = at - int(event.get("ms") or 0) * 1000
        number = str(event.get("number") or at)
        if kind == "model":
            facts = {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": event.get("model"),
                "gen_ai.usage.input_tokens": event.get("input"),
                "gen_ai.usage.output_tokens": event.get("output"),
                "horae.cost_usd": event.get("usd"),
            }
            yield Step(f"chat {event.get('model')}", span_id("model", run_id, number), parent, begun, at, facts)
        elif kind == "tool":
            open_ones[str(event.get("id"))] = {**event, "us": at}
        elif kind == "result" and str(event.get("id")) in open_ones:
            call = open_ones.pop(str(event.get("id")))
            facts = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.get("tool")}
            facts["gen_ai.tool.call.id"] = str(event.get("id"))
            error = None if event.get("ok") else "the tool failed"
            name = f"execute_tool {call.get('tool')}"
            yield Step(name, span_id("tool", run_id, number), parent, min(call["us"], at), at, facts, error)


def _named(run_id: str, name: str) -> str:
    return span_id(name, run_id)


def _row(reader: Reader, run_id: str) -> Any:
    try:
        return reader.find_run(run_id)
    except Problem:
        return None


def _us(at: object) -> int:
    if isinstance(at, int | float):
        return int(at if at > 1e14 else at * 1e6)
    return int(datetime.fromisoformat(str(at)).timestamp() * 1e6)


class _Sender:
    """The library: spans in its form, sent by OTLP over HTTP. Raises ImportError where it is not installed."""

    def __init__(self, telemetry: Telemetry, headers: dict[str, str], host: str) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it tells of each try; we tell once
        self._trace = import_module("opentelemetry.trace")
        self._span = import_module("opentelemetry.sdk.trace").ReadableSpan
        exporting = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        version = import_module("horae").__version__
        named = {"service.name": telemetry.service, "service.version": version, "service.instance.id": host}
        self._resource = import_module("opentelemetry.sdk.resources").Resource(named)
        self._scope = import_module("opentelemetry.sdk.util.instrumentation").InstrumentationScope("horae", version)
        self._out = exporting.OTLPSpanExporter(f"{telemetry.otlp}/v1/traces", headers=headers, timeout=SEND_S)

    def send(self, steps: Sequence[tuple[str, Step]]) -> bool:
        """Whether they were taken."""
        try:
            return self._out.export([self._made(key, step) for key, step in steps]).name == "SUCCESS"
        except OSError:
            return False

    def close(self) -> None:
        """No more."""
        self._out.shutdown()

    def _made(self, key: str, step: Step) -> Any:
        code = self._trace.StatusCode
        status = self._trace.Status(code.UNSET) if step.error is None else self._trace.Status(code.ERROR, step.error)
        return self._span(
            name=step.name,
            context=self._context(key, step.id),
            parent=None if step.parent is None else self._context(key, step.parent),
            resource=self._resource,
            attributes={name: value for name, value in step.facts.items() if value is not None},
            status=status,
            start_time=step.begun * 1000,
            end_time=step.ended * 1000,
            instrumentation_scope=self._scope,
        )

    def _context(self, key: str, span: str) -> Any:
        flags = self._trace.TraceFlags(self._trace.TraceFlags.SAMPLED)
        return self._trace.SpanContext(int(trace_id(key), 16), int(span, 16), is_remote=False, trace_flags=flags)
