"""What pages have in common: the part around them that keeps itself up to date, and deeds.

A deed is a use case that a button or a form of a page asks for: `POST /do/{name}` with its arguments as JSON, answered with
what the use case answers. Its names are those that pages offer; each argument has a type, so that nothing else gets through.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.responses import HTMLResponse
from starlette.requests import Request

from horae.errors import Invalid, NotFound
from horae.web.caller import Caller, GateOf
from horae.web.pages.render import render

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
TEXT, MAYBE, NUMBER = (str,), (str, type(None)), (int, type(None))
DEEDS: Mapping[str, Mapping[str, tuple[type, ...]]] = MappingProxyType(
    {
        "run": {"job": TEXT, "input": MAYBE},
        "cancel": {"run": TEXT},
        "pause": {"job": MAYBE, "reason": MAYBE},
        "resume": {"job": MAYBE},
        "skip": {"job": TEXT, "slot": TEXT},
        "move": {"job": TEXT, "slot": TEXT, "to": TEXT},
        "undo": {"entry": NUMBER},
        "replay": {"run": TEXT, "model": MAYBE},
        "resend": {"run": TEXT, "target": MAYBE},
        "resolve": {"run": TEXT, "said": TEXT, "reason": MAYBE},
        "ack": {"incident": TEXT, "snooze_s": NUMBER},
        "open_target": {"target": TEXT},
        "test_target": {"target": TEXT, "text": MAYBE},
        "approve": {"ask": TEXT, "reason": MAYBE},
        "deny": {"ask": TEXT, "reason": MAYBE},
        "remove": {"job": TEXT},
    }
)
REQUIRED_NONE = {
    "pause": ("job", "reason"),
    "resume": ("job",),
    "test_target": ("text",),
}  # what a use case wants to be told, also that it is nothing


@router.get("/frame")
def around(request: Request, at: str = "/") -> HTMLResponse:
    """The bar at the top, anew, of a page at that path."""
    return render(request, "frame.html", asked_from=at)


@router.post("/do/{name}")
def do(name: str, who: Caller, gate: GateOf, said: Annotated[Json, Body()]) -> Json:
    """A deed, in the name of whoever looks."""
    return gate.do(who, name, **arguments(name, said))


def arguments(name: str, said: Json) -> Json:
    """What a use case is called with. Raises NotFound, Invalid."""
    known = DEEDS.get(name)
    if known is None:
        raise NotFound(f"pages do not offer {name!r}", "see /api/v1/openapi.json for what there is")
    made: Json = dict.fromkeys(REQUIRED_NONE.get(name, ()))
    for key, value in said.items():
        kinds = known.get(key)
        if kinds is None:
            raise Invalid(f"{name} takes no {key!r}", f"it takes {', '.join(known)}", field=key)
        given = None if value == "" and type(None) in kinds else value
        if int in kinds and isinstance(given, str) and given.isdecimal() and len(given) < 18:
            given = int(given)
        if not isinstance(given, kinds) or isinstance(given, bool):
            raise Invalid(f"{key} of {name} is not understood", "reload the page and try again", field=key)
        if given is not None or key in made:
            made[key] = given
    lacking = [key for key, kinds in known.items() if type(None) not in kinds and not made.get(key)]
    if lacking:
        raise Invalid(f"{lacking[0]} is missing", f"say it, then {name} again", field=lacking[0])
    return made
