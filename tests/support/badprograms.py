"""Programs that misbehave, and the runner that has to stand them: orders, and what is still there afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from horae.core.model import Bounds, Order, Result
from horae.ports import Settings
from horae.runners.process import ProcessRunner
from horae.runners.shim.spool import OPENED
from horae.runners.spools import history
from tests.support.shims import gone

MIB = 1 << 20
NOBODY = 65534
ROOT = Path(__file__).parents[2]


def order(*argv: str, cwd: str = "/", **given: Any) -> Order:
    """An order with bounds that a test may change by name. It is walled only when the test says so."""
    bounds: dict[str, Any] = {
        "wall_s": 30.0,
        "grace_s": 0.3,
        "kept_bytes": 64 * 1024,
        "output_bytes": 100 * MIB,
        "processes": 1000,
    }
    bounds |= {name: given.pop(name) for name in list(given) if name in Bounds.__dataclass_fields__}
    run_id = given.pop("run_id", os.urandom(8).hex())
    env = {"PATH": os.environ["PATH"], "HORAE_RUN_ID": run_id, **given.pop("env", {})}
    return Order(run_id, argv, cwd, env, Bounds(**bounds), **{"landlock": False, **given})


def sh(script: str, **given: Any) -> Order:
    """The same, of a shell script."""
    return order("/bin/sh", "-c", script, **given)


def python(code: str, *args: str, **given: Any) -> Order:
    """The same, of a Python program."""
    return order(sys.executable, "-ISc", code, *args, **given)


async def nobody(pid: int, born: int) -> None:
    """Who became what does not matter here."""


async def at_once() -> None:
    """Nothing keeps it from being started."""


async def carry_out(runner: ProcessRunner, what: Order, within_s: float = 45) -> Result:
    """One run, whose result is taken as stored."""
    result = await asyncio.wait_for(runner.run(what, nobody, at_once), within_s)
    runner.collected(what.run_id)
    return result


def run(runner: ProcessRunner, what: Order) -> Result:
    """The same, outside of a loop. Nothing of it may be left."""
    result = asyncio.run(carry_out(runner, what))
    assert alive(what.run_id) == []
    return result


async def until(true: Callable[[], object], within_s: float = 15) -> None:
    """Wait for what happens in another process."""
    async with asyncio.timeout(within_s):
        while not true():  # noqa: ASYNC110 - what is awaited happens in another process
            await asyncio.sleep(0.01)


def alive(run_id: str) -> list[int]:
    """The live processes that carry the mark of a run."""
    mark, found = f"HORAE_RUN_ID={run_id}".encode(), []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                marked = mark in (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            found += [int(folder.name)] * (marked and not gone(int(folder.name)))
    return found


def shim_pid(runner_home: Path) -> int:
    """The process of the newest shim of a home."""
    found = 0
    for path in (runner_home / "state" / "spool").glob("*.log"):
        for _, kind, payload in history(str(path)):
            if kind == OPENED:
                found = max(found, json.loads(payload)["pid"])
    return found


def fds(pid: int) -> int:
    """How many files a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def peak_of(pid: int) -> int:
    """The most memory that a process ever had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


# ── the same by somebody who may do nothing special

RIGHTS = "-all,+dac_read_search"  # to find this program, wherever it lies
SOMEBODY = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
    f"--inh-caps={RIGHTS}", f"--ambient-caps={RIGHTS}", f"--bounding-set={RIGHTS}",
)  # fmt: skip


def run_as_nobody(home: Path, *orders: Order) -> list[dict[str, Any]]:
    """The results of these orders, one after the other, from a runner that belongs to an unprivileged user."""
    os.chown(home, NOBODY, NOBODY)
    done = subprocess.run(
        [*SOMEBODY, sys.executable, "-c", "from tests.support.badprograms import serve; serve()", str(home)],
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
        cwd="/",
        input=json.dumps([asdict(what) for what in orders]),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def serve() -> None:
    """The other end of `run_as_nobody`."""
    runner = ProcessRunner(Settings(sys.argv[1]))
    results: list[object] = []
    for told in json.load(sys.stdin):
        told |= {"argv": tuple(told["argv"]), "secrets": (), "bounds": Bounds(**told["bounds"])}
        results.append(asdict(asyncio.run(carry_out(runner, Order(**told)))))
    runner.close()
    json.dump(results, sys.stdout)
