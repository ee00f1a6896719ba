"""Schemas of answers: which are none, which lead nowhere, and what of an answer does not meet one. Nothing is fetched."""

from __future__ import annotations

import json
import urllib.request

import pytest

from horae.core.answerform import problem, unmet

TIDES = json.dumps(
    {
        "type": "object",
        "properties": {"high": {"type": "string"}, "heights": {"type": "array", "items": {"$ref": "#/$defs/m"}}},
        "required": ["high"],
        "$defs": {"m": {"type": "number"}},
    }
)


def test_a_schema_is_one() -> None:
    assert problem(TIDES) is None
    assert problem('{"type": "object"}') is None


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("[", "it is not JSON: "),
        ("[" * 100_000, "it is not JSON: "),
        ('{"type": "nothing"}', "it is no JSON schema: "),
        ('{"properties": {"a": {"pattern": "("}}}', "it is no JSON schema: "),
        ('{"required": "high"}', "it is no JSON schema: "),
        ('{"$ref": "#/nope"}', "its reference /nope leads to nothing in it"),
        ('{"$ref": "#"}', "its references go in circles"),
        (json.dumps({"enum": "x" * 9000}), "it is no JSON schema: "),
    ],
)
def test_what_is_none_is_said_shortly(schema: str, says: str) -> None:
    said = problem(schema)
    assert said is not None
    assert said.startswith(says)
    assert len(said) < 400


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(*_: object, **__: object) -> None:
        raise AssertionError("a schema was fetched")

    monkeypatch.setattr(urllib.request, "urlopen", fetch)
    far = '{"$ref": "http://127.0.0.1:9/schema"}'
    assert problem(far) == "its reference http://127.0.0.1:9/schema leads to nothing in it"
    assert unmet(far, "{}") == "the schema: its reference http://127.0.0.1:9/schema leads to nothing in it"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ('{"high": "9:00", "heights": [1, 2.5], "more": null}', None),
        ("high: 9:00", "the answer is not JSON: "),
        ("[" * 100_000, "the answer is not JSON: "),
        ("[]", "the answer: [] is not of type 'object'"),
        ("{}", "the answer: 'high' is a required property"),
        ('{"high": "9", "heights": [1, "2"]}', "heights/1: '2' is not of type 'number'"),
        ('{"high": 9, "heights": ["2"]}', "heights/0: '2' is not of type 'number'"),
    ],
)
def test_what_of_an_answer_is_amiss(answer: str, says: str | None) -> None:
    said = unmet(TIDES, answer)
    assert said == says if says is None else str(said).startswith(says)


def test_an_answer_is_not_shown_as_a_whole() -> None:
    said = unmet(TIDES, json.dumps({"high": ["x"] * 9000}))
    assert said is not None
    assert len(said) < 400
