"""Take pictures of the dashboard: a home with believable jobs, its gateway, a real browser; writes docs/images/dashboard-*.png.

    python tools/dashboard.py              all pages
    python tools/dashboard.py today jobs   some of them

The pictures are for readers; no test compares them, since each says the time at which it was made. A page is one line in
`PAGES`; what must be done before it is shown (a click, a text) is a function behind it.
"""

from __future__ import annotations

import struct
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.process import TestHome, until  # noqa: E402
from tests.support.showcase import furnish, propose  # noqa: E402
from tests.support.web import Served, browser, served, visit  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1200, 800
BYTES_MAX = 120_000
STILL = "*, *::before, *::after { animation: none !important; transition: none !important; caret-color: transparent }"


def _nothing(_page: Any) -> None:
    """The page as it comes."""


def _edited(page: Any) -> None:
    """A schedule that was just typed."""
    page.locator("#schedule").fill("mondays at 9am and fridays at 17:00")
    page.locator("#meaning").get_by_text("on Mondays").first.wait_for()
    page.evaluate("document.activeElement.blur()")


PAGES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "today": ("/", _nothing),
    "calendar": ("/calendar", _nothing),
    "jobs": ("/jobs", _nothing),
    "job": ("/jobs/nightly-backup", _nothing),
    "job-edit": ("/jobs/harbour-tides/edit", _edited),
    "runs": ("/runs", _nothing),
    "run": ("/runs/{run}", _nothing),
    "trends": ("/trends", _nothing),
    "health": ("/health", _nothing),
    "journal": ("/journal", _nothing),
}


def main(names: list[str]) -> int:
    """Take those that are asked for; without a name, all."""
    strange = [name for name in names if name not in PAGES]
    if strange:
        sys.exit(f"there is no page {strange[0]!r}: {', '.join(PAGES)}")
    with tempfile.TemporaryDirectory() as folder:
        home = TestHome(Path(folder) / "horae", inside=True)
        home.horae("init")
        furnish(home)
        body = {
            "name": "Water the plants",
            "schedule": "every 3 days at 8:00",
            "prompt": "Remind me to water the plants.",
        }
        propose(home, kind="job", body=body)
        with served(home) as web, browser() as chrome:
            home.horae("run", "reindex")
            home.horae("pause", "invoices", "--reason", "until the new orders are in")
            until(lambda: home.look("runs", "--state", "running")["runs"], "something runs")
            for name in names or PAGES:
                _take(chrome, web, name)
            for run in home.look("runs", "--state", "running")["runs"]:
                home.horae("cancel", run["id"])
    return 0


def _take(chrome: Any, web: Served, name: str) -> None:
    """One picture, in as few bytes as a browser makes of it."""
    path, before = PAGES[name]
    run = web.home.look("runs", "morning-briefing")["runs"][0]["id"]
    size = {"width": WIDTH, "height": HEIGHT}
    page = visit(chrome, web, viewport=size, bypass_csp=True, color_scheme="light", reduced_motion="reduce")
    answer = page.goto(web.address + path.format(run=run))
    if answer is None or answer.status != 200:
        print(f"{name}: the page is not there", file=sys.stderr)
    else:
        page.add_style_tag(content=STILL)
        before(page)
        page.wait_for_timeout(700)  # charts and calendars draw themselves
        place = IMAGES / f"dashboard-{name}.png"
        page.screenshot(path=str(place))
        _small(place)
        print(f"{place.relative_to(ROOT)}: {place.stat().st_size // 1000} kB")
    page.context.close()


def _small(place: Path) -> None:
    """With a palette of the 256 colours that it has most of: a page has few, and the edges of letters many."""
    width, height, pixels = _pixels(place.read_bytes())
    counted = Counter(pixels)
    palette = [colour for colour, _ in counted.most_common(256)]
    index = {colour: number for number, colour in enumerate(palette)}
    for colour in counted:
        if colour not in index:
            near = min(palette, key=lambda known: sum((a - b) ** 2 for a, b in zip(known, colour, strict=True)))
            index[colour] = index[near]
    rows = [bytes([0, *map(index.__getitem__, pixels[at : at + width])]) for at in range(0, width * height, width)]
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (
        (b"IHDR", head),
        (b"PLTE", b"".join(map(bytes, palette))),
        (b"IDAT", zlib.compress(b"".join(rows), 9)),
        (b"IEND", b""),
    )
    place.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts))
    if place.stat().st_size > BYTES_MAX:
        print(f"{place.name} has {place.stat().st_size} bytes, and {BYTES_MAX} were hoped for", file=sys.stderr)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _pixels(png: bytes) -> tuple[int, int, list[tuple[int, ...]]]:
    """Width, height and colours of a PNG as the browser writes it: eight bits for each of red, green, blue (and alpha)."""
    at, data, head = 8, b"", b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        name, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        head, data = (content, data) if name == b"IHDR" else (head, data + content if name == b"IDAT" else data)
        at += length + 12
    width, height, _, kind = struct.unpack(">IIBB", head[:10])
    step = {2: 3, 6: 4}[kind]
    raw, stride = zlib.decompress(data), width * step
    before, pixels = bytearray(stride), list[tuple[int, ...]]()
    for row in range(height):
        start = row * (stride + 1)
        line = _unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), before, step)
        pixels += zip(*(line[channel::step] for channel in range(3)), strict=True)
        before = line
    return width, height, pixels


def _unfiltered(how: int, line: bytearray, above: bytearray, step: int) -> bytearray:
    """A row without the filter that it was written with."""
    for at in range(len(line) if how else 0):
        left = line[at - step] if at >= step else 0
        corner = above[at - step] if at >= step else 0
        up = above[at]
        if how == 4:
            guess = left + up - corner
            near = min((left, up, corner), key=lambda value: abs(guess - value))
        else:
            near = (left, up, (left + up) // 2)[how - 1]
        line[at] = (line[at] + near) & 255
    return line


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
