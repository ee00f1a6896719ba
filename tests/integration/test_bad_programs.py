"""Programs that misbehave: what they do to their run is seen, and to nobody else."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from horae.core.model import Bounds, Result
from horae.ports import Orphan, Settings
from horae.runners.former import Former
from horae.runners.liveness import boot_id, host_id, started_at
from horae.runners.process import ProcessRunner
from horae.runners.shim import spool
from horae.runners.shim.landlock import version
from horae.runners.spools import history
from tests.support.badprograms import (
    MIB,
    alive,
    at_once,
    carry_out,
    fds,
    nobody,
    order,
    peak_of,
    python,
    run,
    run_as_nobody,
    sh,
    shim_pid,
    until,
)
from tests.support.shims import gone, parent_of

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount, and become somebody else")


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[ProcessRunner]:
    found = ProcessRunner(Settings(str(tmp_path / "home")))
    yield found
    found.close()


def fine(runner: ProcessRunner) -> None:
    """The next run is as any other, with a folder of its own that it can use."""
    result = run(runner, sh('echo fine; : >"$HORAE_OUTPUT/x" && rm "$HORAE_OUTPUT/x" && ls -A "$HORAE_OUTPUT"'))
    assert (result.exit_code, result.stdout, result.stderr, result.files) == (0, "fine\n", "", ())
    assert result.used is not None
    assert result.used.proved


def quick(result: Result) -> Result:
    """It was over as soon as its main process was."""
    assert result.used is not None
    assert result.used.proved
    assert result.used.wall_s < 1
    return result


# ── what they leave running


@pytest.mark.parametrize(
    "script",
    [
        "sleep 611 & echo $!",
        "setsid sleep 612 & echo $!; sleep 0.1",
        "(setsid sh -c '(setsid sleep 613 & echo $!) &' &) ; sleep 0.2",
        "sh -c \"trap '' TERM HUP; sleep 614 & echo \\$!; wait\" & sleep 0.2",
        "nohup setsid sleep 615 >/dev/null 2>&1 & echo $!; sleep 0.1",
        "sleep 616 & echo $!; kill -STOP $!",
    ],
)
def test_P7_a_child_that_is_left_holds_nothing_open_and_is_dead(runner: ProcessRunner, script: str) -> None:
    result = quick(run(runner, sh(script)))
    assert result.exit_code == 0
    assert gone(int(result.stdout))
    assert any("sleep 61" in name for name in result.killed), result.killed


def test_P7_a_program_that_becomes_a_daemon_is_over_with_its_first_process(runner: ProcessRunner) -> None:
    code = """
import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for fd in (0, 1, 2): os.close(fd)
time.sleep(600)
"""
    result = quick(run(runner, python(code)))
    assert (result.exit_code, len(result.killed) <= 2) == (0, True)


def test_P7_one_that_leaves_its_group_and_its_first_process(runner: ProcessRunner) -> None:
    code = """
import os, time
try:
    os.setsid()
except PermissionError:
    print("leads its session already", flush=True)
if os.fork() == 0:
    os.setpgid(0, 0)
    print(os.getpid(), flush=True)
    os.fork()
    time.sleep(600)
