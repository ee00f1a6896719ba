"""Every change says how to take it back, and doing what it says takes it back; exactly one change at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.process import TestHome


def state(home: TestHome) -> dict:
    """All of a home that a person would want back."""
    slots = home.sql("SELECT key, due_at, exception FROM occurrence WHERE state = 'planned' ORDER BY key")
    jobs = {slug: (job["state"], job["meaning"], job["paused"]) for slug, job in home.jobs().items()}
    return {"files": home.digests(), "jobs": jobs, "slots": [slot for slot in slots if slot[2]]}


@pytest.fixture
def kept(home: TestHome) -> TestHome:
    home.json("add", "every day at 04:00", "--script", "hi.sh", "--name", "Kept")
    return home


CHANGES: dict[str, tuple[str, ...]] = {
    "add": ("add", "every 2h", "--script", "hi.sh", "--name", "New"),
    "edit": ("edit", "kept", "--schedule", "every monday at 9am", "--name", "Other"),
    "disable": ("edit", "kept", "--disable"),
    "remove": ("remove", "kept"),
    "pause": ("pause", "kept", "--reason", "holidays"),
    "skip": ("skip", "kept"),
    "move": ("move", "kept", "next", "--to", "in 2h"),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("how", ["as it says", "undo"])
def test_a_change_is_taken_back(kept: TestHome, name: str, how: str) -> None:
    before = state(kept)
    answer = kept.json(*CHANGES[name])
    assert answer["undo"].startswith("horae ")
    assert state(kept) != before
    undone = kept.json(*answer["undo"].split()[1:]) if how == "as it says" else kept.json("undo")
    assert undone["did"]
    assert state(kept) == before


def test_undo_goes_back_one_change_after_another(kept: TestHome) -> None:
    before = [state(kept)]
    for words in [*CHANGES.values(), ("remove", "new")]:
        if words != ("remove", "kept"):
            kept.json(*words)
            before.append(state(kept))
    for expected in reversed(before[:-1]):
        kept.json("undo")
        assert state(kept) == expected
    assert kept.json("undo")["what"] == "added"
    assert kept.jobs() == {}
    assert "nothing to undo" in kept.error("undo", status=3)["message"]


def test_a_removed_job_comes_back_with_what_was_decided_about_its_slots(kept: TestHome) -> None:
    kept.json("skip", "kept")
    kept.json("move", "kept", "next", "--to", "in 2h")
    before = state(kept)
    assert len(before["slots"]) == 2
    kept.json("remove", "kept")
    kept.json("undo")
    assert state(kept) == before
    kept.json("undo")  # the move, which was the newest thing before
    assert [slot[2] for slot in state(kept)["slots"]] == ["skip"]


def test_undo_names_the_job_and_is_not_repeated(kept: TestHome) -> None:
    entry = kept.json("pause", "kept")["jobs"][0]["entry"]
    said = kept.horae("undo", str(entry)).out
    assert said.startswith("resumed kept\n")
    again = said.split("undo: horae ")[1].split()
    assert kept.json(*again)["did"] == "paused kept"
    assert "undone already" in kept.error("undo", str(entry), status=4)["message"]
    assert "no entry" in kept.error("undo", "9999", status=3)["message"]
    assert kept.error("undo", "9" * 30, status=2)["code"] == "usage"
    assert "cannot be undone" in kept.error("undo", "1", status=4)["message"]


def test_undo_does_not_run_over_a_later_edit(kept: TestHome) -> None:
    kept.json("edit", "kept", "--name", "Second")
    text = kept.file("kept").read_text()
    kept.file("kept").write_text(text.replace("Second", "By hand"))
    assert kept.error("undo", status=6)["code"] == "conflict"
    assert "By hand" in kept.file("kept").read_text()


def test_a_deleted_file_comes_back_from_its_last_good_definition(kept: TestHome) -> None:
    kept.file("kept").unlink()
    assert kept.jobs() == {}
    assert "last good definition" in kept.json("undo")["did"]
    assert kept.jobs()["kept"]["state"] == "active"


@pytest.mark.parametrize("look", [("list",), ("status",), ("next",)], ids=str)
def test_looking_changes_nothing(kept: TestHome, look: tuple[str, ...]) -> None:
    before: Callable[[], list] = lambda: kept.sql("SELECT * FROM journal")
    found = before()
    kept.horae(*look, status=None)
    assert before() == found


def test_an_undo_plans_no_slot_that_the_schedule_has_not(home: TestHome) -> None:
    """A schedule without an anchor counts from the undo on, so what was decided about single slots may have no slot."""
    home.write("grid", schedule="every 90 minutes", script="hi.sh")
    home.json("list")
    home.sql_write("UPDATE job SET anchor_at = anchor_at - 7000000")
    second, third = [slot["slot"] for slot in home.json("next", "grid")["slots"]][2:4]
    home.json("skip", "grid", second)
    home.json("move", "grid", third, "--to", "in 7h")
    home.json("edit", "grid", "--schedule", "every day at 9am")
    did = home.json("undo")["did"]
    slots = home.json("next", "grid")["slots"]
    assert [slot["note"] for slot in slots] == [None] * len(slots)
    assert did.count("is not a slot of grid") == 2
