"""Is anything of a run still there? Looked at on real processes that start, end, and are not reaped."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields
from typing import Any

import pytest

from horae.core.model import Owner
from horae.ports import Orphan
from horae.runners import liveness
from horae.runners.liveness import boot_id, gone, host_id, remains, started_at

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


# ── is a gateway gone? Only what can be looked at from here is proven


HERE = "this machine"
NOBODY = 2**22 + 1  # no process can have that number


def a_gateway(pid: int, born: int | None, *, host: str = HERE, boot: str | None = None) -> Owner:
    return Owner("g1", host, boot or boot_id(), pid, born or 0)


def test_O19_a_gateway_that_is_there_is_not_gone(sleeper) -> None:
    assert not gone(a_gateway(sleeper.pid, started_at(sleeper.pid)), HERE)


def test_O19_a_gateway_whose_process_is_not_there_is_gone(sleeper) -> None:
    born = started_at(sleeper.pid)
    assert gone(a_gateway(NOBODY, born), HERE)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert gone(a_gateway(sleeper.pid, born), HERE), "it has ended and is not reaped"


def test_O19_a_gateway_whose_pid_was_used_again_is_gone(sleeper) -> None:
    born = started_at(sleeper.pid)
    assert born is not None
    assert gone(a_gateway(sleeper.pid, born - 1), HERE)


def test_O19_a_gateway_from_before_a_boot_is_gone(sleeper) -> None:
    """Even if a process of this boot looks like it."""
    assert gone(a_gateway(sleeper.pid, started_at(sleeper.pid), boot="another boot"), HERE)


@pytest.mark.parametrize("boot", ["another boot", None])
@pytest.mark.parametrize("pid", ["there", "not there", "used again"])
def test_O19_of_another_host_nothing_is_proven(sleeper, pid: str, boot: str | None) -> None:
    """The same numbers mean other processes there; a container on this machine even has its boot."""
    born = started_at(sleeper.pid)
    assert born is not None
    number, started = {"there": (sleeper.pid, born), "not there": (NOBODY, born), "used again": (sleeper.pid, 1)}[pid]
    assert not gone(a_gateway(number, started, host="another machine", boot=boot), HERE)


def test_O19_where_there_is_no_proc_nothing_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness.sys, "platform", "plan9")
    assert not gone(a_gateway(NOBODY, 1), HERE)
    assert not gone(a_gateway(NOBODY, 1, boot="another boot"), HERE)


def unreadable(patch: pytest.MonkeyPatch, which: str) -> None:
    """Whoever opens this file may not."""
    real = open

    def refusing(path: Any, *args: Any, **given: Any) -> Any:
        if path == which:
            raise PermissionError(13, "Permission denied", path)
        return real(path, *args, **given)

    patch.setattr("builtins.open", refusing)


def test_O19_a_gateway_that_may_not_be_looked_at_is_not_proven_gone(sleeper, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = a_gateway(sleeper.pid, started_at(sleeper.pid))
    unreadable(monkeypatch, f"/proc/{sleeper.pid}/stat")
    assert not gone(owner, HERE)


@pytest.mark.parametrize("theirs", [False, True])
def test_O19_where_the_boot_cannot_be_told_nobody_is_proven_gone(
    sleeper, monkeypatch: pytest.MonkeyPatch, theirs: bool
) -> None:
    """Neither here nor, when it signed on, there."""
    owner = a_gateway(sleeper.pid, started_at(sleeper.pid), boot="unknown" if theirs else None)
    if not theirs:
        unreadable(monkeypatch, "/proc/sys/kernel/random/boot_id")
    assert not gone(owner, HERE)


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
