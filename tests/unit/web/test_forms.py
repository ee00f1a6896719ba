"""From the fields of a form to the keys of a file, and from a button to a use case."""

from __future__ import annotations

from typing import Any

import pytest

from horae.app.usecases import USE_CASES
from horae.errors import Invalid, NotFound
from horae.web.pages.formvalues import changed, shown
from horae.web.pages.frame import DEEDS, arguments

TIDES: dict[str, Any] = {
    "name": "Tides", "schedule": "weekdays at 18:30", "skills": ["tides", "sea"], "prompt": "High water?",
    "limits": {"wall": "20m", "turns": "9"}, "retries": {"max": "2", "backoff": "5m"}, "group": "gpu",
}  # fmt: skip
RSYNC: dict[str, Any] = {
    "name": "Copy",
    "schedule": "@daily",
    "agent": "false",
    "command": ["rsync", "-a", "/my files"],
}


def test_what_nobody_has_touched_is_no_change() -> None:
    for values in (TIDES, RSYNC, {}):
        assert changed(values, shown(values)) == {}


@pytest.mark.parametrize(
    ("field", "text", "becomes"),
    [
        ("name", "High tides ", {"name": "High tides"}),
        ("skills", "tides, sea, , moon", {"skills": ["tides", "sea", "moon"]}),
        ("skills", "", {"skills": None}),
        ("wall", "", {"limits": {"wall": None}}),
        ("tokens", "200k", {"limits": {"tokens": "200k"}}),
        ("retries", "3", {"retries": {"max": "3"}}),
        ("prompt", "\nLow water?\n", {"prompt": "Low water?"}),
        ("deliver", "mail", {"deliver": ["mail"]}),
        ("kind", "script", {"agent": False}),
    ],
)
def test_one_field_changes_one_key(field: str, text: str, becomes: dict[str, Any]) -> None:
    assert changed(TIDES, {**shown(TIDES), field: text}) == becomes


def test_a_job_of_another_kind_loses_what_only_the_old_kind_has() -> None:
    assert shown(RSYNC)["command"] == "rsync -a '/my files'"
    assert changed(RSYNC, {**shown(RSYNC), "kind": "agent"}) == {"agent": None, "command": None}
    made = changed(RSYNC, {**shown(RSYNC), "command": 'tar "a b"'})
    assert made == {"command": ["tar", "a b"]}
    with pytest.raises(ValueError, match="quot"):
        changed(RSYNC, {**shown(RSYNC), "command": "tar 'a"})


def test_deeds_are_use_cases_and_take_what_they_say() -> None:
    assert set(DEEDS) <= set(USE_CASES)
    assert arguments("skip", {"job": "a", "slot": "next"}) == {"job": "a", "slot": "next"}
    assert arguments("pause", {"job": None, "reason": ""}) == {"job": None, "reason": None}
    assert arguments("undo", {"entry": "12"}) == {"entry": 12}
    assert arguments("approve", {"ask": "a1", "reason": ""}) == {"ask": "a1"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("skip", {"job": "a"}),
        ("skip", {"job": "", "slot": "next"}),
        ("skip", {"job": ["a"], "slot": "next"}),
        ("skip", {"job": "a", "slot": "next", "home": "x"}),
        ("undo", {"entry": True}),
        ("undo", {"entry": "1; drop"}),
        ("undo", {"entry": "9" * 30}),
    ],
)
def test_anything_else_is_refused(name: str, said: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        arguments(name, said)


@pytest.mark.parametrize("name", ["add_token", "sign_in", "apply", "touch", "__class__", "doctor"])
def test_pages_offer_no_other_use_case(name: str) -> None:
    with pytest.raises(NotFound):
        arguments(name, {})
