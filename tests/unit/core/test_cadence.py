"""The set of a job's slots as its row says it, and the warning about a `clock_change` that changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from horae.core.cadence import grace_of, slots_of, without_effect
from horae.core.instants import to_us
from horae.core.model import ClockChange
from horae.timing.schedule import parse_schedule

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
BEFORE_THE_GAP = datetime(2026, 3, 28, 12, tzinfo=UTC)


def row(schedule: str = "every day at 2:30", timezone: str = "Europe/Paris", **given: Any) -> dict[str, Any]:
    return {"schedule": schedule, "timezone": timezone, "anchor_at": to_us(NOW), "clock_gap": None,
            "clock_repeat": None, "starts_at": None, "ends_at": None} | given  # fmt: skip


@pytest.mark.parametrize(
    ("gap", "slot"),
    [(None, "2026-03-29T01:30"), ("shift", "2026-03-29T01:30"), ("after", "2026-03-29T01:00"), ("skip", "2026-03-30T00:30")],
)  # fmt: skip
def test_the_row_says_what_becomes_of_a_gap(gap: str | None, slot: str) -> None:
    assert slots_of(row(clock_gap=gap)).next_after(BEFORE_THE_GAP) == datetime.fromisoformat(f"{slot}+00:00")


@pytest.mark.parametrize(("repeat", "slots"), [(None, 1), ("first", 1), ("last", 1), ("both", 2)])
def test_the_row_says_what_becomes_of_a_repeated_hour(repeat: str | None, slots: int) -> None:
    night = datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 25, 6, tzinfo=UTC)
    assert slots_of(row(clock_repeat=repeat)).count(*night) == slots


def test_what_is_not_said_is_the_default_of_the_schedule() -> None:
    dense = slots_of(row("*/30 * * * *", clock_gap="shift"))
    assert (dense.gap, dense.repeat) == ("shift", "both")


SKIP = ClockChange("skip")


@pytest.mark.parametrize(
    ("schedule", "timezone", "asked", "says"),
    [
        ("every day at 2:30", "Europe/Paris", SKIP, None),
        ("every day at 2:30", "America/Havana", ClockChange(repeat="both"), None),
        ("every day at 2:30", "UTC", ClockChange(), None),
        ("every 90 minutes", "Europe/Paris", ClockChange(), None),
        ("every 90 minutes", "Europe/Paris", SKIP, "no effect on an interval: it counts elapsed time"),
        ("2026-12-24T18:00", "Europe/Paris", SKIP, "no effect on single instants"),
        ("every day at 2:30", "UTC", ClockChange(repeat="both"), "no effect in UTC"),
        ("every day at 2:30", "Asia/Tokyo", SKIP, "no effect in Asia/Tokyo"),
    ],
)
def test_a_policy_that_can_never_matter_is_said(
    schedule: str, timezone: str, asked: ClockChange, says: str | None
) -> None:
    warning = without_effect(asked, parse_schedule(schedule, timezone, anchor=NOW).set, NOW)
    assert (warning is None) if says is None else (says in str(warning))


@pytest.mark.parametrize(
    ("schedule", "seconds"),
    [
        ("2026-11-30T11:59:30Z", 60),
        ("RDATE:20261130T115930Z,20261224T180000Z", 60),
        ("every day at 9am", 0),
        ("every 90 minutes", 0),
        ("DTSTART:20261130T115900Z RRULE:FREQ=MINUTELY;COUNT=2 RDATE:20261130T115930Z", 0),
    ],
)
def test_only_single_instants_may_have_just_passed(schedule: str, seconds: int) -> None:
    """What recurs has a next slot: one that has passed must not run late because there is a date beside it."""
    assert grace_of(slots_of(row(schedule))).total_seconds() == seconds
