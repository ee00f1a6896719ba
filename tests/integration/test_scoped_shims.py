"""A shim that systemd has given a scope makes a box for each run in it, by the kernel's own control groups.

Scopes themselves are stood in for: no systemd runs here that could make one. The group in which the boxes are made is real.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from horae.core.model import Bounds, Order, Result
from horae.ports import Settings
from horae.runners import process
from horae.runners.shim.cgroup import own_group, writable

OWN = own_group()
CAN = OWN is not None and writable(OWN)
RUN_ID = "5c0bed" + "0" * 10


class Scoped:
    """As if systemd had done what it was asked for."""

    def __init__(self, problem: str | None = None) -> None:
        self.problem = problem
        self.asked: list[tuple[str, int]] = []

    def usable(self) -> tuple[bool, str]:
        return True, "each has one"

    def adopt(self, name: str, pid: int) -> str | None:
        self.asked.append((name, pid))
        return self.problem

    def holds(self, _name: str, _pid: int) -> bool:
        return True


async def nothing(*_given: int) -> None:
    """Nothing keeps it from being started, and nobody asks which process it became."""


def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scopes: Scoped, script: str) -> Result:
    monkeypatch.setattr(process, "scopes_of", lambda _settings: scopes)
    bounds = Bounds(20.0, 0.5, 10_000, 100_000, 50, memory_bytes=100_000_000, tight=True)
    order = Order(RUN_ID, ("/bin/sh", "-c", script), "/", {"PATH": os.environ["PATH"]}, bounds)

    async def story() -> Result:
        runner = process.ProcessRunner(Settings(str(tmp_path / "home")))
        try:
            return await runner.run(order, nothing, nothing)
        finally:
            runner.close()

    return asyncio.run(story())


SCRIPT = (
    "for n in 1 2 3 4 5 6 7 8 9 10; do grep -q run- /proc/$$/cgroup && break; sleep 0.1; done; cat /proc/$$/cgroup\n"
)


def test_P7_a_run_of_a_scoped_shim_has_a_box_and_nothing_of_it_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scopes = Scoped()
    result = ran(monkeypatch, tmp_path, scopes, f"{SCRIPT} setsid sleep 600 & sleep 0.1; exit 3")
    assert len(scopes.asked) == 1
    assert result.exit_code == 3
    assert (f"run-{RUN_ID}" in result.stdout) is CAN
    assert result.used is not None
    assert (result.used.survivors, result.used.proved) == (1, True)
    assert not Path(OWN or "/nowhere", f"run-{RUN_ID}").exists()


def test_a_scope_that_is_refused_keeps_nothing_from_running(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result = ran(monkeypatch, tmp_path, Scoped("systemd made no scope: no"), "cat /proc/$$/cgroup")
    assert result.exit_code == 0
    assert "run-" not in result.stdout
    assert "a shim has no scope of its own: systemd made no scope: no" in caplog.text