time.sleep(0.2)
"""
    result = quick(run(runner, python(code)))
    first, pid = result.stdout.splitlines()
    assert first == "leads its session already"
    assert gone(int(pid))


def test_O7_one_that_becomes_another_program_is_the_same_run(runner: ProcessRunner) -> None:
    result = run(runner, sh("echo one; exec /bin/sh -c 'echo two; exec sleep 600'", wall_s=1.0))
    assert (result.stdout, result.signal) == ("one\ntwo\n", signal.SIGTERM)


def test_P7_five_hundred_zombies_are_buried(runner: ProcessRunner) -> None:
    code = "import os\nfor _ in range(500):\n    if not os.fork(): os._exit(0)\nprint('done')"
    result = run(runner, python(code))
    assert (result.exit_code, result.stdout, result.killed) == (0, "done\n", ())
    fine(runner)


# ── what they print


def test_F_a_gigabyte_is_kept_as_a_file_and_fills_no_memory(runner: ProcessRunner, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    what = sh("yes 0123456789abcde | head -c 1073741824", output_bytes=2 << 30, wall_s=80.0)
    result = asyncio.run(carry_out(runner, what, 90))
    assert (result.ended_by, result.exit_code) == (None, 0)
    assert result.stdout_cut == (1 << 30) - 64 * 1024
    assert len(result.stdout) < 70_000
    assert result.files == ("stdout",)
    kept = tmp_path / "home" / "state" / "output" / what.run_id / "stdout"
    assert kept.stat().st_size == 1 << 30
    assert peak_of(shim_pid(tmp_path / "home")) < 64 * MIB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before < 64 * MIB
    kept.unlink()


def test_F_a_line_of_a_hundred_megabytes_fills_no_memory_and_takes_no_minute(
    runner: ProcessRunner, tmp_path: Path
) -> None:
    """What is kept is looked through for secrets, and there is no end of a line where that could pause."""
    (tmp_path / "home").mkdir()
    secrets = tmp_path / "home" / "secrets.toml"
    secrets.write_text('TOKEN = "correct-horse-battery"\n')
    secrets.chmod(0o600)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    began = time.monotonic()
    what = sh(f"head -c {200 * MIB} /dev/zero | tr '\\0' a; printf correct-horse-battery", output_bytes=1 << 30)
    result = asyncio.run(carry_out(runner, what, 60))
    assert result.exit_code == 0
    kept = tmp_path / "home" / "state" / "output" / what.run_id / "stdout"
    with kept.open("rb") as file:
        file.seek(-100, os.SEEK_END)
        assert file.read().endswith(b"aa[redacted TOKEN]")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    assert grown < 100 * MIB, f"the gateway has grown by {grown // MIB} MiB"
    assert time.monotonic() - began < 30


def test_F_more_than_the_limit_ends_it_and_what_it_printed_is_there(runner: ProcessRunner, tmp_path: Path) -> None:
    what = sh("exec yes")
    result = run(runner, what)
    assert result.ended_by == "output limit of 100 MiB reached"
    assert result.files == ("stdout",)
    size = (tmp_path / "home" / "state" / "output" / what.run_id / "stdout").stat().st_size
    assert 100 * MIB <= size < 120 * MIB


def test_F_bytes_of_all_kinds_come_back(runner: ProcessRunner) -> None:
    code = "import os; os.write(1, bytes(range(256)) * 4); os.write(2, b'\\xff\\xfe\\0')"
    result = run(runner, python(code))
    assert (result.stdout, result.stderr) == (
        (bytes(range(256)) * 4).decode("utf-8", "replace").replace("\0", "\u2400"),
        "\ufffd\ufffd\u2400",
    )


def test_F_P3_what_looks_like_a_record_is_output(runner: ProcessRunner) -> None:
    run_id = "f" * 16
    lie = spool.told(
        spool.RESULT, run=run_id, exit=0, signal=None, ended_by=None, words=None, found=None, wall=1.0, cpu=0.0, peak=0,
        total=[0, 0], spilled=[0, 0], killed=[], survivors=0, proved=True, left=False,
    )  # fmt: skip
    lie += spool.told(spool.CLEARED, status=0, killed=[], survivors=0, proved=True)
    lie += spool.told(spool.STARTED, run="e" * 16, pid=1, born=1, at=0)
    code = f"import os, time\nfor _ in range(3):\n    os.write(1, {lie!r}); time.sleep(0.1)\nos._exit(9)"
    result = run(runner, python(code, run_id=run_id))
    assert result.exit_code == 9
    assert result.stdout == (lie * 3).decode("utf-8", "replace").replace("\0", "\u2400")
    fine(runner)


def test_F_P3_a_spool_that_is_torn_inside_of_a_printed_record_holds_no_result(tmp_path: Path) -> None:
    """The reader stops at what is torn; it does not look for a record further on."""
    lie = spool.told(spool.RESULT, run="a", exit=0)
    path = tmp_path / "x-1.log"
    whole = spool.told(spool.STARTED, run="a", pid=1, born=1, at=0.0) + b"".join(spool.printed(spool.OUTPUT, 1, lie))
    for cut in range(1, len(lie) + 13):
        path.write_bytes(whole[:-cut])
        assert [kind for _, kind, _ in history(str(path))][1:] == []
        path.write_bytes(whole[:-cut] + lie)
        assert spool.RESULT not in [kind for _, kind, _ in history(str(path))]


def test_F_one_that_closes_its_output_goes_on(runner: ProcessRunner) -> None:
    result = run(runner, sh("echo one; exec >&- 2>&-; sleep 0.5; exit 6"))
    assert (result.stdout, result.exit_code) == ("one\n", 6)
    assert result.used is not None
    assert result.used.wall_s >= 0.5
    assert (result.used.cpu_s or 0) < 0.3, "nobody waits busily for a pipe that is closed"


def test_F_bytes_one_by_one(runner: ProcessRunner) -> None:
    code = "import os\nfor n in range(20000): os.write(1, b'%d' % (n % 10))"
    result = run(runner, python(code))
    assert result.stdout == "0123456789" * 2000


def test_F_one_that_asks_for_input_gets_none(runner: ProcessRunner) -> None:
    result = quick(run(runner, sh('read x; echo "$? <$x>"; cat; head -c 5; echo y | cat')))
    assert result.stdout == "1 <>\ny\n"


def test_S_a_program_has_no_files_open_but_its_own(runner: ProcessRunner) -> None:
    for _ in range(2):
        names = run(runner, python("import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))")).stdout
        assert json.loads(names)[:4] == [0, 1, 2, 3]
        assert len(json.loads(names)) == 4, "the fourth is the look itself"


# ── limits of the machine


def test_F_arguments_and_variables_that_the_system_takes(runner: ProcessRunner) -> None:
    env = {f"NAME_{n}": "x" * 40 for n in range(10_000)}
    result = run(runner, sh('env | grep -c ^NAME_; echo "${#1}"', env=env))
    assert result.stdout == "10000\n0\n"
    result = run(runner, order("/bin/sh", "-c", 'echo "${#1}"', "sh", "x" * 131_000))
    assert result.stdout == "131000\n"


def test_F_an_argument_that_is_too_long_is_refused(runner: ProcessRunner) -> None:
    assert run(runner, order("/bin/echo", "x" * MIB)).refused == "Argument list too long"
    assert run(runner, order("/bin/echo", env={f"N{n}": "x" * 100_000 for n in range(100)})).refused
    fine(runner)


def test_F_bytes_that_are_no_text_arrive_as_they_are(runner: ProcessRunner) -> None:
    what = order(
        "/bin/sh", "-c", 'printf %s "$1$ODD" | od -An -tx1', "sh", os.fsdecode(b"\xff\xe4"), env={"ODD": "\udc80ü"}
    )
    assert run(runner, what).stdout.split() == ["ff", "e4", "80", "c3", "bc"]
    result = run(runner, order("/bin/echo", "\ud800"))
    assert result.refused, "what is no byte at all cannot be given to a program"
    fine(runner)


@pytest.mark.parametrize("env", [{"A=B": "x"}, {"": "x"}, {"A": "x\0y"}])
def test_F_variables_that_cannot_be_are_refused(runner: ProcessRunner, env: dict[str, str]) -> None:
    assert run(runner, sh("env", env=env)).refused
    fine(runner)


# ── what they do to their surroundings


def test_F_one_that_removes_the_folder_it_works_in(runner: ProcessRunner, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    what = sh('echo one; rm -r "$PWD"; echo two; pwd -P', cwd=str(tmp_path / "work"))
    result = run(runner, what)
    assert result.stdout.startswith("one\ntwo\n")
    assert run(runner, sh("pwd", cwd=str(tmp_path / "work"))).refused == "No such file or directory"
    fine(runner)


OWN = {
    "removed": 'rmdir "$HORAE_OUTPUT"',
    "a file": 'rmdir "$HORAE_OUTPUT"; echo x >"$HORAE_OUTPUT"',
    "a link": 'rmdir "$HORAE_OUTPUT"; ln -s /etc "$HORAE_OUTPUT"',
    "a link to nothing": 'rmdir "$HORAE_OUTPUT"; ln -s /nowhere "$HORAE_OUTPUT"',
    "made anew": 'rmdir "$HORAE_OUTPUT"; mkdir "$HORAE_OUTPUT"',
    "moved": 'mv "$HORAE_OUTPUT" "$HORAE_OUTPUT.away"; rmdir "$HORAE_OUTPUT.away"',
    "shut": 'chmod 000 "$HORAE_OUTPUT"',
}


@pytest.mark.parametrize("kind", list(OWN))
def test_F_whatever_becomes_of_its_own_folder_the_next_run_has_one(runner: ProcessRunner, kind: str) -> None:
    result = run(runner, sh(OWN[kind]))
    assert (result.exit_code, result.files) == (0, ()), "it has left no files"
    fine(runner)


@AS_ROOT
@pytest.mark.parametrize("kind", list(OWN))
def test_F_the_same_for_somebody_without_any_right(tmp_path: Path, kind: str) -> None:
    first, then = run_as_nobody(
        tmp_path, sh(OWN[kind]), sh(': >"$HORAE_OUTPUT/x" && rm "$HORAE_OUTPUT/x" && echo fine')
    )
    assert (first["exit_code"], first["stderr"]) == (0, "")
    assert (then["stdout"], then["stderr"]) == ("fine\n", "")


def test_S_a_folder_that_became_a_link_is_not_what_the_run_has_made(runner: ProcessRunner, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").write_text("key")
    what = sh(f'rmdir "$HORAE_OUTPUT"; ln -s {tmp_path}/private "$HORAE_OUTPUT"')
    result = run(runner, what)
    files = tmp_path / "home" / "state" / "output" / what.run_id / "files"
    assert not files.is_symlink(), "a result's files are a folder of its own"
    assert "files" not in result.files
    assert (tmp_path / "private" / "key").exists()


def test_F_ten_thousand_files_are_its_result_s(runner: ProcessRunner, tmp_path: Path) -> None:
    what = python("import os\nfor n in range(10000): open(os.environ['HORAE_OUTPUT'] + f'/{n}', 'w').close()")
    result = run(runner, what)
    assert result.files == ("files",)
    assert len(os.listdir(tmp_path / "home" / "state" / "output" / what.run_id / "files")) == 10_000
    fine(runner)


# ── what they do to their shim


def test_P7_P4_one_that_kills_its_shim_is_lost_with_all_that_it_started(runner: ProcessRunner) -> None:
    result = run(runner, sh("echo up; setsid sleep 600 & sleep 0.3; kill -KILL $PPID; sleep 600"))
    assert (result.lost or "").startswith("its shim ended before it"), result
    assert (result.exit_code, result.signal, result.stdout) == (None, None, "up\n")
    assert any("sleep 600" in name for name in result.killed)
    fine(runner)


def test_P4_one_that_kills_the_template_ends_as_it_does(runner: ProcessRunner) -> None:
    assert run(runner, sh("kill -KILL $(cut -d' ' -f4 /proc/$PPID/stat); sleep 0.2; exit 7")).exit_code == 7
    fine(runner)


def test_P7_P4_one_that_kills_template_and_shim_is_lost(runner: ProcessRunner) -> None:
    script = "echo up; setsid sleep 600 & sleep 0.3; kill -KILL $(cut -d' ' -f4 /proc/$PPID/stat) $PPID; sleep 600"
    result = run(runner, sh(script))
    assert result.lost, result
    fine(runner)


def test_O7_one_that_sends_term_to_its_shim_asks_for_its_own_end(runner: ProcessRunner) -> None:
    result = run(runner, sh("echo up; kill -TERM $PPID; exec sleep 600"))
    assert (result.ended_by, result.signal) == ("asked to end by a signal to its shim", signal.SIGTERM)
    fine(runner)


@pytest.mark.parametrize("name", ["HUP", "INT", "PIPE", "CHLD"])
def test_O7_other_signals_to_its_shim_change_nothing(runner: ProcessRunner, name: str) -> None:
    """As a terminal or a session that ends sends them."""
    result = run(runner, sh(f"kill -{name} $PPID; sleep 0.2; echo done"))
    assert (result.lost, result.stdout) == (None, "done\n")


def test_O7_one_that_stops_its_shim_holds_its_own_run_only(runner: ProcessRunner, tmp_path: Path) -> None:
    """Nobody is told how it ends until the shim goes on; others are not touched."""

    async def story() -> Result:
        what = sh("echo up; kill -STOP $PPID; echo done", wall_s=3.0)
        task = asyncio.create_task(carry_out(runner, what))
        await until(lambda: (runner.so_far(what.run_id) or ("",))[0] or stopped())
        await until(stopped)
        assert (await carry_out(runner, sh("echo other"))).stdout == "other\n"
        assert not task.done()
        os.kill(shim, signal.SIGCONT)
        return await task

    def stopped() -> bool:
        return Path(f"/proc/{shim}/stat").read_text().rsplit(") ", 1)[1][0] == "T"

    run(runner, sh(":"))
    shim = shim_pid(tmp_path / "home")
    assert asyncio.run(story()).stdout == "up\ndone\n"


TRACE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
done = libc.ptrace(0x4206, os.getppid(), 0, 0)  # SEIZE
print(done, ctypes.get_errno())
"""


