"""Where a process's control group is, and what a box does with its files: on a tree of plain files that stands for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from horae.runners.shim import cgroup
from horae.runners.shim.cgroup import Box, controllers, delegated, group_of, mount_of, prepare, writable

PURE = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
)
CUT = "41 31 0:38 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
BLANKS = r"41 31 0:38 / /mnt/a\040b\134c rw - cgroup2 none rw" + "\n"
NONE = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n35 31 0:32 / /x rw - cgroup cgroup2 rw,memory\n"


@pytest.mark.parametrize(
    ("mounts", "groups", "found"),
    [
        (PURE, "0::/user.slice/a.scope\n", "/sys/fs/cgroup/user.slice/a.scope"),
        (PURE, "0::/\n", "/sys/fs/cgroup"),
        (PURE, "0::/a:b c\n", "/sys/fs/cgroup/a:b c"),
        (HYBRID, "9:name=systemd:/x\n4:memory:/y\n0::/z\n", "/sys/fs/cgroup/unified/z"),
        (CUT, "0::/docker/abc/run\n", "/sys/fs/cgroup/run"),
        (CUT, "0::/docker/abc\n", "/sys/fs/cgroup"),
        (CUT, "0::/docker/abcd\n", None),
        (PURE, "0::/../../elsewhere\n", None),
        (BLANKS, "0::/x\n", "/mnt/a b\\c/x"),
        (NONE, "0::/x\n", None),
        (PURE, "4:memory:/y\n", None),
        ("", "0::/\n", None),
        ("nonsense\n - \n1 2 - cgroup2\n", "0::/\n", None),
    ],
)
def test_where_a_process_is(mounts: str, groups: str, found: str | None) -> None:
    assert group_of(groups, mounts) == found


def test_of_several_mounts_the_first_counts() -> None:
    assert mount_of(HYBRID + PURE) == ("/", "/sys/fs/cgroup/unified")


def a_group(path: Path, **files: str) -> Path:
    """The files of a group as the kernel would put them there; the first _ of a name stands for a dot."""
    path.mkdir(parents=True, exist_ok=True)
    always = {"cgroup_procs": "", "cgroup_controllers": "", "cgroup_subtree_control": ""}
    for name, text in {**always, **files}.items():
        (path / name.replace("_", ".", 1)).write_text(text)
    return path


def a_box(tmp_path: Path, **files: str) -> Box:
    return Box(str(a_group(tmp_path / "run-a", **files)))


def read(box: Box, name: str) -> str:
    return (Path(box.path) / name).read_text()


def test_what_can_be_bounded_and_what_is(tmp_path: Path) -> None:
    group = a_group(tmp_path, cgroup_controllers="cpu memory pids\n", cgroup_subtree_control="memory\n")
    assert controllers(str(group)) == {"cpu", "memory", "pids"}
    assert delegated(str(group)) == {"memory"}
    assert writable(str(group))
    assert controllers(str(tmp_path / "nowhere")) == frozenset()
    assert not writable(str(tmp_path / "nowhere"))


def test_limits_are_written_and_memory_is_not_swapped_away(tmp_path: Path) -> None:
    files = {"memory_max": "", "memory_swap.max": "", "memory_oom.group": "", "pids_max": ""}
    box = a_box(tmp_path, **files)
    assert box.limit(memory=512 * 1024 * 1024, pids=64) == ()
    assert read(box, "memory.max") == "536870912"
    assert (read(box, "memory.swap.max"), read(box, "memory.oom.group"), read(box, "pids.max")) == ("0", "1", "64")


def test_a_limit_that_cannot_be_had_is_named_and_makes_no_file(tmp_path: Path) -> None:
    box = a_box(tmp_path)
    assert box.limit(memory=1024, pids=3) == ("memory", "pids")
    assert box.limit() == ()
    assert sorted(os.listdir(box.path)) == ["cgroup.controllers", "cgroup.procs", "cgroup.subtree_control"]
    box = a_box(tmp_path, memory_max="")
    assert box.limit(memory=1024, pids=3) == ("pids",), "swap need not be counted"


def test_what_was_counted(tmp_path: Path) -> None:
    box = a_box(
        tmp_path,
        memory_peak="1048576\n",
        memory_events="low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 1\n",
        pids_events="max 3\n",
        cgroup_events="populated 1\nfrozen 0\n",
    )
    assert box.peak() == 1048576
    assert box.events() == {"oom_kill": 1, "pids_max": 3}
    assert (box.populated(), box.frozen()) == (True, False)
    empty = Box(str(tmp_path / "nowhere"))
    assert (empty.peak(), empty.populated(), empty.frozen(), empty.procs()) == (None, None, None, None)
    assert empty.events() == {"oom_kill": None, "pids_max": None}
    assert a_box(tmp_path, memory_peak="max\n").peak() is None


def test_who_is_in_it_and_below(tmp_path: Path) -> None:
    box = a_box(tmp_path, cgroup_procs="12\n7\n")
    a_group(Path(box.path) / "below" / "deeper", cgroup_procs="99\n")
    assert box.procs() == [7, 12, 99]


def test_killing_is_the_kernels_where_it_can_and_ours_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    box = a_box(tmp_path, cgroup_kill="", cgroup_procs="7\n")
    assert box.kill()
    assert (read(box, "cgroup.kill"), killed) == ("1", [])
    (Path(box.path) / "cgroup.kill").unlink()
    assert not box.kill(), "who could not be stopped first may have started others meanwhile"
    assert killed == [7]
    box = a_box(tmp_path, cgroup_freeze="", cgroup_procs=f"0\n7\n{os.getpid()}\n")
    assert box.kill()
    assert (read(box, "cgroup.freeze"), killed) == ("0", [7, 7]), "not ourselves, and not whom we cannot see"
    monkeypatch.setattr(os, "kill", _forbidden)
    assert not box.kill()


def _forbidden(_pid: int, _number: int) -> None:
    raise PermissionError


def test_a_box_is_made_and_must_be_empty(tmp_path: Path) -> None:
    assert Box.make(str(tmp_path / "nowhere"), "a") is None
    made = tmp_path / "run-a_b"
    assert Box.make(str(tmp_path), "a/b") is None, "this folder has no files of a group"
    assert made.is_dir()
    a_group(made)
    box = Box.make(str(tmp_path), "a/b")
    assert box is not None
    assert box.path == str(made)
    assert box.add(12)
    assert read(box, "cgroup.procs") == "12"
    assert Box.make(str(tmp_path), "a/b") is None, "somebody is in it"
    (tmp_path / "run-c").write_text("a file")
    assert Box.make(str(tmp_path), "c") is None


def test_limits_are_passed_on_where_they_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel refuses while there are processes in the group; and what is written is not what is read."""
    group = a_group(tmp_path, cgroup_controllers="memory pids cpu\n", cgroup_subtree_control="pids\n")
    leaf = group / "shim"
    a_group(leaf)
    real = cgroup._write

    def kernel(path: str, text: str) -> bool:
        if not path.endswith("subtree_control"):
            return real(path, text)
        if (leaf / "cgroup.procs").read_text() != "0":
            return False
        (group / "cgroup.subtree_control").write_text("pids memory\n")
        return True

    monkeypatch.setattr(cgroup, "_write", kernel)
    assert prepare(str(group)) == {"memory", "pids"}
    assert (leaf / "cgroup.procs").read_text() == "0"
    monkeypatch.setattr(cgroup, "_write", lambda _path, _text: False)
    assert prepare(str(a_group(tmp_path / "other", cgroup_controllers="memory\n"))) == frozenset()
    assert prepare(str(tmp_path / "nowhere")) == frozenset()


def test_closing_says_whether_it_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "run-a"
    (folder / "below" / "deeper").mkdir(parents=True)
    assert Box(str(folder)).close()
    assert not folder.exists()
    assert Box(str(folder)).close(), "it was gone already"
    box = a_box(tmp_path)
    assert not box.close(), "a folder with plain files stands for a group in which something lives"


def test_it_needs_nothing_of_ours() -> None:
    """The shim loads it into an interpreter that has the standard library only."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import cgroup; print([n for n in sys.modules if 'horae' in n])"
    folder = os.path.dirname(cgroup.__file__)
    done = subprocess.run((sys.executable, "-IS", "-c", code, folder), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
