"""Walls for real, where the kernel lets bubblewrap build them; and where it does not, that this is said."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from horae.runners.sandbox import MODES, problem, sandboxed
from tests.support.process import until
from tests.support.standin import SYSTEM

BWRAP = shutil.which("bwrap", path=SYSTEM)
TRIAL = ("--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--dev", "/dev", "true")
CAN = (
    BWRAP is not None and subprocess.run((BWRAP, *TRIAL), capture_output=True, timeout=30, check=False).returncode == 0
)


def for_real(test: Callable[..., None]) -> Callable[..., None] | None:
    """A test behind walls; where none can be built there is no such test, and the one below says why."""
    return test if CAN else None


@pytest.mark.parametrize("mode", MODES)
def test_preflight_knows_whether_it_works_here(mode: str) -> None:
    said = problem(mode, SYSTEM)
    if CAN:
        assert said is None
    else:
        assert said is not None
        assert said.startswith(f"sandbox {mode}: bubblewrap")
        assert len(said.split("; ", 1)[1]) > 10, "and what to do"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "home"
    for name in ("scripts", "state", "output"):
        (made / name).mkdir(parents=True)
    (made / "state" / "audit.key").write_text("top secret")
    (made / "secrets.toml").write_text("top secret")
    (made / "config.toml").write_text("drain")
    return made


def walled(home: Path, script: str, mode: str = "strict", **more: tuple[str, ...]) -> tuple[str, ...]:
    """A script of the home behind walls, as a run would be."""
    file = home / "scripts" / "a.sh"
    file.write_text(script)
    return sandboxed(
        ("/bin/sh", str(file)),
        mode,
        cwd=str(home / "scripts"),
        readable=(str(home),),
        writable=(str(home / "output"), *more.get("writable", ())),
        hidden=(str(home / "state"), *more.get("hidden", ())),
        bwrap=BWRAP or "bwrap",
    )


def said_by(home: Path, script: str, mode: str = "strict", **more: tuple[str, ...]) -> str:
    argv = walled(home, script, mode, **more)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


@for_real
@pytest.mark.parametrize("mode", MODES)
def test_the_system_can_be_read_and_not_written(home: Path, mode: str) -> None:
    target = home.parent / "outside"
    target.write_text("as it was")
    said = said_by(
        home, f"cat {home}/config.toml /etc/passwd; echo x >{home}/config.toml; echo y >/etc/horae-x; ls /tmp", mode
    )
    assert "drain" in said
    assert "root:" in said
    assert said.count("Read-only file system") == 2
    assert (home / "config.toml").read_text() == "drain"
    assert not Path("/etc/horae-x").exists()
    assert said_by(home, f"cat {target}").count("No such file"), "its /tmp is its own"


@for_real
def test_it_writes_where_it_may_and_nowhere_else(home: Path) -> None:
    said = said_by(home, f"echo done >{home}/output/o && echo t >/tmp/t && cat /tmp/t && pwd && echo w >here")
    assert (home / "output" / "o").read_text() == "done\n"
    assert f"t\n{home}/scripts\n" in said
    assert "Read-only" in said
    assert not Path("/tmp/t").exists()


@for_real
def test_what_is_hidden_is_not_there(home: Path) -> None:
    script = f"cat {home}/state/audit.key {home}/secrets.toml; ls -A {home}/state; echo x >{home}/state/y; echo end"
    said = said_by(home, script, hidden=(str(home / "secrets.toml"),))
    assert "top secret" not in said
    assert "end" in said
    assert os.listdir(home / "state") == ["audit.key"]
    said = said_by(home, f"cat {home}/state/audit.key", writable=(str(home),))
    assert "top secret" not in said, "within a folder that may be written to, too"


@for_real
def test_a_hidden_folder_stays_hidden_when_its_files_are_replaced(home: Path) -> None:
    """Secrets are saved by putting a new file in the place of the old one."""
    script = f"echo ready; read line; cat {home}/state/audit.key; ls -A {home}/state; echo end"
    child = subprocess.Popen(
        walled(home, script), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        (home / "state" / "new").write_text("top secret")
        os.replace(home / "state" / "new", home / "state" / "audit.key")
        child.stdin.write(b"go\n")
        child.stdin.close()
        said = child.stdout.read().decode()
    assert "top secret" not in said
    assert said.endswith("end\n")


@pytest.fixture
def listening() -> Iterator[int]:
    """Something on this machine that answers on a port."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            try:
                line, _ = server.accept()
            except OSError:
                return
            line.sendall(b"hello\n")
            line.close()

    threading.Thread(target=answer, daemon=True).start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()


