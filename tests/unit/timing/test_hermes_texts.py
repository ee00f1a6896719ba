"""The texts that Hermes takes, in its released and its newest grammar: read as they are meant there, or refused.

Hermes' two versions read a bare duration in opposite ways, and its cron reader passes what never fires.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae.errors import Invalid
from horae.timing.schedule import parse_schedule

ANCHOR = datetime(2026, 11, 30, 8, tzinfo=UTC)  # a Monday, 09:00 in Berlin


@pytest.mark.parametrize(
    ("text", "kind", "first"),
    [
        ("every 30m", "interval", "2026-11-30T09:30+01:00"),
        ("every 2h", "interval", "2026-11-30T11:00+01:00"),
        ("  every   15   minutes ", "interval", "2026-11-30T09:15+01:00"),
        ("every 1.5h", "interval", "2026-11-30T10:30+01:00"),
        ("every 90s", "interval", "2026-11-30T09:01:30+01:00"),
        ("every 1w", "interval", "2026-12-07T09:00+01:00"),
        ("in 30m", "once", "2026-11-30T09:30+01:00"),
        ("tomorrow 9am", "once", "2026-12-01T09:00+01:00"),
        ("every monday 9am", "phrase", "2026-12-07T09:00+01:00"),
        ("weekdays at 9am", "phrase", "2026-12-01T09:00+01:00"),
        ("weekends at 10am", "phrase", "2026-12-05T10:00+01:00"),
        ("every day at 9am", "phrase", "2026-12-01T09:00+01:00"),
        ("every day at 9:30pm", "phrase", "2026-11-30T21:30+01:00"),
        ("every day at 14:00", "phrase", "2026-11-30T14:00+01:00"),
        ("every day at noon", "phrase", "2026-11-30T12:00+01:00"),
        ("every day at midnight", "phrase", "2026-12-01T00:00+01:00"),
        ("every monday, wednesday at 9am", "phrase", "2026-12-02T09:00+01:00"),
        ("0 9 * * 7", "cron", "2026-12-06T09:00+01:00"),
        ("0 9 1 * 1", "cron", "2026-12-01T09:00+01:00"),
        ("0 9 * * MON-FRI", "cron", "2026-12-01T09:00+01:00"),
        ("@daily", "cron", "2026-12-01T00:00+01:00"),
        ("0 9 L * *", "cron", "2026-12-31T09:00+01:00"),
        ("0 9 ? * 2#1", "cron", "2026-12-01T09:00+01:00"),
        ("0 9 15W * *", "cron", "2026-12-15T09:00+01:00"),
        ("2026-12-03 14:00", "once", "2026-12-03T14:00+01:00"),
        ("2026-12-03T14:00", "once", "2026-12-03T14:00+01:00"),
        ("2026-12-03T14:00Z", "once", "2026-12-03T15:00+01:00"),
    ],
)
def test_read(text: str, kind: str, first: str) -> None:
    schedule = parse_schedule(text, "Europe/Berlin", anchor=ANCHOR)
    assert schedule.kind == kind
    assert schedule.set.next_after(ANCHOR) == datetime.fromisoformat(first)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("30m", "products disagree"),
        ("2 hours", "products disagree"),
        ("90s", "products disagree"),
        ("0m", ""),
        ("every 0m", "too short"),
        ("every day", "names no time"),
        ("monday, wednesday at 9am", "could mean the next one or every one"),
        ("", "empty"),
        ("10-5 * * * *", "runs backwards"),
        ("61 * * * *", "out of range"),
        ("0 0 31 2 *", "never fires"),
        ("0 9 * * * *", "a cron line has five fields"),
        ("2026-12-03", "names a day but no time"),
    ],
)
def test_refused(text: str, said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_schedule(text, "Europe/Berlin", anchor=ANCHOR)
    assert said in refusal.value.message


@pytest.mark.parametrize("text", ["*/60 * * * *", "*/90 * * * *"])
def test_a_step_that_hermes_runs_hourly_without_a_word_is_warned_about(text: str) -> None:
    schedule = parse_schedule(text, "Europe/Berlin", anchor=ANCHOR)
    assert any("fires hourly" in warning for warning in schedule.warnings)
