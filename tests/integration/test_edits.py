"""Job files that people edit, by hand, in editors and by command, while a gateway runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.process import TestHome, running, until, without_id

INSIDE = True
COMMENTED = """\
---
# Who owns this: the harbour office
name: "Tides"       # free text
script: hi.sh
schedule: every day at 04:00   # before the first boat
agent: false

deliver: [local]    # keep
---
<!-- notes stay too -->
"""


def saved_in_place(path: Path, text: str) -> None:
    with path.open("r+") as file:
        file.truncate()
        file.write(text)


def saved_by_rename(path: Path, text: str) -> None:
    """As vim does: a backup, a new file, a rename over the old one."""
    backup, fresh = path.with_name(path.name + "~"), path.with_name("4913")
    fresh.write_text("")
    fresh.unlink()
    shutil.copy(path, backup)
    fresh = path.with_name(f".{path.name}.swp")
    fresh.write_text(text)
    fresh.replace(path)
    backup.unlink()


def saved_by_removal(path: Path, text: str) -> None:
    """As some editors and `git checkout` do: away, then there again."""
    path.unlink()
    path.write_text(text)


SAVES = (saved_in_place, saved_by_rename, saved_by_removal)


def test_a_file_that_appears_becomes_a_job_with_an_id_and_keeps_its_comments(home: TestHome) -> None:
    with running(home):
        home.file("tides").write_text(COMMENTED)
        home.state_of("tides", "active")
        text = home.file("tides").read_text()
        assert home.jobs()["tides"]["id"] in text
        assert without_id(text).replace(f"timezone: {home.jobs()['tides']['timezone']}\n", "") == COMMENTED
        assert home.jobs()["tides"]["meaning"] == "at 04:00 every day"


@pytest.mark.parametrize("save", SAVES)
def test_an_edit_takes_effect_however_it_is_saved(home: TestHome, save) -> None:
    home.file("tides").write_text(COMMENTED)
    with running(home):
        job_id = home.jobs()["tides"]["id"]
        text = home.file("tides").read_text()
        save(home.file("tides"), text.replace("every day at 04:00", "every monday at 9am"))
        until(lambda: home.jobs()["tides"]["meaning"] == "at 09:00 on Mondays", "the schedule changes")
        save(home.file("tides"), home.file("tides").read_text().replace("schedule:", "shedule:"))
        home.state_of("tides", "quarantined")
        assert "`shedule`" in home.jobs()["tides"]["problem"]["message"]
        assert "`shedule`" in str(home.json("doctor", status=1))
        assert "`shedule`" in home.horae("list").err
        assert "its file is broken" in home.error("run", "tides", status=4)["message"]
        save(home.file("tides"), home.file("tides").read_text().replace("shedule:", "schedule:"))
        home.state_of("tides", "active")
        assert home.jobs()["tides"]["id"] == job_id
        assert home.jobs()["tides"]["problem"] is None
        assert home.json("next", "tides")["slots"]
    left = sorted(path.name for path in (home.path / "jobs").iterdir())
    assert left == ["tides.md"]


def test_a_renamed_file_is_the_same_job(home: TestHome) -> None:
    home.file("tides").write_text(COMMENTED)
    with running(home):
        job_id = home.jobs()["tides"]["id"]
        run = home.json("run", "tides", "--wait")["run"]
        home.file("tides").rename(home.file("ebb"))
        home.state_of("ebb", "active")
        assert home.jobs()["ebb"]["id"] == job_id
        assert "tides" not in home.jobs()
        assert [item["id"] for item in home.runs("ebb")] == [run["id"]]


def test_a_deleted_file_removes_its_job_and_undo_brings_it_back(home: TestHome) -> None:
    home.file("tides").write_text(COMMENTED)
    home.write("other", script="hi.sh")
    with running(home):
        job_id = home.jobs()["tides"]["id"]
        home.file("tides").unlink()
        home.state_of("tides", None)
        assert "other" in home.jobs()
        home.json("undo")
        home.state_of("tides", "active")
        assert home.jobs()["tides"]["id"] == job_id


@pytest.mark.parametrize("gateway", [True, False])
def test_many_files_that_vanish_at_once_are_held_until_a_person_decides(home: TestHome, gateway: bool) -> None:
    for number in range(10):
        home.write(f"job-{number}", schedule="every day at 04:00", script="hi.sh")
    home.json("list")

    def story() -> None:
        before = {slug: job["id"] for slug, job in home.jobs().items()}
        aside = home.path / "aside"
        aside.mkdir()
        for number in range(6):
            home.file(f"job-{number}").rename(aside / f"job-{number}.md")
        until(lambda: sum(job["state"] == "quarantined" for job in home.jobs().values()) == 6, "six are held")
        assert "together with 5 others" in home.jobs()["job-3"]["problem"]["message"]
        assert "horae remove job-3" in home.jobs()["job-3"]["problem"]["hint"]
        assert home.jobs()["job-9"]["state"] == "active"
        assert len(home.json("doctor", status=1)["checks"]) > 6
        for number in range(5):
            (aside / f"job-{number}.md").rename(home.file(f"job-{number}"))
        home.state_of("job-0", "active")
        until(lambda: sum(job["state"] == "active" for job in home.jobs().values()) == 9, "five are released")
        answer = home.json("remove", "job-5")
        assert "removed" in answer["did"]
        assert {slug: job["id"] for slug, job in home.jobs().items()} == {
            slug: job_id for slug, job_id in before.items() if slug != "job-5"
        }

    if not gateway:
        story()
        return
    with running(home):
        story()


def test_a_folder_that_is_put_in_the_place_of_the_old_one_is_watched(home: TestHome) -> None:
    """As a fresh checkout does."""
    home.file("tides").write_text(COMMENTED)
    with running(home):
        shutil.copytree(home.path / "jobs", home.path / "fresh")
        (home.path / "jobs").rename(home.path / "old")
        (home.path / "fresh").rename(home.path / "jobs")
        shutil.rmtree(home.path / "old")
        assert home.jobs()["tides"]["state"] == "active"
        home.write("late", script="hi.sh")
        home.state_of("late", "active")


def test_a_change_by_command_and_one_by_hand_do_not_overwrite_each_other(home: TestHome) -> None:
    home.file("tides").write_text(COMMENTED)
    with running(home):
        home.json("edit", "tides", "--name", "Ebb and flow", "--limit", "wall=5m", "--deliver", "local")
        text = home.file("tides").read_text()
        assert "# before the first boat" in text
        assert "# Who owns this" in text
        assert "<!-- notes stay too -->" in text
        saved_in_place(home.file("tides"), text.replace("04:00", "05:00"))
        answer = home.json("edit", "tides", "--timezone", "UTC")
        assert "05:00" in home.file("tides").read_text()
        assert answer["meaning"] == "at 05:00 every day"


# ── editors


def editor(home: TestHome, text: str) -> dict[str, Any]:
    """A shell script as somebody's editor; its file is "$1"."""
    path = home.path / "editor.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return {"VISUAL": str(path)}


