"""Today, as somebody sees it who opens the dashboard in the morning. One home and one gateway for most of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.process import TestHome, running, until
from tests.support.showcase import furnish, propose
from tests.support.web import Served, accessible, card, served, told, visit, visiting

HOSTILE = "<script>alert(1)</script> \u202eevil\u202c \"'& 🌊 " + "long" * 40
FAST = {"timeout": 30_000}  # on a machine where much else is tried at once


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home with a past, whose gateway runs."""
    home = TestHome(tmp_path_factory.mktemp("today") / "home", inside=True)
    home.horae("init")
    furnish(home)
    body = {"name": "<script>alert(1)</script> 🌊", "schedule": "every 3 days at 8:00", "prompt": "Water the plants."}
    propose(home, kind="job", body=body)
    propose(home, kind="message", body={"target": "local", "text": f"the sea is calm\x07\n{HOSTILE}"}, of="b1b2c3d4")
    with served(home) as made:
        home.horae("run", "reindex")
        yield made
        for run in home.look("runs", "--state", "running")["runs"]:
            home.horae("cancel", run["id"])


@pytest.fixture(scope="module")
def at(chrome: Any, shown: Served) -> Iterator[Any]:
    """One visitor."""
    with visiting(chrome, shown) as made:
        yield made


@pytest.fixture
def today(at: Any, shown: Served) -> Any:
    """The page, opened anew."""
    at.set_viewport_size({"width": 1280, "height": 900})
    at.goto(f"{shown.address}/")
    return at


def test_everything_that_matters_is_there_and_nothing_of_it_is_markup(today: Any) -> None:
    assert "Reindex the archive" in card(today, "Running now").inner_text()
    card(today, "Running now").get_by_text("part ").wait_for(**FAST)  # what the run says, a moment later
    assert "harbour-tides" in card(today, "Next").inner_text()
    failed = card(today, "Failed lately").inner_text()
    assert "Disk watch" in failed
    assert "97 % full" in failed
    spent = card(today, "Spent today")
    assert "of $1.20" in spent.inner_text()
    assert spent.locator("progress").first.get_attribute("max") == "1.2"
    waiting = card(today, "Waiting for you").inner_text()
    for words in ("<script>alert(1)</script>", "\\x07", "the sea is calm", "every dya at 9", "switched off"):
        assert words in waiting, words
    assert "\u202e" not in waiting
    assert today.locator("nav [aria-current=page]").inner_text().startswith("Today")
    assert today.locator("#top .pulse").inner_text().strip().endswith("Gateway runs")


def test_it_is_accessible_in_both_schemes_and_on_a_phone(today: Any) -> None:
    today.locator("time[data-when=since]").first.wait_for(**FAST)
    accessible(today)


def test_a_skip_has_a_way_back_and_the_page_follows_what_others_do(today: Any, shown: Served) -> None:
    row = card(today, "Next").locator("li").filter(has_text="harbour-tides").first
    row.get_by_role("button", name="Skip").click()
    notice = told(today, "Will skip")
    row.get_by_text("skipped").first.wait_for(**FAST)
    assert shown.home.look("next", "harbour-tides", "-n", "1")["slots"][0]["note"] == "skipped"
    notice.get_by_role("button", name="Undo").click()
    told(today, "Put the slot")
    row.get_by_role("button", name="Skip").wait_for(**FAST)
    assert shown.home.look("next", "harbour-tides", "-n", "1")["slots"][0]["note"] is None
    shown.home.horae("run", "fetch-mail", "--wait")
    shown.home.horae("pause", "harbour-tides")  # from a terminal: no button of this page was pressed
    row.wait_for(state="detached", **FAST)
    shown.home.horae("resume", "harbour-tides")
    row.wait_for(**FAST)


def test_a_move_asks_when_and_what_is_refused_is_told_beside_it(today: Any, shown: Served) -> None:
    row = card(today, "Next").locator("li").filter(has_text="nightly-backup")
    for text, becomes in (("when the cows come home", None), ("in 26 h", "moved")):
        row.get_by_role("button", name="Move").click()
        dialog = today.get_by_role("dialog")
        dialog.get_by_role("textbox").fill(text)
        dialog.get_by_role("textbox").press("Enter")
        if becomes is None:
            row.get_by_role("alert").wait_for(**FAST)
            assert "cows" in row.get_by_role("alert").inner_text()
            (complaint,) = today.troubles  # of the browser, about the refusal
            assert "422" in complaint
            today.troubles.clear()
        else:
            told(today, "nightly-backup").get_by_role("button", name="Undo").click()
            told(today, "Put the slot")
    row.get_by_role("button", name="Move").click()
    today.keyboard.press("Escape")
    assert today.get_by_role("dialog").count() == 0, "no, and nothing happens"


