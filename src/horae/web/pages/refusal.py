"""Refusals as pages, for people who follow a link to what is not there; scripts of pages and programs get JSON."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from fastapi.responses import JSONResponse, Response
from starlette.requests import Request

from horae.web.pages.render import render

Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]
PROGRAMS = ("/api/", "/do/", "/hooks/", "/mcp", "/metrics", "/static/")


def for_people(handler: Handler) -> Callable[[Request, Exception], Awaitable[Response]]:
    """The same refusal, as a page where a browser asked for one."""

    async def answer(request: Request, error: Exception) -> Response:
        made = await handler(request, error)
        wants = "text/html" in request.headers.get("accept", "") and "hx-request" not in request.headers
        if not wants or request.url.path.startswith(PROGRAMS):
            return made
        said = json.loads(bytes(made.body))
        title = HTTPStatus(made.status_code).phrase.capitalize()
        title = {404: "There is nothing here", 403: "That is not yours to do"}.get(made.status_code, title)
        return render(
            request, "refusal.html", status=made.status_code, title=title, detail=said["detail"], hint=said["hint"]
        )

    return answer
