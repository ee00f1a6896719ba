"""Meanings in English and instants in text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae.timing.cron import parse_cron
from horae.timing.words import cron_words, rfc3339, slot_words, utc

SLOT = datetime(2026, 10, 26, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("30 18 * * 1-5", "at 18:30 on weekdays"),
        ("0 10 * * 6,0", "at 10:00 on weekends"),
        ("0 9 * * 1,4", "at 09:00 on Monday and Thursday"),
        ("0 9 * * *", "at 09:00 every day"),
        ("* * * * *", "every minute"),
        ("* 5 * * *", "every minute from 05:00 to 05:59, every day"),
        ("0 * * * *", "every hour at minute 0"),
        ("0,15,30,45 * * * *", "every hour at minutes 0, 15, 30 and 45"),
        ("*/90 * * * *", "every hour at minute 0"),
        ("*/5 * * * *", "every 5 minutes"),
        ("*/7 * * * *", "every hour at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56"),
        ("*/5 9-17 * * *", "every 5 minutes from 09:00 to 17:55, every day"),
        ("0 9-17 * * 1-5", "every hour from 09:00 to 17:00, on weekdays"),
        ("1,2,3,10 1,5 * * *", "at minutes 1 to 3 and 10 of hours 1 and 5 every day"),
        ("0 9 1 * 1", "at 09:00 on day 1 of the month, and on every Monday"),
        ("0 9 1 3 1", "at 09:00 on day 1 of the month, and on every Monday, in March only"),
        ("0 9 1-5 * *", "at 09:00 on days 1 to 5 of the month"),
        ("0 9,17 L 1,6 *", "at 09:00 and 17:00 on the last day of the month in January and June"),
        ("0 9 L-2 * *", "at 09:00 on the day 2 days before the last of the month"),
        ("0 12 24 12 *", "at 12:00 every year on 24 December"),
        ("0 9 * 5 *", "at 09:00 every day in May"),
        ("0 9 * * MON#2,FRIL", "at 09:00 on the second Monday of the month and the last Friday of the month"),
        ("0 9 LW * *", "at 09:00 on the last weekday (Monday to Friday) of the month"),
        ("0 9 15W * *", "at 09:00 on the weekday (Monday to Friday) nearest to day 15 of the month"),
        ("0 9 */16 * 1", "at 09:00 on Monday, but only on days 1 and 17 of the month"),
        ("0 9 1-31 * 1", "at 09:00 every day"),
    ],
)
def test_cron(line: str, words: str) -> None:
    assert cron_words(parse_cron(line)) == words


def test_slots() -> None:
    assert slot_words(SLOT, "Europe/Berlin") == "Mon 2026-10-26 09:00 +01:00"
    assert slot_words(SLOT.replace(second=5), "America/St_Johns") == "Mon 2026-10-26 05:30:05 -02:30"


def test_instants() -> None:
    assert rfc3339(SLOT, 3600) == "2026-10-26T09:00:00+01:00"
    assert rfc3339(SLOT, -12600) == "2026-10-26T04:30:00-03:30"
    assert utc(SLOT) == "2026-10-26T08:00:00Z"
    assert utc(datetime.fromisoformat("2026-10-26T09:00:00+01:00")) == "2026-10-26T08:00:00Z"
