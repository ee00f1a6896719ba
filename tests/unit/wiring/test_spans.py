"""Spans of what agents did: names and numbers of calls, and nothing of what was said."""

from __future__ import annotations

from typing import Any

from horae.core.tracing import span_id
from horae.store.journal import Entry
from horae.wiring.spans import steps_of

ACTIVITY = [
    {"number": 1, "at": "2026-12-01T12:00:02Z", "kind": "prompt", "text": "SAID"},
    {"number": 2, "at": "2026-12-01T12:00:03Z", "kind": "model", "model": "small", "input": 10, "output": 5, "ms": 500},
    {"number": 3, "at": "2026-12-01T12:00:03Z", "kind": "tool", "id": "t1", "tool": "read", "args": "SAID"},
    {"number": 4, "at": "2026-12-01T12:00:04Z", "kind": "result", "id": "t1", "ok": False, "text": "SAID"},
    {"number": 5, "at": "2026-12-01T12:00:04Z", "kind": "result", "id": "stray", "ok": True, "text": "SAID"},
]
NOON = 1_796_126_400_000_000


class Played:
    """A reader that knows one run."""

    def find_run(self, _: str) -> Any:
        times = {"claimed_at": NOON, "started_at": NOON + 10**6, "finished_at": NOON + 5 * 10**6}
        return {**times, "attempt": 1, "token": 7, "exit_code": 0}

    def occurrence_by_key(self, _: str) -> Any:
        return {"due_at": NOON - 1000, "trigger": "schedule"}

    def slug_of(self, _: str) -> str:
        return "tides"

    def activity(self, _: str) -> list[dict[str, Any]]:
        return ACTIVITY


def test_calls_of_models_and_tools_stand_below_the_run() -> None:
    entry = Entry(9, NOON + 5 * 10**6, "gateway", "completed", "j", "k" * 32, "r", {"reason": None, "says": "SAID"})
    steps = list(steps_of(Played(), entry))  # pyright: ignore[reportArgumentType]
    by_name = {step.name: step for step in steps}
    model, tool = by_name["chat small"], by_name["execute_tool read"]
    assert model.parent == tool.parent == by_name["run"].id == span_id("run", "r")
    assert model.ended - model.begun == 500_000
    assert (model.facts["gen_ai.usage.input_tokens"], model.facts["gen_ai.usage.output_tokens"]) == (10, 5)
    assert (tool.ended - tool.begun, tool.error) == (10**6, "the tool failed")
    assert len(steps) == 8
    assert "SAID" not in repr(steps)
    assert by_name["trigger"].begun == NOON - 1000
    assert by_name["occurrence"].error is None
