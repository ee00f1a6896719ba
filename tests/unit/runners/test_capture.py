"""What is kept of a program's output: the beginning, the end, and an exact count of what is not."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from horae.runners.shim.capture import Capture
from horae.runners.spools import whole


def captured(limit: int, *parts: bytes) -> tuple[str, int]:
    """What is told of it while it comes and at its end, put together as the gateway does."""
    capture, head = Capture(limit, lambda: None), b""
    for part in parts:
        capture.feed(part)
        head += capture.fresh()
    return whole(head, capture.tail(), capture.total)


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
    capture = Capture(1000, lambda: None)
    for _ in range(1000):
        capture.feed(b"x" * 1000)
        assert len(capture._head) + len(capture._tail) <= 2000 + 500
    assert capture.total == 1_000_000
    assert whole(capture.fresh(), capture.tail(), capture.total)[1] == 999_000


def test_binary_is_shown_and_harms_nothing() -> None:
    assert captured(100, b"\xff\xfe\x00ok\x80") == ("\ufffd\ufffd\u2400ok\ufffd", 0)


def test_a_character_split_between_two_reads_is_one_character() -> None:
    euro = "€".encode()
    assert captured(100, euro[:1], euro[1:]) == ("€", 0)


def test_a_character_split_by_the_cut_is_replaced_not_lost() -> None:
    text, cut = captured(8, "€€€€".encode())
    assert cut == 4
    assert text.startswith("€\ufffd")


@pytest.mark.parametrize("seed", range(5))
def test_what_is_more_than_can_be_kept_is_a_file_whole(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    file = tmp_path / "stdout"
    capture = Capture(100, lambda: os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
    data = b""
    while len(data) <= 100:
        assert not file.exists(), "what can be kept needs no file"
        part = dice.randbytes(dice.randrange(60))
        data += part
        capture.feed(part)
    for _ in range(5):
        part = dice.randbytes(dice.randrange(500))
        data += part
        capture.feed(part)
    capture.close()
    assert file.read_bytes() == data
    assert (capture.written, capture.total) == (len(data), len(data))


def test_where_there_is_no_room_for_the_file_the_run_goes_on(tmp_path: Path) -> None:
    capture = Capture(10, lambda: os.open("/dev/full", os.O_WRONLY))
    capture.feed(b"x" * 5000)
    capture.feed(b"y" * 5000)
    assert (capture.written, capture.total, capture.tail()) == (0, 10_000, b"yyyyy")
