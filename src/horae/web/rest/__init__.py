"""REST, under `/api/v1`: one small file for each kind of thing. The name of an operation is that of its use case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter

from horae.web import problem, shapes
from horae.web.rest import events, house, jobs, runs

LACKS: Mapping[str, str] = {
    "apply": "it takes a folder of the machine where it runs; over REST each job is written by itself",
    "make_link": "a link lets a person in, and is made by a person: on the command line or in the dashboard",
    "use_model": "it carries out a plan that `horae model use` has shown, and may write config.toml; PATCH gives a job a model",
    "sign_in": "a door of the dashboard: programs come with a token",
    "sign_out": "a door of the dashboard: a token is revoked instead",
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": shapes.Refusal, "description": what, "content": {problem.MEDIA: {}}}
    for status, what in {
        400: "the body is no text in UTF-8",
        401: "nobody is signed in, or the token is not good",
        403: "a rule says no; or the role is not enough",
        404: "nothing has that name",
        409: "changed meanwhile, ambiguous, or being done",
        412: "the file is not the one that was read",
        413: "the request is too long",
        422: "a value is not what was expected",
        428: "If-Match is missing",
        429: "too many wrong tokens came from there",
        500: "a fault of Horae or of its machine",
        503: "the gateway or the store does not answer",
    }.items()
}

ROUTES: tuple[APIRouter, ...] = (house.router, jobs.router, runs.router, events.router)
