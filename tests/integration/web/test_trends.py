"""Trends in a real browser: charts, and tables that say the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.process import TestHome
from tests.support.showcase import furnish
from tests.support.web import Served, accessible, served, visiting

FAST = {"timeout": 30_000}  # on a machine where much else is tried at once


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home with three weeks behind it."""
    home = TestHome(tmp_path_factory.mktemp("trends") / "home", inside=True)
    home.horae("init")
    furnish(home)
    home.horae("add", "every day at 12:00", "--name", "<img src=x onerror=alert(1)>", "--script", "mail.sh")
    with served(home) as made:
        yield made


@pytest.fixture(scope="module")
def at(chrome: Any, shown: Served) -> Iterator[Any]:
    """One visitor."""
    with visiting(chrome, shown) as made:
        yield made


def opened(page: Any, shown: Served, query: str = "") -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{shown.address}/trends?{query}")


def drawn(page: Any) -> list[bool]:
    """Of each chart, whether anything is on it."""
    page.locator("[data-chart] canvas").last.wait_for(**FAST)
    return page.evaluate(
        """() => [...document.querySelectorAll("[data-chart] canvas")].map((canvas) => canvas.getContext("2d")
             .getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value !== 0))"""
    )


def test_charts_are_drawn_and_the_table_says_what_rest_says(at: Any, shown: Served) -> None:
    opened(at, shown)
    assert drawn(at) == [True] * 4
    told = shown.api("read").get("/api/v1/trends", params={"days": 30}).json()
    assert len(told["by_day"]) == 30
    assert told["total"]["count"] == sum(day["count"] for day in told["by_day"]) > 800
    assert told["total"]["outcomes"]["failed"] == sum(row["outcomes"]["failed"] for row in told["jobs"]) > 0
    at.get_by_text("Show as table").click()
    rows = at.locator("#trends-table tbody tr")
    assert rows.count() == 30
    newest, day = rows.first.inner_text(), told["by_day"][-1]
    assert newest.startswith(day["day"])
    busy = next(one for one in told["by_day"] if one["outcomes"]["completed"] > 20)
    assert f"{busy['outcomes']['completed']}" in rows.filter(has_text=busy["day"]).inner_text()
    totals = at.locator(".totals").inner_text()
    assert f"{told['total']['count']:,}" in totals


def test_news_leave_open_what_somebody_has_opened(at: Any, shown: Served) -> None:
    opened(at, shown)
    assert drawn(at) == [True] * 4
    at.get_by_text("Show as table").click()
    with at.expect_response("**/trends/part**"):
        at.evaluate("document.body.dispatchEvent(new CustomEvent('horae:changed', {bubbles: true}))")
    at.wait_for_function("!document.querySelector('#trends.htmx-request')")
    assert at.locator("#trends-table tbody tr").first.is_visible()
    assert drawn(at) == [True] * 4


def test_a_period_and_a_job_are_chosen_and_kept_in_the_address(at: Any, shown: Served) -> None:
    opened(at, shown)
    at.get_by_role("link", name="7 days").click()
    at.wait_for_url("**/trends?days=7")
    assert at.locator("#trends-table tbody tr").count() == 7
    assert at.locator(".change").count(), "there is a week before to compare with"
    at.locator("#trends-job").select_option("disk-watch")
    at.wait_for_url("**job=disk-watch**")
    assert at.locator("section table.fold tbody tr").count() == 1
    assert "days=7" in at.url
    told = shown.api("read").get("/api/v1/trends", params={"days": 7, "job": "disk-watch"}).json()
    assert {row["job"] for row in told["jobs"]} == {"disk-watch"}
    assert told["total"]["outcomes"]["failed"] == 3


def test_a_job_that_never_ran_says_so(at: Any, shown: Served) -> None:
    slug = next(job["slug"] for job in shown.home.look("list")["jobs"] if "img" in job["name"])
    opened(at, shown, f"days=30&job={slug}")
    at.get_by_text("Nothing ran in these 30 days").wait_for(**FAST)
    assert not at.locator("main img").count()
    assert "<img src=x" in at.locator("#trends-job").inner_text()
    accessible(at)


def test_charts_follow_the_scheme_and_the_width(at: Any, shown: Served) -> None:
    opened(at, shown)
    at.emulate_media(color_scheme="light")
    drawn(at)
    look = "() => document.querySelector('[data-chart=cost] canvas').toDataURL()"
    light = at.evaluate(look)
    at.emulate_media(color_scheme="dark")
    at.wait_for_function(f"(before) => ({look})() !== before", arg=light)
    at.set_viewport_size({"width": 360, "height": 740})
    at.wait_for_function("document.querySelector('[data-chart] .u-wrap').clientWidth <= 340")
    accessible(at)


def test_what_runs_meanwhile_comes_in_by_itself(at: Any, shown: Served) -> None:
    opened(at, shown, "days=7&job=nightly-backup")
    drawn(at)
    before = int(at.locator(".totals .big").first.inner_text())
    shown.home.horae("run", "nightly-backup", "--wait")
    at.wait_for_function("(was) => Number(document.querySelector('.totals .big').textContent) > was", arg=before)
    assert drawn(at) == [True] * 4


def test_what_cannot_be_asked_is_refused_in_words(shown: Served) -> None:
    reader = shown.api("read")
    assert reader.get("/api/v1/trends", params={"days": 400}).status_code == 422
    assert reader.get("/api/v1/trends", params={"job": "nobody"}).status_code == 404
    refused = reader.get("/api/v1/agenda", params={"start": "2026-01-01", "end": "2026-06-01"})
    assert refused.status_code == 422
    assert "62 days" in refused.json()["detail"]
    assert "when?" in reader.get("/api/v1/agenda", params={"start": "when?", "end": "2026-06-01"}).json()["detail"]