@for_real
@pytest.mark.parametrize(("mode", "reached"), [("net", True), ("strict", False)])
def test_only_net_reaches_what_listens(home: Path, listening: int, mode: str, reached: bool) -> None:
    (home / "scripts" / "ask.py").write_text(
        f"import socket\nprint(socket.create_connection(('127.0.0.1', {listening}), 5).recv(9))\n"
    )
    said = said_by(home, f"/usr/bin/env python3 {home}/scripts/ask.py", mode)
    assert ("hello" in said) is reached, said
    assert reached or "Connection refused" in said or "unreachable" in said


@for_real
def test_sockets_that_start_programs_outside_are_out_of_sight(home: Path) -> None:
    assert said_by(home, "ls -A /run; echo end", "strict") == "end\n"
    assert "XDG_RUNTIME_DIR" not in said_by(home, "env", "net")


@for_real
def test_its_own_processes_are_all_that_it_sees(home: Path) -> None:
    numbers = said_by(home, "ls /proc | grep '^[0-9]'; echo").split()
    assert str(os.getpid()) not in numbers
    assert {"1", "2"} <= set(numbers)
    assert len(numbers) < 8


@for_real
def test_it_has_no_power_even_when_root_started_it(home: Path) -> None:
    for line in said_by(home, "grep Cap /proc/self/status").splitlines():
        assert line.split()[1].strip("0") == "", line


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    left = [pid]
    while left:
        parent = left.pop()
        try:
            children = [int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
        except OSError:
            continue
        found += children
        left += children
    return found


def alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@for_real
def test_a_program_below_gets_term_and_number_1_does_not_mind(home: Path) -> None:
    """This is how a run behind walls is asked to end: everything below what was started, but not that itself."""
    script = f"trap 'echo bye >{home}/output/bye; exit 3' TERM; echo up >{home}/output/up; while :; do sleep 0.05; done"
    child = subprocess.Popen(walled(home, script))
    try:
        until((home / "output" / "up").exists, "it is up")
        for pid in descendants(child.pid):
            os.kill(pid, signal.SIGTERM)
        assert child.wait(20) == 3, "and its exit status comes out"
        assert (home / "output" / "bye").read_text() == "bye\n"
    finally:
        child.kill()
        child.wait()


@for_real
def test_nothing_outlives_number_1(home: Path) -> None:
    script = f"setsid sh -c 'setsid sleep 600 & setsid sleep 600 & wait' & echo up >{home}/output/up; wait"
    child = subprocess.Popen(walled(home, script))
    try:
        until((home / "output" / "up").exists, "it is up")
        until(lambda: len(descendants(child.pid)) >= 4, "and has hidden")
        inside = descendants(child.pid)
        os.kill(inside[0], signal.SIGKILL)
        child.wait(20)
        until(lambda: not any(map(alive, inside)), "all of them have gone")
    finally:
        child.kill()
        child.wait()


@for_real
def test_it_goes_on_without_whoever_started_it(home: Path) -> None:
    """Not bound to its parent: a run goes on when its keeper was killed, and is then looked for as an orphan."""
    script = f"echo $HORAE_RUN_ID >{home}/output/up; sleep 600"
    argv = walled(home, script)
    parent = subprocess.Popen(
        ("sh", "-c", '"$@" & echo $! >"$0"; wait', str(home.parent / "pid"), *argv),
        env={**os.environ, "HORAE_RUN_ID": "1f2e"},
    )
    until((home / "output" / "up").exists, "it is up")
    pid = int((home.parent / "pid").read_text())
    inside = [pid, *descendants(pid)]
    try:
        parent.kill()
        parent.wait()
        assert alive(pid)
        marked = [each for each in inside if b"HORAE_RUN_ID=1f2e" in Path(f"/proc/{each}/environ").read_bytes()]
        assert len(marked) >= 2, "and can be found by its mark"
    finally:
        for each in inside:
            if alive(each):
                os.kill(each, signal.SIGKILL)
    until(lambda: not any(map(alive, inside)), "all of them have gone")


@for_real
def test_a_program_that_dies_by_a_signal_says_so_in_its_status(home: Path) -> None:
    assert subprocess.run(walled(home, "kill -9 $$"), timeout=60, check=False).returncode == 128 + 9
    assert subprocess.run(walled(home, "exit 7"), timeout=60, check=False).returncode == 7
