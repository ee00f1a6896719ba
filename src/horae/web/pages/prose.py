"""What an agent answered, as a page shows it: its Markdown as HTML that can do nothing but be read. Pure.

HTML in it is shown as it is written. Nothing is loaded: pictures become links, since whoever has one would learn who looks,
and when. Links lead to the web or to a mailbox, and nothing of this page goes with whoever follows one. No element has a
style, an id or a script: the headers of the page would refuse those anyway. Headings are put below those of the page.

Without the library for Markdown, or where a text is too long to be prose, it is shown as the text that it is.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from markupsafe import Markup, escape

from horae.web.pages.words import plain

CHARS_MAX = 200_000  # more is a log, and of so much nobody reads the marks
LINKS = ("http://", "https://", "mailto:")
REL = "noopener noreferrer nofollow"
SCROLLS = 'dir="auto" tabindex="0" role="region" aria-label="{}"'
TOP = 3  # the first heading of an answer; above it are those of its card and its page


def prose(text: str, label: str) -> Markup:
    """Markdown as HTML in an element of its own, which scrolls where it is long, and has that label."""
    parser = _parser() if len(text) <= CHARS_MAX else None
    if parser is None:
        return Markup(f'<div class="prose" {SCROLLS}>{{}}</div>').format(label, plain(text.replace("\r\n", "\n")))  # noqa: S704
    made = Markup(plain(parser.render(text)))  # noqa: S704  the parser has escaped it; an entity may have been a hidden character
    return Markup(f'<div class="prose marked" {SCROLLS}>{{}}</div>').format(label, made)  # noqa: S704


@cache
def _parser() -> Any:
    """The parser; None without its library."""
    try:
        parser = import_module("markdown_it").MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table")
    except ImportError:
        return None
    parser.validateLink = _may_lead
    parser.core.ruler.push("horae", _tamed)
    parser.add_render_rule("image", _as_link)
    return parser


def _may_lead(url: str) -> bool:
    return url.strip().lower().startswith(LINKS)


def _tamed(state: Any) -> None:
    """Tokens as this page can have them."""
    above = TOP - 1
    for token in state.tokens:
        token.attrs.pop("style", None)  # how a column of a table is aligned
        if token.type == "heading_open":
            above = min(above + 1, int(token.tag[1]) + TOP - 1, 6)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{above}"
        _tame_links(token.children or ())


def _tame_links(tokens: Any) -> None:
    inside = False
    for token in tokens:
        if token.type == "link_open":
            token.attrSet("rel", REL)
            token.attrSet("target", "_blank")
        inside = token.type == "link_open" or (inside and token.type != "link_close")
        token.meta["inside"] = inside  # a picture in a link cannot be a link of its own


def _as_link(_renderer: Any, tokens: Any, at: int, _options: Any, _env: Any) -> str:
    address, says = str(tokens[at].attrGet("src") or ""), str(tokens[at].content)
    if tokens[at].meta["inside"]:
        return str(escape(says or address))
    return f'<a href="{escape(address)}" rel="{REL}" target="_blank">{escape(says or address)}</a>'
