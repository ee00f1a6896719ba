"""Values as people read them on pages, and nothing from outside as markup."""

from __future__ import annotations

import pytest

from horae.web.pages import words


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "–"),
        (0.0031, "3 ms"),
        (0, "0 ms"),
        (59.4, "59.4 s"),
        (61, "1 min 1 s"),
        (7200, "2 h 0 min"),
        (-0.2, "0 ms"),
    ],
)
def test_durations_are_short(value: float | None, says: str) -> None:
    assert words.duration(value) == says


def test_instants_are_told_by_the_clock_of_the_home() -> None:
    assert words.clock("2026-12-01T17:30:00Z", "Europe/Paris") == "Tue 1 Dec, 18:30"
    assert words.clock("2026-07-01T18:30:00+02:00", "UTC") == "Wed 1 Jul, 16:30"
    assert words.fully("2026-12-01T17:30:05Z", "Europe/Paris") == (
        "Tuesday 1 December 2026, 18:30:05 (Europe/Paris, UTC+0100)"
    )
    assert words.clock(None) == words.fully("") == "–"
    made = words.when("2026-12-01T17:30:00Z", "far", "Europe/Paris")
    assert made.startswith('<time datetime="2026-12-01T17:30:00Z" data-when="far"')
    assert ">Tue 1 Dec, 18:30<" in made, "without a script the clock is there"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("bell\x07", "bell\\x07"),
        ("\u202eevil\u202c", "\\u202eevil\\u202c"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("שלום 🌊", "שלום 🌊"),
        ("👩‍👧", "👩‍👧"),
    ],
)
def test_hidden_characters_are_seen_and_others_stay(text: str, says: str) -> None:
    assert words.plain(text) == says


def test_what_comes_from_outside_is_escaped_in_each_filter_that_makes_markup() -> None:
    evil = "<script>\"'`x</script>"
    for made in (words.name(evil), words.state(evil), words.state("failed", evil), words.sentence(evil)):
        assert "<script>" not in made
        assert "&lt;script&gt;" in made
    assert 'class="state state--script' in words.state(evil), "and its class is one word of ours"
    assert words.sentence("run `horae up` now") == "run <code>horae up</code> now"


@pytest.mark.parametrize(
    "state",
    [
        "running",
        "claimed",
        "completed",
        "failed",
        "blocked",
        "cancelled",
        "unknown",
        "released",
        "void",
        "active",
        "paused",
        "quarantined",
        "missed",
        "skipped",
    ],
)
def test_each_state_has_a_sign_of_its_own_and_says_what_it_means(state: str) -> None:
    assert words.symbol(state) != "·" or state == "void"
    assert words.means(state) != state
    assert words.symbol(state) in words.state(state)


def test_numbers_are_short() -> None:
    assert [words.short_number(value) for value in (0, 9999, 12_300, 1_000_000, None)] == [
        "0",
        "9,999",
        "12.3k",
        "1M",
        "–",
    ]
    assert [words.usd(value) for value in (0, 0.2, 0.0042, 12.5, None)] == ["$0.00", "$0.20", "$0.0042", "$12.50", "–"]
    assert [words.size(value) for value in (12, 2048, 5 * 1024**3, None)] == ["12 bytes", "2.0 KiB", "5.0 GiB", "–"]
    assert [words.plural(1, "run"), words.plural(0, "run"), words.plural(2, "it is", "they are")] == [
        "1 run",
        "0 runs",
        "2 they are",
    ]
    assert words.pretty({"a": "é\x07"}) == '{\n  "a": "é\\u0007"\n}'
