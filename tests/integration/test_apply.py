"""`apply` and `diff` while a gateway runs, and where the definitions are rows of a shared database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import take_database
from tests.support.process import TestHome, new_home, running, until
from tests.support.servers import server_or_skip

INSIDE = True
ID = "0c1d2e3f4a5b"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[TestHome]:
    """A home whose store is a database that others share."""
    with server_or_skip():
        database = take_database()
    home = new_home(tmp_path / "home")
    home.config(f'store = "{database.url}"\ntimezone = "Europe/Paris"\n')
    home.inside = INSIDE
    yield home
    database.give_back()


def jobs(home: TestHome) -> dict[str, dict]:
    return {job["slug"]: job for job in home.json("list", "--all")["jobs"]}


def job(folder: Path, slug: str, **keys: object) -> None:
    given = {"schedule": "every day at 09:00", "agent": "false", "script": "new.sh", **keys}
    (folder / "jobs").mkdir(parents=True, exist_ok=True)
    (folder / "scripts").mkdir(exist_ok=True)
    (folder / "scripts" / "new.sh").write_text("echo new\n")
    text = "".join(f"{key}: {value}\n" for key, value in given.items())
    (folder / "jobs" / f"{slug}.md").write_text(f"---\n{text}---\n")


def test_a_folder_is_applied_to_a_home_whose_gateway_runs(home: TestHome, tmp_path: Path) -> None:
    team = tmp_path / "team"
    job(team, "fast", schedule="every 1s")
    job(team, "bad", schedule="every blue moon")
    with running(home) as gateway:
        answer = home.json("apply", str(team), "--confirm", status=1)
        assert [item["target"] for item in answer["applied"]] == ["scripts/new.sh", "jobs/fast.md"]
        assert answer["warnings"] == [
            "each job's change is undone by itself: horae undo " + str(answer["applied"][1]["entry"])
        ]
        until(lambda: len(home.runs("fast", "--state", "completed")) >= 2, "it runs at once")
        assert home.json("apply", str(team), "--confirm", status=1)["applied"] == []
        job(team, "fast", schedule="every day at 04:00")
        home.json("apply", str(team), "--confirm", status=1)
        assert home.jobs()["fast"]["meaning"] == "at 04:00 every day"
        for number in range(5):
            job(team, f"more-{number}")
        assert len(home.json("apply", str(team), "--confirm", status=1)["applied"]) == 5
        (team / "jobs" / "bad.md").unlink()
        for number in range(5):
            (team / "jobs" / f"more-{number}.md").unlink()
        assert len(home.json("apply", str(team), "--prune", "--confirm", status=1)["held"]) == 5
        assert len(home.json("apply", str(team), "--prune", "--force", "--confirm")["applied"]) == 5
        assert list(home.jobs()) == ["fast"]
        assert "held until a person decides" not in gateway.said(), "what was asked for is no accident"
    by = home.sql("SELECT DISTINCT actor FROM journal WHERE what IN ('created', 'changed', 'removed')")
    assert set(by) <= {("ann",), ("jobs folder",)}  # who takes a file in first, the command or the watch, is a race


def test_a_folder_is_applied_to_a_table_and_no_file_is_written(cluster: TestHome, tmp_path: Path) -> None:
    team = tmp_path / "team"
    job(team, "tides", id=ID)
    job(team, "bad", schedule="every blue moon")
    words = ("apply", str(team), "--confirm")
    answer = cluster.json(*words, status=1)
    assert [(item["op"], item["target"]) for item in answer["applied"]] == [
        ("create", "scripts/new.sh"),
        ("create", "jobs/tides.md"),
    ]
    assert [item["target"] for item in answer["refused"]] == ["jobs/bad.md"]
    assert list((cluster.path / "jobs").iterdir()) == []
    (team / "jobs" / "bad.md").unlink()
    assert cluster.json("diff", str(team))["same"]
    assert cluster.json(*words)["applied"] == []

    job(team, "tides", id=ID, schedule="every day at 10:00")
    (item,) = cluster.json("diff", str(team), status=1)["plan"]
    assert "+schedule: every day at 10:00" in item["diff"]
    assert [item["op"] for item in cluster.json(*words)["applied"]] == ["change"]
    assert jobs(cluster)["tides"]["meaning"] == "at 10:00 every day"

    (team / "jobs" / "tides.md").rename(team / "jobs" / "ebb.md")
    assert [item["op"] for item in cluster.json(*words)["applied"]] == ["rename"]
    assert {slug: job["id"] for slug, job in jobs(cluster).items()} == {"ebb": ID}


def test_O12_a_removed_job_is_restored_by_a_folder_that_is_applied(cluster: TestHome, tmp_path: Path) -> None:
    team = tmp_path / "team"
    job(team, "tides", id=ID)
    cluster.json("apply", str(team), "--confirm")
    cluster.json("remove", "tides")
    assert jobs(cluster) == {}
    assert [item["op"] for item in cluster.json("apply", str(team), "--confirm")["applied"]] == ["restore"]
    assert jobs(cluster)["tides"]["id"] == ID
    job(team, "mine")
    cluster.json("apply", str(team), "--confirm")
    (team / "jobs" / "mine.md").unlink()
    (item,) = cluster.json("apply", str(team), "--confirm", "--prune")["applied"]
    assert item["target"] == "jobs/mine.md"
    assert list(jobs(cluster)) == ["tides"]
