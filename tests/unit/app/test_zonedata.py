"""Zone data is followed by one process at a time: who had to wait finds it done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

from horae.app.zonedata import follow_zone_data
from horae.ports import Home
from horae.timing.zones import version


def home_that_says(*versions: str | None) -> Home:
    """A home whose store tells these versions, one a look, and refuses every change."""
    told = iter(versions)

    def refused(_work: Any) -> None:
        raise AssertionError("nothing was left to be done")

    reader = SimpleNamespace(zone_data=lambda: next(told), close=lambda: None)
    return cast("Home", SimpleNamespace(read=lambda: reader, store=SimpleNamespace(transact=refused)))


def test_what_another_process_did_meanwhile_is_not_done_again() -> None:
    waited: list[str] = []

    @contextmanager
    def alone() -> Iterator[None]:
        waited.append("for the other")
        yield

    assert follow_zone_data(home_that_says("1999a", version()), alone) is None
    assert waited


def test_nobody_waits_when_nothing_changed() -> None:
    @contextmanager
    def alone() -> Iterator[None]:
        raise AssertionError("no lock is needed to look")
        yield

    assert follow_zone_data(home_that_says(version()), alone) is None
