"""How answers look: columns that fit, cells that are one line, and nothing that a terminal would obey."""

from __future__ import annotations

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.cli.output import GAP, WORDS_CELLS_MAX, Output, brief, fitted
from horae.core.text import display_width
from tests.support.process import TestHome


class Terminal(io.StringIO):
    """A stream that says that it is one."""

    def isatty(self) -> bool:
        return True


def shown(
    monkeypatch: pytest.MonkeyPatch, columns: int, rows: list[tuple[object, ...]], soft: tuple[int, ...] = (1,)
) -> list[str]:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setattr("horae.cli.output.screen_width", lambda: columns)
    output = Output(json=False)
    output.colours = False
    output.table(("NAME", "WHAT", "STATE", "LAST"), rows, soft=soft)
    return screen.getvalue().splitlines()


@given(
    st.lists(st.integers(0, 90), min_size=3, max_size=9), st.integers(20, 200), st.sets(st.integers(0, 2), max_size=2)
)
def test_what_is_shown_fits(widths: list[int], screen: int, soft: set[int]) -> None:
    found = fitted(widths, sorted(soft), screen)
    assert 3 <= len(found) <= len(widths)
    assert sum(found) + GAP * (len(found) - 1) <= screen
    assert all(got <= wanted for got, wanted in zip(found, widths, strict=False))
    if sum(widths) + GAP * (len(widths) - 1) <= screen:
        assert found == widths


def test_a_soft_column_gives_way_first_and_then_the_last_ones_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ("name", "w" * 40, "active", "2026-11-30T10:40:50+01:00")
    assert shown(monkeypatch, 100, [row])[1].split() == ["name", "w" * 40, "active", row[3]]
    narrow = shown(monkeypatch, 60, [row])[1].split()
    assert (narrow[0], narrow[2:]) == ("name", ["active", row[3]])
    assert narrow[1].endswith("…")
    assert shown(monkeypatch, 40, [row])[1].split()[2:] == ["active"]


@pytest.mark.parametrize("columns", [20, 40, 80, 120])
def test_wide_characters_line_up(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    names = ("日本語のジョブ", "🎉🎉", "e\u0301toile", "plain", "עברית")
    lines = shown(monkeypatch, columns, [(name, name * 5, "active", "-") for name in names])
    assert max(display_width(line) for line in lines) <= columns
    if columns >= 80:
        assert len({display_width(line[: line.index("active")]) for line in lines[1:]}) == 1


def test_in_a_pipe_there_are_tabs_and_no_heads(capsys: pytest.CaptureFixture[str]) -> None:
    Output(json=False).table(("A", "B"), [("x\ty\nz", None), ("\x1b[2J", 5)], soft=(0,))
    assert capsys.readouterr().out == "x y z\t\n\\x1b[2J\t5\n"


@pytest.mark.parametrize("text", ["a\x1b[2Jb", "a\rb", "a\x08b", "a\x9b1mb", "a\u202eb", "a\x00b", "a\u2028b"])
def test_what_came_from_outside_is_shown_not_obeyed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    Output(json=False).outside(text)
    assert text not in screen.getvalue()
    assert screen.getvalue().startswith("a\\")
    assert screen.getvalue().rstrip("\n").isprintable()


def test_outside_text_is_as_it_was_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    Output(json=False).outside("a\x1b[2Jb\r\n")
    assert capsys.readouterr().out == "a\x1b[2Jb\r\n"


def test_colours_are_off_without_a_terminal_and_by_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Output(json=False).state("failed") == "\x1b[31mfailed\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Output(json=False).state("failed") == "failed"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert Output(json=False).state("failed") == "failed"
    assert os.environ["TERM"] == "xterm"


def test_long_words_are_cut_between_their_parts_and_say_how_many_more_there_are() -> None:
    parts = [f"once, at 13:{number:02} on Monday 30 November 2026" for number in range(60)]
    shown = brief("; ".join(parts)).split("; ")
    assert shown[:-1] == parts[: len(shown) - 1]
    assert shown[-1] == f"… and {60 - len(shown[:-1])} more (`--json` tells them all)"
    assert brief("; ".join(parts[:3])) == "; ".join(parts[:3])
    one = brief("x" * 5000)
    assert one.endswith("… (`--json` tells all of it)")
    assert len(one) < WORDS_CELLS_MAX + 50


def test_a_set_of_many_dates_is_short_on_a_screen_and_whole_in_json(home: TestHome) -> None:
    dates = ",".join(f"20991130T13{minute:02}{second:02}Z" for minute in range(5) for second in range(0, 60, 2))
    added = home.horae("add", f"RDATE:{dates}", "--script", "hi.sh", "--name", "dates").out
    shown = {"add": added, "next": home.horae("next", "dates").out, "show": home.horae("show", "dates").out}
    for what, text in shown.items():
        assert max(len(line) for line in text.splitlines()) < 500, what
        assert "more (`--json` tells them all)" in text, what
    for command in ("next", "show"):
        assert home.json(command, "dates")["meaning"].count("2099") == 150