def test_S_one_without_walls_may_trace_its_shim_and_one_behind_them_may_not(runner: ProcessRunner) -> None:
    """The former is what its job says; the latter holds where the kernel has Landlock."""
    free, walled = run(runner, python(TRACE)), run(runner, python(TRACE, landlock=True))
    assert (free.exit_code, walled.exit_code) == (0, 0)
    allowed = "0 0\n" if os.geteuid() == 0 else free.stdout
    assert free.stdout == allowed
    assert walled.stdout == ("-1 1\n" if version() else allowed)
    fine(runner)


def test_P4_garbage_in_its_own_spool_costs_a_run_its_result_and_holds_nobody(
    runner: ProcessRunner, tmp_path: Path
) -> None:
    """Only one without walls can do that."""
    result = run(
        runner, sh('printf garbagegarbagegarbage >>"${HORAE_OUTPUT%.d}.log"; sleep 0.5; echo done', wall_s=20.0)
    )
    assert result.lost, result
    fine(runner)


def test_P4_a_spool_that_a_run_has_emptied_holds_nobody(runner: ProcessRunner) -> None:
    result = run(runner, sh('sleep 0.2; : >"${HORAE_OUTPUT%.d}.log"; sleep 0.2; exit 3', wall_s=20.0))
    assert result.lost or result.exit_code == 3
    fine(runner)


