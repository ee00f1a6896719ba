"""Jobs: finding them, steering one, making and editing them. One home and one gateway for all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.process import TestHome, until
from tests.support.showcase import furnish
from tests.support.web import Served, accessible, served, told, visit, visiting

FAST = {"timeout": 30_000}  # on a machine where much else is tried at once
HOSTILE = "<img src=x onerror=alert(1)> \"'& שלום 🌊 " + "w" * 120
MANY = 55  # with those of the home, more than one page of the list


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home with a past, with a name from hell, and with more jobs than a page has."""
    home = TestHome(tmp_path_factory.mktemp("jobs") / "home", inside=True)
    home.horae("init")
    furnish(home)
    (home.path / "scripts" / "x.sh").write_text("#!/bin/sh\ncat\n", encoding="utf-8")
    home.horae("add", "on demand", "--name", HOSTILE, "--script", "x.sh")
    for number in range(MANY):
        text = f"---\nname: Zebra {number:02}\nschedule: every day at 3:00\nagent: false\nscript: x.sh\n---\n"
        (home.path / "jobs" / f"zebra-{number:02}.md").write_text(text, encoding="utf-8")
    home.horae("doctor", status=None)
    with served(home) as made:
        yield made


@pytest.fixture(scope="module")
def page(chrome: Any, shown: Served) -> Iterator[Any]:
    """One visitor."""
    with visiting(chrome, shown) as made:
        made.set_default_timeout(30_000)
        yield made


def yes(page: Any, text: str | None = None) -> None:
    """Agree in the dialog."""
    dialog = page.get_by_role("dialog")
    if text is not None:
        dialog.get_by_role("textbox").fill(text)
    dialog.locator("#ask-yes").click()


