"""The application: guard, routes, refusals. What each route does stands in `rest/` and `pages/`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.routing import Route

from horae import __version__
from horae.errors import Problem
from horae.web import hooks, metrics, problem
from horae.web.feed import Feed
from horae.web.given import Given
from horae.web.guard import Guard
from horae.web.headers import dressed
from horae.web.mcpdoor import McpDoor
from horae.web.pages import PAGES
from horae.web.pages.refusal import for_people
from horae.web.requests import only_known
from horae.web.rest import REFUSALS, ROUTES

STATIC = Path(__file__).parent / "static"


def create_app(given: Given) -> FastAPI:
    """Everything that is served over HTTP, over one home."""
    app = FastAPI(
        title="Horae",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.given = given
    app.state.feed = Feed(given.gate)
    app.state.closing = asyncio.Event()
    app.add_exception_handler(Problem, for_people(problem.of_problem))
    app.add_exception_handler(RequestValidationError, problem.of_validation)
    app.add_exception_handler(Exception, dressed(for_people(problem.of_fault)))
    app.add_exception_handler(HTTPException, for_people(problem.of_http))
    for router in ROUTES:
        app.include_router(router, prefix="/api/v1", dependencies=[Depends(only_known)], responses=REFUSALS)
    for router in PAGES:
        app.include_router(router)
    app.include_router(hooks.router)
    app.include_router(metrics.router)
    if given.mcp is not None:
        app.router.routes.append(Route("/mcp", McpDoor(given.mcp), methods=["GET", "POST", "DELETE"]))
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(Guard, given=given, told=for_people(problem.of_problem))
    return app