def test_P4_the_spool_folder_goes_while_a_run_is_live(runner: ProcessRunner, tmp_path: Path) -> None:
    result = run(runner, sh('rm -rf "${HORAE_OUTPUT%/*}"; echo done; exit 5'))
    assert (result.exit_code, result.stdout) == (5, "done\n"), "its shim has the file open"
    fine(runner)

    async def two() -> list[Result]:
        return await asyncio.gather(*(carry_out(runner, sh("sleep 0.3; echo fine")) for _ in range(2)))

    assert [result.stdout for result in asyncio.run(two())] == ["fine\n"] * 2, "another shim can be made"


# ── cancelled in the wrong moment


def test_U12_one_that_is_cancelled_before_its_shim_knows_it_is_cancelled(runner: ProcessRunner) -> None:
    async def story() -> Result:
        what = sh("sleep 20; echo done", wall_s=15.0)

        async def ready() -> None:
            assert runner.cancel(what.run_id, "enough")

        return await asyncio.wait_for(runner.run(what, nobody, ready), 40)

    assert asyncio.run(story()).ended_by == "enough"


@pytest.mark.parametrize("big", [False, True])
def test_U12_one_that_is_cancelled_in_the_moment_of_its_order_is_cancelled(
    runner: ProcessRunner, tmp_path: Path, big: bool
) -> None:
    """Its shim finds both messages at once; and an order may be so large that it is sent in parts."""

    async def story() -> Result:
        await carry_out(runner, sh(":"))
        shim = shim_pid(tmp_path / "home")
        os.kill(shim, signal.SIGSTOP)
        try:
            what = sh("sleep 20; echo done", wall_s=15.0, env={f"N{n}": "x" * 1000 for n in range(900 * big)})
            task = asyncio.create_task(runner.run(what, nobody, at_once))
            for _ in range(50):
                await asyncio.sleep(0)
            assert runner.cancel(what.run_id, "enough")
            for _ in range(50):
                await asyncio.sleep(0)
        finally:
            os.kill(shim, signal.SIGCONT)
        return await asyncio.wait_for(task, 40)

    assert asyncio.run(story()).ended_by == "enough"


