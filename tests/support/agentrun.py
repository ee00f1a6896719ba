"""Runs the work of an agent's process within a test: a task with a scripted provider, its answer, and all that it told."""

from __future__ import annotations

import contextlib
import io
import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from horae.agents import work
from horae.agents.task import ModelCall
from horae.core.activity import Work, work_of
from tests.support.modelserver import ModelServer


def a_model(server: ModelServer | None, name: str = "small", **changed: Any) -> ModelCall:
    call: dict[str, Any] = {
        "name": name,
        "id": "acme/small-1",
        "kind": "openai",
        "base_url": server.base_url if server else "http://127.0.0.1:9/v1",
        "key": "sk-very-secret",
        "price": [1.0, 2.0, 0.5],
        "max_output": 1000,
        "context": 100_000,
    }
    return call | changed  # pyright: ignore[reportReturnType]


def a_task(server: ModelServer | None, at: Path, /, **changed: Any) -> dict[str, Any]:
    output = at / "output"
    output.mkdir(parents=True, exist_ok=True)
    task: dict[str, Any] = {
        "run": "run_1",
        "job": "job_1",
        "name": "A job",
        "kind": "builtin",
        "agent": None,
        "prompt": "Say hello.",
        "extra": None,
        "payload": None,
        "lateness": None,
        "skills": [],
        "context": [],
        "script": None,
        "watch_url": None,
        "watch_script": None,
        "baseline": None,
        "replay": None,
        "state": None,
        "held": 0,
        "decision": None,
        "models": [a_model(server)],
        "allow": {"turns": 20, "tokens": None, "usd": None},
        "tools": [],
        "approve": [],
        "mcp": [],
        "notes": {},
        "folder": str(output),
        "walls": None,
        "env": {"PATH": "/usr/local/bin:/usr/bin:/bin", "HORAE_OUTPUT": str(output), "HOME": str(at)},
        "schema": None,
        "empty": "fail",
    }
    return task | changed


@dataclass
class Ran:
    """What came of it."""

    status: int
    answer: str
    errors: str
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def work(self) -> Work:
        return work_of(self.events)

    @property
    def end(self) -> dict[str, Any]:
        assert self.events[-1]["kind"] == "end"
        return self.events[-1]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]


def ran(task: dict[str, Any]) -> Ran:
    """Carry it out, in this process."""
    reads, writes = os.pipe()
    told = bytearray()

    def read() -> None:
        while data := os.read(reads, 65536):
            told.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = work.main(task, writes)
    finally:
        os.close(writes)
        reader.join()
        os.close(reads)
    return Ran(status, out.getvalue(), err.getvalue(), [json.loads(line) for line in bytes(told).splitlines()])
