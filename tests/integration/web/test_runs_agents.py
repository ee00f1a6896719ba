"""The page of an agent's run: its answer as it was meant, what it was sent, a replay with another model, both side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.test_agents import done, job, prepared
from tests.support.modelserver import Asked, ModelServer, Step, say
from tests.support.process import new_home, until
from tests.support.web import Served, accessible, served, visit

FAST = {"timeout": 30_000}
ANSWER = """# Tides

High water at **six**. [The harbour](https://harbour.example/) and [a trap](javascript:alert(1)).

<script>alert(1)</script> ![seen](https://tracker.example/p.png)

| when | how high |
|------|---------:|
| 06:12 | 1.1 m |
"""


def answers(asked: Asked) -> Step:
    return say(ANSWER if "small" in asked.body["model"] else "High water at seven.")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with ModelServer([]) as server:
        server.begin(answers)
        home = prepared(new_home(tmp_path_factory.mktemp("agents") / "home"), server)
        home.inside = True
        job(home, "tides", "Report the <b>tides</b>.", tools="[]")
        with served(home) as made:
            until(lambda: "tides" in home.jobs(), "the job is known")
            yield made


def test_an_agents_run_is_shown_replayed_and_compared(chrome: Any, shown: Served) -> None:
    run = done(shown.home, "tides")["run"]
    page = visit(chrome, shown, bypass_csp=True)
    page.goto(f"{shown.address}/runs/{run['id']}")
    answer = page.get_by_role("region", name="What it said")
    assert answer.locator("h3").inner_text() == "Tides"
    assert answer.locator("td").first.inner_text() == "06:12"
    assert "<script>alert(1)</script>" in answer.inner_text()
    assert answer.locator("script, img, [style]").count() == 0
    links = answer.locator("a").evaluate_all("(all) => all.map((one) => [one.href, one.rel])")
    assert [href for href, _ in links] == ["https://harbour.example/", "https://tracker.example/p.png"]
    assert all({"noopener", "nofollow"} <= set(rel.split()) for _, rel in links)

    page.locator("#prompt > summary").click()
    assert "Report the <b>tides</b>." in page.get_by_label("The prompt").inner_text()

    page.locator("#replay > summary").click()
    page.get_by_label("Model").select_option("large")
    accessible(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator("#replay form").get_by_role("button", name="Replay").click()
    replays = page.locator("section", has=page.get_by_role("heading", name="Replays"))
    replays.locator(".state-completed").wait_for(**FAST)
    replays.get_by_role("link", name="Compare").click()
    page.get_by_role("heading", name="Two runs side by side").wait_for(**FAST)
    assert page.locator(".diff .plus", has_text="High water at seven.").count() == 1
    assert page.locator(".diff .minus", has_text="High water at **six**").count() == 1
    assert "large" in page.get_by_label("Second run").inner_text()
    accessible(page)
    assert not page.troubles, page.troubles
    page.context.close()
