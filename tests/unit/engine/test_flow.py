"""The way of one occurrence, as far as it decides something by itself."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from horae.core.model import End, Retries
from horae.core.outcome import judge
from horae.engine.flow import conclude
from horae.ports import Settings
from tests.support.builders import SetClock, a_claim, a_job, a_result
from tests.support.outside import Post


def concluded(**given: Any) -> End:
    """What the store is handed when an attempt of a job that has one retry fails."""
    handed: list[End] = []

    async def together(verb: Any, item: End) -> bool:
        handed.append(item)
        return False

    claim = a_claim(job=a_job(retries=Retries(max=1, backoff_s=60.0)), **given)
    ports: Any = SimpleNamespace(
        store=SimpleNamespace(together=together), clock=SetClock(), targets=Post({}), settings=Settings("/h")
    )
    asyncio.run(conclude(claim, judge("Tides", a_result(exit_code=1)), ports))
    (end,) = handed
    return end


@pytest.mark.parametrize(
    ("attempt", "failures", "again"),
    [(1, 0, True), (4, 0, True), (2, 1, False), (5, 1, False)],
    ids=["first", "given back three times", "last", "last, and given back"],
)
def test_only_attempts_that_failed_count_against_retries(attempt: int, failures: int, again: bool) -> None:
    assert (concluded(attempt=attempt, failures=failures).retry_s is not None) == again
