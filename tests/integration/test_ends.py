"""A run that is cancelled, a terminal that is closed, a pipe that nobody reads: the record stays true."""

from __future__ import annotations

import os
import signal
import subprocess

from tests.support.process import TestHome, finish, running, start, until

INSIDE = True


def a_live_run(home: TestHome) -> str:
    home.script("long.sh", "echo begun\nsleep 60\n")
    home.write("long", script="long.sh")
    home.state_of("long", "active")
    run = home.json("run", "long")["run_id"]
    until(lambda: [item for item in home.runs("long", "--state", "running") if item["pid"]], "it runs")
    return run


def test_a_run_is_cancelled_by_a_person_and_says_by_whom(home: TestHome) -> None:
    with running(home):
        run = a_live_run(home)
        assert run in home.json("cancel", run[:10])["did"]
        ended = home.ended(run)
        assert (ended["state"], ended["reason"]) == ("cancelled", "cancelled by ann")
        assert "only a live one" in home.error("cancel", run, status=4)["message"]


def test_a_closed_terminal_drains_the_gateway(home: TestHome) -> None:
    home.config('drain = "1s"\non_stop = "end"\n')
    gateway = start(home)
    run = a_live_run(home)
    gateway.signal(signal.SIGHUP)
    assert gateway.ends() == 0
    assert home.ended(run)["state"] == "cancelled"


def test_a_gateway_goes_on_when_nobody_reads_what_it_prints(home: TestHome) -> None:
    home.write("fast", schedule="every 1s", script="hi.sh")
    reading, writing = os.pipe()
    gateway = subprocess.Popen(
        home.words("up"), env=home.environment(), stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    try:
        until(lambda: b"ready" in os.read(reading, 4096), "it is ready")
        os.close(reading)
        done = len(home.runs("--state", "completed"))
        until(lambda: len(home.runs("--state", "completed")) >= done + 3, "three more runs")
        gateway.terminate()
        _, errors = gateway.communicate(timeout=20)
    finally:
        gateway.kill()
        gateway.wait()
    assert gateway.returncode == 0
    assert errors == b""
    assert (home.path / "state" / "horae.log").read_text().count("completed") >= 3


def test_a_failure_says_what_the_program_said(home: TestHome) -> None:
    home.script("bad.sh", "echo working\necho 'disk /dev/sda1 gone' >&2\nexit 3\n")
    home.write("bad", script="bad.sh")
    gateway = start(home)
    try:
        home.state_of("bad", "active")
        run = home.json("run", "bad")["run_id"]
        home.ended(run)
        gateway.says("exit status 3: disk /dev/sda1 gone")
        assert [item["kind"] for item in home.json("status")["waiting"]] == ["failing"]
        assert any(check["check"] == "failing" for check in home.json("doctor", status=1)["checks"])
        assert home.json("log", "bad")["run"]["id"] == run
    finally:
        finish(gateway)
