"""The agenda: the past and the future meet at now, once; clock changes, moves and pauses are told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.app.agenda import agenda
from horae.app.trends import trends
from horae.errors import Invalid
from horae.wiring import House
from tests.support.process import TestHome

DAILY = 'name: {name}\nschedule: "{schedule}"\ntimezone: Europe/Paris\nagent: false\nscript: a.sh'
JOBS = {"tides": "every day at 2:30", "mail": "every 1 minute", "paused": "every day at 12:00"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> TestHome:
    """A home without a gateway: what has a row is what these tests write, and what people decide."""
    home = TestHome(tmp_path_factory.mktemp("agenda") / "home", inside=True)
    home.horae("init")
    home.config('timezone = "Europe/Paris"\n')
    (home.path / "scripts" / "a.sh").write_text("echo hi\n", encoding="utf-8")
    for slug, schedule in JOBS.items():
        text = f"---\n{DAILY.format(name=slug.capitalize(), schedule=schedule)}\n---\n"
        (home.path / "jobs" / f"{slug}.md").write_text(text, encoding="utf-8")
    home.horae("list")
    home.horae("pause", "paused")
    return home


@pytest.fixture(scope="module")
def ask(kept: TestHome) -> Any:
    house = House(str(kept.path))
    house.exists()
    house.freshen()
    return lambda start, end, **more: agenda(house.home, start=start, end=end, **more)


def days(found: dict[str, Any], job: str) -> list[str]:
    return [item["due"] for item in found["items"] if item["job"] == job]


def test_a_day_of_a_clock_change_has_its_hours_and_says_so(ask: Any) -> None:
    found = ask("2027-03-27", "2027-03-30")
    assert found["start"] == "2027-03-27T00:00:00+01:00"
    assert found["end"] == "2027-03-30T00:00:00+02:00"
    (change,) = found["clock_changes"]
    assert (change["day"], change["shift"]) == ("2027-03-28", "+1h")
    assert days(found, "tides") == [
        "2027-03-27T02:30:00+01:00",
        "2027-03-28T03:30:00+02:00",
        "2027-03-29T02:30:00+02:00",
    ]
    shifted = next(item for item in found["items"] if item["due"].startswith("2027-03-28T03:30"))
    assert "02:30" in shifted["note"]
    counts = {one["day"]: one["count"] for one in found["summaries"] if one["job"] == "mail"}
    assert counts == {"2027-03-27": 1440, "2027-03-28": 1380, "2027-03-29": 1440}
    autumn = ask("2027-10-31", "2027-11-01")
    assert [one["count"] for one in autumn["summaries"] if one["job"] == "mail"] == [1500]
    assert [item["shift"] for item in autumn["clock_changes"]] == ["-1h"]


def test_days_are_those_of_the_zone_that_is_asked_for(ask: Any) -> None:
    found = ask("2027-06-01", "2027-06-02", timezone="Pacific/Auckland", job="tides")
    assert found["start"] == "2027-06-01T00:00:00+12:00"
    assert days(found, "tides") == ["2027-06-01T12:30:00+12:00"]
    assert found["items"][0]["due_utc"] == "2027-06-01T00:30:00Z"


def test_a_moved_slot_stands_where_it_was_moved_to_and_nowhere_else(ask: Any, kept: TestHome) -> None:
    entry = kept.json("move", "tides", "2027-05-03T02:30", "--to", "2027-05-09T18:00")["entry"]
    assert days(ask("2027-05-03", "2027-05-04"), "tides") == []
    (moved,) = [one for one in ask("2027-05-09", "2027-05-10")["items"] if one["exception"]]
    assert (moved["word"], moved["due"], moved["slot"]) == (
        "moved", "2027-05-09T18:00:00+02:00", "2027-05-03T02:30:00+02:00",
    )  # fmt: skip
    assert moved["entry"] == entry
    assert moved["editable"]
    kept.horae("undo", str(entry))
    assert days(ask("2027-05-03", "2027-05-04"), "tides") == ["2027-05-03T02:30:00+02:00"]


def test_a_paused_job_has_slots_that_say_so(ask: Any) -> None:
    (slot,) = [one for one in ask("2027-05-03", "2027-05-04")["items"] if one["job"] == "paused"]
    assert slot["word"] == "paused"
    assert "will not run" in slot["note"]


def test_what_was_and_what_will_be_meet_at_now_without_a_gap_or_a_double(ask: Any, kept: TestHome) -> None:
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    row = kept.sql("SELECT id FROM job WHERE slug = 'mail'")[0][0]
    kept.sql_write(f"DELETE FROM occurrence WHERE job_id = '{row}'")
    for back in range(1, 4):
        at = int((now - timedelta(minutes=back)).timestamp()) * 1_000_000
        kept.sql_write(
            "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, state, outcome, planned_at, settled_at)"
            f" VALUES ('{back:032x}', '{row}', 'schedule', {at}, {at}, 0, 'settled', 'skipped', {at}, {at})"
        )
    due = int(now.timestamp()) * 1_000_000
    kept.sql_write(
        "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, planned_at)"
        f" VALUES ('{9:032x}', '{row}', 'schedule', {due}, {due}, 0, {due})"
    )
    start, end = now - timedelta(minutes=3), now + timedelta(minutes=6)
    found = ask(start.isoformat(), end.isoformat(), job="mail", listed=1999, a_day=2000)
    around: dict[int, dict[str, Any]] = {}
    for item in found["items"]:
        away = (datetime.fromisoformat(item["due"]) - now) // timedelta(minutes=1)
        if -3 <= away < 6:
            assert away not in around, "each minute once"
            around[away] = item
    assert sorted(around) == list(range(-3, 6))
    assert [around[away]["word"] for away in range(-3, 6)] == ["skipped"] * 3 + ["waiting"] + ["planned"] * 5
    assert [around[away]["editable"] for away in range(-3, 6)] == [False] * 4 + [True] * 5


def test_days_are_told_whole(ask: Any) -> None:
    found = ask("2027-06-01T13:00", "2027-06-02T11:00", job="mail")
    assert (found["start"], found["end"]) == ("2027-06-01T00:00:00+02:00", "2027-06-03T00:00:00+02:00")
    assert [one["count"] for one in found["summaries"]] == [1440, 1440]


def test_missed_slots_on_one_row_are_one_summary_on_each_side_of_an_edge(ask: Any, kept: TestHome) -> None:
    job = kept.sql("SELECT id FROM job WHERE slug = 'tides'")[0][0]
    first, last = (int(datetime.fromisoformat(f"2026-0{month}-10T02:30:00+02:00").timestamp()) for month in (4, 6))
    kept.sql_write(
        "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, state, outcome, planned_at, settled_at,"
        f" span_to, span_count) VALUES ('span', '{job}', 'schedule', {first}000000, {first}000000, 7200, 'settled', 'missed',"
        f" {first}000000, {last}000000, {last}000000, 62)"
    )
    for stretch in (("2026-04-01", "2026-05-01"), ("2026-05-01", "2026-06-01")):
        (span,) = [one for one in ask(*stretch)["summaries"] if one["span"]]
        assert (span["count"], span["by"], span["last"][:10]) == (62, {"missed": 62}, "2026-06-10")
        assert stretch[0] <= span["day"] < stretch[1]


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        ("2027-01-01", "2027-04-01", "62 days"),
        ("2027-01-02", "2027-01-01", "later"),
        ("soon", "2027-01-01", "no instant"),
        ("0001-01-01", "2027-01-01", "too far"),
    ],
)
def test_what_cannot_be_told_is_refused_in_words(ask: Any, start: str, end: str, says: str) -> None:
    with pytest.raises(Invalid, match=says):
        ask(start, end)


def test_trends_of_a_home_in_which_nothing_ran_are_empty_and_whole(kept: TestHome) -> None:
    house = House(str(kept.path))
    house.exists()
    found = trends(house.home, days=7, job="paused")
    assert len(found["by_day"]) == 7
    assert found["total"]["count"] == 0
    assert found["before"] is found["change"] is None
    with pytest.raises(Invalid, match="366"):
        trends(house.home, days=1000)
