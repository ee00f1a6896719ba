"""Durations in and out of text."""

from __future__ import annotations

import pytest

from horae.errors import Invalid
from horae.timing.durations import duration_words, parse_duration, period_words, short_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45s", 45), ("20m", 1200), ("1h30m", 5400), ("1h 30m", 5400), ("90 minutes", 5400), ("2 hours", 7200),
        ("1.5h", 5400), ("1.1h", 3960), ("1d", 86400), ("1w", 604800), ("1 hour and 30 minutes", 5400),
        ("1 day, 2 hours", 93600), (" 20 M ", 1200), ("0s", 0), ("1 min", 60), ("2hrs", 7200),
    ],
)  # fmt: skip
def test_read(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("30", "'30' has no unit"),
        ("1.5", "'1.5' has no unit"),
        ("", "an empty duration"),
        ("0.5s", "is not a whole number of seconds"),
        ("30m1h", "must go from large to small"),
        ("1h1h", "must go from large to small"),
        ("1 fortnight", "cannot read the duration"),
        ("1 month", "cannot read the duration"),
        ("-5m", "cannot read the duration"),
        ("1h and", "cannot read the duration"),
        ("٣m", "cannot read the duration"),
        ("1h; rm", "cannot read the duration"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(Invalid, match=message) as refusal:
        parse_duration(text)
    assert "90 minutes" in (refusal.value.hint or "")


def test_words() -> None:
    assert duration_words(5400) == "1 hour 30 minutes"
    assert duration_words(300) == "5 minutes"
    assert duration_words(14 * 86400 + 1) == "14 days 1 second"
    assert duration_words(0) == "0 seconds"
    assert [period_words(seconds) for seconds in (5400, 3600, 1209600, 61)] == [
        "90 minutes",
        "hour",
        "2 weeks",
        "61 seconds",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"), (0.35, "350 ms"), (0.9996, "1.0 s"), (1.2, "1.2 s"), (59.96, "1 min 0 s"), (245, "4 min 5 s"),
        (3599.7, "1 h 0 min"), (18000, "5 h 0 min"), (86400 * 3 + 4 * 3600, "3 d 4 h"), (-1.2, "-1.2 s"),
    ],
)  # fmt: skip
def test_short(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text