def go(page: Any, shown: Served, path: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{shown.address}{path}")


def refused(page: Any, status: int) -> None:
    """The browser has complained of an answer that was a refusal, and of nothing else."""
    assert page.troubles, "nothing was refused"
    assert all(str(status) in trouble for trouble in page.troubles), page.troubles
    page.troubles.clear()


def test_the_list_shows_what_became_of_each_and_finds_as_one_types(page: Any, shown: Served) -> None:
    go(page, shown, "/jobs")
    rows = page.locator("table.jobs tbody tr[id]")
    assert rows.count() == 50
    disk = rows.filter(has_text="Disk watch")
    marks = disk.locator(".mark")
    assert marks.count() == 16
    assert [mark.get_attribute("class") for mark in marks.all()][-3:] == ["mark mark-failed"] * 3
    assert "failed" in marks.last.inner_text(), "a mark says what it is, not by its colour alone"
    assert "it was to run once" in rows.filter(has_text="Move the wiki").inner_text()
    page.get_by_role("button", name="More jobs").click()
    until(lambda: rows.count() == 50 + MANY + 11 - 50 + 1, "all of them are there")
    ids = [row.get_attribute("id") for row in rows.all()]
    assert len(ids) == len(set(ids))
    page.get_by_role("searchbox").press_sequentially("harbo")
    until(lambda: rows.count() == 1, "one is found")
    assert page.url.endswith("/jobs?search=harbo")
    page.get_by_role("searchbox").fill("no such thing")
    page.get_by_text("No job has “no such thing”").wait_for(**FAST)
    go(page, shown, "/jobs")
    tabs = page.get_by_role("navigation", name="Jobs by state")
    tabs.get_by_role("link", name="Completed 1").click()
    page.wait_for_url("**/jobs?state=completed")
    assert rows.count() == 1
    rows.first.get_by_role("button", name="Revive").click()
    page.wait_for_url("**/edit#schedule")
    assert page.evaluate("document.activeElement.id") == "schedule"


def test_a_name_from_hell_is_text_and_breaks_no_page(page: Any, shown: Served) -> None:
    go(page, shown, "/jobs?search=onerror")
    link = page.locator("a.title").filter(has_text="<img src=x")
    assert HOSTILE in link.inner_text()
    accessible(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    link.click()
    page.get_by_role("heading", level=1).wait_for(**FAST)
    assert HOSTILE in page.get_by_role("heading", level=1).inner_text()
    accessible(page)
    go(page, shown, page.url.removeprefix(shown.address) + "/edit")
    assert page.locator("#name").input_value() == HOSTILE
    assert page.locator("img").count() == 0


def test_one_job_is_steered_from_its_page(page: Any, shown: Served) -> None:
    go(page, shown, "/jobs/fetch-mail")
    page.get_by_role("button", name="Check").click()
    page.get_by_role("heading", name="It could run now").wait_for(**FAST)
    slots = page.locator("section.card").filter(has=page.get_by_role("heading", name="Next slots")).locator("li")
    slots.first.get_by_role("button", name="Skip").click()
    told(page, "Will skip")
    slots.first.get_by_role("button", name="Put back").click()
    told(page, "Put the slot")
    slots.first.get_by_text("Why").click()
    slots.first.locator(".decisions").wait_for(**FAST)
    assert "ann" in slots.first.locator(".decisions").inner_text()
    page.get_by_role("button", name="Pause").click()
    yes(page, "the provider is down")
    page.get_by_text("the provider is down").wait_for(**FAST)
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Pause").wait_for(**FAST)
    page.get_by_role("button", name="Run now").click()
    yes(page, "only the urgent ones")
    told(page, "Ordered run")
    until(lambda: shown.home.look("runs", "fetch-mail")["runs"][0]["trigger"] == "manual", "it has run")
    page.locator("tbody").get_by_text("completed").first.wait_for(**FAST)
    page.get_by_role("button", name="Remove").click()
    yes(page)
    page.wait_for_url("**/jobs")
    told(page, "Removed Fetch mail").get_by_role("button", name="Undo").click()
    until((shown.home.path / "jobs" / "fetch-mail.md").exists, "its file is back")


def test_all_jobs_are_paused_and_that_is_taken_back(page: Any, shown: Served) -> None:
    go(page, shown, "/jobs?search=zebra")
    page.get_by_text("All jobs").click()
    page.get_by_role("button", name="Pause all").click()
    yes(page, "a storm")
    notice = told(page, "paused")
    page.locator("tbody").get_by_text("a storm").first.wait_for(**FAST)
    notice.get_by_role("button", name="Undo").click()
    until(lambda: not shown.home.look("list", "--state", "paused")["jobs"], "none is paused")


def test_a_job_is_made_while_one_sees_what_it_means(page: Any, shown: Served) -> None:
    go(page, shown, "/jobs")
    page.keyboard.press("n")
    page.wait_for_url("**/jobs/new")
    page.locator("#schedule").fill("every dya at 9")
    page.locator("[data-wrong=schedule]").get_by_text("'dya'").wait_for(**FAST)
    assert page.locator("#filetext .bad").inner_text() == "schedule: every dya at 9"
    page.get_by_role("button", name="Make the job").click()
    page.get_by_role("alert").filter(has_text="not right yet").wait_for(**FAST)
    assert page.evaluate("document.activeElement.id") == "schedule"
    refused(page, 422)
    page.locator("#schedule").fill("sundays at 2:30")
    page.locator("#meaning").get_by_text("at 02:30 on Sundays").wait_for(**FAST)
    assert page.locator("#meaning ol li").count() == 5
    page.locator("#name").fill("Water: the plants")
    page.get_by_label("A script").check()
    page.locator("#script").fill("x.sh")
    page.get_by_role("button", name="As file").click()
    text = page.locator("#text")
    until(lambda: "script: x.sh" in text.input_value(), "the form is in the file")
    text.fill(text.input_value().replace("---\nname", "---\n# for the balcony\nname", 1) + "\n")
    page.get_by_role("button", name="Form").click()
    until(lambda: "# for the balcony" in page.locator("#filetext").inner_text(), "the file is in the form")
    assert page.locator("#name").input_value() == "Water: the plants"
    accessible(page)
    page.get_by_role("button", name="Make the job").click()
    page.get_by_role("heading", name="Water: the plants").wait_for(**FAST)
    told(page, "Added Water: the plants")
    written = (shown.home.path / "jobs" / "water-the-plants.md").read_text(encoding="utf-8")
    assert "# for the balcony" in written
    assert "agent: false" in written


def test_an_edit_keeps_what_it_does_not_touch_and_whoever_was_faster_wins(page: Any, shown: Served) -> None:
    path = shown.home.path / "jobs" / "nightly-backup.md"
    go(page, shown, "/jobs/nightly-backup/edit")
    page.locator("#wall").fill("3h")
    page.locator("#filetext").get_by_text("wall: 3h").wait_for(**FAST)
    assert "# before the disks sleep" in page.locator("#filetext").inner_text()
    theirs = path.read_text(encoding="utf-8").replace("23:30", "23:45")
    path.write_text(theirs, encoding="utf-8")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Somebody has changed the file meanwhile").wait_for(**FAST)
    refused(page, 409)
    assert "-schedule: every day at 23:45" in page.locator(".diff").inner_text()
    assert path.read_text(encoding="utf-8") == theirs, "nothing was written"
    assert page.locator("#wall").input_value() == "3h", "and nothing was lost"
    page.get_by_role("button", name="Put my changes on theirs").click()
    page.locator("#meaning").get_by_text("at 23:45 every day").wait_for(**FAST)
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(lambda url: not url.endswith("/edit"))
    written = path.read_text(encoding="utf-8")
    assert "23:45" in written
    assert "wall: 3h" in written
    assert "name: Nightly backup # before the disks sleep" in written


def test_a_broken_file_is_mended_as_text(page: Any, shown: Served) -> None:
    go(page, shown, "/jobs/digest")
    page.get_by_role("link", name="Mend the file").click()
    page.get_by_text("Look at line 3").wait_for(**FAST)
    page.locator("#text").fill(page.locator("#text").input_value().replace("every dya at 9", "every day at 9:00"))
    page.locator("#meaning").get_by_text("at 09:00 every day").wait_for(**FAST)
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(lambda url: "/edit" not in url)
    until(lambda: page.locator("h1 .state-active").count() == 1, "it is active")


def test_pages_of_jobs_are_accessible_in_both_schemes_and_on_a_phone(page: Any, shown: Served) -> None:
    for path in ("/jobs?search=disk", "/jobs/disk-watch", "/jobs/harbour-tides/edit"):
        go(page, shown, path)
        accessible(page)


def test_who_may_only_operate_cannot_change_definitions(chrome: Any, shown: Served) -> None:
    page = chrome.new_context().new_page()
    page.goto(shown.link("--role", "operate"))
    page.wait_for_url(f"{shown.address}/")
    page.goto(f"{shown.address}/jobs/harbour-tides")
    assert page.get_by_role("button", name="Skip").count()
    for name in ("Edit", "Remove", "New job"):
        assert page.get_by_role("button", name=name).count() == 0, name
    page.goto(f"{shown.address}/jobs/new")
    assert "admin" in page.locator("main").inner_text()
    page.context.close()


def test_what_was_removed_meanwhile_is_told_and_a_name_from_hell_in_the_refusal_stays_text(
    chrome: Any, shown: Served
) -> None:
    page = visit(chrome, shown)  # with its policy: what were parsed as markup would be refused and told
    shown.home.horae("add", "on demand", "--name", "Fleeting", "--script", "x.sh")
    go(page, shown, "/jobs/fleeting")
    page.get_by_role("heading", name="Fleeting").wait_for(**FAST)
    removed = shown.home.json("remove", "fleeting")
    page.get_by_text("What was shown here is not there any more.").wait_for(**FAST)
    assert page.get_by_role("button", name="Run now").count() == 0
    shown.home.json("undo", str(removed["entry"]))
    page.get_by_role("heading", name="Fleeting").wait_for(**FAST)
    assert not [each for each in page.troubles if "404" not in each], page.troubles
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url(f"{shown.address}/runs")
    page.keyboard.press("n")
    page.wait_for_url(f"{shown.address}/jobs/new")
    page.context.close()


LATE = """() => {
  const known = window.fetch;
  window.fetch = async (url, asked) => {
    const answer = await known(url, asked);
    if (String(url).includes("/do/remove")) await new Promise((go) => setTimeout(go, 2500));
    return answer;
  };
}"""


def test_whoever_removes_a_job_goes_on_to_the_list_though_news_are_faster_than_the_answer(
    chrome: Any, shown: Served
) -> None:
    page = visit(chrome, shown)
    shown.home.horae("add", "on demand", "--name", "Unloved", "--script", "x.sh")
    go(page, shown, "/jobs/unloved")
    page.evaluate(LATE)
    page.get_by_role("button", name="Remove").click()
    yes(page)
    page.wait_for_url("**/jobs")
    told(page, "Removed Unloved")
    assert not page.troubles, page.troubles
    page.context.close()
