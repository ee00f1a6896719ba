"""What a run asks for: its job's words go before those of the settings, and days begin where the home is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from horae.core.agent import AgentSettings, DayLimits
from horae.core.equipment import Allowance
from horae.core.model import Limits
from horae.core.wish import day_of, wish_of
from horae.limits import CONTEXT_AGE_DEFAULT_S, CONTEXT_CHARS_MAX, TOKENS_DEFAULT, TURNS_DEFAULT
from tests.support.builders import START, a_job

SETTINGS = AgentSettings(turns=7, tokens=700, usd=0.7, day=DayLimits(9000, 9.0))


def test_a_job_that_says_nothing_gets_the_defaults() -> None:
    wish = wish_of(a_job(), AgentSettings(), "UTC", START)
    assert wish.run == Allowance(TURNS_DEFAULT, TOKENS_DEFAULT, None)
    assert wish.job_day == wish.home_day == Allowance()
    assert (wish.context_age_s, wish.context_chars) == (CONTEXT_AGE_DEFAULT_S, CONTEXT_CHARS_MAX)
    assert wish_of(a_job(), SETTINGS, "UTC", START).run == Allowance(7, 700, 0.7)


@pytest.mark.parametrize(
    ("of_job", "of_home", "tokens"),
    [(None, 2000, 500), (800, 2000, 200), (800, None, 200), (3, None, 1), (None, 10**9, TOKENS_DEFAULT)],
)
def test_without_a_limit_of_its_own_a_run_leaves_most_of_the_day_to_others(
    of_job: int | None, of_home: int | None, tokens: int
) -> None:
    job, settings = a_job(limits=Limits(tokens_day=of_job)), AgentSettings(day=DayLimits(of_home))
    assert wish_of(job, settings, "UTC", START).run.tokens == tokens


def test_what_a_job_says_counts_and_days_are_apart_from_runs() -> None:
    limits = Limits(turns=1, tokens=2, usd=0.3, tokens_day=40, usd_day=0.5)
    wish = wish_of(a_job(limits=limits, context_age_s=60), SETTINGS, "UTC", START)
    assert (wish.run, wish.job_day) == (Allowance(1, 2, 0.3), Allowance(None, 40, 0.5))
    assert wish.home_day == Allowance(None, 9000, 9.0)
    assert wish.context_age_s == 60


@pytest.mark.parametrize(
    ("zone", "now", "began"),
    [
        ("UTC", "2026-03-02T08:00", "2026-03-02T00:00"),
        ("Asia/Tokyo", "2026-03-02T15:00", "2026-03-02T15:00"),
        ("Asia/Tokyo", "2026-03-02T14:59", "2026-03-01T15:00"),
        ("America/New_York", "2026-03-02T04:59", "2026-03-01T05:00"),
        ("Europe/Paris", "2026-03-29T12:00", "2026-03-28T23:00"),  # a day of 23 hours
        ("America/Sao_Paulo", "2018-11-04T12:00", "2018-11-04T03:00"),  # one that begins at 1:00
        ("America/Havana", "2026-11-01T12:00", "2026-11-01T04:00"),  # one in which midnight comes twice
        ("America/Havana", "2026-11-01T05:30", "2026-11-01T04:00"),
    ],
)
def test_when_the_day_began(zone: str, now: str, began: str) -> None:
    instant = datetime.fromisoformat(now).replace(tzinfo=UTC)
    found = day_of(instant, zone)
    assert found == datetime.fromisoformat(began).replace(tzinfo=UTC)
    assert found.tzinfo is UTC
    assert found <= instant < found + timedelta(hours=26)
