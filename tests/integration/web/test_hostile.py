"""Names and outputs that want to run in the browser of whoever looks: on no page of the dashboard does any of it run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from horae.web.pages import PAGES
from tests.support.process import TestHome
from tests.support.web import Served, served, visit

MARKED = "window.__ran=1"
BAITS = (
    f"<img src=x onerror={MARKED}>",
    f"</script><script>{MARKED}</script>",
    f"javascript:{MARKED}",
    "{{7*7}}${7*7}<%= 7*7 %>",
    f"\"' autofocus onfocus={MARKED} x='",
    f"<svg/onload={MARKED}>",
    f"--></title></textarea><iframe srcdoc='<script>parent.{MARKED}</script>'>",
)
PLACES = (
    "/",
    "/jobs",
    "/jobs?search={bait}",
    "/calendar",
    "/runs",
    "/trends",
    "/health",
    "/journal",
    "/access",
    "/jobs/new",
)


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home full of it."""
    home = TestHome(tmp_path_factory.mktemp("hostile") / "home", inside=True)
    home.horae("init")
    quoted = "\n".join(BAITS)
    home.script(
        "bait.sh", f"#!/bin/sh\ncat <<'END'\n{quoted}\nEND\ncat >&2 <<'END'\n{quoted}\nEND\nexit \"${{1:-0}}\"\n"
    )
    home.script("fails.sh", f"#!/bin/sh\ncat >&2 <<'END'\n{quoted}\nEND\nexit 3\n")
    for number, bait in enumerate(BAITS):
        script = "fails.sh" if number % 2 else "bait.sh"
        home.horae("add", "every 1h", "--script", script, "--name", bait)
    with served(home) as made:
        for slug in sorted(home.jobs()):
            home.horae("run", slug, status=None)
        yield made


def is_page(place: str, routes: set[str]) -> bool:
    """Whether a page has such an address."""
    plain = place.partition("?")[0]
    return any(re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", route), plain) for route in routes if route)


def test_nothing_of_it_runs_on_any_page(chrome: Any, at: Served) -> None:
    page = visit(chrome, at)
    page.on("dialog", lambda dialog: page.troubles.append(f"dialog: {dialog.message}"))
    places = [
        *PLACES,
        *(f"/jobs/{slug}" for slug in sorted(at.home.jobs())),
        *(f"/runs/{run['id']}" for run in at.home.runs()),
    ]
    there = {getattr(route, "path", "") for router in PAGES for route in router.routes}
    known = [place for place in places if is_page(place, there)]
    assert len(known) > len(BAITS)
    for place in known:
        page.troubles.clear()
        answer = page.goto(at.address + place.replace("{bait}", BAITS[0].replace(" ", "%20")), wait_until="load")
        assert answer.status == 200, (place, answer.status)
        page.wait_for_function("document.readyState === 'complete'")
        assert page.evaluate("window.__ran") is None, place
        assert page.locator("img[onerror], svg[onload], [onfocus], iframe, a[href^='javascript:' i]").count() == 0, (
            place
        )
        assert not page.troubles, (place, page.troubles)
    page.goto(f"{at.address}/jobs")
    assert "{{7*7}}" in page.content(), "a name is shown as it is"
    page.context.close()
