"""What is kept of a program's output: the beginning, the end, and an exact count of what is not."""

from __future__ import annotations

import random

import pytest

from horae.runners.capture import Capture


def captured(limit: int, *parts: bytes) -> tuple[str, int]:
    capture = Capture(limit)
    for part in parts:
        capture.feed(part)
    return capture.text()


def test_what_fits_is_kept_whole() -> None:
    assert captured(10, b"hello", b"", b"world") == ("helloworld", 0)
    assert captured(10) == ("", 0)


def test_head_and_tail_are_kept_and_the_cut_is_said() -> None:
    assert captured(8, b"abcdefghijkl") == ("abcd\n[... 4 bytes cut ...]\nijkl", 4)
    assert captured(8, b"abcdefghi") == ("abcd\n[... 1 bytes cut ...]\nfghi", 1)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_it_does_not_matter_in_which_pieces_it_came(limit: int, seed: int) -> None:
    dice = random.Random(seed)
    data = bytes(dice.choices(b"abcdefgh\n", k=dice.randrange(3 * limit + 5)))
    parts, rest = [], data
    while rest:
        size = dice.randint(1, len(rest))
        parts.append(rest[:size])
        rest = rest[size:]
    text, cut = captured(limit, *parts)
    assert (text, cut) == captured(limit, data)
    half = max(1, limit // 2)
    assert cut == max(0, len(data) - 2 * half)
    if cut:
        assert text == f"{data[:half].decode()}\n[... {cut} bytes cut ...]\n{data[-half:].decode()}"


def test_memory_is_bounded_whatever_comes() -> None:
    capture = Capture(1000)
    for _ in range(1000):
        capture.feed(b"x" * 1000)
        assert len(capture._head) + len(capture._tail) <= 2000 + 500
    assert capture.total == 1_000_000
    assert capture.text()[1] == 999_000


def test_binary_is_shown_and_harms_nothing() -> None:
    assert captured(100, b"\xff\xfe\x00ok\x80") == ("\ufffd\ufffd\u2400ok\ufffd", 0)


def test_a_character_split_between_two_reads_is_one_character() -> None:
    euro = "€".encode()
    assert captured(100, euro[:1], euro[1:]) == ("€", 0)


def test_a_character_split_by_the_cut_is_replaced_not_lost() -> None:
    text, cut = captured(8, "€€€€".encode())
    assert cut == 4
    assert text.startswith("€\ufffd")
