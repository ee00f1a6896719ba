"""What is found damaged in the store is read again, at once, and not again and again."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from horae.errors import Trouble
from horae.wiring import mending
from horae.wiring.mending import AGAIN_S, Mending, mend


def entry(job_id: str, **detail: Any) -> Any:
    return SimpleNamespace(what="quarantined", job_id=job_id, detail=detail)


def test_what_is_damaged_is_read_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[set[str]] = []
    monkeypatch.setattr(mending, "mend", lambda _home, job_ids: read.append(job_ids))
    steady = SimpleNamespace(steady_s=5.0)

    async def main() -> None:
        home: Any = SimpleNamespace(clock=SimpleNamespace(reading=lambda: steady))
        told = Mending(home)
        for after_s, entries in (
            (0.0, [entry("a", damaged=True), entry("b", problem="line 2: no")]),
            (1.0, [entry("a", damaged=True)]),
            (1.0, [entry("a", damaged=True), entry("c", damaged=True)]),
            (AGAIN_S, [entry("a", damaged=True)]),
            (0.0, [SimpleNamespace(what="blocked", job_id="d", detail={})]),
        ):
            steady.steady_s += after_s
            told.tell(entries)
            await asyncio.sleep(0)  # the loop takes it from there
            while told.busy:
                await asyncio.wait(told.busy)

    asyncio.run(main())
    assert read == [{"a"}, {"c"}, {"a"}]


def test_trouble_with_it_is_told_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def away() -> None:
        raise Trouble("the disk is away", "put it back")

    home: Any = SimpleNamespace(read=away)
    with caplog.at_level("WARNING", "horae"):
        mend(home, {"a"})
    assert "could not be read again: the disk is away" in caplog.text
