"""How the home is doing."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from horae.web.caller import Caller, GateOf

router = APIRouter(tags=["home"])


@router.get("/status")
def status(who: Caller, gate: GateOf) -> dict[str, Any]:
    """Is the gateway alive, what is next, how late were the last runs, what waits for people."""
    return gate.do(who, "status")