# ── spools as nobody would have written them


def orphan(run_id: str, pid: int | None = None) -> Orphan:
    return Orphan(run_id, "running", pid, None if pid is None else started_at(pid), None, host_id(), boot_id())


def adopted(folder: Path, run_id: str, cancel: bool = False) -> Result:
    """What a gateway makes of a run that an earlier one has begun."""

    async def story() -> Result:
        former = Former(str(folder), ("mine",))
        task = asyncio.create_task(former.result(orphan(run_id), Bounds(1, 1, 1, 1, 1)))
        if cancel:
            await until(lambda: former.cancel(run_id, "enough"))
        return (await asyncio.wait_for(task, 15))[0]

    return asyncio.run(story())


def opened(pid: int, born: int | None) -> bytes:
    return spool.told(spool.OPENED, version=1, name="old-1", pid=pid, born=born)


def began(run_id: str) -> bytes:
    return spool.told(spool.STARTED, run=run_id, pid=1, born=1, at=0.0)


DONE = {
    "exit": 0, "signal": None, "ended_by": None, "words": None, "found": None, "wall": 1.0, "cpu": 0.0, "peak": 0,
    "total": [0, 0], "spilled": [0, 0], "killed": [], "survivors": 0, "proved": True, "left": False,
}  # fmt: skip


