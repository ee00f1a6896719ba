"""Hears what is told without a descriptor."""

from __future__ import annotations

from typing import Any

import pytest

from horae.agents.tell import Tell


class Heard(Tell):
    """Keeps it."""

    def __init__(self) -> None:
        super().__init__(-1, keys=["sk-secret"], now=lambda: 5.0)
        self.events: list[dict[str, Any]] = []

    def event(self, kind: str, **values: Any) -> bool:
        self.events.append({"kind": kind, **values})
        return True

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]


@pytest.fixture
def heard() -> Heard:
    return Heard()
