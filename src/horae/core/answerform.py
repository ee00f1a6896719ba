"""The form that an answer must have: a JSON schema of an object. Loaded only for jobs that have one."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from jsonschema.protocols import Validator
from referencing import Registry
from referencing.exceptions import Unresolvable

SAID_CHARS_MAX = 300


def problem(schema: str) -> str | None:
    """Why a text is no JSON schema; None when it is one."""
    try:
        jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    except jsonschema.SchemaError as error:
        return f"it is no JSON schema: {error.message[:SAID_CHARS_MAX]}"
    except (ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"
    try:
        list(_validator(schema).iter_errors({}))
    except (Unresolvable, RecursionError) as error:
        return _endless(error)
    return None


def unmet(schema: str, answer: str) -> str | None:
    """What of an answer does not meet it; None when all does."""
    try:
        said: Any = json.loads(answer)
    except (ValueError, RecursionError) as error:
        return f"the answer is not JSON: {error}"
    try:
        found = sorted(_validator(schema).iter_errors(said), key=lambda e: list(map(str, e.path)))
    except (Unresolvable, RecursionError) as error:
        return f"the schema: {_endless(error)}"
    if not found:
        return None
    place = "/".join(map(str, found[0].path)) or "the answer"
    return f"{place}: {found[0].message[:SAID_CHARS_MAX]}"


def _validator(schema: str) -> Validator:
    """Whose references lead only into the schema itself: nothing is fetched."""
    return jsonschema.Draft202012Validator(json.loads(schema), registry=Registry[Any]())


def _endless(error: Unresolvable | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "its references go in circles"
    return f"its reference {str(error.ref)[:SAID_CHARS_MAX]} leads to nothing in it"
