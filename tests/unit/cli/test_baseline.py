"""What people bring along from other schedulers and expect here too. The names of the rows are those of the baseline."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.process import TestHome

TESTS = Path(__file__).parents[2]
ROWS = re.findall(
    r"\w+", "S1 S2 S3 S4 S5 S6 S7 S8 S9 O1 O2 O3 O4 O5 O12 O13 O14 O15 O17 O18 O19 O20 O21 O22 O23 U11 U15"
)


def test_every_row_of_the_baseline_has_a_test_that_names_it() -> None:
    names = " ".join(
        name for path in TESTS.rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    )
    assert [row for row in ROWS if not re.search(rf"_{row}_", names)] == []


@pytest.mark.parametrize(
    ("schedule", "apart", "written"),
    [
        ("in 45m", None, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+01:00"),
        (
            "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=9;BYMINUTE=0",
            timedelta(weeks=2),
            r"DTSTART;TZID=Africa/Lagos:\d{8}T090000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=9;BYMINUTE=0",
        ),
        ("every other friday at 5pm", timedelta(weeks=2), r"every other friday at 5pm starting \d{4}-\d\d-\d\d"),
        ("2099-12-24T18:00", None, "2099-12-24T18:00:00\\+01:00"),
        ("every 90 minutes", timedelta(minutes=90), r"every 90 minutes from \S+"),
        ("30 4 * * *", timedelta(days=1), r"30 4 \* \* \*"),
        ("every day at 04:30", timedelta(days=1), "every day at 04:30"),
    ],
)
def test_S1_delays_intervals_cron_instants_rules_and_phrases(
    home: TestHome, schedule: str, apart: timedelta | None, written: str
) -> None:
    made = home.json("add", schedule, "--script", "hi.sh", "--name", "It", "--timezone", "Africa/Lagos")
    assert re.fullmatch(written, made["job"]["schedule"])
    slots = [datetime.fromisoformat(slot["slot"]) for slot in made["slots"]]
    assert len(slots) == (1 if apart is None else 3)
    assert {late - early for early, late in pairwise(slots)} == ({apart} if apart else set())
