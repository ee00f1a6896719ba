"""What an agent tells goes over a pipe, in whole lines, bounded, without keys."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from horae.agents import tell as telling
from horae.agents.tell import LINE_BYTES_MAX, TEXT_CHARS_MAX, Tell


def told(work: Callable[[Tell], object], keys: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    reads, writes = os.pipe()
    got = bytearray()

    def read() -> None:
        while data := os.read(reads, 65536):
            got.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    work(Tell(writes, keys, now=lambda: 5.0004))
    os.close(writes)
    reader.join()
    os.close(reads)
    assert all(len(line) <= LINE_BYTES_MAX for line in bytes(got).splitlines())
    return [json.loads(line) for line in bytes(got).splitlines()]


def test_an_event_is_one_line() -> None:
    assert told(lambda tell: tell.event("text", text="a\nb häh")) == [{"kind": "text", "at": 5.0, "text": "a\nb häh"}]


def test_texts_are_bounded_and_keys_are_not_told() -> None:
    event = told(
        lambda tell: tell.event("draft", what="job", body={"a": "x" * 20_000, "b": ["my key-1234!"]}), ("key-1234",)
    )[0]
    assert len(event["body"]["a"]) == TEXT_CHARS_MAX
    assert event["body"]["b"] == ["my [key]!"]


def test_a_line_that_the_shim_would_leave_out_is_shortened() -> None:
    prompt, end = told(
        lambda tell: (
            tell.event("prompt", sha256="d", text="€" * 399_000),
            tell.event("end", how="held", state="\\" * 500_000),
        )
    )
    assert prompt["text"].endswith("…")
    assert len(prompt["text"]) > 100_000
    assert prompt["sha256"] == "d"
    assert end["state"] is None
    assert end["how"] == "held"


def test_a_long_trace_ends_and_what_counts_gets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "BYTES_MAX", 5000)

    def work(tell: Tell) -> None:
        kept = [tell.event("text", text="x" * 900) for _ in range(9)]
        assert kept == [True] * 5 + [False] * 4
        assert not tell.event("note", key="a", value="y" * 900)
        assert tell.event("model", turn=1, input=1, output=1)
        assert tell.event("end", how="done", says="")
        assert tell.carried == []

    kinds = [event["kind"] for event in told(work)]
    assert kinds == ["text"] * 5 + ["warning", "model", "end"]


def test_nobody_who_listens_is_no_trouble() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    assert Tell(writes).event("text", text="a")
    os.close(writes)


def test_lines_of_several_threads_stay_whole() -> None:
    def work(tell: Tell) -> None:
        threads = [
            threading.Thread(target=lambda n=n: [tell.event("text", text=str(n) * 9000) for _ in range(20)])
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert all(len(set(event["text"])) == 1 for event in told(work))
