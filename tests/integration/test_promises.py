"""Promises of the design, held from outside by a real gateway; each test is named after its promise."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

from tests.support.process import TestHome, running, until

INSIDE = True


def tree(home: TestHome, *apart: str) -> set[str]:
    """Every file of the home outside the given folders."""
    found = (str(path.relative_to(home.path)) for path in home.path.rglob("*"))
    return {name for name in found if not name.startswith(apart)}


def test_P8_running_never_edits_definitions(home: TestHome) -> None:
    """The SHA-256 of every file in jobs/ is the same before and after a thousand runs, and so are the files' dates."""
    home.config('parallel = 64\ncommands = ["true"]\n')
    for number in range(200):
        home.write(f"job-{number:03}", schedule="every 1s", command="[true]", repeat="5")
    home.json("list")  # gives each its id
    jobs = home.path / "jobs"
    dates = {path.name: path.stat().st_mtime_ns for path in jobs.iterdir()}
    before, around = home.digests(), tree(home, "state")
    with running(home):
        until(lambda: home.sql("SELECT count(*) FROM run WHERE state = 'completed'")[0][0] >= 1000, "1,000 runs", 60)
        until(lambda: {job["state"] for job in home.jobs().values()} == {"completed"}, "all have run five times")
    assert home.digests() == before
    assert {path.name: path.stat().st_mtime_ns for path in jobs.iterdir()} == dates
    assert tree(home, "state") == around
    counted = home.sql("SELECT count(*) FROM occurrence WHERE outcome = 'ran' GROUP BY job_id")
    assert counted == [(5,)] * 200


def test_O1_what_people_keep_and_what_the_machine_keeps_are_apart(home: TestHome) -> None:
    """Pausing, running, skipping, failing: all of it is state. Without state/ the definitions are whole."""
    home.script("fails.sh", "exit 1\n")
    home.json("add", "every day at 04:00", "--script", "fails.sh", "--name", "Kept", "--repeat", "5")
    before, outside = home.digests(), tree(home, "state")
    with running(home):
        home.json("run", "kept", "--wait", status=1)
        for words in (
            ("pause", "kept"),
            ("resume", "kept"),
            ("skip", "kept"),
            ("move", "kept", "next", "--to", "in 2h"),
        ):
            home.json(*words)
    assert home.digests() == before
    assert tree(home, "state") == outside
    assert {path.name for path in (home.path / "state").iterdir()} <= {
        "runtime.db", "runtime.db-wal", "runtime.db-shm", "gateway.lock", "horae.log", "output", "spool"
    }  # fmt: skip


def test_P9_one_bad_record_harms_only_itself(home: TestHome) -> None:
    """A damaged record in the store, a job whose program is gone, a broken file: the good job fires on."""
    home.json("add", "every 1s", "--script", "hi.sh", "--name", "Good")
    home.json("add", "every 1s", "--script", "hi.sh", "--name", "Damaged")
    home.script("gone.sh", "echo\n")
    home.json("add", "every 1s", "--script", "gone.sh", "--name", "Gone")
    (home.path / "scripts" / "gone.sh").unlink()
    home.write("broken", schedule="every blue moon", script="hi.sh")
    home.json("list")
    home.sql_write("UPDATE job SET definition = '{\"id\": 5}' WHERE slug = 'damaged'")
    with running(home) as gateway:
        until(lambda: len(home.runs("good")) >= 3, "the good job fires")
        assert gateway.process.poll() is None
        assert home.jobs()["broken"]["state"] == "quarantined"
        assert {run["state"] for run in home.runs("gone")} <= {"blocked", "claimed"}
        assert home.json("doctor", status=1)["ok"] is False
        for words in (("list",), ("show", "good"), ("next",), ("runs",), ("check",), ("next", "damaged")):
            home.horae(*words, status=None)
        home.state_of("damaged", "active")  # its file was read again, which mends it
        assert home.json("runs", "damaged")["runs"], "and it fires on"
        for words in (("show", "damaged"), ("runs", "damaged"), ("why", "damaged")):
            home.json(*words)
        assert "[run None]" not in gateway.said()
        assert home.sql("SELECT count(*) FROM journal WHERE what = 'quarantined' AND detail LIKE '%damaged%'") == [(1,)]
        home.json("remove", "damaged")
        assert "damaged" not in home.jobs()


def test_P2_nothing_runs_twice_when_many_come_due_at_one_instant(home: TestHome, tmp_path: Path) -> None:
    home.config("parallel = 32\n")
    home.script("mark.sh", 'echo "$HORAE_OCCURRENCE_KEY" >> "$HORAE_HOME/marks"\n')
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
    for number in range(100):
        home.write(f"job-{number}", schedule=at, script="mark.sh")
    with running(home):
        until(
            lambda: home.sql("SELECT count(*) FROM job WHERE completed_at IS NOT NULL")[0][0] == 100, "all are done", 30
        )
    marks = Counter((home.path / "marks").read_text().split())
    assert len(marks) == 100
    assert set(marks.values()) == {1}
    assert os.path.exists(tmp_path)
    pages: list[str] = []
    cursor: str | None = ""
    while cursor is not None:  # they were claimed at one instant, and no page may lose any
        page = home.look("runs", "--limit", "7", *(["--cursor", cursor] if cursor else []))
        pages += [run["id"] for run in page["runs"]]
        cursor = page["cursor"]
    assert pages == [run["id"] for run in home.runs()]
    late = [run["lateness_s"] for run in home.runs()]
    assert max(late) < 5
