"""The runner with real processes: how each kind of end is seen, and that nothing holds a run open or floods it."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from horae.core.model import Bounds, Order, Result
from horae.errors import Exhausted
from horae.ports import Settings
from horae.runners.process import ProcessRunner
from horae.runners.scripts import script_facts


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[ProcessRunner]:
    found = ProcessRunner(Settings(str(tmp_path / "home")))
    yield found
    found.close()


def order(*argv: str, cwd: str = "/", **given: Any) -> Order:
    bounds: dict[str, Any] = {
        "wall_s": 20.0,
        "grace_s": 0.3,
        "kept_bytes": 64 * 1024,
        "output_bytes": 100 * 1024 * 1024,
        "processes": 100,
    }
    bounds |= {name: given.pop(name) for name in list(given) if name in Bounds.__dataclass_fields__}
    values: dict[str, Any] = {
        "run_id": "a" * 16,
        "env": {"PATH": os.environ["PATH"], "HORAE_RUN_ID": "a" * 16},
    }
    return Order(argv=argv, cwd=cwd, bounds=Bounds(**bounds), **(values | given))


def sh(script: str, **given: Any) -> Order:
    return order("/bin/sh", "-c", script, **given)


async def nobody(pid: int, born: int) -> None:
    """Who became what does not matter here."""


async def at_once() -> None:
    """Nothing keeps it from being started."""


def run(runner: ProcessRunner, what: Order) -> Result:
    return asyncio.run(runner.run(what, nobody, at_once))


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not true():  # noqa: ASYNC110 - what is awaited happens in another process
            await asyncio.sleep(0.01)


def test_output_and_exit_status_come_back(runner: ProcessRunner) -> None:
    result = run(runner, sh("echo out; echo err >&2; exit 7"))
    assert replace(result, used=None) == Result(7, None, "out\n", "err\n", 0, 0)


def test_a_machine_without_room_for_a_process_is_told_from_a_program_that_cannot_start(
    runner: ProcessRunner, tmp_path: Path
) -> None:
    (tmp_path / "hi.sh").write_text("echo hi\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def story() -> None:
        gc.collect()  # what earlier tests have left open is closed now, and makes no room in the middle
        lowest = os.dup(0)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))  # no file can be opened any more
        try:
            with pytest.raises(Exhausted, match=r"no room for another process \(Too many open files\)"):
                await runner.run(sh("echo out"), nobody, at_once)
            with pytest.raises(Exhausted, match="no room"):  # not blocked, as if its script could not be read
                script_facts("hi.sh", str(tmp_path), os.environ["PATH"])
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert (await runner.run(sh("echo out"), nobody, at_once)).stdout == "out\n"
        nowhere = await runner.run(order("/no/such/program"), nobody, at_once)
        assert nowhere.refused == "No such file or directory"

    asyncio.run(story())


def test_a_signal_is_told_from_an_exit_status(runner: ProcessRunner) -> None:
    result = run(runner, sh("kill -SEGV $$"))
    assert (result.exit_code, result.signal) == (None, signal.SIGSEGV)


def test_input_is_empty_and_the_environment_is_the_order_s(runner: ProcessRunner) -> None:
    result = run(runner, sh("cat; env", env={"ONLY": "this"}))
    names = {line.split("=")[0] for line in result.stdout.splitlines()}
    assert "ONLY" in names
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"ONLY", "HORAE_OUTPUT", "HORAE_BEAT"}


def test_what_cannot_be_started_is_refused_with_the_reason(runner: ProcessRunner, tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_bytes(b"\x7fELF nonsense")
    file.chmod(0o755)
    for what in (order("/no/such/program"), order("/"), order(str(file)), order("/bin/sh", cwd="/no/such/folder"),
                 order("/bin/echo", "a\0b"), order("/bin/sh", env={"A": "\udcff\0"})):  # fmt: skip
        result = run(runner, what)
        assert result.refused
        assert (result.exit_code, result.signal, result.stdout) == (None, None, "")


def test_a_wall_limit_ends_even_what_ignores_term(runner: ProcessRunner) -> None:
    began = time.monotonic()
    result = run(runner, sh("trap '' TERM; echo began; while :; do sleep 0.05; done", wall_s=1.0))
    assert (result.ended_by or "").startswith("wall limit of 1 s")
    assert (result.signal, result.stdout) == (signal.SIGKILL, "began\n")
    assert time.monotonic() - began < 8


def test_a_wall_limit_lets_a_willing_program_clean_up(runner: ProcessRunner) -> None:
    result = run(runner, sh("trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.05; done", wall_s=1.0, grace_s=5.0))
    assert result.stdout == "cleaned\n"
    assert result.exit_code == 0
    assert (result.ended_by or "").startswith("wall limit")


def test_a_child_in_the_background_does_not_hold_the_run_open(runner: ProcessRunner) -> None:
    began = time.monotonic()
    result = run(runner, sh("sleep 600 & echo $!"))
    assert time.monotonic() - began < 5, "the pipe is still held by the child; the run is over all the same"
    assert result.exit_code == 0
    left = int(result.stdout)
    asyncio.run(until(lambda: gone(left)))


def gone(pid: int) -> bool:
    """Ended: not there, or a zombie that only its parent has not looked at yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_ten_megabytes_are_cut_and_the_cut_is_said(runner: ProcessRunner) -> None:
    code = "import sys; sys.stdout.write('a' * 5_000_000 + 'b' * 5_000_000)"
    result = run(runner, order(sys.executable, "-c", code))
    assert result.stdout_cut == 10_000_000 - 64 * 1024
    assert result.stdout.startswith("aaa")
    assert result.stdout.endswith("bbb")
    assert f"{result.stdout_cut} bytes cut" in result.stdout
    assert len(result.stdout) < 70_000


