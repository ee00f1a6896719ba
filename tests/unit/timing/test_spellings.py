"""What people type that has several readings, or another spelling: the refusal says the whole text to write."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from horae.errors import Invalid
from horae.timing.schedule import parse_schedule

ANCHOR = datetime(2026, 11, 30, 8, tzinfo=UTC)


def refusal_of(text: str) -> Invalid:
    with pytest.raises(Invalid) as refusal:
        parse_schedule(text, "Europe/Berlin", anchor=ANCHOR)
    return refusal.value


UNCLEAR = [
    ("1 jan at 9pm", ["every 1 jan at 9pm"]),
    ("january 1st at 9:30pm", ["every january 1st at 9:30pm"]),
    ("at noon on 1 jan", ["at noon on every 1 jan"]),
    ("1 jan", ["every 1 jan at 9am"]),
    ("1 jan at 9pm and 2 feb at 10pm", ["every 1 jan at 9pm and every 2 feb at 10pm"]),
    ("tue and thu at 7pm", ["every tue and thu at 7pm"]),
    ("monday at 9am and friday at 5pm", ["every monday at 9am and every friday at 5pm"]),
    ("monday", ["every monday at 9am"]),
    ("weekday at 9am", ["every weekday at 9am", "weekdays at 9am"]),
    ("every day at 9", ["every day at 9am", "every day at 9pm", "every day at 09:00"]),
    (
        "every day at 9 and 10",
        ["every day at 9am and 10am", "every day at 9pm and 10pm", "every day at 09:00 and 10:00"],
    ),
    ("every day at 21", ["every day at 21:00"]),
    ("every day at 0", ["every day at 00:00"]),
    ("at 13 on mondays", ["at 13:00 on mondays"]),
    ("every hour from 9 to 17", ["every hour from 9am to 17:00", "every hour from 09:00 to 17:00"]),
    ("every other weekday at 9am", ["every 2 weeks on weekdays at 9am", "every monday, wednesday and friday at 9am"]),
    ("every second monday at 9am", ["every second monday of the month at 9am", "every 2 weeks on monday at 9am"]),
    ("every third day at 9am", ["every third day of the month at 9am", "every 3 days at 9am"]),
    ("every last friday at 17:00", ["every last friday of the month at 17:00"]),
    ("every 1st and 15th at 9am", ["every 1st and 15th of the month at 9am"]),
    ("at 9am on the 1st", ["at 9am on the 1st of the month"]),
    ("every night at 2am", ["every day at 2am"]),
    ("nightly at 2am", ["every day at 2am"]),
    ("every morning at 8pm", ["every day at 8pm"]),
    ("every morning at 8", ["every morning at 8am", "every morning at 08:00"]),
]


@pytest.mark.parametrize(("text", "write"), UNCLEAR)
def test_each_reading_is_written_out_with_the_words_of_the_text(text: str, write: list[str]) -> None:
    refusal = refusal_of(text)
    assert refusal.details["write"] == write
    assert all(f"`{one}`" in (refusal.hint or "") for one in write)
    assert all(parse_schedule(one, "Europe/Berlin", anchor=ANCHOR) for one in write)


@pytest.mark.parametrize(
    ("text", "write"),
    [
        ("every wendesday at 9am", "every wednesday at 9am"),
        ("every 5 mintues", "every 5 minutes"),
        ("tomorow at 9am", "tomorrow at 9am"),
        ("mon–fri at 9am", "mon-fri at 9am"),
        ("every day at 9.30", "every day at 9:30"),
        ("every day at 9h30", "every day at 9:30"),
        ("every day at 0930", "every day at 09:30"),
        ("every day at 9 a.m.", "every day at 9 am"),
        ("every day @ 9am", "every day at 9am"),
        ("every monday morning at 9am", "every monday at 9am"),
        ("tonight at 8pm", "today at 8pm"),
        ("every half hour", "every 30 minutes"),
        ("each hour", "every hour"),
        ("every 30 minutes on weekdays", "every 30 minutes by the clock on weekdays"),
        ("every hour on the hour", "every hour by the clock"),
        ("last business day of the month at 9am", "last weekday of the month at 9am"),
        ("last monday of may at 9am", "last monday of the month at 9am in may"),
        ("fortnightly on monday at 9am", "every 2 weeks on monday at 9am"),
        ("every day at 9am except sundays", "every day except sundays at 9am"),
        ("every day at 9am from 2026-12-07", "every day at 9am starting 2026-12-07"),
        ("every 6 hours starting at midnight", "every 6 hours from midnight"),
        ("once a day at 9am", "every day at 9am"),
        ("every noon", "every day at noon"),
        ("please run every day at 9am.", "every day at 9am"),
    ],
)
def test_another_spelling_is_told_and_not_taken(text: str, write: str) -> None:
    refusal = refusal_of(text)
    assert refusal.hint == f"write `{write}`, if that is meant"
    assert parse_schedule(write, "Europe/Berlin", anchor=ANCHOR)


@pytest.mark.parametrize("text", ["biweekly on monday at 9am", "quarterly at 9am", "bimonthly", "biannually"])
def test_words_that_english_reads_in_two_ways(text: str) -> None:
    refusal = refusal_of(text)
    assert "could mean" in refusal.message
    forms = re.findall(r"`([^`]+)`", refusal.hint or "")
    assert len(forms) == 2
    assert all(parse_schedule(form, "Europe/Berlin", anchor=ANCHOR) for form in forms)


def test_a_text_in_another_language_is_told_that_phrases_are_english() -> None:
    assert "phrases are English" in (refusal_of("chaque jour à 9h").hint or "")


def test_a_long_text_is_not_repeated_for_each_reading() -> None:
    text = f"every day at 9 except {' and '.join(f'2026-12-{day}' for day in range(10, 20))}"
    assert refusal_of(text).hint == "write 9am, 9pm or 09:00"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("every 15 minutes between 22:00 and 6:00",
         "`every 15 minutes from 22:00 to 23:45; every 15 minutes from 00:00 to 06:00`"),
        ("every 15 minutes between 22:00 and midnight", "`every 15 minutes from 22:00 to 23:45; every day at 00:00`"),
        ("every day from 9am to 5pm", "`every hour from 09:00 to 17:00`"),
        ("every day between 9am and 5pm on mondays", "`every day at 09:00`"),
        ("every 12 hours from 9:00 to 17:00", "`every 12 hours from 09:00`"),
    ],
)  # fmt: skip
def test_stretches_of_a_day_that_are_none_are_written_out(text: str, hint: str) -> None:
    refusal = refusal_of(text)
    assert hint in (refusal.hint or "")
    for written in re.findall(r"`([^`]+)`", refusal.hint or ""):
        assert parse_schedule(written, "Europe/Berlin", anchor=ANCHOR)
