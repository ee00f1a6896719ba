"""Runs, health and the journal in a real browser: live output, ends that nobody knows, hostile output, files. One home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.post import hook, job, post_home
from tests.support.process import TestHome, until
from tests.support.receivers import HttpServer, says
from tests.support.showcase import furnish
from tests.support.web import Served, accessible, served, visit

FAST = {"timeout": 30_000}  # on a machine where much else is tried at once
HOSTILE = r"""#!/bin/sh
printf '</script><img src=x onerror=alert(1)>\033[31mred\033[0m \342\200\256evil\n'
head -c 1000000 /dev/zero | tr '\0' 'x'
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = TestHome(tmp_path_factory.mktemp("runs") / "home", inside=True)
    home.horae("init")
    furnish(home)
    home.script(
        "slow.sh", '#!/bin/sh\necho first\nwhile [ ! -e "$HOME/go-on" ] && [ $((n=n+1)) -lt 60 ]; do sleep 0.25; done\n'
    )
    home.script("bad.sh", HOSTILE)
    for name in ("slow", "bad"):
        home.horae("add", "on demand", "--script", f"{name}.sh", "--name", name)
    with served(home) as made:
        yield made


@pytest.fixture(scope="module")
def page(chrome: Any, shown: Served) -> Iterator[Any]:
    made = visit(chrome, shown, bypass_csp=True)
    yield made
    assert not made.troubles, made.troubles
    made.context.close()


def test_what_a_run_prints_appears_while_it_runs_and_its_end_is_told(page: Any, shown: Served) -> None:
    run = shown.home.json("run", "slow")["run_id"]
    until(lambda: shown.home.look("runs", "--state", "running")["runs"], "it runs")
    page.goto(f"{shown.address}/runs/{run}")
    page.locator('[data-stream="stdout"]', has_text="first").wait_for(**FAST)
    assert page.locator(".step-now").count() >= 1
    page.get_by_role("button", name="Cancel").first.click()
    page.locator("#ask-yes").click()
    page.locator("#run h1 .state-cancelled").wait_for(**FAST)
    assert page.locator("#output").get_attribute("data-live") == "no"
    assert "first" in page.locator('[data-stream="stdout"]').inner_text()


def test_hostile_output_is_text_and_its_files_alone_can_be_fetched(page: Any, shown: Served) -> None:
    run = shown.home.json("run", "bad", "--wait", status=None)["run"]
    page.goto(f"{shown.address}/runs/{run['id']}")
    text = page.locator('[data-stream="stdout"]').text_content()
    assert "</script><img src=x onerror=alert(1)>red" in text
    assert "\u202e" not in text
    assert page.locator("#output img").count() == 0
    api = page.context.request
    for name in ("config.toml", "../config.toml", "/etc/passwd", f"state/output/{run['id']}/../../../secrets.toml"):
        assert api.get(f"{shown.address}/runs/{run['id']}/file", params={"name": name}).status == 404
    for name in run["files"]:
        got = api.get(f"{shown.address}/runs/{run['id']}/file", params={"name": name})
        assert got.status == 200
        assert got.headers["content-disposition"].startswith("attachment")
        assert got.headers["x-content-type-options"] == "nosniff"


def test_a_person_says_how_an_unknown_run_ended(page: Any, shown: Served) -> None:
    page.goto(f"{shown.address}/runs?state=unknown")
    page.locator("table a.title").first.click()
    page.get_by_label("How it ended", exact=True).select_option("completed")
    page.get_by_label("How you know, for the record").fill("I looked")
    page.get_by_role("button", name="Say so").click()
    page.locator("#ask-yes").click()
    page.locator("#run h1 .state-completed").wait_for(**FAST)
    assert shown.home.look("runs", "--state", "unknown")["runs"] == []


@pytest.mark.parametrize("path", ["/runs", "/health", "/journal"])
def test_pages_are_accessible(page: Any, shown: Served, path: str) -> None:
    page.goto(f"{shown.address}{path}")
    if path == "/health":
        page.locator("#doctor section").wait_for(**FAST)
    if path == "/journal":
        page.get_by_role("button", name="Verify").click()
        page.locator("#verified section").wait_for(**FAST)
    accessible(page)


def test_the_page_of_an_agents_run_and_of_two_compared_are_accessible(page: Any, shown: Served) -> None:
    runs = [run for run in shown.home.look("runs", "--limit", "200")["runs"] if run["model"] is not None]
    first, second = runs[0]["id"], runs[1]["id"]
    page.goto(f"{shown.address}/runs/{first}")
    page.get_by_role("heading", name="Facts").wait_for(**FAST)
    accessible(page)
    page.goto(f"{shown.address}/runs/{first}/compare/{second}")
    page.get_by_role("heading", level=1).wait_for(**FAST)
    accessible(page)


def test_what_did_not_arrive_is_shown_with_its_reason_and_sent_anew(chrome: Any, tmp_path: Path) -> None:
    home = post_home(tmp_path / "home")
    with HttpServer(answer=says("403 Forbidden", "not you")).running() as server:
        home.config(hook(server))
        job(home, "tides", "count.sh", "hook", "local")
        with served(home) as made:
            run = home.json("run", "tides", "--wait")["run"]["id"]
            page = visit(chrome, made)
            page.goto(f"{made.address}/runs/{run}")
            sent = page.locator("section", has=page.get_by_role("heading", name="Messages"))
            sent.locator(".state-failed").wait_for(**FAST)
            assert "403" in sent.inner_text()
            server.answer = says("200 OK", "taken")
            sent.get_by_role("button", name="Send anew").first.click()
            page.locator("#ask-yes").click()
            sent.locator(".state-delivered").nth(1).wait_for(**FAST)
            assert "Evidence" in sent.inner_text()
            assert len(server.got) == 2
            assert not page.troubles, page.troubles
            page.context.close()


def test_a_run_that_is_not_there_is_said_kindly(page: Any, shown: Served) -> None:
    answer = page.context.request.get(f"{shown.address}/runs/nothere", headers={"accept": "text/html"})
    assert answer.status == 404
    assert "no run has the id" in answer.text()
