"""A run whose gateway was killed: its limit still holds, and a gateway can be stopped while it lasts."""

from __future__ import annotations

import time

from tests.support.process import TestHome, running, start, until


def lingering(home: TestHome, wall: str) -> str:
    """A run that goes on after its gateway was killed; returns its id."""
    home.script("long.sh", "trap '' HUP\nsleep 60\n")
    home.write("long", script="long.sh", limits=f"{{wall: {wall}}}")
    gateway = start(home)
    run = home.json("run", "long")["run_id"]
    until(lambda: next((item for item in home.runs("long", "--state", "running") if item["pid"]), None), "it runs")
    gateway.kill()
    return run


def test_the_wall_limit_of_a_run_outlives_its_gateway(home: TestHome) -> None:
    run = lingering(home, "3s")
    began = time.monotonic()
    with running(home):
        ended = home.ended(run)
    assert time.monotonic() - began < 20
    assert ended["state"] == "unknown"
    assert "its wall limit passed" in ended["reason"]


def test_a_gateway_that_stops_leaves_such_a_run_to_the_next_one(home: TestHome) -> None:
    home.config('drain = "1s"\n')
    run = lingering(home, "1h")
    second = start(home)
    assert second.stop() == 0
    assert [item["state"] for item in home.runs("long")] == ["running"]
    (pid,) = [item["pid"] for item in home.runs("long")]
    with running(home):
        assert home.runs("long")[0]["state"] == "running"
        home.script("end.sh", f"kill -9 -{pid}\n")
        home.write("end", script="end.sh")
        home.state_of("end", "active")
        home.json("run", "end", "--wait")
        assert home.ended(run)["state"] == "unknown"
