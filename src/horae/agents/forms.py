"""Answers that must have a form: what the library is told to ask for, and the check that holds in the end.

A model may call the library's output tool, or write the JSON as its text; both are checked against the job's schema. One
that is no object is put into an object with one member, since tools answer with objects.
"""

from __future__ import annotations

import json
from typing import Any, cast

import jsonschema
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from pydantic_ai import ModelRetry, StructuredDict, TextOutput, UserError

from horae.agents.stop import Stop
from horae.core.silence import failure_in, is_silent

ONLY = "answer"
TOOL = "final_answer"


class Form:
    """A schema. Raises `Stop` where it is none."""

    def __init__(self, text: str) -> None:
        try:
            schema: Any = json.loads(text)
            if not isinstance(schema, dict):
                raise Stop("failed", "the job's `schema` is no JSON object")
            kind: Any = validator_for(cast("dict[str, Any]", schema), default=jsonschema.Draft202012Validator)
            kind.check_schema(schema)
        except (ValueError, jsonschema.SchemaError) as error:
            raise Stop("failed", f"the job's `schema` cannot be used: {error}") from error
        self._schema = cast("dict[str, Any]", schema)
        self._check: Validator = kind(schema)
        self.wraps = self._schema.get("type") != "object"

    def outputs(self) -> list[Any]:
        """What the library is to ask for."""
        schema = self._schema
        if self.wraps:
            inner = {key: value for key, value in schema.items() if key != "$defs"}
            schema = {"type": "object", "properties": {ONLY: inner}, "required": [ONLY]}
            schema |= {"$defs": self._schema["$defs"]} if "$defs" in self._schema else {}
        try:
            structured = StructuredDict(schema, name="Answer", description="The answer of this task.")
        except UserError as error:
            raise Stop("failed", f"the job's `schema` cannot be used: {error}") from error
        return [structured, TextOutput(self.of_text)]

    def of_text(self, text: str) -> dict[str, Any] | str:
        """An answer that was written as text. Nothing to say, and a failure, are said without a form."""
        if is_formless(text):
            return text
        body = text.strip()
        if body.startswith("```"):
            body = body.partition("\n")[2].rpartition("```")[0]
        try:
            found: Any = json.loads(body)
        except ValueError as error:
            raise ModelRetry(f"the answer must be JSON that fits the schema, and nothing else: {error}") from error
        return {ONLY: found} if self.wraps or not isinstance(found, dict) else cast("dict[str, Any]", found)

    def checked(self, answer: dict[str, Any] | str) -> str:
        """The answer as JSON. Raises ModelRetry where it does not fit."""
        if isinstance(answer, str):
            return answer
        value = answer.get(ONLY) if self.wraps else answer
        wrong = sorted(self._check.iter_errors(value), key=lambda error: error.json_path)
        if wrong:
            said = "; ".join(f"{error.json_path}: {error.message}"[:200] for error in wrong[:5])
            raise ModelRetry(f"the answer does not fit the schema: {said}")
        return json.dumps(value, ensure_ascii=False)


def is_formless(answer: str) -> bool:
    """Whether an answer says that there is nothing to say, or that it failed: no form holds then."""
    return is_silent(answer) or failure_in(answer) is not None


def asked_for(schema: str) -> str:
    """What an agent is told that is a program: its answer is only text to us."""
    return (
        f"# Form of the answer\n\nYour last answer must be JSON that fits this schema, and nothing else:\n\n{schema}\n"
    )
