"""What nobody sees is found, named and taken out; what an emoji or a script needs stays."""

from __future__ import annotations

import sys
import time
import unicodedata

import pytest

from horae.core.text import is_hidden
from horae.core.unseen import MILD, named, unseen, without_unseen

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "gbsct") + "\U000e007f"

CLEAN = [
    "",
    "plain text,\twith tabs\r\nand lines\n",
    "naïve café — “quotes” … 1 000 €",
    "日本語のテキスト",
    "עברית العربية हिन्दी",
    "👍🏽 👨‍👩‍👧‍👦 ❤️ 🏳️‍🌈 1️⃣ 🇫🇷",
    "🏴" + TAGS,
    "葛\U000e0100城",
    "\ufeffa file that begins with its byte order mark",
    "نمی‌خواهم",
]


@pytest.mark.parametrize("text", CLEAN)
def test_what_belongs_there_is_left_alone(text: str) -> None:
    assert list(unseen(text)) == []
    assert named(text) == without_unseen(text) == text


@pytest.mark.parametrize(
    ("text", "shown", "seen"),
    [
        ("ab\u202ecd", "ab<U+202E>cd", "abcd"),
        ("ig\u200bnore", "ig<U+200B>nore", "ignore"),
        ("\x1b[31mred", "<U+001B>[31mred", "[31mred"),
        ("a\u2066b\u2069", "a<U+2066>b<U+2069>", "ab"),
        ("soft\u00adhyphen", "soft<U+00AD>hyphen", "softhyphen"),
        ("a\u200db", "a<U+200D>b", "ab"),
        ("mid\ufeffdle", "mid<U+FEFF>dle", "middle"),
        ("🏴" + TAGS[:-1], "🏴<U+E0067><U+E0062><U+E0073><and 2 more>", "🏴"),
        ("x" + TAGS, "x<U+E0067><U+E0062><U+E0073><and 3 more>", "x"),
        ("葛\U000e0100\U000e0101", "葛<U+E0100><U+E0101>", "葛"),
        ("a\U000e0100", "a<U+E0100>", "a"),
        ("\u200b\u200b\u200b\u200b", "<U+200B><U+200B><U+200B><and 1 more>", ""),
        ("half \ud800", "half <U+D800>", "half "),
    ],
)
def test_what_does_not_belong_is_named_and_taken_out(text: str, shown: str, seen: str) -> None:
    assert named(text) == shown
    assert without_unseen(text) == seen


def test_a_character_is_told_by_number_and_name() -> None:
    assert [item.words for item in unseen("a\u202eb\x1b")] == ["U+202E (right-to-left override)", "U+001B"]
    assert [item.at for item in unseen("a\u202eb\x1b")] == [1, 3]


def test_all_that_is_hidden_by_itself_is_looked_for() -> None:
    seen = "\t\n\r"
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if is_hidden(f" {char} ", 1):
            found = [item.char for item in unseen(f" {char} ")]
            assert found == ([] if char in seen else [char]), f"U+{code:04X} {unicodedata.name(char, '')}"


def test_the_mild_ones_are_unseen_too() -> None:
    assert [item.char for item in unseen(" ".join(MILD))] == list(MILD)


@pytest.mark.parametrize("piece", ["a", "é", "\u200b", "a\u200b", "❤️", "\U000e0067", "🏴\U000e0067"])
def test_no_text_takes_long(piece: str) -> None:
    text = (piece * 500_000)[:500_000]
    began = time.process_time()
    named(text)
    without_unseen(text)
    assert time.process_time() - began < 5.0  # what goes over itself takes minutes
