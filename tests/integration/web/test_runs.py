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
from tests.support.web import Served, accessible, served, visit, visiting

FAST = {"timeout": 30_000}  # on a machine where much else is tried at once
SLOW = """#!/bin/sh
echo first
while [ ! -e "$HORAE_HOME/go-on" ] && [ $((n=n+1)) -lt 240 ]; do sleep 0.25; done
echo last
"""
FILES = """#!/bin/sh
echo kept > "$HORAE_OUTPUT/tides.txt"
ln -s "$HORAE_HOME/config.toml" "$HORAE_OUTPUT/link.txt"
ln -s "$HORAE_HOME" "$HORAE_OUTPUT/home"
echo '{"horae": {"message": "High water", "attachments": ["tides.txt"]}}'
"""
HOSTILE = r"""#!/bin/sh
printf '</script><img src=x onerror=alert(1)>\033[31mred\033[0m \342\200\256evil\n'
head -c 1000000 /dev/zero | tr '\0' 'x'
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = TestHome(tmp_path_factory.mktemp("runs") / "home", inside=True)
    home.horae("init")
    furnish(home)
    home.script("slow.sh", SLOW)
    home.script("bad.sh", HOSTILE)
    home.script("files.sh", FILES)
    for name in ("slow", "bad", "files"):
        home.horae("add", "on demand", "--script", f"{name}.sh", "--name", name)
    with served(home) as made:
        yield made


@pytest.fixture(scope="module")
def page(chrome: Any, shown: Served) -> Iterator[Any]:
    with visiting(chrome, shown) as made:
        yield made


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


def test_its_end_is_told_by_itself_with_the_last_that_it_printed(page: Any, shown: Served) -> None:
    run = shown.home.json("run", "slow")["run_id"]
    until(lambda: shown.home.look("runs", "--state", "running")["runs"], "it runs")
    page.goto(f"{shown.address}/runs/{run}")
    page.locator('[data-stream="stdout"]', has_text="first").wait_for(**FAST)
    assert "last" not in page.locator('[data-stream="stdout"]').inner_text()
    (shown.home.path / "go-on").touch()
    page.locator("#run h1 .state-completed").wait_for(**FAST)
    page.locator('#output[data-live="no"]').wait_for(**FAST)
    assert page.locator('[data-stream="stdout"]').inner_text().split() == ["first", "last"]
    assert page.locator("[data-follow]").is_hidden()
    page.reload()
    assert page.locator('[data-stream="stdout"]').inner_text().split() == ["first", "last"]


def test_files_that_a_run_has_kept_are_there_and_no_link_leads_out_of_them(page: Any, shown: Served) -> None:
    run = shown.home.json("run", "files", "--wait")["run"]
    page.goto(f"{shown.address}/runs/{run['id']}")
    card = page.locator("section", has=page.get_by_role("heading", name="Files"))
    with page.expect_download() as got:
        card.get_by_role("link", name="tides.txt").first.click()
    assert got.value.path().read_text() == "kept\n"
    api, at = page.context.request, f"{shown.address}/runs/{run['id']}/file"
    folder = f"state/output/{run['id']}/files"
    named = shown.home.path / folder / "tides.txt"
    assert f"{folder}/tides.txt" in run["attachments"]
    for name in (
        f"{folder}/link.txt",
        f"{folder}/home/config.toml",
        f"{folder}/./tides.txt",
        f"{folder}/../files/tides.txt",
    ):
        assert api.get(at, params={"name": name}).status == 404, name
    named.unlink()
    named.symlink_to(shown.home.path / "config.toml")  # what is on record is a link now
    assert api.get(at, params={"name": f"{folder}/tides.txt"}).status == 404
    named.unlink()
    folder_of_it = named.parent
    folder_of_it.rename(folder_of_it.with_name("aside"))
    folder_of_it.symlink_to(shown.home.path)
    (shown.home.path / "tides.txt").write_text("outside")
    assert api.get(at, params={"name": f"{folder}/tides.txt"}).status == 404


def test_a_list_is_narrowed_by_day_and_by_what_began_its_runs(page: Any, shown: Served) -> None:
    everything = shown.home.look("runs", "--limit", "500")["runs"]
    day = everything[60]["claimed_at"][:10]
    page.goto(f"{shown.address}/runs")
    page.get_by_label("From").fill(day)
    page.get_by_label("Until").fill(day)
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_role("link", name="Clear").wait_for(**FAST)
    told = page.locator("tbody a.title").count()
    assert told == sum(run["claimed_at"][:10] == day for run in everything)
    page.get_by_role("link", name="Failed", exact=True).click()
    page.wait_for_url("**state=failed**")
    assert page.get_by_label("From").input_value() == day
    page.goto(f"{shown.address}/runs?trigger=manual")
    assert page.locator("tbody a.title").count() == sum(run["trigger"] == "manual" for run in everything) > 0
    answer = page.context.request.get(f"{shown.address}/runs?since=yesterdayish")
    assert answer.status == 200
    assert "is no day and no instant" in answer.text()


def test_who_may_only_look_sees_runs_and_nothing_to_press(chrome: Any, shown: Served) -> None:
    context = chrome.new_context()
    page = context.new_page()
    page.goto(shown.link("--role", "read"))
    page.wait_for_url(f"{shown.address}/")
    run = shown.home.look("runs", "--state", "unknown")["runs"][0]["id"]
    for path in (f"/runs/{run}", "/runs", "/journal", "/health"):
        page.goto(f"{shown.address}{path}")
        page.locator("main h1").wait_for(**FAST)
        assert page.locator("main [data-do], main [hx-post], #replay").count() == 0, path
    context.close()


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
