"""Whatever a folder and a home hold: applying converges, loses no job that it was not asked to, and writes to no folder."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.process import TestHome, new_home

SLUGS = ("ebb", "flow", "tides", "wind")
IDS = ("aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", None)
SCHEDULES = ("every day at 09:00", "every 90 minutes", "0 12 1 * *", "in 3h", "every blue moon", "2020-01-01T00:00")
ZONES = ("Europe/Paris", "Asia/Tokyo", None)

files = st.dictionaries(
    st.sampled_from(SLUGS),
    st.tuples(st.sampled_from(IDS), st.sampled_from(SCHEDULES), st.sampled_from(ZONES), st.booleans()),
    max_size=4,
)


def write(folder: Path, slug: str, job: tuple[str | None, str, str | None, bool]) -> None:
    job_id, schedule, zone, commented = job
    keys = {"id": job_id, "schedule": schedule, "timezone": zone, "agent": "false", "script": "hi.sh"}
    lines = "".join(f"{key}: {value}\n" for key, value in keys.items() if value)
    (folder / f"{slug}.md").write_text(f"---\n{'# a word' if commented else ''}\n{lines}---\n")


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def apply(home: TestHome, folder: Path, *options: str) -> dict[str, Any]:
    return home.json("apply", str(folder), *options, status=None)


@given(here=files, there=files.filter(bool))
@settings(max_examples=100)
def test_applying_converges_and_loses_nothing(here: dict, there: dict) -> None:
    place = Path(tempfile.mkdtemp(prefix="horae-"))
    try:
        home, team = new_home(place / "home"), place / "team"
        home.inside = True
        team.mkdir()
        for slug, job in here.items():
            write(home.path / "jobs", slug, job)
        known = {job["id"] for job in home.jobs().values() if job["state"] != "quarantined"}
        for slug, job in there.items():
            write(team, slug, job)
        handed = texts(team)

        shown, done = apply(home, team), apply(home, team, "--confirm")
        steps = [(item["op"], item["target"]) for item in shown["plan"] if not item["held"]]
        assert sorted((item["op"], item["target"]) for item in done["applied"]) == sorted(steps), "as it was shown"
        jobs = home.jobs()
        assert known <= {job["id"] for job in jobs.values()}, "no job is lost"
        refused = {item["target"] for item in done["refused"]}
        for slug in there:
            assert f"jobs/{slug}.md" in refused or jobs[slug]["state"] in ("active", "completed"), slug

        before = texts(home.path / "jobs"), home.sql("SELECT * FROM job"), home.sql("SELECT * FROM journal")
        again = apply(home, team, "--confirm")
        assert (again["plan"], again["applied"]) == ([], [])
        assert {item["target"] for item in again["refused"]} == refused
        assert (texts(home.path / "jobs"), home.sql("SELECT * FROM job"), home.sql("SELECT * FROM journal")) == before

        apply(home, team, "--confirm", "--prune", "--force")
        if not refused:
            assert set(home.jobs()) == set(there), "with --prune the home has what the folder has"
            assert home.look("diff", str(team), "--prune")["same"]
        assert texts(team) == handed, "the folder is only read"
    finally:
        shutil.rmtree(place)
