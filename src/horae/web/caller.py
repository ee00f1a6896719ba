"""What routes ask for: who calls, and the gate."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from horae.app.gate import Gate
from horae.core.access import Who


def _who(request: Request) -> Who:
    return request.state.who


def _gate(request: Request) -> Gate:
    return request.app.state.given.gate


Caller = Annotated[Who, Depends(_who)]
GateOf = Annotated[Gate, Depends(_gate)]
