"""The shims of a home, as they lie in its spools."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path

from horae.runners.liveness import started_at
from horae.runners.shim.spool import OPENED
from horae.runners.spools import history
from tests.support.process import until


def shims(home: Path) -> dict[str, int]:
    """The spool and the process of each shim that is alive."""
    found: dict[str, int] = {}
    for path in sorted((home / "state" / "spool").glob("*.log")):
        for _, kind, payload in history(str(path)):
            told = json.loads(payload) if kind == OPENED else {}
            if told and started_at(told["pid"]) == told["born"]:
                found[str(path)] = told["pid"]
    return found


def shim_of(home: Path, run_id: str) -> int:
    """The shim of a live run."""

    def look() -> int:
        for path, pid in shims(home).items():
            if any(run == run_id for run, _, _ in history(path)):
                return pid
        return 0

    return until(look, f"run {run_id} has a shim that has told of it")


def parent_of(pid: int) -> int:
    """The process above it: of a shim, the template."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()[1])


def gone(pid: int) -> bool:
    """Ended: not there, or a zombie that only its parent has not looked at yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def end_shims(home: Path) -> None:
    """End what a killed gateway has left running."""
    for pid in shims(home).values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
