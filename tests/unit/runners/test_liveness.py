"""Is anything of a run still there? Looked at on real processes that start, end, and are not reaped."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields
from typing import Any

import pytest

from horae.ports import Orphan
from horae.runners import liveness
from horae.runners.liveness import boot_id, host_id, remains, started_at

RUN = f"{os.getpid():016x}"


@pytest.fixture
def sleeper():
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"HORAE_RUN_ID": RUN},
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def orphan(pid: int | None, started: int | None, boot: str | None = None, run_id: str = "f" * 16) -> Orphan:
    known: dict[str, Any] = {
        "run_id": run_id,
        "state": "running",
        "pid": pid,
        "pid_started": started,
        "boot": boot or boot_id(),
    }
    absent: dict[str, Any] = {field.name: None for field in fields(Orphan)}
    return Orphan(**(absent | known))


def test_a_process_is_itself(sleeper) -> None:
    born = started_at(sleeper.pid)
    assert born is not None
    assert remains(orphan(sleeper.pid, born)) == [sleeper.pid]


def test_a_pid_that_was_used_again_is_another_process(sleeper) -> None:
    born = started_at(sleeper.pid)
    assert born is not None
    assert remains(orphan(sleeper.pid, born - 1)) == []


def test_the_marker_finds_a_process_whose_pid_was_never_noted(sleeper) -> None:
    assert remains(orphan(None, None, run_id=RUN)) == [sleeper.pid]


def test_after_a_reboot_nothing_remains(sleeper) -> None:
    assert remains(orphan(sleeper.pid, started_at(sleeper.pid), boot="another boot", run_id=RUN)) == []


def test_a_process_that_has_ended_and_is_not_reaped_is_gone(sleeper) -> None:
    born = started_at(sleeper.pid)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert started_at(sleeper.pid) is None
    assert remains(orphan(sleeper.pid, born, run_id=RUN)) == []


def test_a_process_that_is_not_there() -> None:
    assert started_at(2**22 + 1) is None
    assert remains(orphan(2**22 + 1, None)) == [], "no start was noted: nothing proves that it is the run's"


def test_a_name_with_brackets_and_spaces_is_read_right(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    fields = " ".join(["S", *map(str, range(1, 19)), "4242", "0"])
    stat = tmp_path / "stat"
    stat.write_text(f"77 (evil) S 1 (x) ) {fields}")
    real = open
    monkeypatch.setattr(
        "builtins.open", lambda path, *args, **kw: real(stat if path == "/proc/77/stat" else path, *args, **kw)
    )
    assert started_at(77) == 4242


def test_ids_are_there_and_stay() -> None:
    assert boot_id() == boot_id() != ""
    assert host_id() == host_id() != ""
    assert liveness._first_line("/no/such/file") is None
