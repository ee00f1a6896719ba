"""When the machine is in the way: a full disk, a home that cannot be written, a damaged database. Nothing is lost."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.process import TestHome, finish, new_home, running, start, until
from tests.support.shims import shims

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")


def test_a_file_that_was_saved_while_the_store_refused_is_taken_in_once_it_can_be(home: TestHome) -> None:
    with running(home) as gateway:
        gateway.says("ready")
        with contextlib.closing(sqlite3.connect(home.path / "state" / "runtime.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # a backup, say, that takes longer than anybody waits
            home.write("late", schedule="every 1h", script="hi.sh")
            gateway.says("job files could not be taken in", within_s=60)  # behind other writes, of ten seconds each
            other.execute("ROLLBACK")
        home.state_of("late", "active")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[TestHome]:
    """A home on a file system of four megabytes."""
    mount = tmp_path / "disk"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", mount], check=True)
    try:
        home = new_home(mount / "home")
        home.logs = tmp_path
        yield home
    finally:
        subprocess.run(["umount", "-l", mount], check=True)


def fill(home: TestHome) -> Path:
    """Leave no room at all."""
    filler = home.path / "filler"
    file = os.open(filler, os.O_CREAT | os.O_WRONLY)
    for size in (65536, 4096, 1):
        with contextlib.suppress(OSError):
            while True:
                os.write(file, b"x" * size)
    os.close(file)
    return filler


@AS_ROOT
def test_a_full_disk_stops_nothing_for_good(small: TestHome) -> None:
    small.write("fast", schedule="every 1s", script="hi.sh")
    with running(small) as gateway:
        until(lambda: small.runs("--state", "completed"), "it fires")
        filler = fill(small)
        gateway.says("is full")
        assert gateway.process.poll() is None
        before = small.digests()
        error = small.error("add", "every 1h", "--script", "hi.sh", "--name", "New", status=1)
        assert error["code"] == "trouble"
        assert "full" in error["message"]
        assert small.digests() == before
        assert "full" in str(small.json("status", status=1)["problems"])
        assert small.json("doctor", status=1)["ok"] is False
        seen = len(small.runs())
        filler.unlink()
        gateway.says("can be written again")
        until(lambda: len(small.runs("--state", "completed")) > seen, "what was due is recorded")
        small.json("add", "every 1h", "--script", "hi.sh", "--name", "New")
        assert small.json("status")["problems"] == []
    slots = [run["slot"] for run in small.runs()]
    assert len(slots) == len(set(slots))
    assert small.sql("SELECT count(*) FROM run WHERE state = 'unknown'") == [(0,)]


@AS_ROOT
@pytest.mark.parametrize("times", [1, 2])
def test_a_gateway_on_a_full_disk_can_be_stopped(small: TestHome, times: int) -> None:
    """The first request waits for the disk as long as for runs, to give back what was claimed; the second does not wait."""
    small.config(f'drain = "{2 if times == 1 else 60}s"\n')
    small.write("fast", schedule="every 1s", script="hi.sh")
    gateway = start(small)
    try:
        until(lambda: small.runs("--state", "completed"), "it fires")
        filler = fill(small)
        gateway.says("is full")
        gateway.signal(signal.SIGTERM)
        gateway.says("stopping")
        if times == 2:
            gateway.signal(signal.SIGTERM)
        assert gateway.ends(10) == 1
        assert "Traceback" not in gateway.said()
        assert "can be written again" not in gateway.said()
    finally:
        finish(gateway)
    filler.unlink()
    seen = len(small.runs("--state", "completed"))
    with running(small):
        until(lambda: len(small.runs("--state", "completed")) > seen, "it goes on")
    slots = [run["slot"] for run in small.runs() if run["state"] == "completed"]
    assert len(slots) == len(set(slots))


@AS_ROOT
def test_a_full_disk_without_a_gateway(small: TestHome) -> None:
    small.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")
    before = small.digests()
    filler = fill(small)
    for words in (("add", "every 1h", "--script", "hi.sh"), ("edit", "kept", "--name", "Other"), ("pause", "kept")):
        error = small.error(*words, status=1)
        assert error["code"] == "trouble", error
        assert small.digests() == before
    filler.unlink()
    assert small.jobs()["kept"]["state"] == "active"
    assert small.sql("PRAGMA integrity_check") == [("ok",)]


@AS_ROOT
def test_a_home_that_is_mounted_read_only(small: TestHome) -> None:
    small.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")
    subprocess.run(["mount", "-o", "remount,ro", small.path.parent], check=True)
    for words in (
        ("add", "every 1h", "--script", "hi.sh"),
        ("edit", "kept", "--name", "Other"),
        ("pause", "kept"),
        ("up",),
    ):
        error = small.error(*words, status=1)
        assert error["code"] == "trouble", error
    assert small.json("doctor", status=1)["ok"] is False
    assert small.jobs()["kept"]["state"] == "active"
    assert small.json("show", "kept")["job"]["name"] == "Kept"
    assert small.json("next", "kept")["slots"]
    subprocess.run(["mount", "-o", "remount,rw", small.path.parent], check=True)
    with running(small):
        assert small.json("run", "kept", "--wait")["run"]["state"] == "completed"


@AS_ROOT
def test_a_home_that_becomes_read_only_under_a_gateway(small: TestHome) -> None:
    small.write("fast", schedule="every 1s", script="hi.sh")
    with running(small) as gateway:
        until(lambda: small.runs("--state", "completed"), "it fires")
        before = small.digests()
        small.path.chmod(0o755)
        subprocess.run(["mount", "-o", "remount,ro,size=4m", small.path.parent], check=False)
        error = small.horae("--json", "add", "every 1h", "--script", "hi.sh", "--name", "New", status=None)
        if error.status:  # files that are open for writing may keep a file system from becoming read-only
            assert error.error["code"] == "trouble"
            assert small.digests() == before
        subprocess.run(["mount", "-o", "remount,rw,size=4m", small.path.parent], check=True)
        seen = len(small.runs("--state", "completed"))
        until(lambda: len(small.runs("--state", "completed")) > seen, "it goes on")
        assert gateway.process.poll() is None


# ── databases


def test_a_text_that_is_not_utf8_is_told_as_damage(home: TestHome) -> None:
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")
    home.sql_write("UPDATE job SET name = CAST(x'4bff74' AS TEXT), meaning = CAST(x'ff' AS TEXT)")
    for words in (("list",), ("show", "kept"), ("next",), ("check",), ("pause", "kept"), ("why", "kept")):
        error = home.error(*words, status=1)
        assert error["code"] == "trouble", (words, error)
        assert "runtime.db is damaged: a text in its column `" in error["message"], (words, error)
        assert "restore a backup" in error["hint"], (words, error)
    found = home.json("doctor", status=1)
    assert "runtime.db is damaged" in str([item for item in found["checks"] if not item["ok"]])
    with running(home):
        for words in (("pause", "kept"), ("run", "kept")):
            error = home.error(*words, status=1)
            assert "runtime.db is damaged: a text in its column `" in error["message"], (words, error)


def test_P9_a_text_that_is_not_utf8_harms_only_its_job(home: TestHome) -> None:
    for name in ("Bad", "Good"):
        home.json("add", "every 1s", "--script", "hi.sh", "--name", name)
    bad = "CAST(replace(definition, 'Bad', CAST(x'42ff64' AS TEXT)) AS TEXT)"
    home.sql_write(f"UPDATE job SET definition = {bad} WHERE slug = 'bad'")
    with running(home) as gateway:
        look = "SELECT count(*) FROM run JOIN job ON job.id = run.job_id WHERE job.slug = 'good' AND run.state = 'completed'"
        until(lambda: home.sql(look)[0][0] >= 2, "the other job goes on")
        assert "a text in its column `definition` is not UTF-8" in gateway.said()
        until(lambda: home.jobs()["bad"]["state"] == "active", "its file says what it is")


def damaged(home: TestHome, how: str) -> Path:
    """A database that is no good any more."""
    path = home.path / "state" / "runtime.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    for name in ("runtime.db-wal", "runtime.db-shm"):
        (path.parent / name).unlink(missing_ok=True)
    if how == "text":
        path.write_text("this is no database\n" * 100)
    elif how == "torn":
        path.write_bytes(path.read_bytes()[:5000])
    elif how == "scribbled":
        content = bytearray(path.read_bytes())
        content[4096 : len(content)] = b"\xa5" * (len(content) - 4096)
        path.write_bytes(content)
    elif how == "folder":
        path.unlink()
        path.mkdir()
    elif how == "newer":
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 999")
        db.close()
    return path


@pytest.mark.parametrize("how", ["text", "torn", "scribbled", "folder", "newer"])
def test_a_database_that_is_no_good(home: TestHome, how: str) -> None:
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")
    path = damaged(home, how)
    files, content = home.digests(), None if how == "folder" else path.read_bytes()
    status, code = (4, "newer_store") if how == "newer" else (1, "trouble")
    for words in (
        ("list",),
        ("show", "kept"),
        ("runs",),
        ("add", "every 2h", "--script", "hi.sh"),
        ("up",),
        ("why", "kept"),
    ):
        error = home.error(*words, status=status)
        assert error["code"] == code, (words, error)
        assert "runtime.db" in error["message"], (words, error)
        assert error["hint"], (words, error)
    found = home.json("doctor", status=1)
    assert "runtime.db" in str([item for item in found["checks"] if not item["ok"]])
    assert home.digests() == files
    if how == "newer":
        assert "schema 999" in error["message"]
    if content is not None:
        assert path.read_bytes() == content
    shutil.rmtree(path) if how == "folder" else path.unlink()
    for name in ("runtime.db-wal", "runtime.db-shm"):
        (path.parent / name).unlink(missing_ok=True)
    assert home.jobs()["kept"]["state"] == "active"  # the definitions are in the files


def test_a_database_that_is_gone_is_made_anew_from_the_files(home: TestHome) -> None:
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")
    before, job_id = home.digests(), home.jobs()["kept"]["id"]
    for path in (home.path / "state").iterdir():
        path.unlink()
    with running(home):
        assert home.jobs()["kept"]["id"] == job_id
    assert home.digests() == before


# ── folders


@pytest.mark.parametrize("gateway", [True, False])
def test_a_jobs_folder_that_has_gone_removes_nothing(home: TestHome, gateway: bool) -> None:
    home.write("fast", schedule="every 1s", script="hi.sh")
    ids = home.jobs()["fast"]["id"]
    elsewhere = home.path / "elsewhere"

    def away_and_back() -> None:
        (home.path / "jobs").rename(elsewhere)
        error = home.horae("--json", "list", status=None)
        assert error.status in (0, 1, 3), error
        assert home.sql("SELECT count(*) FROM job WHERE removed_at IS NULL") == [(1,)]
        elsewhere.rename(home.path / "jobs")
        assert home.jobs()["fast"]["id"] == ids

    if not gateway:
        away_and_back()
        return
    with running(home):
        until(home.runs, "it fires")
        away_and_back()
        seen = len(home.runs())
        until(lambda: len(home.runs()) > seen, "it goes on")
        home.write("late", schedule="every 1s", script="hi.sh")
        until(lambda: home.runs("late"), "the folder is watched again")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_folders_that_another_user_may_not_use(home: TestHome) -> None:
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")
    before = home.digests()
    for path in (home.path.parent, *home.path.parent.parents):
        if path.owner() == "root" and path.name.startswith("pytest"):
            path.chmod(0o755)

    def as_nobody(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"), *home.words(*words)],
            env=home.environment(),
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )

    (home.path / "jobs").chmod(0o700)
    for words in (
        ("list",),
        ("add", "every 1h", "--script", "hi.sh"),
        ("up",),
        ("doctor",),
        ("status",),
        ("pause", "kept"),
    ):
        done = as_nobody(*words)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode in (1, 3, 5), (words, done)
    assert home.digests() == before
    assert home.jobs()["kept"]["state"] == "active"


def test_O4_without_room_for_a_process_a_slot_waits_for_it(home: TestHome) -> None:
    """The shim may open no more files than it has open: the machine refuses each process."""
    with running(home) as gateway:
        home.json("add", "every 1h", "--script", "hi.sh", "--name", "Hourly")
        home.json("run", "hourly", "--wait")
        ready = [*shims(home.path).values()]
        usual = resource.prlimit(ready[0], resource.RLIMIT_NOFILE)
        for pid in ready:
            used = {*map(int, os.listdir(f"/proc/{pid}/fd"))}
            room_for_one_pipe = [number for number in range(100) if number not in used][:3]  # not for two
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (room_for_one_pipe[-1] + 1, usual[1]))
        home.write("soon", schedule=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1)), script="hi.sh")
        gateway.says("the machine has no room for another process (Too many open files): nothing is started for 5 s")
        assert "no room for another process" in str(home.json("status", status=None)["problems"])
        assert home.sql("SELECT DISTINCT state FROM run WHERE reason LIKE '%no room%'") == [("released",)]
        for pid in ready:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
        until(lambda: [run["state"] for run in home.runs("soon", "--state", "completed")], "it runs once there is room")
        (slot,) = home.json("why", "soon")["occurrences"]
        assert any("released at" in line and "no room" in line for line in slot["story"]), slot["story"]
        assert (slot["outcome"], slot["state"]) == ("ran", "settled")
