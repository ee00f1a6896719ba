"""A box in the kernel's own control groups, where this machine lets us make one; elsewhere, that it says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from horae.runners.shim import cgroup
from horae.runners.shim.cgroup import Box, own_group, step_aside, writable
from tests.support.process import until

FOREVER = "setsid sh -c 'sleep 600 & sleep 600 & wait' & trap '' TERM; wait"


OWN = own_group()
CAN = OWN is not None and writable(OWN)


def for_real(test: Callable[..., None]) -> Callable[..., None] | None:
    """A test of the kernel's groups; where none can be made there is no such test, and another one instead."""
    return test if CAN else None


def test_whether_boxes_can_be_had_is_known_without_an_error() -> None:
    made = Box.make(OWN or "/nowhere", f"horae-test-{os.getpid()}")
    assert (made is not None) is CAN
    assert made is None or made.close()


@pytest.fixture
def group() -> Iterator[str]:
    """A group of this test's own."""
    path = os.path.join(OWN or "", f"horae-test-{os.getpid()}")
    os.mkdir(path)
    yield path
    whole = Box(path)
    whole.kill()
    until(whole.close, "the test's own group is gone")


@pytest.fixture
def box(group: str) -> Box:
    made = Box.make(group, "1f2e")
    assert made is not None
    return made


def inside(box: Box, script: str) -> subprocess.Popen[bytes]:
    """A program that never was anywhere else."""
    return subprocess.Popen(("sh", "-c", script), preexec_fn=box.enter)  # noqa: PLW1509  as the shim does


@for_real
def test_what_a_program_starts_is_in_its_box_however_it_hides(box: Box) -> None:
    child = inside(box, FOREVER)
    try:
        until(lambda: len(box.procs() or ()) >= 4, "its children are there")
        assert child.pid in (box.procs() or ())
        assert own_group(f"/proc/{child.pid}") == box.path
        assert box.populated() is True
        assert not box.close(), "something lives in it"
        assert Box.make(os.path.dirname(box.path), "1f2e") is None, "and it is nobody else's"
        assert box.kill()
        assert child.wait(10) == -9
        until(lambda: box.populated() is False, "nobody is in it")
        assert box.procs() == []
        assert box.close()
        assert not os.path.exists(box.path)
    finally:
        box.kill()
        child.wait(10)


@for_real
def test_a_frozen_box_stands_still_and_can_be_killed(box: Box, tmp_path: Path) -> None:
    child = inside(box, f"while :; do echo x >>{tmp_path}/ticks; sleep 0.01; done")
    try:
        until((tmp_path / "ticks").exists, "it ticks")
        assert box.freeze(on=True)
        until(box.frozen, "it is frozen")
        before = (tmp_path / "ticks").stat().st_size
        assert box.freeze(on=False)
        until(lambda: (tmp_path / "ticks").stat().st_size > before, "it goes on")
        assert box.freeze(on=True)
        until(box.frozen, "it is frozen")
        assert box.kill()
        assert child.wait(10) == -9
    finally:
        box.kill()
        child.wait(10)


@for_real
def test_it_is_killed_too_where_the_kernel_cannot_do_it_at_once(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    real = cgroup._write
    monkeypatch.setattr(cgroup, "_write", lambda path, text: not path.endswith("cgroup.kill") and real(path, text))
    child = inside(box, FOREVER)
    until(lambda: len(box.procs() or ()) >= 4, "its children are there")
    assert box.kill()
    assert child.wait(10) == -9
    until(box.close, "it is empty and gone")


@for_real
def test_groups_that_a_program_makes_for_itself_are_counted_and_removed(box: Box) -> None:
    below = os.path.join(box.path, "below", "deeper")
    os.makedirs(below)
    child = inside(box, f"sleep 600 & echo $! >{below}/cgroup.procs; wait")
    try:
        until(lambda: len(box.procs() or ()) == 2 and Path(below, "cgroup.procs").read_text(), "one has gone below")
    finally:
        box.kill()
        child.wait(10)
    until(box.close, "all of it is gone")


@for_real
def test_a_shim_steps_aside(group: str) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import cgroup; group = sys.argv[2]\n"
        "print(cgroup.step_aside(group), cgroup.own_group(), cgroup.prepare(group))"
    )
    done = subprocess.run(
        (sys.executable, "-IS", "-c", code, os.path.dirname(cgroup.__file__), group),
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=Box(group).enter,
    )
    assert done.stdout.startswith(f"True {group}/shim ")
    assert not step_aside(f"{group}/nowhere")


@for_real
def test_a_limit_is_kept_or_said_not_to_be(group: str, box: Box) -> None:
    """Where memory and processes are counted in version 2 they hold; elsewhere the box names them."""
    there = cgroup.prepare(group)
    failed = box.limit(memory=64 * 1024 * 1024, pids=5)
    assert set(failed) == {"memory", "pids"} - there
    if "pids" in there:
        child = inside(box, "for i in 1 2 3 4 5 6 7 8; do sleep 600 & done; wait")
        until(lambda: (box.events()["pids_max"] or 0) > 0, "one too many")
        box.kill()
        child.wait(10)
    if "memory" in there:
        child = inside(box, f"exec {sys.executable} -c 'x = bytearray(512 * 1024 * 1024)'")
        assert child.wait(60) == -9
        assert (box.events()["oom_kill"] or 0) > 0
