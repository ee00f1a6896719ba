"""Text on one line: what is removed, what is shown, and how wide it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from horae.core.text import clean_name, clip, display_width, money_words, one_line, pad

FAMILY = "👨\u200d👩\u200d👧"
HEART = "❤\ufe0f"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Harbour tides", "Harbour tides"),
        ("  two\t\nlines ", "two lines"),
        ("red\x1b[31m", "red[31m"),
        ("bell\a\x9b", "bell"),
        ("evil\u202egnp.exe", "evilgnp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("soft\u00adhyphen", "softhyphen"),
        ("tag\U000e0041", "tag"),
        ("a\u200db", "ab"),  # a joiner between ASCII letters only hides a difference
        (f"family {FAMILY}", f"family {FAMILY}"),
        (f"love {HEART}", f"love {HEART}"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # Persian is written with it
        ("e\u0301te\u0301", "e\u0301te\u0301"),
        ("\u3164", ""),
        ("é\u200d\u202eé", "éé"),
        ("a\ufe0f", "a"),
        ("1\ufe0f\u20e3", "1\ufe0f\u20e3"),
        ("\ud800", ""),
        ("a\u00a0b\u3000c", "a b c"),
    ],
)
def test_a_name_keeps_only_what_can_be_seen(given: str, kept: str) -> None:
    assert clean_name(given) == kept
    assert clean_name(kept) == kept


def test_one_line_shows_what_it_cannot_pass_on() -> None:
    assert one_line("a\n  b\tc", 80) == "a b c"
    assert one_line("\x1b[2Jx\u202ey\U000e0041", 80) == "\\x1b[2Jx\\u202ey\\U000e0041"
    assert one_line(FAMILY, 80) == FAMILY


@pytest.mark.parametrize(("most", "shown"), [(5, "abcd…"), (6, "abcdef"), (1, "…"), (0, "")])
def test_one_line_says_that_it_cut(most: int, shown: str) -> None:
    assert one_line("abcdef", most) == shown


def test_one_line_of_a_very_long_text_is_bounded() -> None:
    assert len(one_line("x y" * 5_000_000, 80)) <= 80


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("abc", 3),
        ("", 0),
        ("日本", 4),
        ("e\u0301", 1),
        ("é", 1),
        (FAMILY, 2),
        (HEART, 2),
        ("👍🏽", 2),
        ("🇫🇷", 2),
        ("각", 2),
        ("\u1100\u1161", 2),
        ("a\x1bb", 2),
        ("\u200b", 0),
    ],
)
def test_width_counts_cells(text: str, cells: int) -> None:
    assert display_width(text) == cells


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("ab cd", 4, "ab…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("abc", 0, ""),
    ],
)
def test_clip_fits(text: str, width: int, shown: str) -> None:
    assert clip(text, width) == shown
    assert display_width(clip(text, width)) <= width


def test_pad_fills_and_never_cuts() -> None:
    assert pad("日本", 6) == "日本  "
    assert pad("abcdef", 3) == "abcdef"


def test_it_is_light_to_import() -> None:
    """The command line's fast path comes through here."""
    code = "import sys; before = set(sys.modules); import horae.core.text; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    loaded = {name for name in done.stdout.split() if not name.startswith("horae")}
    assert loaded <= {"unicodedata", "__future__"}


@pytest.mark.parametrize(
    ("usd", "words"),
    [
        (0, "$0.00"), (0.000042, "$0.000042"), (0.0123, "$0.0123"), (0.1, "$0.10"), (0.25, "$0.25"), (2, "$2.00"),
        (1234.567, "$1,234.57"), (0.0000001, "$0.00"), (0.9999999, "$1.00"),
    ],
)  # fmt: skip
def test_money_has_the_digits_that_it_needs(usd: float, words: str) -> None:
    assert money_words(usd) == words