def test_binary_output_is_shown_and_harms_nothing(runner: ProcessRunner) -> None:
    result = run(runner, sh(r"printf '\377\000ok'"))
    assert result.stdout == "\ufffd\u2400ok"


def test_both_streams_are_read_at_once(runner: ProcessRunner) -> None:
    code = "import sys\nfor n in range(20000): sys.stderr.write('e' * 50); sys.stdout.write('o' * 50)"
    result = run(runner, order(sys.executable, "-c", code))
    assert (result.exit_code, result.stdout_cut, result.stderr_cut) == (0, *[1_000_000 - 64 * 1024] * 2)


def test_stop_all_ends_every_run_and_says_why(runner: ProcessRunner) -> None:
    async def main() -> list[Result]:
        orders = [sh("echo up; exec sleep 600", run_id=f"{n:016}") for n in range(3)]
        tasks = [asyncio.create_task(runner.run(what, nobody, at_once)) for what in orders]
        await until(lambda: all((runner.so_far(what.run_id) or ("", ""))[0] == "up\n" for what in orders))
        runner.stop_all("the gateway was stopped")
        return await asyncio.gather(*tasks)

    for result in asyncio.run(main()):
        assert (result.signal, result.ended_by, result.stdout) == (signal.SIGTERM, "the gateway was stopped", "up\n")


def test_a_stop_after_a_cancel_kills_at_once_and_a_second_cancel_leaves_the_grace(runner: ProcessRunner) -> None:
    async def main() -> Result:
        what = sh("trap '' TERM; echo up; while :; do sleep 0.05; done", grace_s=60.0)
        task = asyncio.create_task(runner.run(what, nobody, at_once))
        await until(lambda: (runner.so_far(what.run_id) or ("", ""))[0] == "up\n")
        assert runner.cancel(what.run_id, "cancelled by a person")
        assert runner.cancel(what.run_id, "the engine asks at every look until the run has ended")
        done, _ = await asyncio.wait([task], timeout=0.3)
        assert not done, "its grace is a minute"
        runner.stop_all("the gateway was stopped")
        return await task

    result = asyncio.run(main())
    assert (result.signal, result.ended_by) == (signal.SIGKILL, "cancelled by a person")
    assert not runner.cancel("a" * 16, "it is over")


def test_a_run_that_goes_on_is_noted_with_its_start(runner: ProcessRunner) -> None:
    noted: list[tuple[int, int]] = []

    async def note(pid: int, born: int) -> None:
        noted.append((pid, born))

    async def main() -> None:
        what = sh("exec sleep 600")
        task = asyncio.create_task(runner.run(what, note, at_once))
        await until(lambda: bool(noted))
        runner.cancel(what.run_id, "enough")
        await task

    asyncio.run(main())
    ((pid, born),) = noted
    assert pid > 0
    assert born > 0


def test_S6_many_runs_at_once_do_not_mix_their_folders_or_output(runner: ProcessRunner, tmp_path: Path) -> None:
    async def main() -> list[Result]:
        orders = []
        for n in range(8):
            folder = tmp_path / f"run{n}"
            folder.mkdir()
            orders.append(sh(f"pwd; echo {n}", run_id=f"{n:016}", cwd=str(folder)))
        return await asyncio.gather(*(runner.run(what, nobody, at_once) for what in orders))

    results = asyncio.run(main())
    assert [result.stdout for result in results] == [f"{tmp_path}/run{n}\n{n}\n" for n in range(8)]
