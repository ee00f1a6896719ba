"""`POST /hooks/{name}`: others start jobs, by a signature and nothing else.

202 with the runs that will be, and what was dropped and why; 200 for a call that was taken before, with its first answer, and
for an event that starts nothing; 401 for every call that is not good, whatever is wrong with it; 413 for one that is too
long; 429 with `Retry-After` for too many. It says nothing of this home to somebody who has no secret of it.
"""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from fastapi import APIRouter
from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.responses import Response

from horae.errors import Problem
from horae.web import problem
from horae.web.caller import GateOf

router = APIRouter(include_in_schema=False)
HINT = "look at the hook's kind, secret and time: `horae hooks list`"


@router.post("/hooks/{name}")
async def call(name: str, request: Request, gate: GateOf) -> Response:
    """One call."""
    headers: dict[str, str] = {}
    for key, value in request.headers.items():
        headers[key.lower()] = value
    body = await request.body()
    try:
        answer = await anyio.to_thread.run_sync(lambda: gate.hook(name, headers, body))
    except Problem as error:
        status = problem.STATUS.get(error.code, 500)
        return problem.answer(max(status, 503), "unavailable", "the call cannot be taken now", "call again later")
    return _answered(answer)


def _answered(answer: dict[str, Any] | str | None) -> Response:
    if answer is None:
        return problem.answer(401, "bad_signature", "this call is not good", HINT)
    if answer == "too_large":
        return problem.answer(413, "too_large", "the body is longer than this hook takes", "send less, or raise max")
    if isinstance(answer, str):
        return JSONResponse({"runs": [], "dropped": [], "again": False, "ignored": True})
    if answer["wait_s"] is not None:
        made = problem.answer(429, "too_many", "too many calls of this hook in a minute", "call again later")
        made.headers["retry-after"] = str(answer["wait_s"])
        return made
    shown = {key: answer[key] for key in ("hook", "runs", "dropped", "again")}
    return JSONResponse(shown, status_code=200 if answer["again"] else 202)
