"""Take pictures of the dashboard: a home with believable jobs, its gateway, a real browser; writes docs/images/dashboard-*.png.

    python tools/dashboard.py              all pages
    python tools/dashboard.py today jobs   some of them

The pictures are for readers. `tests/integration/web/test_pictures.py` takes them too, and compares none, since each says the
time at which it was made. A page is one line in
`PAGES`; what must be done before it is shown (a click, a text) is a function behind it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.process import TestHome, until  # noqa: E402
from tests.support.showcase import furnish, propose  # noqa: E402
from tests.support.web import Served, browser, served, visiting  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1200, 800
BYTES_MAX = 120_000
STILL = "*, *::before, *::after { animation: none !important; transition: none !important; caret-color: transparent }"


def _nothing(_page: Any) -> None:
    """The page as it comes."""


def _filled(page: Any) -> None:
    """The month, with its slots in it."""
    page.locator("#calendar[aria-busy=false] .ec-event").first.wait_for()


def _drawn(page: Any) -> None:
    """The charts."""
    page.locator("[data-chart] canvas").last.wait_for()


def _looked(page: Any) -> None:
    """What the doctor has found."""
    page.locator("#doctor section").wait_for()


def _edited(page: Any) -> None:
    """A schedule that was just typed."""
    page.locator("#schedule").fill("mondays at 9am and fridays at 17:00")
    page.locator("#meaning").get_by_text("on Mondays").first.wait_for()
    page.evaluate("document.activeElement.blur()")


PAGES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "today": ("/", _nothing),
    "calendar": ("/calendar", _filled),
    "jobs": ("/jobs", _nothing),
    "job": ("/jobs/nightly-backup", _nothing),
    "job-edit": ("/jobs/harbour-tides/edit", _edited),
    "runs": ("/runs", _nothing),
    "run": ("/runs/{run}", _nothing),
    "trends": ("/trends", _drawn),
    "health": ("/health", _looked),
    "journal": ("/journal", _nothing),
}


def main(names: list[str]) -> int:
    """Take those that are asked for; without a name, all."""
    strange = [name for name in names if name not in PAGES]
    if strange:
        sys.exit(f"there is no page {strange[0]!r}: {', '.join(PAGES)}")
    with browser() as chrome:
        for place in pictures(chrome, names or [*PAGES], IMAGES):
            size = place.stat().st_size
            print(
                f"{place.name}: {size // 1000} kB{'' if size <= BYTES_MAX else f', and {BYTES_MAX // 1000} were hoped for'}"
            )
    return 0


def pictures(chrome: Any, names: Sequence[str], folder: Path) -> Iterator[Path]:
    """Take them one by one. Nothing may go wrong on any page."""
    with tempfile.TemporaryDirectory() as away:
        home = TestHome(Path(away) / "horae", inside=True)
        home.horae("init")
        furnish(home)
        body = {
            "name": "Water the plants",
            "schedule": "every 3 days at 8:00",
            "prompt": "Remind me to water the plants.",
        }
        propose(home, kind="job", body=body)
        with served(home) as web:
            home.horae("run", "reindex")
            home.horae("pause", "invoices", "--reason", "until the new orders are in")
            until(lambda: home.look("runs", "--state", "running")["runs"], "something runs")
            for name in names:
                yield _take(chrome, web, name, folder)
            for run in home.look("runs", "--state", "running")["runs"]:
                home.horae("cancel", run["id"])


def _take(chrome: Any, web: Served, name: str, folder: Path) -> Path:
    """One picture, with a palette: a page has few colours, and the edges of letters many."""
    path, before = PAGES[name]
    run = web.home.look("runs", "morning-briefing")["runs"][0]["id"]
    size = {"width": WIDTH, "height": HEIGHT}
    place = folder / f"dashboard-{name}.png"
    with visiting(chrome, web, viewport=size, color_scheme="light", reduced_motion="reduce") as page:
        answer = page.goto(web.address + path.format(run=run))
        assert answer is not None
        assert answer.status == 200, f"{name}: the page is not there"
        page.add_style_tag(content=STILL)
        before(page)
        drawn = page.screenshot()
    with Image.open(BytesIO(drawn)) as whole:
        whole.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(place, optimize=True)
    return place


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