@pytest.mark.parametrize("gateway", [True, False])
def test_an_editor(home: TestHome, gateway: bool) -> None:
    home.file("tides").write_text(COMMENTED)
    home.json("list")

    def story() -> None:
        before = home.digests()
        env = editor(home, "sed -i 's/every day at 04:00/every 61m/' \"$1\"")
        answer = home.json("edit", "tides", "--editor", **env)
        assert answer["meaning"].startswith("every 61 minutes")
        assert len(answer["slots"]) == 3
        assert home.digests() != before
        home.json("undo")
        assert home.digests() == before

        error = home.error("edit", "tides", "--editor", status=2, **editor(home, 'echo "oops: [" > "$1"'))
        assert error["code"] == "invalid"
        error = home.error("edit", "tides", "--editor", status=2, **editor(home, 'sed -i s/04:00/25:00/ "$1"'))
        assert "jobs/tides.md, line 6" in error["message"]
        error = home.error("edit", "tides", "--editor", status=2, **editor(home, "true"))
        assert "was not changed" in error["message"]
        error = home.error("edit", "tides", "--editor", status=4, **editor(home, "echo x >> $1; exit 3"))
        assert "status 3" in error["message"]
        error = home.error("edit", "tides", "--editor", status=4, VISUAL="/nonexistent/editor --wait")
        assert "/nonexistent/editor" in error["message"]
        error = home.error("edit", "tides", "--editor", status=4, VISUAL="'unclosed")
        assert "unclosed" in error["message"]
        error = home.error("edit", "tides", "--editor", status=4, **editor(home, "printf '\\377' > $1"))
        assert "UTF-8" in error["message"]
        hand = home.file("tides")
        error = home.error(
            "edit", "tides", "--editor", status=6, **editor(home, f"echo '# mine' >> {hand}; echo x >> $1")
        )
        assert error["code"] == "conflict"
        assert hand.read_text().endswith("# mine\n")

    if not gateway:
        story()
        return
    with running(home):
        story()


def test_an_editor_mends_a_broken_file(home: TestHome) -> None:
    home.file("tides").write_text(COMMENTED.replace("schedule:", "shedule:"))
    assert home.jobs()["tides"]["state"] == "quarantined"
    home.json("edit", "tides", "--editor", **editor(home, "sed -i s/shedule/schedule/ $1"))
    assert home.jobs()["tides"]["state"] == "active"
    assert os.path.exists(home.file("tides"))
