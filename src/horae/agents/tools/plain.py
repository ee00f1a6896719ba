"""The text of an HTML page, as one would read it: no markup, no scripts, with the addresses of its links."""

from __future__ import annotations

import re
from html.parser import HTMLParser

SILENT = {"script", "style", "noscript", "template", "svg", "head"}
BLOCKS = {
    *("p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "figure", "form", "hr", "br"),
    *("ul", "ol", "li", "dl", "dt", "dd", "table", "tr", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"),
}


def plain(html: str) -> str:
    """All of it; whatever the page does, it ends."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    text = re.sub(r"[ \t\r\f\v]+", " ", "".join(reader.parts))
    text = re.sub(r" ?\n ?", "\n", text)
    body = re.sub(r"\n{3,}", "\n\n", text).strip()
    return f"{reader.title.strip()}\n\n{body}".strip() if reader.title.strip() else body


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title = ""
        self._silent = 0
        self._titled = False
        self._link: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._titled = True
        elif tag == "body":
            self._silent = 0  # a head that was never closed
        elif tag in SILENT:
            self._silent += 1
        elif tag in BLOCKS:
            self.parts.append("\n- " if tag == "li" else "\n")
        elif tag == "a":
            self._link = next((value for name, value in attrs if name == "href"), None)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._titled = False
        elif tag in SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in BLOCKS:
            self.parts.append("\n")
        elif tag == "a" and self._link:
            if self._link.startswith(("http://", "https://", "/")) and not self._silent:
                self.parts.append(f" ({self._link})")
            self._link = None

    def handle_data(self, data: str) -> None:
        if self._titled:
            self.title += data
        elif not self._silent:
            self.parts.append(data)
