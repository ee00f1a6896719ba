"""Templates to answers. Everything is escaped; times are shown in the zone of the home.

A template finds `who`, `here` (the path), `csrf`, `home`, `timezone`, `version` and what its page hands it;
`asset("x.js")` is the address of a file of ours that may be kept for ever, since it changes with the file; `can("pause")`
says whether whoever looks may do that, so that nobody sees a button that would be refused; `frame()` is what stands around
each page (is the gateway alive, how much waits), asked for only by whole pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request

from horae import __version__
from horae.app.usecases import permitted
from horae.core.access import NOBODY, Who
from horae.core.webform import LIBRARIES
from horae.errors import Problem
from horae.web.pages.words import filters

Json = dict[str, Any]
WEB = Path(__file__).parents[1]
STATIC = WEB / "static"
UNKNOWN_FRAME: Mapping[str, Any] = {"alive": None, "waiting": 0, "running": 0, "since": None, "problems": ()}
PAGES = (  # path, word, the key behind `g`
    ("/", "Today", "t"),
    ("/calendar", "Calendar", "c"),
    ("/jobs", "Jobs", "j"),
    ("/runs", "Runs", "r"),
    ("/trends", "Trends", "n"),
    ("/health", "Health", "h"),
    ("/journal", "Journal", "o"),
)


def asset(name: str) -> str:
    """Where a file of `static/` is, with a part that changes when the file does; one that is not there may come yet."""
    path = STATIC / name
    return f"/static/{name}?v={_mark(path)}" if path.is_file() else f"/static/{name}"


@lru_cache
def _mark(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:12]


def lacking() -> bool:
    """Whether files that pages need are missing, as in a checkout in which nobody has fetched them."""
    return not all((STATIC / "lib" / name).is_file() for name in LIBRARIES)


@lru_cache
def environment(timezone: str = "UTC") -> Environment:
    """The templates, for a home of that zone."""
    made = Environment(
        loader=FileSystemLoader(WEB / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    known: dict[str, Any] = {"asset": asset, "lacking": lacking, "pages": PAGES, "version": __version__}
    of: Any = made  # the library says nothing about the types of these two
    of.filters.update(filters(timezone))
    of.globals.update(known)
    return made


def may(who: Who) -> Callable[[str], bool]:
    """Whether somebody may use a use case."""

    def can(name: str) -> bool:
        try:
            permitted(who, name)
        except Problem:
            return False
        return True

    return can


def status_of(request: Request) -> Json:
    """How the home is doing, asked once for each request."""
    found = getattr(request.state, "status", None)
    if found is None:
        found = request.app.state.given.gate.do(request.state.who, "status")
        request.state.status = found
    return found


def frame_of(request: Request) -> Mapping[str, Any]:
    """What stands around each page. Where it cannot be told, the page is shown all the same."""
    if getattr(request.state, "who", NOBODY).role is None:
        return UNKNOWN_FRAME
    try:
        status = status_of(request)
    except Problem:
        return UNKNOWN_FRAME
    gateway = status["gateway"]
    return {
        "alive": gateway["alive"],
        "since": gateway["since"],
        "waiting": sum(item["kind"] != "failing" for item in status["waiting"]),
        "running": len(status["live_runs"]),
        "problems": status["problems"],
    }


def render(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, or a part of one."""
    given = request.app.state.given
    who = getattr(request.state, "who", NOBODY)
    text = (
        environment(given.timezone)
        .get_template(name)
        .render(
            who=who,
            can=may(who),
            frame=lambda: frame_of(request),
            here=request.url.path,
            csrf=getattr(request.state, "csrf", ""),
            home=given.home,
            timezone=given.timezone,
            **values,
        )
    )
    return HTMLResponse(text, status_code=status, headers={"Vary": "HX-Request", "Cache-Control": "no-store"})
