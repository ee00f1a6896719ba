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
from starlette.routing import Match

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
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
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
    detail, hint, headers = str(error.detail), None, {**(error.headers or {})}
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods_of(request))
        detail = f"{request.method} is nothing that can be done at {request.url.path}"
        hint = f"it takes {headers['Allow']}"
    elif error.status_code == 404 and detail == "Not Found":
        detail, hint = f"there is nothing at {request.url.path}", "/api/v1/openapi.json lists what programs can ask for"
    made = answer(error.status_code, CODES.get(error.status_code, "refused"), detail, hint)
    made.headers.update(headers)
    return made


def _methods_of(request: Request) -> list[str]:
    """What an address takes: the framework names only the methods of the first route that fits."""
    asked = {key: request.scope[key] for key in ("type", "path", "root_path", "headers") if key in request.scope}
    routes = request.app.routes
    return [
        method
        for method in METHODS
        if any(route.matches({**asked, "method": method})[0] is Match.FULL for route in routes)
    ]