def test_P7_a_stranger_who_has_got_the_number_of_a_shim_is_not_signalled(tmp_path: Path) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        for born in ((started_at(stranger.pid) or 0) - 1, None, 0):
            path = tmp_path / "old-1.log"
            path.write_bytes(opened(stranger.pid, born) + began("r"))
            lock = os.open(path, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)

            async def story(path: Path = path, lock: int = lock) -> Result:
                former = Former(str(tmp_path), ("mine",))
                task = asyncio.create_task(former.result(orphan("r"), Bounds(1, 1, 1, 1, 1)))
                await until(lambda: former.cancel("r", "enough"))
                await asyncio.sleep(0.2)
                os.close(lock)
                return (await asyncio.wait_for(task, 15))[0]

            assert "enough" in (asyncio.run(story()).lost or "")
            assert stranger.poll() is None, "it was not meant"
    finally:
        stranger.kill()
        stranger.wait()


def test_F_P4_a_result_that_is_torn_anywhere_is_none(tmp_path: Path) -> None:
    last = spool.told(spool.RESULT, run="r", **DONE)
    before = opened(999_999, 1) + began("r")
    path = tmp_path / "old-1.log"
    for cut in (1, 2, len(last) // 2, len(last) - 13, len(last) - 12, len(last) - 1, len(last)):
        path.write_bytes(before + last[: len(last) - cut])
        result = adopted(tmp_path, "r")
        assert result.lost, cut
        assert result.exit_code is None
    path.write_bytes(before + last)
    assert adopted(tmp_path, "r").exit_code == 0


def newer(record: bytes) -> bytes:
    """The record as a later version of this program would write it."""
    magic, version, kind, length, _ = struct.unpack_from("<2sBBII", record)
    head = struct.pack("<2sBBII", magic, version + 1, kind, length, 0)
    payload = record[len(head) :]
    return struct.pack("<2sBBII", magic, version + 1, kind, length, zlib.crc32(payload, zlib.crc32(head))) + payload


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Hs",
        b"\0" * 5000,
        os.urandom(64),
        newer(opened(1, 1)) + newer(began("r")),
        opened(1, 1) + began("r") + newer(spool.told(spool.RESULT, run="r", **DONE)),
        opened(1, 1) + spool.frame(spool.STARTED, b"no json"),
        opened(1, 1) + spool.frame(spool.STARTED, b"[]"),
        opened(1, 1) + spool.frame(spool.STARTED, b"{}"),
        spool.frame(spool.OPENED, b"no json") + began("r"),
        spool.frame(spool.OPENED, b"{}") + began("r"),
        opened(1, 1) + began("r") + spool.frame(spool.OUTPUT, b""),
        opened(1, 1) + began("r") + spool.frame(spool.OUTPUT, b"\x09x"),
        opened(1, 1) + began("r") + spool.told(spool.RESULT, run="r"),
        opened(1, 1) + began("r") + spool.frame(99, b"what"),
        b"".join((opened(1, 1), began("r"), b"Hs\x01\x03\xff\xff\xff\xff\0\0\0\0")),
    ],
    ids=[
        "empty", "two bytes", "zeros", "noise", "newer", "newer result", "no json", "a list", "no run", "opened: no json",
        "opened: nothing", "output of no stream", "output of stream 9", "a result of nothing", "a kind", "a length",
    ],
)  # fmt: skip
def test_F_P4_a_spool_that_nobody_has_written_so_is_no_result_and_no_crash(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "old-1.log").write_bytes(data)
    (tmp_path / "old-2.log").write_bytes(opened(999_999, 1) + began("s") + spool.told(spool.RESULT, run="s", **DONE))
    assert adopted(tmp_path, "s").exit_code == 0, "the other one's is not touched"
    assert adopted(tmp_path, "r").lost
    Former(str(tmp_path), ("mine",)).sweep(["s"])
    assert (tmp_path / "old-2.log").exists()


