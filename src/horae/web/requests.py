"""What requests of REST may say: types that refuse what no use case could take, before one is asked.

Names that are not known are refused everywhere: a filter that was mistyped must not answer with everything.
"""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Header, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

DEPTH_MAX = 20
PLAIN = r"^[^\x00-\x1f\x7f]+$"
NAME_CHARS_MAX = 300


def readable(value: Any) -> Any:
    """A value that any store can keep: no NUL, no half of a character, no number beyond measure, not nested without end."""
    _look_through(value, 0)
    return value


def _look_through(value: Any, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise ValueError(f"it is nested deeper than {DEPTH_MAX}")
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise ValueError("it has a character that no text can hold")
    elif isinstance(value, int) and not isinstance(value, bool):
        if abs(value) >= 2**63:
            raise ValueError("the number is too large")
    elif isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            _look_through(key, depth + 1)
            _look_through(item, depth + 1)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            _look_through(item, depth + 1)


class Said(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", str_max_length=300_000, strict=True)


Text = Annotated[str, Field(min_length=1, max_length=NAME_CHARS_MAX), AfterValidator(readable)]
Line = Annotated[str, Field(max_length=4096), AfterValidator(readable)]
Long = Annotated[str, Field(max_length=300_000), AfterValidator(readable)]
Fields = Annotated[
    dict[str, Any],
    BeforeValidator(readable),
    Field(description="keys of a job file, in the forms that the file takes: docs/guide/job-files.md"),
]
JobName = Annotated[
    str,
    Path(min_length=1, max_length=NAME_CHARS_MAX, pattern=PLAIN, description="id, unique prefix of one, slug, or name"),
]
RunName = Annotated[
    str, Path(min_length=1, max_length=64, pattern=PLAIN, description="a run's id or a unique beginning of it")
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="of your own making: a request that is sent again with it is not done again",
    ),
]
IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", max_length=200, description="the ETag of the file that you have read"),
]
Cursor = Annotated[str | None, Query(max_length=400, pattern=PLAIN, description="from the page before")]


def filtered(description: str, most: int = NAME_CHARS_MAX) -> Any:
    """A filter of a list."""
    return Query(min_length=1, max_length=most, pattern=PLAIN, description=description)


def only_known(request: Request) -> None:
    """Refuse names of query parameters that the route does not have."""
    dependant = request.scope["route"].dependant
    known = {field.alias for field in dependant.query_params}
    for name in request.query_params:
        if name not in known:
            told = f"there is no {name!r}; known are {', '.join(sorted(known)) or 'none'}"
            raise RequestValidationError([{"loc": ("query", name), "msg": told, "type": "unknown", "input": None}])
    if len(request.query_params.multi_items()) != len(request.query_params):
        raise RequestValidationError(
            [{"loc": ("query",), "msg": "a name is given twice", "type": "twice", "input": None}]
        )


def etag(digest: str) -> str:
    """The ETag of a file with that digest."""
    return f'"{digest}"'


def expected(if_match: str | None) -> str | None:
    """The digest that an If-Match names; None for any, or where there is none. One that is none matches nothing."""
    if if_match is None or if_match.strip() == "*":
        return None
    return if_match.strip().removeprefix("W/").strip('"') or "none"
