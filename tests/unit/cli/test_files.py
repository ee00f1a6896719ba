"""Job files that come and go while no gateway runs: each command sees the folder as it is."""

from __future__ import annotations

from typing import Any

import pytest

from horae.timing.schedule import Schedule, parse_schedule
from tests.support.process import TestHome


@pytest.fixture
def held(home: TestHome) -> TestHome:
    """A home of five jobs whose files have all gone at once."""
    for number in range(5):
        home.write(f"job-{number}", script="hi.sh")
    home.json("list")
    for path in (home.path / "jobs").glob("*.md"):
        path.unlink()
    assert {job["state"] for job in home.jobs().values()} == {"quarantined"}
    return home


def test_a_new_file_is_seen_while_others_are_held(held: TestHome) -> None:
    held.write("new", script="hi.sh")
    assert held.jobs()["new"]["state"] == "active"


def test_held_jobs_come_back_with_their_files_and_keep_their_ids(held: TestHome) -> None:
    ids = {slug: job["id"] for slug, job in held.jobs().items()}
    for number in range(5):
        held.write(f"job-{number}", id=ids[f"job-{number}"], script="hi.sh")
    assert {slug: (job["state"], job["id"]) for slug, job in held.jobs().items()} == {
        slug: ("active", id_) for slug, id_ in ids.items()
    }


def test_what_holds_them_says_how_to_go_on(held: TestHome) -> None:
    remedies = [check["remedy"] for check in held.json("doctor", status=1)["checks"] if check["check"] == "quarantined"]
    assert len(remedies) == 5
    assert all("put the files back, or confirm with `horae remove" in remedy for remedy in remedies)


def test_the_guard_counts_jobs_and_not_files_that_were_never_valid(home: TestHome) -> None:
    home.write("good", script="hi.sh")
    for number in range(6):
        home.file(f"bad-{number}").write_text("no front matter\n", encoding="utf-8")
    assert len(home.jobs()) == 7
    for path in (home.path / "jobs").glob("*.md"):
        path.unlink()
    assert home.jobs() == {}


def test_a_broken_file_is_told_with_what_to_do(home: TestHome) -> None:
    home.file("typo").write_text("---\nshedule: every 1h\nagent: false\nscript: hi.sh\n---\n", encoding="utf-8")
    told = home.horae("list").err
    assert "jobs/typo.md, line 2" in told
    assert "schedule" in told.split("line 2", 1)[1]
    (remedy,) = [
        check["remedy"] for check in home.json("doctor", status=1)["checks"] if check["check"] == "quarantined"
    ]
    assert "schedule" in remedy


def test_a_job_that_is_off_is_not_shown_as_if_it_ran(home: TestHome) -> None:
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")
    off = home.json("edit", "kept", "--disable")
    assert any("paused" in warning and "--enable" in warning for warning in off["warnings"])
    paused = home.json("add", "every 1h", "--script", "hi.sh", "--name", "Later", "--paused")
    assert any("horae resume later" in warning for warning in paused["warnings"])


def test_every_key_of_a_definition_is_there_and_null_when_absent(home: TestHome) -> None:
    made = home.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")["job"]
    shown = home.json("show", "kept")["job"]
    assert made["model"] is None
    assert shown["repeat"] is None
    assert shown["limits"]["wall_s"] is None
    assert shown["command"] == []
    assert set(shown) <= set(made)


def test_a_manual_run_is_due_when_it_is_ordered(home: TestHome) -> None:
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")
    home.json("run", "kept")
    ((slot_at, due_at, planned_at),) = home.sql(
        "SELECT slot_at, due_at, planned_at FROM occurrence WHERE trigger = 'manual'"
    )
    assert slot_at % 1_000_000 == 0
    assert due_at == planned_at


def test_a_move_is_told_in_the_jobs_own_time(home: TestHome) -> None:
    home.json("add", "every day at 04:00", "--script", "hi.sh", "--name", "Kept", "--timezone", "Asia/Tokyo")
    home.json("move", "kept", "next", "--to", "in 2h")
    (occurrence,) = [item for item in home.json("why", "kept")["occurrences"] if item["exception"] == "move"]
    (moved,) = [decision for decision in occurrence["decisions"] if decision["what"] == "moved"]
    assert moved["detail"]["to"].endswith("+09:00")


@pytest.mark.parametrize("where", ["horae.core.jobfile.parse_schedule", "horae.core.cadence.parse_schedule"])
@pytest.mark.parametrize("error", [OverflowError("date value out of range"), AssertionError("a stretch has a slot")])
def test_P9_whatever_reading_one_file_raises_harms_that_file_only(
    home: TestHome, monkeypatch: pytest.MonkeyPatch, where: str, error: Exception
) -> None:
    def treacherous(text: str, *args: Any, **kwargs: Any) -> Schedule:
        if text == "every 7 hours":
            raise error
        return parse_schedule(text, *args, **kwargs)

    monkeypatch.setattr(where, treacherous)
    for slug, schedule in (("a-good", "every 6 hours"), ("bad", "every 7 hours"), ("good", "every 8 hours")):
        home.write(slug, schedule=schedule, script="hi.sh")
    assert {slug: job["state"] for slug, job in home.jobs().items()} == {
        "a-good": "active", "bad": "quarantined", "good": "active"}  # fmt: skip
    assert {slot["job"] for slot in home.json("next")["slots"]} == {"a-good", "good"}
    home.json("calendar")
    (told,) = [check for check in home.json("doctor", status=1)["checks"] if check["check"] == "quarantined"]
    assert f"jobs/bad.md cannot be understood: {type(error).__name__}: {error}" in told["what"]
    home.write("bad", schedule="every 9 hours", script="hi.sh")
    assert home.jobs()["bad"]["state"] == "active"
