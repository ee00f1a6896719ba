"""The words that start a program behind walls, and what is said where there can be none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from horae.runners import sandbox
from horae.runners.sandbox import problem, sandboxed
from tests.support.standin import StandIns


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Below the machine's folder for temporary files, which a sandbox empties."""
    made = Path(os.path.realpath(tmp_path)) / "home"
    for name in ("scripts", "state/scripts", "output"):
        (made / name).mkdir(parents=True)
    (made / "scripts" / "a.sh").touch()
    (made / "secrets.toml").touch()
    return made


@pytest.fixture(autouse=True)
def _emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "OWN", (os.path.realpath(tmp_path.parent),))
    monkeypatch.setattr(sandbox, "_worked", set())


def mounts(argv: Sequence[str]) -> list[tuple[str, ...]]:
    """What is mounted, in this order."""
    taken = {"--ro-bind": 2, "--bind": 2, "--tmpfs": 1, "--dev": 1, "--proc": 1, "--remount-ro": 1}
    words = list(argv[: argv.index("--")])
    return [tuple(words[at : at + 1 + taken[word]]) for at, word in enumerate(words) if word in taken]


def test_the_system_comes_first_and_the_program_last(home: Path) -> None:
    argv = sandboxed(("/bin/sh", "-c", "--x"), "strict", cwd=str(home), bwrap="/usr/bin/bwrap")
    assert argv[0] == "/usr/bin/bwrap"
    assert argv[argv.index("--") :] == ("--", "/bin/sh", "-c", "--x")
    assert mounts(argv)[:3] == [("--ro-bind", "/", "/"), ("--dev", "/dev"), ("--proc", "/proc")]
    at = argv.index("--chdir")
    assert argv[at + 1] == str(home)


def test_its_processes_are_numbered_apart_and_survive_who_started_it(home: Path) -> None:
    argv = sandboxed(("/bin/true",), "net", cwd=str(home))
    assert {"--unshare-pid", "--unshare-ipc", "--unshare-uts"} <= set(argv)
    assert not {"--die-with-parent", "--as-pid-1", "--new-session"} & set(argv)


@pytest.mark.parametrize(("mode", "cut"), [("strict", True), ("net", False), ("no such mode", True)])
def test_only_net_has_a_network(home: Path, mode: str, cut: bool) -> None:
    assert ("--unshare-net" in sandboxed(("/bin/true",), mode, cwd=str(home))) is cut


def test_the_longest_path_decides(home: Path) -> None:
    argv = sandboxed(
        ("/bin/sh", str(home / "scripts" / "a.sh")),
        "strict",
        cwd=str(home / "scripts"),
        readable=(str(home), str(home / "state" / "scripts")),
        writable=(str(home / "output"),),
        hidden=(str(home / "state"), str(home / "secrets.toml")),
    )
    base, state = str(home), str(home / "state")
    assert mounts(argv)[3:] == [
        ("--tmpfs", sandbox.OWN[0]),
        ("--ro-bind", base, base),
        ("--bind", f"{base}/output", f"{base}/output"),
        ("--ro-bind", "/dev/null", f"{base}/secrets.toml"),
        ("--tmpfs", state),
        ("--ro-bind", f"{state}/scripts", f"{state}/scripts"),
        ("--remount-ro", state),
    ]


def test_what_a_job_names_is_shown_in_an_emptied_folder_and_never_in_a_hidden_one(home: Path) -> None:
    key = home / "state" / "audit.key"
    key.touch()
    argv = sandboxed(
        ("/bin/cat", str(key), str(home / "scripts" / "a.sh"), "/dev/null", "relative"),
        "strict",
        cwd=str(home / "state"),
        hidden=(str(home / "state"),),
    )
    paths = [mount[-1] for mount in mounts(argv)]
    assert str(key) not in paths
    assert str(home / "scripts" / "a.sh") in paths
    assert "/dev/null" not in paths
    assert ("--ro-bind", str(home / "state"), str(home / "state")) not in mounts(argv)


def test_hidden_wins_over_writable_and_that_over_readable(home: Path) -> None:
    paths = (str(home),)
    assert ("--tmpfs", str(home)) in mounts(
        sandboxed(("/bin/true",), "strict", cwd="/", readable=paths, writable=paths, hidden=paths)
    )
    assert ("--bind", str(home), str(home)) in mounts(
        sandboxed(("/bin/true",), "strict", cwd="/", readable=paths, writable=paths)
    )


def test_links_are_resolved_and_what_is_not_there_is_left_out(home: Path) -> None:
    (home / "link").symlink_to("output")
    argv = sandboxed(
        ("/bin/true",),
        "strict",
        cwd="/",
        writable=(str(home / "link"), str(home / "nowhere"), "/"),
        hidden=(str(home / "nothing"),),
    )
    assert [mount[-1] for mount in mounts(argv) if mount[0] == "--bind"] == [str(home / "output")]
    assert not [word for word in argv if word.endswith(("/nowhere", "/nothing", "/link"))]


# ── where there can be none


def a_sysctl(tmp_path: Path, name: str, value: str) -> str:
    file = tmp_path / "sys" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value)
    return str(tmp_path / "sys")


def test_without_bubblewrap_it_says_what_to_install(tmp_path: Path) -> None:
    found = problem("strict", str(tmp_path))
    assert found is not None
    assert "bwrap" in found
    assert "apt install bubblewrap" in found


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1\n", "AppArmor"),
        ("kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0\n", "user.max_user_namespaces="),
        ("user/max_user_namespaces", "100\n", "in a container"),
    ],
)
def test_what_the_kernel_refuses_is_told_with_its_switch(tmp_path: Path, name: str, value: str, remedy: str) -> None:
    made = StandIns(tmp_path / "bin")
    made.put("bwrap", "echo bwrap: setting up uid map: Permission denied >&2", status=1)
    found = problem("net", made.path, a_sysctl(tmp_path, name, value))
    assert found is not None
    assert found.startswith(
        "sandbox net: bubblewrap cannot build it here (bwrap: setting up uid map: Permission denied)"
    )
    assert remedy in found


def test_one_that_is_too_old_is_told_so(tmp_path: Path) -> None:
    made = StandIns(tmp_path / "bin")
    made.put("bwrap", "echo bwrap: Unknown option --unshare-cgroup-try >&2", status=1)
    assert "too old" in str(problem("strict", made.path))


def test_what_worked_once_is_not_tried_again_and_what_did_not_is(tmp_path: Path) -> None:
    made = StandIns(tmp_path / "bin")
    made.put("bwrap", status=1)
    assert problem("strict", made.path) is not None
    assert problem("strict", made.path) is not None
    made.put("bwrap")
    assert problem("strict", made.path) is None
    assert problem("strict", made.path) is None
    assert len(made.calls("bwrap")) == 3
    assert problem("net", made.path) is None
    assert ["--unshare-net" in call for call in made.calls("bwrap")] == [True, True, True, False], "each mode is tried"


def test_an_unknown_mode_is_a_problem(tmp_path: Path) -> None:
    assert "strict, net" in str(problem("loose", str(tmp_path)))
