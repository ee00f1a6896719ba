"""Markdown and text as HTML that is safe to show, and Markdown as text. Pure.

HTML in a text is never passed on as HTML: it is shown as it is written. Links lead to the web or to a mailbox, nothing
else. Pictures become links, since loading one would tell its owner who reads the message, and when. Colours are left to
the reader's program, so that it is readable on light and on dark.

Without the library for Markdown, Markdown is shown as the text it is.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib import import_module
from typing import Any

from horae.core.delivery import Format

MARKDOWN_CHARS_MAX = 200_000  # a larger text is a log, and is shown as one
_LINKS = ("http://", "https://", "mailto:")
_BODY = "font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:15px;line-height:1.5"
_PRE = "white-space:pre-wrap;overflow-wrap:anywhere;font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px"


def page(title: str, text: str, format: Format) -> str:
    """A whole page, for a mail."""
    return (
        '<!doctype html>\n<html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title></head>\n"
        f'<body style="{_BODY}">\n{html(text, format)}\n</body></html>\n'
    )


def html(text: str, format: Format) -> str:
    """The text as HTML without a page around it."""
    if format == "markdown" and len(text) <= MARKDOWN_CHARS_MAX and (parser := _parser()) is not None:
        return str(parser.render(text))
    return f'<div style="{_PRE}">{escape(text)}</div>'


def plain(text: str, format: Format) -> str:
    """The text without marks, for where nothing shows them."""
    if format != "markdown" or len(text) > MARKDOWN_CHARS_MAX or (parser := _parser()) is None:
        return text
    lines: list[str] = []
    item = ""
    for token in parser.parse(text):
        if token.type == "list_item_open":
            item = f"{token.info}{token.markup} " if token.info else "• "
        elif token.type == "inline":
            lines.append(item + _inline(token))
            item = ""
        elif token.type in ("fence", "code_block"):
            lines.append(str(token.content).rstrip("\n"))
        elif (
            token.type in ("paragraph_close", "heading_close", "bullet_list_close", "ordered_list_close")
            and not token.hidden
        ):
            lines.append("")
    return "\n".join(lines).strip()


def _inline(token: Any) -> str:
    said: list[str] = []
    for part in token.children or ():
        if part.type in ("softbreak", "hardbreak"):
            said.append("\n")
        elif part.type == "image":
            said.append(f"{part.content} ({part.attrGet('src')})")
        else:
            said.append(str(part.content))
    return "".join(said)


@cache
def _parser() -> Any:
    """The parser of Markdown; None without its library."""
    try:
        parser = import_module("markdown_it").MarkdownIt("commonmark", {"html": False}).enable("table")
    except ImportError:
        return None
    parser.validateLink = _may_lead
    parser.add_render_rule("image", _as_link)
    return parser


def _may_lead(url: str) -> bool:
    return url.strip().lower().startswith(_LINKS)


def _as_link(_renderer: Any, tokens: Any, at: int, _options: Any, _env: Any) -> str:
    address = escape(str(tokens[at].attrGet("src") or ""))
    return f'<a href="{address}">{escape(str(tokens[at].content)) or address}</a>'
