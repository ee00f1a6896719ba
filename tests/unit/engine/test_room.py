"""What a gateway offers at each look: room for runs, an answer for the jobs that it runs, or nothing."""

from __future__ import annotations

import asyncio
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from horae.engine import gateway as engine
from horae.engine.gateway import Gateway
from horae.engine.slots import Slots
from tests.support.builders import MINUTE, START, SetClock, a_claim


@pytest.mark.parametrize(
    ("own", "next_due", "offered"),
    [
        (0, None, 1),
        (0, START + MINUTE, 1),
        (1, None, None),
        (1, START + MINUTE, None),
        (1, START, 0),
        (1, START - MINUTE, 0),
        (3, START, 0),
    ],
)
def test_without_room_only_what_has_come_due_is_answered(
    own: int, next_due: datetime | None, offered: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at each end of a run must stay cheap, and a slot may mean that one of the runs is to end."""
    given: list[int | None] = []

    async def step(_ports: Any, _spawn: Any, room: int | None, *, keep: bool, **_: Any) -> None:
        given.append(room)

    monkeypatch.setattr(engine, "step", step)
    ports: Any = SimpleNamespace(
        clock=SetClock(), settings=SimpleNamespace(parallel=1), lease=SimpleNamespace(is_old=False)
    )
    made = Gateway(ports, Slots(1), lambda _reason: None, "test", shared=True)
    tasks: dict[Any, Any] = {object(): a_claim() for _ in range(own)}
    made._tasks = tasks
    made.next_due = next_due
    asyncio.run(made._look())
    assert given == [offered]
