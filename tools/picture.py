"""Draw what a terminal shows: run commands in a fresh home, write docs/images/*.svg. Nothing but text and rectangles.

The pictures are for readers; no test compares them, since each says the time at which it was made.
"""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import ExitStack
from html import escape
from itertools import groupby
from pathlib import Path

import pyte

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.docs.console import Session  # noqa: E402
from tests.support.modelserver import ModelServer, call, say  # noqa: E402

COLUMNS, ROWS = 118, 60
WIDTH, HEIGHT, MARGIN = 8.4, 19, 16
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
PLAIN = "#d6d9de"
COLOURS = {
    "default": PLAIN, "red": "#f0716f", "green": "#7fc97a", "brown": "#e2b85c", "yellow": "#e2b85c", "blue": "#6cb2f0",
    "magenta": "#cf8ee0", "cyan": "#5fc4cc", "brightblack": "#8b919c",
}  # fmt: skip
LINES = {"─": "lr", "│": "ud", "┬": "lrd", "┼": "lrud", "┴": "lru"}  # drawn, since text leaves gaps between rows
LINE_COLOUR = "#4a505c"
FEW_JOBS = (
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
)
MANY_JOBS = (
    "horae init",
    "echo 'echo done' > ~/.horae/scripts/work.sh",
    *(
        f"horae add '{schedule}' --name '{name}' --script work.sh{more}"
        for name, schedule, more in (
            ("Tides", "every day at 06:30", ""),
            ("Fetch mail", "weekdays at 9am", ""),
            ("Back up", "every day at 02:30", ""),
            ("Heartbeat", "*/15 * * * *", ""),
            ("Prices", "*/20 8-18 * * 1-5", ""),
            ("Report", "mondays at 09:00", ""),
            ("Invoices", "first of the month at 07:00", ""),
            ("Tidy up", "sundays at 22:00", ""),
            ("Digest", "fridays at 17:00", " --timezone America/New_York"),
            ("Probe", "sundays at 02:30", " --clock-change gap=skip"),
            ("Water", "saturdays at 11:15", ""),
            ("Budget", "tuesdays and thursdays at 14:00", " --paused"),
        )
    ),
    "horae skip fetch-mail 2027-03-25T09:00",
    "horae move report 2027-03-29T09:00 --to 2027-03-30T06:30",
    "horae move invoices 2027-04-01T07:00 --to 2027-04-02T10:00",
)
AN_AGENT = (
    "horae init",
    (
        "cat >> ~/.horae/config.toml <<'END'\n"
        'model = "small"\n[providers.local]\nkind = "openai"\nbase_url = "{base_url}"\n'
        '[models.small]\nprovider = "local"\nid = "acme/small-1"\ninput = 150\noutput = 600\n[budget]\nusd_day = 5.0\nEND'
    ),
    "horae up &",
    "horae add 'weekdays at 18:30' 'Report tides.' --name Tides --tools shell,memory --approve shell --limit usd=0.50",
    "horae run tides --with 'of Brest'",
    "until horae waiting | grep -q 'shell\\|run '; do true; done",
)
ANSWERS = (  # what the model of that job says
    call(("recall", {}), text="", usage=(640, 12, 0)),
    call(("run", {"command": "./tide-table brest 2"}), usage=(702, 31, 0)),
    say("High water at 05:58 and 18:21, 6.4 m and 6.1 m.\nSpring tide: mind the lower quay.", usage=(790, 38, 0)),
)
PICTURES = {
    "agent": (AN_AGENT, ("horae log tides", "horae waiting", "horae status")),
    "list": (FEW_JOBS, ("horae list", "horae why fetch-mail")),
    "calendar": (MANY_JOBS, ("horae calendar --from 2027-03-22",)),
}


def shown(before: tuple[str, ...], commands: tuple[str, ...]) -> pyte.Screen:
    """The screen after some commands, each behind its prompt; those before them are not seen."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        session = Session(Path(folder), columns=COLUMNS, colours=True)
        server = stack.enter_context(ModelServer(ANSWERS))
        try:
            for command in before:
                session.run(command.replace("{base_url}", server.base_url))
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
        lines += ruled(row, [cell.data for _, cell in cells])
        for (colour, bold), group in groupby(cells, key=lambda cell: (cell[1].fg, cell[1].bold)):
            run = list(group)
            text = "".join(" " if cell.data in LINES else cell.data or "\0" for _, cell in run)  # \0: a wide one's rest
            for word in re.finditer(r"\S+(?: \S+)*", text):  # each where it stands: some readers collapse blanks
                x, y = MARGIN + (run[0][0] + word.start()) * WIDTH, MARGIN + row * HEIGHT + 14
                weight = ' font-weight="bold"' if bold else ""
                lines.append(
                    f'<text x="{x:.1f}" y="{y}" textLength="{len(word[0]) * WIDTH:.1f}" lengthAdjust="spacing"'
                    f' fill="{COLOURS.get(colour, PLAIN)}"{weight}>{escape(word[0].replace(chr(0), ""))}</text>'
                )
    return "\n".join([*lines, "</g>", "</svg>", ""])


def ruled(row: int, chars: list[str]) -> list[str]:
    """The lines of one row as rectangles: those across as one, those down cell by cell."""
    top, found = MARGIN + row * HEIGHT, list[str]()
    for across, group in groupby(range(len(chars)), key=lambda at: "l" in LINES.get(chars[at], "")):
        run = list(group)
        if across:
            found.append(rectangle(MARGIN + run[0] * WIDTH, top + HEIGHT / 2, len(run) * WIDTH, 1))
    for at, char in enumerate(chars):
        ways = LINES.get(char, "")
        if "u" in ways or "d" in ways:
            begin, end = (0 if "u" in ways else HEIGHT / 2), (HEIGHT if "d" in ways else HEIGHT / 2)
            found.append(rectangle(MARGIN + (at + 0.5) * WIDTH, top + begin, 1, end - begin))
    return found


def rectangle(x: float, y: float, width: float, height: float) -> str:
    """A piece of a line."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{LINE_COLOUR}"/>'


def main() -> None:
    """Draw all of them, or those that are named."""
    for name, (before, commands) in PICTURES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        path = ROOT / "docs" / "images" / f"{name}.svg"
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawing(shown(before, commands)), encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
