"""Health in a real browser: what is broken and what mends it, incidents, test messages with what they came to. One home."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.post import KEY, hook
from tests.support.process import TestHome
from tests.support.receivers import HttpServer, says
from tests.support.showcase import furnish
from tests.support.web import Served, accessible, card, served, visiting

FAST = {"timeout": 30_000}


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with HttpServer(answer=says("403 Forbidden", "not <b>you</b>")).running() as made:
        yield made


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, server: HttpServer) -> Iterator[Served]:
    home = TestHome(tmp_path_factory.mktemp("health") / "home", inside=True)
    home.horae("init")
    furnish(home)
    with (home.path / "config.toml").open("a", encoding="utf-8") as config:
        config.write(f"\n{hook(server, 'pager')}")
    secrets = home.path / "secrets.toml"
    secrets.write_text(f'HOOK = "{KEY}"\n')
    secrets.chmod(0o600)
    with served(home) as made:
        yield made


@pytest.fixture(scope="module")
def page(chrome: Any, shown: Served) -> Iterator[Any]:
    with visiting(chrome, shown) as made:
        yield made


@pytest.fixture
def health(page: Any, shown: Served) -> Any:
    """The page, opened anew, once the doctor has looked."""
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{shown.address}/health")
    page.locator("#doctor section").wait_for(**FAST)
    return page


def test_what_is_broken_is_told_with_what_mends_it(health: Any) -> None:
    findings = card(health, "Findings").inner_text()
    for words in ("quarantined", "every dya at 9", "horae resolve"):
        assert words in findings
    copies = card(health, "Findings").get_by_role("button", name="Copy the remedy of unknown")
    assert copies.get_attribute("data-copy").startswith("horae resolve ")
    house = card(health, "Store and versions").inner_text()
    assert "SQLite, a file of" in house
    assert "Zone data" in house
    assert "of $1.20" in card(health, "Spent today").inner_text()
    assert "alive" in card(health, "Gateways").inner_text()


def test_what_takes_a_while_says_so_meanwhile(health: Any) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    health.route("**/health/check", hold)
    button = health.get_by_role("button", name="Check all jobs")
    button.click()
    busy = health.locator("#check [aria-busy=true]")
    busy.wait_for(**FAST)
    assert "each job" in busy.inner_text()
    assert button.is_disabled()
    held[0].continue_()
    card(health, "Preflight of all jobs").wait_for(**FAST)
    health.unroute("**/health/check")
    assert health.locator("[aria-busy=true]").count() == 0
    assert button.is_enabled()


def test_an_incident_is_put_off_for_as_long_as_one_chooses(health: Any, shown: Served) -> None:
    incidents = card(health, "Incidents")
    incidents.get_by_text("Quiet for…").click()
    incidents.get_by_role("button", name="1 day", exact=True).click()
    health.locator(".notice", has_text="snoozed for 1 day").wait_for(**FAST)
    incidents.locator(".state-snoozed").first.wait_for(**FAST)
    (incident,) = [one for one in shown.home.json("incidents", "--all")["incidents"] if one["id"] == "5d0c8a1f"]
    assert incident["state"] == "snoozed"


def test_a_test_message_shows_what_each_address_answered(health: Any, server: HttpServer) -> None:
    health.get_by_role("button", name="Send a test message to pager").click()
    told = health.locator("#tested section")
    told.locator(".state-failed", has_text="refused").wait_for(**FAST)
    assert "403" in told.inner_text()
    assert told.locator("b").count() == 0
    server.answer = says("200 OK", "taken")
    health.get_by_role("button", name="Send a test message to pager").click()
    told.locator(".state-delivered").wait_for(**FAST)
    assert "It answered" in told.inner_text()
    assert len(server.got) == 2
    accessible(health)


def test_what_is_refused_leaves_what_was_there(health: Any) -> None:
    before = health.locator("#doctor").inner_text()
    health.route("**/health/doctor", lambda route: route.abort())
    health.get_by_role("button", name="Look again").click()
    health.locator(".trouble").first.wait_for(**FAST)
    health.unroute("**/health/doctor")
    assert health.locator("#doctor").inner_text() == before
    health.troubles[:] = [one for one in health.troubles if "ERR_FAILED" not in one and "Failed to fetch" not in one]
