"""A law that changed, from outside: Vancouver keeps its clocks in November 2026, and the home was planned before that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from horae.clock import SystemClock
from horae.store.sqlite import SqliteStore
from horae.timing.zones import version
from tests.support.builders import SetClock, addressed, an_ending, an_owner
from tests.support.process import TestHome
from tests.support.zonedata import VANCOUVER_BEFORE, zone_data


@contextmanager
def at(moment: str) -> Iterator[datetime]:
    """Commands find that it is this time, in UTC."""
    now = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    with mock.patch.object(SystemClock, "now", return_value=now):
        yield now


def carried_out(home: TestHome, now: datetime) -> list[str]:
    """What a gateway would start then, begun and ended; the slots in UTC."""
    store = SqliteStore(str(home.path / "state" / "runtime.db"), SetClock(now))
    owner = an_owner(f"gateway at {now}")

    def claim(tx: Any) -> list[Any]:
        tx.runs.sign_on(owner, "test")
        return tx.runs.claim_due(owner, 100)

    claims = store.transact(claim)
    for each in claims:
        store.transact(lambda tx, c=each: tx.runs.start_all([c]))
        store.transact(lambda tx, c=each: tx.runs.finish(c, an_ending(), addressed(c)))
        store.transact(lambda tx, c=each: tx.runs.settle(c))
    store.close()
    return [f"{each.slot:%Y-%m-%dT%H:%MZ}" for each in claims]


def test_nine_in_vancouver_before_and_after(home: TestHome, tmp_path: Path) -> None:
    with zone_data(tmp_path, "2025b", VANCOUVER_BEFORE):
        with at("2026-10-31T12:00"):
            home.json(
                "add", "every day at 9am", "--script", "hi.sh", "--name", "Nine", "--timezone", "America/Vancouver"
            )
        with at("2026-10-31T16:00") as now:
            assert carried_out(home, now) == ["2026-10-31T16:00Z"]
            assert home.jobs()["nine"]["next_slot"] == "2026-11-01T09:00:00-08:00"
            home.json("skip", "nine", "2026-11-03T09:00")
            assert home.json("version")["tzdata"] == "2025b"
    with at("2026-11-01T15:00"):
        slots = home.json("next", "nine", "-n", "3")["slots"]
        assert [(slot["slot"], slot["note"]) for slot in slots] == [
            ("2026-11-01T09:00:00-07:00", None),
            ("2026-11-02T09:00:00-07:00", None),
            ("2026-11-03T09:00:00-07:00", "skipped"),
        ]
        assert home.jobs()["nine"]["next_slot"] == "2026-11-01T09:00:00-07:00"
        told = home.horae("why", "nine", "next").out
        assert "zone data: was 2026-11-01T09:00:00-08:00, now 2026-11-01T09:00:00-07:00" in told
        (check,) = [check for check in home.json("doctor", status=None)["checks"] if check["check"] == "zone data"]
        assert check["ok"]
        assert version() in check["what"]
        moved, of_the_skip, change = home.sql(
            "SELECT job_id, detail FROM journal WHERE what = 'zone_data' ORDER BY seq"
        )
        assert change == (None, f'{{"was": "2025b", "now": "{version()}", "jobs": 1}}')
        assert moved[0] == of_the_skip[0] == home.jobs()["nine"]["id"]
    for moment, ran in (
        ("2026-11-01T15:59", []),
        ("2026-11-01T16:00", ["2026-11-01T16:00Z"]),
        ("2026-11-01T17:00", []),
        ("2026-11-02T16:00", ["2026-11-02T16:00Z"]),
        ("2026-11-03T17:00", []),
    ):
        with at(moment) as now:
            assert carried_out(home, now) == ran
    with at("2026-11-03T18:00"):
        outcomes = [(item["slot"], item["outcome"]) for item in home.json("why", "nine")["occurrences"]]
    assert outcomes[1:] == [
        ("2026-11-03T09:00:00-07:00", "skipped"),
        ("2026-11-02T09:00:00-07:00", "ran"),
        ("2026-11-01T09:00:00-07:00", "ran"),
        ("2026-10-31T09:00:00-07:00", "ran"),
    ]


def test_what_was_decided_before_is_undone_after(home: TestHome, tmp_path: Path) -> None:
    with zone_data(tmp_path, "2025b", VANCOUVER_BEFORE), at("2026-10-31T12:00"):
        home.json("add", "every day at 9am", "--script", "hi.sh", "--name", "Nine", "--timezone", "America/Vancouver")
        home.json("skip", "nine", "2026-11-03T09:00")
    with at("2026-10-31T13:00"):
        home.json("undo")
        slots = home.json("next", "nine", "-n", "5")["slots"]
        assert [(slot["slot_utc"][8:16], slot["note"]) for slot in slots] == [
            ("31T16:00", None), ("01T16:00", None), ("02T16:00", None), ("03T16:00", None), ("04T16:00", None),
        ]  # fmt: skip
        assert home.sql("SELECT count(*) FROM occurrence WHERE slot_at % 86400000000 = 17 * 3600000000") == [(0,)]


def test_looking_writes_nothing_when_the_version_is_the_same(home: TestHome) -> None:
    home.json("add", "every day at 9am", "--script", "hi.sh", "--name", "Nine")
    before = home.sql("SELECT * FROM zone_data"), home.sql("SELECT count(*) FROM journal")
    assert before[0] == [(1, version())]
    home.json("next", "nine")
    home.json("why", "nine")
    assert (home.sql("SELECT * FROM zone_data"), home.sql("SELECT count(*) FROM journal")) == before
