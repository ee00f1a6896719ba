"""Draw what a terminal shows: run commands in a fresh home, write docs/images/*.svg. Nothing but text and rectangles.

The pictures are for readers; no test compares them, since each says the time at which it was made.
"""

from __future__ import annotations

import re
import sys
import tempfile
from html import escape
from itertools import groupby
from pathlib import Path

import pyte

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.docs.console import Session  # noqa: E402

COLUMNS, ROWS = 118, 40
WIDTH, HEIGHT, MARGIN = 8.4, 19, 16
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
PLAIN = "#d6d9de"
COLOURS = {
    "default": PLAIN, "red": "#f0716f", "green": "#7fc97a", "brown": "#e2b85c", "yellow": "#e2b85c", "blue": "#6cb2f0",
    "brightblack": "#8b919c",
}  # fmt: skip
PICTURES = {
    "list": ("horae list", "horae why fetch-mail"),
}


def shown(commands: tuple[str, ...]) -> pyte.Screen:
    """The screen after some commands, each behind its prompt."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder), columns=COLUMNS, colours=True)
        try:
            for command in (
                "horae init --example",
                "horae up &",
                "echo 'echo \"3 new messages\"' > ~/.horae/scripts/mail.sh",
                "echo 'exit 3' > ~/.horae/scripts/backup.sh",
                "horae run heartbeat --wait",
                "horae run watchdog --wait",
                "horae add 'weekdays at 9am' --name 'Fetch mail' --script mail.sh",
                "horae run fetch-mail --wait",
                "horae skip fetch-mail",
                "horae add 'every day at 23:30' --name 'Back up' --script backup.sh",
                "horae run back-up --wait",
                "horae add 'first of the month at 07:00' --name 'Report' --script mail.sh",
                "horae pause report --reason 'on holiday'",
            ):
                session.run(command)
            for command in commands:
                text, _ = session.run(command)
                stream.feed(f"\x1b[1m$ {command}\x1b[0m\r\n" + text.replace("\n", "\r\n") + "\r\n")
        finally:
            session.close()
    return screen


def drawing(screen: pyte.Screen) -> str:
    """The screen as SVG."""
    last = max(row for row in range(ROWS) if screen.display[row].strip())
    width, height = COLUMNS * WIDTH + 2 * MARGIN, (last + 1) * HEIGHT + 2 * MARGIN
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg"',
        f'  viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">',
        f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#1e2127"/>',
        f'<g font-size="14" font-family="{FONTS}">',
    ]
    for row in range(last + 1):
        cells = [(column, screen.buffer[row][column]) for column in range(COLUMNS)]
        for (colour, bold), group in groupby(cells, key=lambda cell: (cell[1].fg, cell[1].bold)):
            run = list(group)
            text = "".join(cell.data for _, cell in run)
            for word in re.finditer(r"\S+(?: \S+)*", text):  # each where it stands: some readers collapse blanks
                x, y = MARGIN + (run[0][0] + word.start()) * WIDTH, MARGIN + row * HEIGHT + 14
                weight = ' font-weight="bold"' if bold else ""
                lines.append(
                    f'<text x="{x:.1f}" y="{y}" textLength="{len(word[0]) * WIDTH:.1f}" lengthAdjust="spacing"'
                    f' fill="{COLOURS.get(colour, PLAIN)}"{weight}>{escape(word[0])}</text>'
                )
    return "\n".join([*lines, "</g>", "</svg>", ""])


def main() -> None:
    """Draw all of them."""
    for name, commands in PICTURES.items():
        path = ROOT / "docs" / "images" / f"{name}.svg"
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawing(shown(commands)), encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
