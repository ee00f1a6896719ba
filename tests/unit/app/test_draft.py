"""What a job would be: told at each key that somebody types, and never written."""

from __future__ import annotations

from typing import Any

import pytest

from horae.app.draft import draft, values_of
from horae.errors import NotFound
from horae.ports import Home
from horae.wiring import House
from tests.support.process import TestHome

TIDES = """\
---
name: Tides # of the harbour
schedule: weekdays at 18:30   # when the boats are in
timezone: Europe/Paris
agent: false
script: a.sh
---
"""


@pytest.fixture
def of(tmp_path: Any) -> Home:
    home = TestHome(tmp_path / "home", inside=True)
    home.horae("init")
    (home.path / "scripts" / "a.sh").write_text("echo hi\n", encoding="utf-8")
    (home.path / "jobs" / "tides.md").write_text(TIDES, encoding="utf-8")
    home.horae("list")
    house = House(str(home.path))
    house.exists()
    house.freshen()
    return house.home


def test_fields_become_a_text_and_the_text_a_meaning(of: Home) -> None:
    made = draft(of, fields={"name": "Plants", "schedule": "sundays at 9:00", "agent": False, "script": "a.sh"})
    assert made["text"] == "---\nname: Plants\nschedule: sundays at 9:00\nagent: false\nscript: a.sh\n---\n"
    assert made["meaning"] == "at 09:00 on Sundays"
    assert len(made["slots"]) == 5
    assert made["problems"] == []
    assert made["fields"] == {
        "name": "Plants",
        "schedule": "sundays at 9:00",
        "agent": "false",
        "script": "a.sh",
        "prompt": "",
    }
    with pytest.raises(NotFound):
        of.folder.read("plants")


def test_an_edit_keeps_comments_and_order_and_writes_nothing(of: Home) -> None:
    made = draft(of, job="tides", fields={"schedule": "weekdays at 19:00", "limits": {"wall": "5m"}})
    assert "name: Tides # of the harbour\nschedule: weekdays at 19:00   # when the boats are in" in made["text"]
    assert "limits: {wall: 5m}" in made["text"]
    assert made["saved"] == of.folder.read("tides")
    assert "18:30" in made["saved"]
    assert made["job"]["slug"] == "tides"


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        (TIDES.replace("weekdays at 18:30", "every dya"), "schedule", 3),
        (TIDES.replace("Europe/Paris", "Europe/Pariss"), "timezone", 4),
        (TIDES.replace("agent: false", "agnet: false"), "agnet", 5),
        (TIDES.replace("a.sh", "b.sh"), None, None),
    ],
)
def test_what_is_wrong_is_told_with_its_place(of: Home, text: str, key: str | None, line: int | None) -> None:
    made = draft(of, job="tides", text=text)
    assert made["text"] == text
    (problem,) = made["problems"]
    assert (problem["key"], problem["line"]) == (key, line)
    assert problem["message"]
    assert (made["meaning"] is None) == (key in ("schedule", "timezone"))


def test_a_field_that_cannot_be_set_leaves_the_others(of: Home) -> None:
    made = draft(of, fields={"name": "Plants", "no_such_key": "x", "schedule": "@daily"})
    assert "name: Plants" in made["text"]
    assert "schedule: '@daily'" in made["text"] or 'schedule: "@daily"' in made["text"]
    assert made["problems"][0]["key"] == "no_such_key"


def test_a_clock_change_is_told(of: Home) -> None:
    fields = {"schedule": "sundays at 2:30", "timezone": "Europe/Paris", "command": ["true"], "agent": False}
    notes = [slot["note"] for slot in draft(of, fields=fields, slots=53)["slots"] if slot["note"]]
    assert any("the clock skips 02:30" in note for note in notes)
    skips = draft(of, fields={**fields, "clock_change": {"gap": "skip"}}, slots=53)
    assert any("no run" in note["text"] for note in skips["notes"])


@pytest.mark.parametrize("text", ["", "no front matter", "---\n", "---\n: : :\n---\n", "---\nname: [\n---\n", "\x00"])
def test_any_text_can_be_looked_at(of: Home, text: str) -> None:
    made = draft(of, text=text)
    assert made["text"] == text
    assert made["problems"]
    assert values_of(text) == made["fields"]


def test_a_job_that_is_not_there_is_said(of: Home) -> None:
    with pytest.raises(NotFound):
        draft(of, job="nope")
