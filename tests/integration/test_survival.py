"""Runs and their shims outlive the gateway, however it ends; the next one adopts them, or collects what they have left."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from horae.control.client import ask
from tests.support.process import Gateway, TestHome, finish, running, start, until
from tests.support.shims import gone, parent_of, shim_of, shims

INSIDE = True


def begun(home: TestHome, script: str, wall: str = "1h", **keys: str) -> tuple[Gateway, str]:
    """A run that goes on, and its gateway."""
    home.script("long.sh", script)
    home.write("long", script="long.sh", limits=f"{{wall: {wall}}}", **keys)
    gateway = start(home)
    try:
        run = home.json("run", "long")["run_id"]
        noted(home, run)
    except BaseException:
        finish(gateway)
        raise
    return gateway, run


def noted(home: TestHome, run: str) -> int:
    """The main process of a live run, once it is on record."""
    return until(
        lambda: next((item["pid"] for item in home.runs("--state", "running") if item["id"] == run), None),
        "its process is noted",
    )


def orphaned(home: TestHome, script: str, wall: str = "1h", **keys: str) -> str:
    """A run that goes on after its gateway was killed."""
    gateway, run = begun(home, script, wall, **keys)
    gateway.kill()
    return run


def so_far(home: TestHome, run: str) -> str:
    """What a live run has printed, as its gateway tells."""
    return ask(str(home.path), "so_far", {"run": run}, 5.0)["stdout"]


def spools(home: TestHome) -> list[str]:
    return sorted(path.name for path in (home.path / "state" / "spool").iterdir() if path.name != "errors.log")


def test_U10_what_ends_while_no_gateway_is_there_is_collected(home: TestHome) -> None:
    run = orphaned(home, "echo one; sleep 1.1; echo two; echo err >&2; exit 3\n")
    until(lambda: not shims(home.path), "its shim has ended")
    with running(home):
        ended = home.ended(run)
        log = home.json("log", run)
    assert (ended["state"], ended["reason"], ended["exit_code"]) == ("failed", "exit status 3", 3)
    assert (log["stdout"], log["stderr"]) == ("one\ntwo\n", "err\n")
    assert ended["used"]["wall_s"] >= 1
    assert spools(home) == [], "what was collected is needed no more"


def test_U10_a_run_that_goes_on_is_adopted_with_its_output(home: TestHome) -> None:
    run = orphaned(home, 'echo one; until [ -e "$HORAE_HOME/go" ]; do sleep 0.05; done; echo two\n')
    with running(home):
        until(lambda: home.json("status")["live_runs"] == [{"run": run, "job": "long"}], "it is adopted")
        until(lambda: so_far(home, run) == "one\n", "what it printed before is shown")
        (home.path / "go").touch()
        ended = home.ended(run)
        assert (ended["state"], home.json("log", run)["stdout"]) == ("completed", "one\ntwo\n")
        assert len(home.runs("long")) == 1


@pytest.mark.parametrize("before", [False, True])
def test_the_wall_limit_holds_without_a_gateway(home: TestHome, before: bool) -> None:
    """Whether it is reached before the next gateway comes or afterwards."""
    run = orphaned(home, "echo up; sleep 60\n", "3s")
    if before:
        until(lambda: not shims(home.path), "its shim has ended it")
    with running(home):
        ended = home.ended(run)
    assert (ended["state"], ended["reason"]) == ("failed", "wall limit of 3 seconds reached")
    assert 3 <= ended["used"]["wall_s"] < 10


@pytest.mark.parametrize("ignores", [False, True])
def test_U12_an_adopted_run_can_be_cancelled(home: TestHome, ignores: bool) -> None:
    """Exactly that one; and what does not end by itself is killed after its grace. Behind walls, as by default."""
    home.config('landlock = "on"\n')
    home.script("other.sh", "sleep 60\n")
    home.write("other", script="other.sh")
    gateway, run = begun(home, f"trap '{'' if ignores else 'echo bye; exit 0'}' TERM; while :; do sleep 0.1; done\n")
    other = home.json("run", "other")["run_id"]
    noted(home, other)
    gateway.kill()
    with running(home):
        until(lambda: len(home.json("status")["live_runs"]) == 2, "both are adopted")
        home.json("cancel", run)
        ended = home.ended(run)
        assert ended["state"] == "cancelled"
        assert ended["reason"].startswith("cancelled by ")
        assert home.json("log", run)["stdout"] == ("" if ignores else "bye\n")
        assert ended["signal"] == (signal.SIGKILL if ignores else None)
        assert [item["state"] for item in home.runs("other")] == ["running"]
        home.json("cancel", other)
        assert home.ended(other)["state"] == "cancelled"


@pytest.mark.parametrize("walls", ["on", "off"])
def test_a_run_can_be_cancelled_while_no_gateway_is_there(home: TestHome, walls: str) -> None:
    home.config(f'landlock = "{walls}"\n')
    run = orphaned(home, "echo up; trap 'echo bye; exit 0' TERM; while :; do sleep 0.1; done\n")
    assert run in home.json("cancel", run)["did"]
    until(lambda: not shims(home.path), "its shim has ended it")
    error = home.error("cancel", run, status=5)
    assert "no shim on this machine has it" in error["message"]
    with running(home):
        ended = home.ended(run)
    assert (ended["state"], home.json("log", run)["stdout"]) == ("cancelled", "up\nbye\n")
    assert ended["reason"].startswith("cancelled by ")


def test_O8_a_gateway_that_stops_leaves_its_runs_to_their_shims(home: TestHome) -> None:
    home.config('drain = "1s"\n')
    gateway, run = begun(home, 'until [ -e "$HORAE_HOME/go" ]; do sleep 0.05; done; echo done\n')
    assert gateway.stop() == 0
    assert "go on by themselves" in gateway.said()
    assert [item["state"] for item in home.runs("long")] == ["running"]
    (home.path / "go").touch()
    with running(home):
        assert home.ended(run)["state"] == "completed"


def test_several_gateways_in_a_row(home: TestHome) -> None:
    """Each is killed while the run goes on; the last one collects it."""
    run = orphaned(home, 'until [ -e "$HORAE_HOME/go" ]; do sleep 0.05; done; echo done\n')
    for _ in range(3):
        gateway = start(home)
        until(lambda: home.json("status")["live_runs"] or None, "it is adopted")
        gateway.kill()
    (home.path / "go").touch()
    with running(home):
        assert (home.ended(run)["state"], home.json("log", run)["stdout"]) == ("completed", "done\n")
    assert len(home.runs("long")) == 1


# ── what watches is killed too

TREE = """
setsid sleep 611 & (setsid sh -c "trap '' TERM; sleep 612" &) ; echo up; sleep 613
"""


def tree_of(run: str) -> list[int]:
    """The live processes of a run, by its mark."""
    mark, found = f"HORAE_RUN_ID={run}".encode(), []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and not gone(int(folder.name)):
            try:
                marked = mark in (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            found += [int(folder.name)] * marked
    return found


def test_P7_P4_a_killed_shim_takes_its_tree_with_it_and_its_run_is_unknown(home: TestHome) -> None:
    gateway, run = begun(home, TREE)
    try:
        until(lambda: len(tree_of(run)) >= 5, "all of it is there")
        os.kill(shim_of(home.path, run), signal.SIGKILL)
        ended = home.ended(run)
        assert tree_of(run) == []
        assert ended["state"] == "unknown"
        assert "its shim ended before it" in ended["reason"]
        assert "killed: " in ended["reason"]
        assert "sleep 613" in ended["reason"]
        assert home.json("log", run)["stdout"] == "up\n", "what it had said is kept"
        home.json("resolve", run, "--as", "failed")
        home.script("long.sh", "echo fine\n")
        assert home.json("run", "long", "--wait")["stdout"] == "fine\n"
    finally:
        finish(gateway)


def test_P7_a_shim_that_is_killed_while_no_gateway_is_there(home: TestHome) -> None:
    run = orphaned(home, TREE)
    shim = shim_of(home.path, run)
    template = parent_of(shim)
    until(lambda: len(tree_of(run)) >= 5, "all of it is there")
    os.kill(shim, signal.SIGKILL)
    until(lambda: not tree_of(run), "the template has cleaned up")
    until(lambda: gone(template), "the template ends with its last shim")
    with running(home):
        assert home.ended(run)["state"] == "unknown"
    assert spools(home) == []


def test_P7_template_and_shim_are_killed_under_a_gateway(home: TestHome) -> None:
    """Nobody is there who inherits the tree: it is found by its mark."""
    gateway, run = begun(home, TREE)
    try:
        until(lambda: len(tree_of(run)) >= 5, "all of it is there")
        shim = shim_of(home.path, run)
        os.kill(parent_of(shim), signal.SIGKILL)
        os.kill(shim, signal.SIGKILL)
        ended = home.ended(run)
        assert ended["state"] == "unknown"
        until(lambda: not tree_of(run), "nothing is left")
    finally:
        finish(gateway)


def test_a_killed_template_is_replaced_and_its_runs_go_on(home: TestHome) -> None:
    gateway, run = begun(home, 'until [ -e "$HORAE_HOME/go" ]; do sleep 0.05; done; echo done\n')
    try:
        shim = shim_of(home.path, run)
        os.kill(parent_of(shim), signal.SIGKILL)
        home.write("hi", script="hi.sh")
        home.state_of("hi", "active")
        assert home.json("run", "hi", "--wait")["stdout"] == "hi\n"
        (home.path / "go").touch()
        ended = home.ended(run)
        assert (ended["state"], ended["used"]["proved"]) == ("completed", True)
        until(lambda: gone(shim), "a shim without a template takes no more runs")
    finally:
        finish(gateway)


def test_everything_is_killed_at_once(home: TestHome) -> None:
    """Gateway, template and shim: then the tree goes on unseen, until the next gateway finds it by its mark."""
    gateway, run = begun(home, "echo up; sleep 60\n")
    main, shim = noted(home, run), shim_of(home.path, run)
    template = parent_of(shim)
    for pid in (gateway.pid, template, shim):
        os.kill(pid, signal.SIGKILL)
    gateway.ends()
    assert not gone(main)
    began = time.monotonic()
    with running(home):
        ended = home.ended(run)
    assert ended["state"] == "unknown"
    assert gone(main)
    assert time.monotonic() - began < 20


def test_a_shim_that_stands_still_is_waited_for(home: TestHome) -> None:
    """Nobody can say how the run ends while its shim is there: neither lost nor done."""
    run = orphaned(home, "echo up; sleep 1; echo done\n")
    shim = shim_of(home.path, run)
    os.kill(shim, signal.SIGSTOP)
    try:
        with running(home):
            until(lambda: home.json("status")["live_runs"] or None, "it is adopted")
            assert home.runs("long")[0]["state"] == "running"
            os.kill(shim, signal.SIGCONT)
            assert home.ended(run)["state"] == "completed"
    finally:
        if not gone(shim):
            os.kill(shim, signal.SIGCONT)


def test_a_template_that_stands_still_is_replaced(home: TestHome) -> None:
    """A run may have stopped it: nobody else must wait for that."""
    gateway, run = begun(home, 'until [ -e "$HORAE_HOME/go" ]; do sleep 0.05; done\n')
    template = parent_of(shim_of(home.path, run))
    os.kill(template, signal.SIGSTOP)
    try:
        home.script("other.sh", "echo fine; sleep 1\n")
        for name in ("one", "two", "three"):
            home.write(name, script="other.sh")
            home.state_of(name, "active")
        runs = [home.json("run", name)["run_id"] for name in ("one", "two", "three")]
        assert {home.ended(each)["state"] for each in runs} == {"completed"}
        (home.path / "go").touch()
        assert home.ended(run)["state"] == "completed"
    finally:
        os.kill(template, signal.SIGCONT)
        finish(gateway)


def test_damage_in_a_spool_harms_its_own_run_only(home: TestHome) -> None:
    """The record of one run is not as it was written; the other one's is."""
    wait = 'until [ -e "$HORAE_HOME/go" ]; do sleep 0.05; done\n'
    gateway, run = begun(home, wait)
    home.script("other.sh", wait)
    home.write("other", script="other.sh")
    home.state_of("other", "active")
    other = home.json("run", "other")["run_id"]
    spool = next(path for path, pid in shims(home.path).items() if pid == shim_of(home.path, run))
    shim_of(home.path, other)
    gateway.kill()
    (home.path / "go").touch()
    until(lambda: not shims(home.path), "both have ended")
    data = bytearray(Path(spool).read_bytes())
    data[data.index(b'"exit":')] ^= 0xFF
    Path(spool).write_bytes(data)
    with running(home):
        assert home.ended(run)["state"] == "unknown"
        assert home.ended(other)["state"] == "completed"
