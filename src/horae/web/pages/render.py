"""Templates to answers. Everything is escaped; times are shown in the zone of the home.

A template finds `who`, `here` (the path), `csrf`, `home`, `version` and what its page hands it; `asset("x.js")` is the address
of a file of ours that may be kept for ever, since it changes with the file.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request

from horae import __version__
from horae.web.pages.words import FILTERS

WEB = Path(__file__).parents[1]
STATIC = WEB / "static"


@lru_cache
def asset(name: str) -> str:
    """Where a file of `static/` is, with a part that changes when the file does."""
    path = STATIC / name
    mark = sha256(path.read_bytes()).hexdigest()[:12] if path.is_file() else "missing"
    return f"/static/{name}?v={mark}"


@lru_cache
def environment() -> Environment:
    """The templates."""
    made = Environment(
        loader=FileSystemLoader(WEB / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    made.globals["asset"] = asset
    return made


def render(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, or a part of one."""
    given = request.app.state.given
    text = (
        environment()
        .get_template(name)
        .render(
            who=request.state.who,
            here=request.url.path,
            csrf=getattr(request.state, "csrf", ""),
            home=given.home,
            timezone=given.timezone,
            version=__version__,
            **values,
        )
    )
    return HTMLResponse(text, status_code=status)
