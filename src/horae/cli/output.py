"""How answers look: JSON for programs, a table and colours on a terminal, plain tab-separated lines in a pipe.

Everything that came from outside is cleaned before it reaches a terminal: a job's name or a program's output must not
move the cursor.
"""

from __future__ import annotations

import json
import os
import sys

from horae import config
from horae.core.text import clip, display_width, one_line, pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from horae.errors import Problem

CELL_CHARS_MAX = 400
WORDS_CELLS_MAX = 300  # of a schedule or its meaning on a screen; a list of dates may take thousands
PROBLEM_CELLS_MAX = (
    2000  # of a refusal on a screen: whoever hands in a whole file as a name sees what is wrong all the same
)
GAP = 2  # cells between columns
COLUMN_MIN, SOFT_MIN, COLUMNS_MIN = 4, 12, 3  # what is left on the narrowest screen
REMARK_INDENT = 8
EXCEPTIONS_SHOWN = 20  # of what a person decided about single slots, in the answer to an edit
COLOURS = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "grey": "90",
    "bold": "1",
}
STATE_COLOURS = {
    "active": "green", "completed": "green", "ran": "green", "delivered": "green", "running": "blue", "claimed": "blue",
    "paused": "yellow", "skipped": "yellow", "missed": "yellow", "unknown": "yellow", "cancelled": "yellow",
    "quarantined": "red", "failed": "red", "blocked": "red", "void": "grey", "released": "grey", "suppressed": "grey",
}  # fmt: skip


