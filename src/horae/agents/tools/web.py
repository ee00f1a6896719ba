"""The toolset `web`: fetch a page from a public address. Nothing is sent but the address itself."""

from __future__ import annotations

import codecs

from pydantic_ai import FunctionToolset, RunContext, ToolFailed

from horae.agents.fetching import Barred, Unreachable, fetched
from horae.agents.tools.place import Place, data
from horae.agents.tools.plain import plain

GIVEN_CHARS_MAX = 30_000
TEXTS = ("text/", "application/json", "application/xml", "application/rss", "application/atom", "application/xhtml")


async def fetch(ctx: RunContext[Place], url: str, first_char: int = 0) -> str:
    """Fetch a web page or a text by its address, with GET. HTML comes as plain text.

    Args:
        ctx: The run.
        url: Begins with http:// or https://.
        first_char: Where to begin, for a long page.
    """
    try:
        page = await fetched(url, any_status=True)
    except Barred as error:
        raise ctx.deps.refuse("fetch", {"url": url}, str(error)) from error
    except Unreachable as error:
        raise ToolFailed(str(error)) from error
    if page.kind and not page.kind.startswith(TEXTS) and not page.kind.endswith(("+json", "+xml")):
        raise ToolFailed(f"{page.url} is {page.kind}, which is no text")
    text = page.body.decode(_known(page.charset), "replace")
    if "html" in page.kind or text.lstrip()[:15].lower().startswith(("<!doctype html", "<html")):
        text = plain(text)
    shown = text[first_char : first_char + GIVEN_CHARS_MAX]
    if len(text) > first_char + GIVEN_CHARS_MAX:
        shown += f"\n[… it goes on: fetch from character {first_char + GIVEN_CHARS_MAX} …]"
    elif page.cut:
        shown += "\n[… the page is longer, and the rest was not fetched …]"
    status = "" if page.status == 200 else f" (status {page.status})"
    return data(shown, f"{page.url}{status}")


TOOLS = FunctionToolset[Place]([fetch], id="web", sequential=True)


def _known(charset: str) -> str:
    try:
        return codecs.lookup(charset).name
    except LookupError:
        return "utf-8"
