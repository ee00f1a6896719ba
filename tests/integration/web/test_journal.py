"""The journal in a real browser: sentences, filters, older pages, an undo, whether it is whole. One home."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.process import new_home
from tests.support.web import Served, accessible, served, visiting

FAST = {"timeout": 30_000}
HOSTILE = "<img src=x onerror=alert(1)> \u202eevil"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = new_home(tmp_path_factory.mktemp("journal") / "home")
    home.inside = True
    home.script("count.sh", "echo one\n")
    for slug in ("invoices", *(f"job{number}" for number in range(10))):
        home.write(slug, schedule="0 9 * * 1", script="count.sh")
    home.horae("doctor", status=None)  # reads the files
    for _ in range(5):  # more than a page holds
        home.horae("pause", "--all", "--reason", HOSTILE)
        home.horae("resume", "--all")
    home.horae("pause", "invoices", "--reason", "until Monday")
    with served(home) as made:
        yield made


@pytest.fixture(scope="module")
def page(chrome: Any, shown: Served) -> Iterator[Any]:
    with visiting(chrome, shown) as made:
        yield made


def entries(page: Any) -> Any:
    return page.locator(".journal > li:not(.more)")


def test_entries_are_sentences_and_all_of_them_can_be_reached(page: Any, shown: Served) -> None:
    page.goto(f"{shown.address}/journal")
    assert entries(page).first.inner_text().strip()
    assert page.get_by_text("paused the job: until Monday").count() == 1
    assert page.locator(".journal img").count() == 0
    assert "\u202e" not in page.locator(".journal").inner_text()
    before = entries(page).count()
    while page.get_by_role("button", name="More entries").count():
        page.get_by_role("button", name="More entries").click()
        page.wait_for_function("(n) => document.querySelectorAll('.journal > li:not(.more)').length > n", arg=before)
        before = entries(page).count()
    numbers = entries(page).evaluate_all("(all) => all.map((one) => Number(one.id.slice(6)))")
    assert numbers == list(range(max(numbers), 0, -1))
    page.get_by_text("This is where the journal begins.").wait_for(**FAST)


def test_it_is_narrowed_and_a_decision_is_undone_there(page: Any, shown: Served) -> None:
    page.goto(f"{shown.address}/journal")
    page.get_by_label("Job", exact=True).fill("invoices")
    page.get_by_label("What").select_option("paused")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url("**job=invoices**")
    assert entries(page).count() == 6
    assert page.get_by_label("What").input_value() == "paused"
    newest = entries(page).first
    newest.get_by_text("Details").click()
    assert '"until Monday"' in newest.locator("pre").inner_text()
    accessible(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    newest.get_by_role("button", name="Undo entry").click()
    page.locator(".notice").first.wait_for(**FAST)
    assert shown.home.json("show", "invoices")["state"]["state"] == "active"
    page.reload()
    newest.get_by_text("taken back").wait_for(**FAST)
    page.get_by_role("link", name="Clear").click()
    page.wait_for_url(f"{shown.address}/journal")


def test_what_is_nowhere_is_said_and_a_strange_job_is_refused(page: Any, shown: Served) -> None:
    page.goto(f"{shown.address}/journal?what=never_heard_of")
    page.get_by_text("No entry is like that.").wait_for(**FAST)
    answer = page.context.request.get(f"{shown.address}/journal?job=no-such-job", headers={"accept": "text/html"})
    assert answer.status == 404


def test_it_is_verified_and_what_is_broken_is_told(page: Any, shown: Served) -> None:
    page.goto(f"{shown.address}/journal")
    page.get_by_role("button", name="Verify").click()
    page.locator("#verified", has_text="The journal is whole").wait_for(**FAST)
    assert page.locator("#verified [aria-busy]").count() == 0
