"""Pruning and anchors come once a day, and trouble with them ends nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from horae.errors import Trouble
from horae.wiring import daily
from horae.wiring.daily import EVERY_S, FIRST_S, Daily
from tests.support.virtual import run_virtually


def times(days: float, monkeypatch: pytest.MonkeyPatch, *, closed_after_s: float | None = None) -> list[float]:
    """When the day's work was done, in seconds after the start, over so many days."""
    done: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()

        async def at_once(work: Any, home: Any) -> None:
            done.append(loop.time() - began)

        monkeypatch.setattr(daily.asyncio, "to_thread", at_once)
        timer = Daily(None)  # pyright: ignore[reportArgumentType]
        if closed_after_s is not None:
            loop.call_later(closed_after_s, timer.close)
        await asyncio.sleep(days * EVERY_S)

    run_virtually(main())
    return done


def test_it_comes_an_hour_after_the_start_and_then_every_day(monkeypatch: pytest.MonkeyPatch) -> None:
    assert times(3, monkeypatch) == [FIRST_S, FIRST_S + EVERY_S, FIRST_S + 2 * EVERY_S]


def test_nothing_begins_once_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert times(3, monkeypatch, closed_after_s=FIRST_S + 1) == [FIRST_S]


class Refusing:
    """A store that cannot be written."""

    @property
    def store(self) -> Any:
        raise Trouble("the disk is full")


def test_trouble_is_told_and_left_to_the_next_day(caplog: pytest.LogCaptureFixture) -> None:
    daily.tidy(Refusing())  # pyright: ignore[reportArgumentType]
    assert "could not be pruned: the disk is full" in caplog.text
