"""`calendar` with policies: excluded slots are there and are not counted; a spread run stands where it is due."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from horae.core.spread import spread_offset_s
from tests.support.process import TestHome
from tests.unit.cli.test_calendar import drawn

FROM = ("--from", "2099-03-23")  # a Monday
CONFIG = '[calendars.market]\ndates = ["2099-03-25"]\n\n[calendars.nights]\nhours = ["22:00-07:00"]\n'


def runs(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [run for day in answer["days"] for run in day["runs"]]


def with_calendars(home: TestHome) -> TestHome:
    config = home.path / "config.toml"
    config.write_text((config.read_text() if config.exists() else "") + CONFIG)
    return home


def test_an_excluded_slot_is_marked_with_the_reason_and_is_no_collision(
    home: TestHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_calendars(home)
    home.json("add", "weekdays at 9am", "--script", "hi.sh", "--name", "Mail", "--exclude", "market")
    home.json("add", "weekdays at 9am", "--script", "hi.sh", "--name", "Post")
    answer = home.json("calendar", *FROM, "--days", "5")
    mail = {run["slot"][:10]: run for run in runs(answer) if run["job"] == "mail"}
    assert [day for day, run in mail.items() if "excluded" in run["marks"]] == ["2099-03-25"]
    assert mail["2099-03-25"]["note"] == "excluded by market: 2099-03-25"
    assert [item["at"][:10] for item in answer["collisions"]] == [
        "2099-03-23",
        "2099-03-24",
        "2099-03-26",
        "2099-03-27",
    ]
    for columns in (60, 160):
        screen = " ".join(" ".join(drawn(monkeypatch, answer, columns)).split())
        assert "×09:00" in screen.replace("× ", "×")
        assert "excluded by market: 2099-03-25" in screen


def test_a_dense_job_is_counted_with_what_may_be_excluded_and_that_is_said(home: TestHome) -> None:
    with_calendars(home)
    home.json("add", "*/15 * * * *", "--script", "hi.sh", "--name", "Beat", "--exclude", "nights")
    answer = home.json("calendar", *FROM, "--days", "2")
    assert [item["count"] for day in answer["days"] for item in day["summaries"]] == [96, 96]
    assert answer["warnings"] == ["the counts of beat include slots that nights may exclude"]


def test_a_spread_run_stands_on_the_day_on_which_it_is_due(home: TestHome) -> None:
    home.write("late", id="0c1d2e3f4a5b", schedule="every day at 23:50", script="hi.sh", spread="6h")
    answer = home.json("calendar", *FROM, "--days", "3")
    off = timedelta(seconds=spread_offset_s(answer["jobs"][0]["job_id"], 6 * 3600))
    assert off > timedelta(minutes=10)
    for day in answer["days"]:
        (run,) = day["runs"]
        assert run["due"][:10] == day["date"] > run["slot"][:10]
        assert datetime.fromisoformat(run["due"]) - datetime.fromisoformat(run["slot"]) == off
        assert run["time"] == f"{datetime.fromisoformat(run['due']):%H:%M:%S}".removesuffix(":00")
