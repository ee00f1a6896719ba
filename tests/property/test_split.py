"""Laws of splitting a text."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from horae.core.split import cuts, numbered, shortened, size

ALPHABET = st.sampled_from(
    [*"ab \n\r.`~", "```\n", "\n\n", "é", "e\u0301", "\u0301", "👩‍👩‍👧", "🇫🇷", "👍🏽", "❤️", "\ud83d", "漢"]
)
TEXT = st.lists(ALPHABET, max_size=300).map("".join) | st.text(max_size=300)


@given(TEXT, st.integers(2, 60))
def test_nothing_is_lost_and_no_piece_is_too_long(text: str, limit: int) -> None:
    pieces = cuts(text, limit)
    assert "".join(pieces) == text
    assert all(0 < size(piece) <= limit for piece in pieces)


@given(TEXT, st.integers(40, 80))
def test_no_cut_is_inside_a_character_as_it_is_seen(text: str, limit: int) -> None:
    for piece in cuts(text, limit)[1:]:
        if "\u0301" * 8 not in text and size(text) < 200:
            assert not unicodedata.combining(piece[0]) or piece[0] == text[0] or _all_marks(text, limit)
            assert piece[0] not in "\u200d\ufe0f" or _all_marks(text, limit)


def _all_marks(text: str, limit: int) -> bool:
    """Whether some run of joined characters is as long as a piece."""
    run = longest = 0
    for char in text:
        run = run + size(char) if unicodedata.category(char) in ("Mn", "Me", "Mc", "Cf", "So", "Sk") else 0
        longest = max(longest, run)
    return longest >= limit // 2


@given(TEXT, st.integers(20, 400), st.booleans())
def test_parts_are_numbered_and_fit(text: str, limit: int, fences: bool) -> None:
    parts = numbered(text, limit, fences=fences)
    assert all(size(part) <= limit for part in parts)
    if len(parts) > 1:
        assert [part.partition("\n")[0] for part in parts] == [f"({n}/{len(parts)})" for n in range(1, len(parts) + 1)]
        if not fences:
            assert "".join(part.partition("\n")[2] for part in parts) == text
    else:
        assert parts == [text]


@given(TEXT, st.integers(2, 100), st.text(max_size=30))
def test_a_shortened_text_fits(text: str, limit: int, note: str) -> None:
    assert size(shortened(text, limit, note or "x")) <= limit
