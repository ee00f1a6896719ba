"""The gateway as systemd sees it: ready when it fires what is due, alive while its loop is, stopping when asked to."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.process import TestHome, new_home, start, until


@pytest.fixture
def line(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(20)
        yield made


@pytest.fixture
def home(tmp_path: Path) -> TestHome:
    return new_home(tmp_path / "home")


def until_told(line: socket.socket, first: str) -> list[str]:
    """What was told before a line that begins so."""
    before: list[str] = []
    while not (told := line.recv(4096).decode()).startswith(first):
        before.append(told)
    return before


def rest(line: socket.socket) -> int:
    """How many are there that nobody has read."""
    count = 0
    line.setblocking(False)
    try:
        while line.recv(4096):
            count += 1
    except BlockingIOError:
        return count
    finally:
        line.settimeout(20)
    return count


def test_systemd_is_told_when_it_is_ready_that_it_lives_and_that_it_stops(
    home: TestHome, line: socket.socket, tmp_path: Path
) -> None:
    home.script("env.sh", "#!/bin/sh\nenv\n")
    home.write("env", schedule="every 1h", script="env.sh")
    env = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "600000"}
    gateway = start(home, ready=False, env=env)
    try:
        assert until_told(line, "READY=1") == [], "it is not watched before it is ready"
        assert home.look("status")["gateway"]["alive"] is True
        until_told(line, "WATCHDOG=1")
        until_told(line, "WATCHDOG=1")
        run = home.json("run", "env", "--wait")["run"]["id"]
        said = home.json("log", run)["stdout"]
        assert "HORAE_RUN_ID" in said
        assert "NOTIFY_SOCKET" not in said
        assert "WATCHDOG" not in said
        gateway.signal(signal.SIGSTOP)
        until(lambda: rest(line) == 0, "one that stands still tells nothing")
        line.settimeout(1.5)
        with pytest.raises(TimeoutError):
            line.recv(4096)
        line.settimeout(20)
        gateway.signal(signal.SIGCONT)
        until_told(line, "WATCHDOG=1")
        gateway.signal(signal.SIGTERM)
        until_told(line, "STOPPING=1")
        assert gateway.ends() == 0
    finally:
        gateway.process.kill()
        gateway.process.wait()