class Output:
    """Where a command's answer goes."""

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self.terminal = sys.stdout.isatty()
        self.colours = config.colours()

    def emit(self, answer: Any, render: Callable[[], None] | None) -> None:
        """Print the answer as JSON, or let `render` show it to a person."""
        if self.json or render is None:
            sys.stdout.write(_dumps(answer))
        else:
            render()
        sys.stdout.flush()

    def text(self, text: str) -> None:
        """One or more lines of our own."""
        sys.stdout.write(text + "\n")

    def outside(self, text: str) -> None:
        """Text that a program printed: as it is in a pipe, without what moves the cursor on a terminal."""
        if self.terminal:
            text = "\n".join(_shown(line) for line in text.split("\n"))
        sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")

    def quoted(self, line: str, colour: str | None = None) -> None:
        """A line from outside, with its blanks and in a colour, but without what moves the cursor."""
        self.text(self.paint(_shown(line), colour))

    def follow(self, text: str | None, run: str, ended: dict[str, Any] | None = None) -> None:
        """A piece of a live run's output, or its end; with --json one object a line."""
        if self.json:
            sys.stdout.write(json.dumps({"run": run, "text": text, "ended": ended}, ensure_ascii=False) + "\n")
        elif text is not None:
            sys.stdout.write("\n".join(_shown(line) for line in text.split("\n")) if self.terminal else text)
        elif ended is not None:
            sys.stdout.write(f"── {ended['state']}: {ended['reason']} ──\n" if self.terminal else "")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Something beside the answer, broken between words where the screen is narrow."""
        if self.json:
            return
        indent = text[: len(text) - len(text.lstrip())]
        line = indent
        for word in text.split():
            if line.strip() and self.terminal and display_width(f"{line} {word}") > screen_width():
                sys.stderr.write(self.paint(line, "yellow") + "\n")
                line = f"{indent}  "
            line += f" {word}" if line.strip() else word
        sys.stderr.write(self.paint(line, "yellow") + "\n")

    def paint(self, text: str, colour: str | None) -> str:
        """The text in a colour, on a terminal that has them."""
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if colour and self.colours else text

    def state(self, word: object) -> str:
        """A state in its colour."""
        return self.paint(str(word), STATE_COLOURS.get(str(word)))

    def table(
        self, heads: Sequence[str], rows: Sequence[Sequence[object]], *, soft: Sequence[int], states: Sequence[int] = ()
    ) -> None:
        """Rows under heads. On a narrow terminal the columns `soft` give way, then the last ones are left out."""
        cells = [[one_line("" if cell is None else str(cell), CELL_CHARS_MAX) for cell in row] for row in rows]
        if not self.terminal:
            for row in cells:
                sys.stdout.write("\t".join(row) + "\n")
            return
        needed = [max(display_width(row[at]) for row in (heads, *cells)) for at in range(len(heads))]
        widths = fitted(needed, soft, screen_width())
        head = "  ".join(pad(clip(heads[at], width), width) for at, width in enumerate(widths))
        sys.stdout.write(self.paint(head.rstrip(), "bold") + "\n")
        for row in cells:
            shown = [pad(clip(row[at], width), width) for at, width in enumerate(widths)]
            for at in (at for at in states if at < len(shown)):
                shown[at] = self.paint(shown[at], STATE_COLOURS.get(row[at]))
            sys.stdout.write("  ".join(shown).rstrip() + "\n")

    def pairs(self, rows: Sequence[tuple[str, object]]) -> None:
        """Names and values below one another; empty values are left out."""
        width = max((len(name) for name, value in rows if value not in (None, "")), default=0)
        for name, value in rows:
            if value not in (None, ""):
                lines = str(value).replace("\n", f"\n{' ' * width}  ")
                sys.stdout.write(f"{self.paint(pad(name, width), 'bold')}  {lines}\n")

    def change(self, answer: Any) -> None:
        """What a changing command did, how to take it back, and what to know about it."""

        def render() -> None:
            self.text(one_line(str(answer["did"]), CELL_CHARS_MAX))
            if answer.get("meaning"):
                self.text(f"  runs {brief(answer['meaning'])} ({answer['job'].get('timezone', '')})")
            self.slots(answer.get("slots", ()))
            self.exceptions(answer.get("exceptions") or {})
            if answer.get("undo"):
                self.text(f"  undo: {answer['undo']}")
            for warning in answer.get("warnings", ()):
                self.note(f"  note: {one_line(warning, CELL_CHARS_MAX)}")

        self.emit(answer, render)

    def slots(self, slots: Sequence[dict[str, Any]]) -> None:
        """Next slots, one a line, with their offsets, where they were moved to, and what is to be known about them."""
        for slot in slots:
            moved = f" → {slot['due']}" if slot["due"] != slot["slot"] else ""
            job = f"  {slot['job']}" if "job" in slot else ""
            self.beside(f"    {slot['slot']}{moved}{job}", f"({slot['note']})" if slot["note"] else "")

    def exceptions(self, found: dict[str, list[dict[str, Any]]]) -> None:
        """Of the skips and moves of a series that was changed: which still apply, and which are void."""
        for key, words in (("kept", "still applies"), ("void", "void now")):
            for item in found.get(key, ())[:EXCEPTIONS_SHOWN]:
                what = f"{item['slot']} skipped" if item["kind"] == "skip" else f"{item['slot']} moved to {item['to']}"
                self.beside(f"  {words}: {what}", f"({item['reason']})" if item["reason"] else "")
            more = len(found.get(key, ())) - EXCEPTIONS_SHOWN
            if more > 0:
                self.text(f"  {words}: … and {more} more (`--json` tells them all)")

    def beside(self, text: str, remark: str) -> None:
        """A line with a remark behind it; below it where the screen is too narrow for both."""
        if not remark:
            sys.stdout.write(text.rstrip() + "\n")
        elif not self.terminal or display_width(f"{text}  {remark}") <= screen_width():
            sys.stdout.write(f"{text}  {self.paint(remark, 'yellow')}\n")
        else:
            lines = folded(remark, max(COLUMNS_MIN * SOFT_MIN, screen_width()) - REMARK_INDENT)
            below = "".join(f"{' ' * REMARK_INDENT}{self.paint(line, 'yellow')}\n" for line in lines)
            sys.stdout.write(f"{text.rstrip()}\n{below}" if text.strip(" –") else below)

    def problem(self, problem: Problem) -> None:
        """A refusal: JSON on standard output, or two lines on standard error."""
        try:
            if self.json:
                sys.stdout.write(_dumps({"error": problem.as_json()}))
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError:
            pass  # nobody reads standard output: it may be what the problem is about
        else:
            if self.json:
                return
        red = f"\x1b[{COLOURS['red']}m" if self.colours and sys.stderr.isatty() else ""
        sys.stderr.write(
            f"{red}error:{chr(27) + '[0m' if red else ''} {_lines(clip(problem.message, PROBLEM_CELLS_MAX))}\n"
        )
        if problem.hint:
            sys.stderr.write(f"  {_lines(clip(problem.hint, PROBLEM_CELLS_MAX))}\n")


def brief(words: str) -> str:
    """A schedule or its meaning for a person: the first parts of a long one, and how to see the others."""
    if display_width(words) <= WORDS_CELLS_MAX:
        return words
    parts = words.split("; ")
    shown = [part for at, part in enumerate(parts) if display_width("; ".join(parts[: at + 1])) <= WORDS_CELLS_MAX]
    if not shown:
        return f"{clip(words, WORDS_CELLS_MAX)} (`--json` tells all of it)"
    return f"{'; '.join(shown)}; … and {len(parts) - len(shown)} more (`--json` tells them all)"


def folded(text: str, width: int) -> list[str]:
    """The text in lines of at most that many cells, broken between words; a longer word is cut."""
    lines: list[str] = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and display_width(longer) > width:
            lines.append(clip(word, width))
        else:
            lines[-1] = clip(longer, width)
    return lines


def fitted(widths: Sequence[int], soft: Sequence[int], screen: int) -> list[int]:
    """The widths of as many columns, from the first on, as the screen has room for; soft ones give way first.

    A column is left out rather than cut, since half an instant says less than one that is not there.
    """
    found = [min(width, SOFT_MIN) if at in soft else width for at, width in enumerate(widths)]
    while len(found) > COLUMNS_MIN and sum(found) + GAP * (len(found) - 1) > screen:
        found.pop()
    spare = screen - sum(found) - GAP * (len(found) - 1)
    for at in (at for at in soft if at < len(found)):
        more = max(0, min(spare, widths[at] - found[at]))
        found[at] += more
        spare -= more
    while spare < 0 and max(found) > COLUMN_MIN:
        found[found.index(max(found))] -= 1
        spare += 1
    return found


def screen_width() -> int:
    """Columns of the terminal, 100 where there is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 100
    except (OSError, ValueError):
        return 100


def _shown(line: str) -> str:
    """A line with its tabs and blanks, but without control characters."""
    return "".join(char if char == "\t" or char.isprintable() else f"\\x{ord(char):02x}" for char in line)


def _lines(text: str) -> str:
    return "\n  ".join(_shown(line) for line in text.split("\n"))


def _dumps(answer: object) -> str:
    return json.dumps(answer, ensure_ascii=False, indent=2) + "\n"