def test_what_waits_is_answered_with_a_reason(today: Any, shown: Served) -> None:
    proposed = card(today, "Waiting for you").locator("li").filter(has_text="proposes a job")
    proposed.get_by_role("textbox").fill("plants need water")
    with today.expect_response("**/frame**"):  # something changes, and what is being written stays
        shown.home.horae("run", "fetch-mail", "--wait")
    assert proposed.get_by_role("textbox").input_value() == "plants need water"
    proposed.get_by_role("button", name="Approve").click()
    told(today, "Approved a1b2c3d4")
    proposed.wait_for(state="detached", **FAST)
    message = card(today, "Waiting for you").locator("li").filter(has_text="the sea is calm")
    message.get_by_role("button", name="Deny").click()
    told(today, "Denied")
    message.wait_for(state="detached", **FAST)
    unknown = card(today, "Waiting for you").locator("li").filter(has_text="certificates")
    unknown.get_by_role("combobox").select_option("completed")
    unknown.get_by_role("textbox").fill("they are renewed")
    unknown.get_by_role("button", name="Say so").click()
    unknown.wait_for(state="detached", **FAST)
    asks = {ask["id"]: ask for ask in shown.home.look("status")["waiting"] if ask["kind"] == "approval"}
    assert not asks
    runs = shown.home.look("runs", "certificates")["runs"]
    assert "they are renewed" in runs[0]["reason"]
    assert any("script" in job["name"] for job in shown.home.look("list")["jobs"])


def test_an_incident_is_acknowledged_and_a_run_is_ended(today: Any, shown: Served) -> None:
    trouble = card(today, "Failed lately").locator("li").filter(has_text="Disk watch").first
    trouble.get_by_role("button", name="Acknowledge").click()
    trouble.get_by_text("acknowledged").wait_for(**FAST)
    live = card(today, "Running now").locator("li").filter(has_text="Reindex")
    live.get_by_role("button", name="Cancel").click()
    today.get_by_role("dialog").get_by_role("button", name="Keep as it is").click()
    live.get_by_role("button", name="Cancel").click()
    today.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
    live.wait_for(state="detached", **FAST)
    assert shown.home.look("runs", "reindex")["runs"][0]["state"] == "cancelled"


def test_who_may_only_look_sees_no_button_that_would_be_refused(chrome: Any, shown: Served) -> None:
    page = chrome.new_context().new_page()
    page.goto(shown.link("--role", "read"))
    page.wait_for_url(f"{shown.address}/")
    page.get_by_role("heading", name="Today", exact=True).wait_for(**FAST)
    assert page.locator("#today [data-do]").count() == 0
    assert page.get_by_role("link", name="New job").count() == 0
    refused = page.evaluate(
        "() => horae.send('POST', '/do/skip', {job: 'harbour-tides', slot: 'next'}).then(() => null, (no) => no)"
    )
    assert refused["code"] == "refused"
    assert "operate" in refused["detail"]
    page.context.close()


def test_the_keyboard_reaches_everything_and_colours_are_kept(today: Any, shown: Served) -> None:
    today.keyboard.press("Tab")
    assert today.evaluate("document.activeElement.className") == "skip"
    today.keyboard.press("Enter")
    assert today.evaluate("document.activeElement.id") == "main"
    today.keyboard.press("?")
    assert "New job" in today.get_by_role("dialog").inner_text()
    today.keyboard.press("Escape")
    today.get_by_role("button", name="Colours").click()
    today.get_by_role("button", name="Colours").click()
    assert today.evaluate("document.documentElement.dataset.theme") == "dark"
    today.keyboard.press("g")
    today.keyboard.press("j")
    today.wait_for_url(f"{shown.address}/jobs")
    assert today.evaluate("document.documentElement.dataset.theme") == "dark"
    today.keyboard.press("/")
    assert today.evaluate("document.activeElement.type") == "search"
    today.get_by_role("button", name="Colours").click()
    today.set_viewport_size({"width": 360, "height": 740})
    assert not today.get_by_role("navigation", name="Pages").is_visible()
    today.get_by_role("button", name="Menu").click()
    assert today.get_by_role("navigation", name="Pages").is_visible()


def test_the_first_day_is_friendly_and_an_outage_is_said_until_it_is_over(chrome: Any, tmp_path: Path) -> None:
    home = TestHome(tmp_path / "home", inside=True)
    home.horae("init")
    with served(home) as first:
        page = visit(chrome, first, bypass_csp=True)
        assert "Welcome to Horae" in page.locator("main").inner_text()
        accessible(page)
        lock = json.loads((home.path / "state" / "gateway.lock").read_text(encoding="utf-8"))
        port = lock["web"].rpartition(":")[2]
        assert not page.troubles, page.troubles
    page.get_by_role("alert").filter(has_text="the gateway does not answer").wait_for(timeout=40_000)
    (home.path / "scripts" / "hi.sh").write_text("#!/bin/sh\necho hi\n", encoding="utf-8")
    home.horae("add", "every day at 9:00", "--name", "Say hi", "--script", "hi.sh")
    with running(home, "--port", port):
        page.get_by_role("heading", name="Next", exact=True).wait_for(timeout=40_000)  # it has loaded itself anew
        until(lambda: not page.locator("#outage").is_visible(), "the banner is gone")
    page.context.close()
