"""Answers of agents on a page: their marks are shown, and nothing in them can do anything."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.web.pages import prose as module
from horae.web.pages.prose import CHARS_MAX, prose

ELEMENTS = {
    *(
        "div",
        "p",
        "h3",
        "h4",
        "h5",
        "h6",
        "a",
        "em",
        "strong",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "blockquote",
        "hr",
        "br",
    ),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"class", "dir", "tabindex", "role", "aria-label", "href", "rel", "target", "title", "start"}
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![p](http://tracker.example/p.png)",
    "[l](javascript:alert(1)) [m](data:text/html,x) [n](/access) [o](//evil.example) [p](vbscript:x)",
    '[q](https://a.example/"onmouseover="alert(1))',
    "[![i](http://i.example/p)](http://l.example)",
    "|a|b|\n|:-|-:|\n|1|2|",
    "&#x202e;evil &#8203; \u202e \x07",
    "```x onclick=alert(1)\n</code><b>\n```",
)


class Seen(HTMLParser):
    """All that stands in a piece of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def harmless(text: str) -> None:
    made = str(prose(text, "What it said"))
    for tag, attributes in Seen(made).elements:
        assert tag in ELEMENTS, made
        assert set(attributes) <= ATTRIBUTES, made
        if tag == "a":
            assert str(attributes["href"]).lower().startswith(("http://", "https://", "mailto:")), made
            assert {"noopener", "nofollow"} <= set(str(attributes["rel"]).split()), made
    assert not re.search("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", made), made


@pytest.mark.parametrize("text", [*HOSTILE, "\n\n".join(HOSTILE)])
def test_what_is_hostile_is_shown_and_does_nothing(text: str) -> None:
    harmless(text)


@given(
    st.lists(
        st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12), st.sampled_from("[]()!<>`#&\"' \n")), max_size=12
    )
)
def test_no_mixture_of_it_does_anything(parts: list[str]) -> None:
    harmless("".join(parts))


def test_marks_are_shown_and_headings_stand_below_those_of_the_page() -> None:
    made = str(prose("# Tides\n\n#### Low\n\nat **six**\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |", "Said"))
    for part in ("<h3>Tides</h3>", "<h4>Low</h4>", "<strong>six</strong>", "<li>one</li>", "<td>2</td>"):
        assert part in made


def test_a_log_and_a_text_without_the_library_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "<strong>" not in prose("**x** " * (CHARS_MAX // 6 + 2), "Said")
    monkeypatch.setattr(module, "_parser", lambda: None)
    assert "**x** &lt;b&gt;" in prose("**x** <b>", "Said")
