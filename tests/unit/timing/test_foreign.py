"""Texts of other products: named, with what to write instead, which is read and says the same."""

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


@pytest.mark.parametrize(
    ("text", "named", "hint"),
    [
        ("Mon..Fri 09:00", "systemd", "write `every mon-fri at 09:00`"),
        ("Mon,Wed..Fri *-*-* 09:00:00", "systemd", "write `every mon, wed-fri at 09:00`"),
        ("*-*-* 09:00:00", "systemd", "write `every day at 09:00`"),
        ("*-*-1 09:00", "systemd", "write `day 1 of the month at 09:00`"),
        ("*-12-24 18:00", "systemd", "write `every year on 24 december at 18:00`"),
        ("*:0/15", "systemd", "write `every 15 minutes by the clock`"),
        ("OnCalendar=daily", "systemd", "write `@daily`"),
        ("OnCalendar=Mon *-*-* 09:00", "systemd", "write `every mon at 09:00`"),
        ("2026-*-* 09:00", "systemd", "write, for example, `weekdays at 9:00`"),
        ("0 0 9 ? * MON-FRI", "Quartz", "write `0 9 * * MON-FRI`"),
        ("0 0 12 ? * 2-6", "Quartz", "write `0 12 * * MON-FRI`"),
        ("0 15 10 ? * 6L", "Quartz", "write `15 10 * * FRIL`"),
        ("0 15 10 ? * 6#3", "Quartz", "write `15 10 * * FRI#3`"),
        ("0 0/15 * * * ?", "Quartz", "write `*/15 * * * *`"),
        ("0 0 9 ? * MON-FRI 2026", "Quartz, with seconds first and a year (2026)", "write `0 9 * * MON-FRI`"),
        ("30 0 9 * * ?", "Quartz", "write five fields without seconds"),
        ("0 9 * * ? 2027", "AWS, with a year (2027)", "write `0 9 * * *`"),
        ("0 0 9 * * MON-FRI", "seconds first", "write `0 9 * * MON-FRI`"),
        ("*/10 * * * * *", "seconds first", "write `every 10 seconds`"),
        ("0 9 * * * 2027", "this has six, with a year (2027)", "write `0 9 * * *`"),
        ("cron(0 9 ? * 2-6 *)", "AWS", "write `0 9 * * MON-FRI`"),
        ("rate(1 hour)", "AWS", "write `every hour`"),
        ("rate(5 minutes)", "AWS", "write `every 5 minutes`"),
        ("at(2026-12-24T18:00:00)", "AWS", "write `2026-12-24T18:00:00`"),
        ("CRON_TZ=Europe/Paris 0 9 * * *", "time zone (Europe/Paris)", "write `0 9 * * *`"),
        ("TZ=America/New_York every day at 9am", "time zone (America/New_York)", "`--timezone America/New_York`"),
        ("0 9 * * 1-5 Europe/Paris", "time zone (Europe/Paris)", "write `0 9 * * 1-5`"),
        ("every day at 9am utc", "time zone (UTC)", "`--timezone UTC`"),
        ("H 9 * * *", "`H` is of Jenkins", "write `7 9 * * *`"),
        ("H H(0-7) * * 1-5", "`H` is of Jenkins", "write `7 0 * * 1-5`"),
        ("H/15 * * * *", "`H` is of Jenkins", "write `*/15 * * * *`"),
        ("0~59 9 * * *", "OpenBSD", "write `0 9 * * *`"),
        ("R/PT1H", "ISO 8601", "write `every 1h`"),
        ("R/2026-12-01T09:00:00Z/PT1H30M", "ISO 8601", "write `every 1h30m from 2026-12-01T09:00:00Z`"),
        ("R5/2026-12-01T09:00:00Z/P1D", "ISO 8601", ", 5 times` or `every 1d from 2026-12-01T09:00:00Z, 6 times`"),
        ("PT30M", "ISO 8601", "write `in 30m` or `every 30m`"),
        ("P1M", "ISO 8601", "write, for example, `every 30m`"),
        ("20261224T180000Z", "without its signs", "write `2026-12-24T18:00:00Z`"),
        ("1798131600", "seconds since 1970", "write `2026-12-24T17:00:00Z`"),
        ("0 9 * * 1-5 /usr/local/bin/backup.sh", "'/usr/local/bin/backup.sh' behind", "write `0 9 * * 1-5`"),
        ("0 9 * * * root /x -y", "'root /x -y' behind", "write `0 9 * * *`"),
        ("@daily /x", "'/x' behind", "write `@daily`"),
        ('"0 9 * * *"', "signs that do not belong", "write `0 9 * * *`"),
        ("cron: 0 9 * * *", "signs that do not belong", "write `0 9 * * *`"),
        ("0 9 * * *; 0 17 * * *", "not joined with `;`", "one job for each"),
        ("1/7/2027 09:00", "could be two dates", "write `2027-07-01 09:00` or `2027-01-07 09:00`"),
        ("24.12.2026 18:00", "not how dates are written", "write `2026-12-24 18:00`"),
        ("12/24/2026 6pm", "not how dates are written", "write `2026-12-24 6pm`"),
        ("+30m", "not how a delay is written", "write `in 30m`"),
        ("now + 1 hour", "not how a delay is written", "write `in 1 hour`"),
        ("now", "no schedule", "`horae run JOB`"),
    ],
)
def test_a_text_of_another_product_is_refused_by_name(text: str, named: str, hint: str) -> None:
    refusal = refusal_of(text)
    assert named in refusal.message
    assert hint in (refusal.hint or "")
    for written in re.findall(r"`([^`]+)`", refusal.hint or ""):
        if not written.startswith(("horae", "--", "timezone:", "until")):
            assert parse_schedule(written, "Europe/Berlin", anchor=ANCHOR)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("* * * * * *", "products disagree on the sixth"),
        ("0 0 9 * * *", "with seconds first it means `0 9 * * *`"),
        ("0 9 * * 1..5", "day of week '1..5' cannot be read"),
        ("99/99/2026 09:00", "cannot read the schedule"),
        ("TZ=Europe/Paris", "cannot read the schedule"),
        ("P" + "1D" * 90 + "x", "cannot read the schedule"),
        ("*-" * 2000, "a phrase of 4000 characters is too long"),
    ],
)
def test_what_is_none_of_them_keeps_its_refusal(text: str, message: str) -> None:
    assert message in refusal_of(text).message
