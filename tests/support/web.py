"""The dashboard as its visitors see it: a gateway that serves it, a client with a session or a token, a real browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.process import Gateway, TestHome, running, until

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb", "--hide-scrollbars")


@dataclass
class Served:
    """One home, its gateway, and where it is served."""

    home: TestHome
    gateway: Gateway
    address: str
    _clients: list[httpx2.Client] = field(default_factory=list)

    def link(self, *words: str) -> str:
        """A link for one visit."""
        return str(self.home.json("open", "--print", *words)["url"])

    def client(self, token: str | None = None, **headers: str) -> httpx2.Client:
        """A client that sends a token with each request, or nothing."""
        given = {} if token is None else {"authorization": f"Bearer {token}"}
        made = httpx2.Client(base_url=self.address, headers={**given, **headers}, timeout=20)
        self._clients.append(made)
        return made

    def token(self, role: str = "admin", name: str | None = None) -> str:
        """A token for a program."""
        return str(self.home.json("tokens", "add", name or f"test-{role}", "--role", role)["token"])

    def api(self, role: str = "admin") -> httpx2.Client:
        """A client with a token of that role."""
        return self.client(self.token(role))

    def close(self) -> None:
        for client in self._clients:
            client.close()


@contextmanager
def served(home: TestHome, *words: str) -> Iterator[Served]:
    """A gateway that serves the dashboard at a free port, for the length of a block."""
    with running(home, "--port", "0", *words) as gateway:
        address = until(lambda: _address(home), "the dashboard has an address")
        made = Served(home, gateway, address)
        try:
            yield made
        finally:
            made.close()


def _address(home: TestHome) -> str | None:
    text = (home.path / "state" / "gateway.lock").read_text(encoding="utf-8")
    return json.loads(text or "{}").get("web")


def chromium() -> str:
    """The system's browser. Without one the test is skipped; with CI=true a skip is a failure."""
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium here: apt-get install chromium")


@contextmanager
def browser() -> Iterator[Any]:
    """One browser process."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  it is large, and few tests need it

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS])
        try:
            yield made
        finally:
            made.close()


def visit(made: Any, served: Served, **context: Any) -> Any:
    """A page of a person who has just come in by a link. Whatever goes wrong in it is kept in `page.troubles`."""
    page = made.new_context(locale="en-GB", **context).new_page()
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(f"error: {error}"))
    page.on(
        "console", lambda message: page.troubles.append(message.text) if message.type in ("error", "warning") else None
    )
    outside = lambda request: not request.url.startswith((served.address, "data:", "blob:"))
    page.on("request", lambda request: page.troubles.append(f"outside: {request.url}") if outside(request) else None)
    page.goto(served.link())
    page.wait_for_url(f"{served.address}/")
    return page


@contextmanager
def visiting(made: Any, served: Served, **context: Any) -> Iterator[Any]:
    """The same for a block, after which nothing may have gone wrong. Its policy is off, since axe puts itself into the page."""
    page = visit(made, served, bypass_csp=True, **context)
    yield page
    assert not page.troubles, page.troubles
    page.context.close()


def told(page: Any, words: str) -> Any:
    """The notice that says so."""
    notice = page.locator(".notice").filter(has_text=words).last
    notice.wait_for(timeout=30_000)
    return notice


def card(page: Any, title: str) -> Any:
    """The part of a page that has this heading."""
    return page.locator("section.card").filter(has=page.get_by_role("heading", name=title, exact=True))


AXE = Path(__file__).parents[2] / ".cache" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
AXE_OPTIONS = {"resultTypes": ["violations"], "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}


def axe(page: Any, within: str | None = None) -> None:
    """Nothing on the page keeps people out. The page's context must be made with `bypass_csp=True`."""
    if not page.evaluate("typeof axe === 'object'"):
        page.add_script_tag(path=str(AXE))
    asked = [within, AXE_OPTIONS]
    found = page.evaluate("([within, options]) => axe.run(within ?? document, options)", asked)["violations"]
    told = [
        f"{one['id']} ({one['impact']}): {one['help']}\n    {node['html'][:300]}\n    {node.get('failureSummary', '')[:400]}"
        for one in found
        for node in one["nodes"][:4]
    ]
    assert not told, f"{page.url}:\n" + "\n".join(told)


LOOKS = (("light", 1280, 900), ("dark", 1280, 900), ("light", 360, 740), ("dark", 360, 740))


def accessible(page: Any) -> None:
    """The page as it stands is accessible, and fits, in light and dark, wide and on a phone."""
    for scheme, width, height in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": height})
        axe(page)
        too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert too_wide <= 0, f"{page.url} at {width} px is {too_wide} px too wide"
