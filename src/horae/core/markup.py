"""Markdown and text as HTML that is safe to show, and Markdown as text. Pure.

HTML in a text is never passed on as HTML: it is shown as it is written. Links lead to the web or to a mailbox, nothing
else. Pictures become links, since loading one would tell its owner who reads the message, and when. Colours are left to
the reader's program, so that it is readable on light and on dark.

Without the library for Markdown, Markdown is shown as the text it is.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from importlib import import_module
from typing import Any

from horae.core.delivery import Format

MARKDOWN_CHARS_MAX = 200_000  # a larger text is a log, and is shown as one
_BLANKS = re.compile(r"\n{3,}")
_LINKS = ("http://", "https://", "mailto:")
_MONO = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px"
_PRE = f"white-space:pre-wrap;overflow-wrap:anywhere;{_MONO}"
_BODY = (
    "font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:15px;line-height:1.5;overflow-wrap:anywhere"
)
_STYLE = (
    f"h1{{font-size:1.4em}}h2{{font-size:1.2em}}h3{{font-size:1.05em}}code{{{_MONO}}}pre{{{_PRE}}}"
    "table{border-collapse:collapse}td,th{border-bottom:1px solid #8886;padding:4px 14px 4px 0;vertical-align:top}"
    "th{text-align:left}"
    "blockquote{margin:1em 0;padding-left:12px;border-left:3px solid #8888}hr{border:0;border-top:1px solid #8888}"
)


def page(title: str, text: str, format: Format) -> str:
    """A whole page, for a mail."""
    return (
        '<!doctype html>\n<html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
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
    cells: list[str] | None = None  # of the row of a table that is open
    item, lists = "", 0
    for token in parser.parse(text):
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                lists += 1
            case "bullet_list_close" | "ordered_list_close":
                lists -= 1
                lines += [""] if lists == 0 else []
            case "list_item_open":
                item = "  " * (lists - 1) + (f"{token.info}{token.markup} " if token.info else "• ")
            case "tr_open":
                cells = []
            case "tr_close":
                lines.append(" | ".join(cells or ()))
                cells = None
            case "inline" if cells is not None:
                cells.append(_inline(token))
            case "inline":
                lines.append(item + _inline(token))
                item = ""
            case "fence" | "code_block":
                lines += [item + str(token.content).rstrip("\n"), ""]
                item = ""
            case "paragraph_close" | "heading_close" | "table_close" if not token.hidden:
                lines.append("")
            case _:
                pass
    return _BLANKS.sub("\n\n", "\n".join(lines)).strip("\n")


def _inline(token: Any) -> str:
    said: list[str] = []
    link, begun = "", 0
    for part in token.children or ():
        match part.type:
            case "softbreak" | "hardbreak":
                said.append("\n")
            case "image":
                said.append(f"{part.content} ({part.attrGet('src')})")
            case "link_open":
                link, begun = str(part.attrGet("href") or ""), len(said)
            case "link_close" if "".join(said[begun:]) != link:
                said.append(f" ({link})")
            case _:
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