def test_F_names_that_are_none_of_ours_harm_nothing(tmp_path: Path) -> None:
    (tmp_path / "a folder-1.log").mkdir()
    (tmp_path / "a folder-1.log" / "file").touch()
    os.mkfifo(tmp_path / "pipe-1.log")
    os.mkfifo(tmp_path / "pipe.gate")
    (tmp_path / "loop-1.log").symlink_to("loop-1.log")
    (tmp_path / "device-1.log").symlink_to("/dev/zero")
    (tmp_path / "x\n\x1b[31m-1.log").touch()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff-1.log")).touch()
    (tmp_path / "-.log").touch()
    code = """
import asyncio, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from horae.core.model import Bounds
from horae.ports import Orphan
from horae.runners.former import Former
from horae.runners.liveness import boot_id
former = Former(sys.argv[1], ("mine",))
print(asyncio.run(former.result(Orphan("r", "running", None, None, None, "", boot_id()), Bounds(1, 1, 1, 1, 1)))[0].lost)
former.sweep(())
"""
    asked = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, timeout=20, check=False
    )
    assert asked.stdout.startswith("no shim has begun it"), asked.stderr[-1000:]
    assert (tmp_path / "a folder-1.log" / "file").exists()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A home whose spools lie on a disk of their own, of one megabyte."""
    folder = tmp_path / "home" / "state" / "spool"
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=True)
    try:
        yield tmp_path / "home"
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> Path:
    """Leave no room at all."""
    file = os.open(folder / "filler", os.O_CREAT | os.O_WRONLY)
    try:
        while True:
            os.write(file, b"x" * 4096)
    except OSError:
        pass
    finally:
        os.close(file)
    return folder / "filler"


@AS_ROOT
@pytest.mark.parametrize("printed", [5_000, 200_000])
def test_P3_a_result_for_which_there_is_no_room_is_written_once_there_is(small: Path, printed: int) -> None:
    runner = ProcessRunner(Settings(str(small)))

    async def story() -> Result:
        what = sh(f"sleep 0.5; head -c {printed} /dev/zero | tr '\\0' x; exit 4", kept_bytes=256 * 1024)
        task = asyncio.create_task(carry_out(runner, what))
        await until(lambda: alive(what.run_id))
        filler = fill(small / "state" / "spool")
        await until(lambda: not alive(what.run_id))
        done, _ = await asyncio.wait([task], timeout=0.7)
        filler_was = filler.stat().st_size
        assert not done or filler_was == 0, "there was no room"
        filler.unlink()
        return await task

    try:
        result = asyncio.run(story())
        assert (result.exit_code, result.stdout) == (4, "x" * printed)
    finally:
        runner.close()


# ── many of them


def test_S6_sixty_at_once(runner: ProcessRunner) -> None:
    async def story() -> list[Result]:
        return await asyncio.gather(*(carry_out(runner, sh(f"sleep 0.5; echo {n}; exit {n}")) for n in range(60)))

    results = asyncio.run(story())
    assert [(result.exit_code, result.stdout) for result in results] == [(n, f"{n}\n") for n in range(60)]


def test_three_hundred_runs_leave_no_file_open(runner: ProcessRunner, tmp_path: Path) -> None:
    kinds = [
        lambda: sh("echo x"),
        lambda: sh("sleep 600 &"),
        lambda: order("/no/such/program"),
        lambda: sh("echo x >&2", landlock=True),
        lambda: sh('touch "$HORAE_BEAT"', cwd="/tmp"),
        lambda: order("/bin/echo", cwd="/no/such/folder"),
    ]

    async def some(count: int) -> None:
        for n in range(count):
            await carry_out(runner, kinds[n % len(kinds)]())

    async def story() -> None:
        await some(12)
        shim = shim_pid(tmp_path / "home")
        watched = (os.getpid(), shim, parent_of(shim))
        before, threads = [fds(pid) for pid in watched], len(os.listdir(f"/proc/{shim}/task"))
        await some(300)
        assert shim_pid(tmp_path / "home") == shim, "one shim has carried out all of them"
        assert [fds(pid) for pid in watched] == before
        assert len(os.listdir(f"/proc/{shim}/task")) <= threads + 1

    asyncio.run(story())


def test_runs_that_leave_files_leave_no_file_open_and_no_spool(runner: ProcessRunner, tmp_path: Path) -> None:
    """Each takes its shim with it."""

    async def story() -> None:
        await carry_out(runner, sh(":"))
        mine = fds(os.getpid())
        template = parent_of(shim_pid(tmp_path / "home"))
        before = fds(template)
        for _ in range(30):
            await carry_out(runner, sh('echo x >"$HORAE_OUTPUT/x"'))
        await carry_out(runner, sh(":"))
        await until(lambda: fds(template) <= before)
        assert fds(os.getpid()) <= mine
        left = [name for name in os.listdir(tmp_path / "home" / "state" / "spool") if name.endswith((".log", ".d"))]
        assert len(left) <= 3, left

    asyncio.run(story())
