"""Refusals as `application/problem+json` (RFC 9457), with the codes of the error tree.

{"type": "about:blank", "title", "status", "detail", "code", "hint", "details"}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request

from horae.errors import Problem

MEDIA = "application/problem+json"
STATUS = {
    "invalid": 422,
    "usage": 422,
    "not_found": 404,
    "ambiguous": 409,
    "refused": 403,
    "newer_store": 500,
    "unavailable": 503,
    "conflict": 409,
    "stale": 409,
    "trouble": 500,
    "exhausted": 503,
    "problem": 500,
}
CODES = {400: "invalid", 401: "signed_out", 404: "not_found", 405: "not_allowed", 413: "too_large", 429: "too_many"}


def answer(status: int, code: str, detail: str, hint: str | None = None, **details: Any) -> JSONResponse:
    """One refusal."""
    title = detail.split(":", 1)[0][:120]
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code, "hint": hint}
    return JSONResponse({**body, "details": details}, status_code=status, media_type=MEDIA)


async def of_problem(_request: Request, problem: Exception) -> JSONResponse:
    """A refusal of a use case."""
    assert isinstance(problem, Problem)
    details = {str(key): value for key, value in problem.details.items()}
    body = answer(STATUS.get(problem.code, 500), problem.code, problem.message, problem.hint)
    return answer(body.status_code, problem.code, problem.message, problem.hint, **details)


async def of_validation(_request: Request, error: Exception) -> JSONResponse:
    """What does not fit the description of the interface."""
    assert isinstance(error, RequestValidationError)
    wrong = [_named(each) for each in error.errors()]
    first = wrong[0] if wrong else {"where": "the request", "what": "is not understood"}
    return answer(422, "invalid", f"{first['where']}: {first['what']}", "see /api/v1/openapi.json", wrong=wrong)


def _named(each: Mapping[str, Any]) -> dict[str, str]:
    """Where a request is wrong, and what is."""
    if each["type"] != "json_invalid":
        return {"where": ".".join(map(str, each["loc"])), "what": each["msg"]}
    why = each.get("ctx", {}).get("error", "it cannot be read")
    return {"where": "body", "what": f"it is no JSON: {why} (at its character {each['loc'][-1]})"}


async def of_fault(_request: Request, error: Exception) -> JSONResponse:
    """What is no refusal is a fault of ours; the server logs it."""
    return answer(
        500, "problem", f"a fault of Horae ({type(error).__name__})", "state/web.log of the home has the details"
    )


async def of_http(request: Request, error: Exception) -> JSONResponse:
    """What the framework refuses by itself."""
    assert isinstance(error, HTTPException)
    detail, hint = str(error.detail), None
    if error.status_code == 405:
        detail = f"{request.method} is nothing that can be done at {request.url.path}"
        hint = f"it takes {(error.headers or {}).get('Allow', 'other methods')}; see /api/v1/openapi.json"
    made = answer(error.status_code, CODES.get(error.status_code, "refused"), detail, hint)
    made.headers.update(error.headers or {})
    return made
