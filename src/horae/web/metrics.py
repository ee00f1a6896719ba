"""`/metrics`: what Prometheus reads, with a token of the role read."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from horae.core.access import allows
from horae.errors import Refused
from horae.web.caller import Caller, GateOf
from horae.web.exposed import text_of

router = APIRouter(include_in_schema=False)
MEDIA = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/metrics")
def metrics(who: Caller, gate: GateOf) -> Response:
    """All of them."""
    if not allows(who.role, "read"):
        raise Refused("metrics are for whoever may look", "`horae tokens add NAME` makes a token", needed="read")
    return Response(text_of(gate.metrics()), media_type=MEDIA)
