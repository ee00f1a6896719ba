"""A Horae of one's own for a measurement: a home in a scratch folder, real job files, the real program.

Everything goes the way that a person's would: `horae init`, files written into `jobs/`, `horae up` as a process of its
own. Only counting looks into the database directly, through a connection that can only read, because asking the program
would cost more than what is being measured.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from common import WORK, clean_env, until

BIN = Path(sys.executable).parent
HORAE = str(BIN / "horae")
PYTHON = str(BIN / "python")
SETTLED = "SELECT count(*) FROM occurrence WHERE state = 'settled'"


def iso(instant):
    """Epoch seconds as a job file writes an instant."""
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="seconds")


def recurring(due):
    """A schedule that comes due at an instant and plans its next slot when it is claimed."""
    return f"every 1 day from {iso(due)}"


class House:
    """One home, and at most one gateway on it. Use it as a context: it ends the gateway and removes the folder."""

    def __init__(self, name, *, parallel=None, commands=()):
        self.path = WORK / f"{name}-{os.getpid()}-{time.time_ns() % 10**9}"
        self.jobs = self.path / "jobs"
        self.scripts = self.path / "scripts"
        self.beside = self.path.with_name(f"{self.path.name}-beside")  # runs may not write to the home
        self.runs = self.beside / "runs.log"
        self.gateway = None
        self._config = [f"commands = {list(commands)!r}".replace("'", '"')]
        if parallel is not None:
            self._config.append(f"parallel = {parallel}")

    def __enter__(self):
        self.beside.mkdir(parents=True, exist_ok=True)
        self.run("init")
        (self.path / "config.toml").write_text("\n".join(self._config) + "\n", encoding="utf-8")
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(self.beside, ignore_errors=True)

    @property
    def env(self):
        return clean_env(TZ="UTC")

    def argv(self, *words):
        return [HORAE, "--home", str(self.path), *words]

    def run(self, *words, timeout=300):
        """One command; its standard output."""
        done = subprocess.run(
            self.argv(*words), env=self.env, capture_output=True, text=True, timeout=timeout, check=False
        )
        if done.returncode:
            raise RuntimeError(f"horae {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def job(self, index, schedule, what):
        """Write one job file. `what` is the line that says what it does."""
        text = (
            f"---\nid: {index:012x}\nname: j{index}\nschedule: {schedule}\ntimezone: UTC\nagent: false\n{what}\n---\n"
        )
        (self.jobs / f"j{index}.md").write_text(text, encoding="utf-8")

    # ── the gateway ─────────────────────────────────────────────────────────────────────────────────────────────────

    def up(self, timeout=60):
        """Start it; seconds from exec until it says that it is ready."""
        said = self.path / "up.log"
        start = time.perf_counter()
        with open(said, "wb") as out:
            self.gateway = subprocess.Popen(
                self.argv("up"), env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        until(lambda: self._ready(said), "the gateway is ready", timeout, poll=0.002)
        return time.perf_counter() - start

    def _ready(self, said):
        if self.gateway.poll() is not None:
            raise RuntimeError(f"the gateway ended: {said.read_text(encoding='utf-8')[-500:]}")
        return b"ready: " in said.read_bytes()

    @property
    def pid(self):
        return self.gateway.pid

    def down(self, timeout=60):
        """Ask it to stop and wait; seconds."""
        start = time.perf_counter()
        self.gateway.send_signal(signal.SIGTERM)
        self.gateway.wait(timeout)
        self.gateway = None
        return time.perf_counter() - start

    def kill(self):
        """End it at once, as a crash would. What it had started goes on."""
        if self.gateway is not None:
            self.gateway.kill()
            self.gateway.wait()
            self.gateway = None

    # ── what is recorded ────────────────────────────────────────────────────────────────────────────────────────────

    def ask(self, sql, *values):
        """The rows of one question to the database."""
        db = sqlite3.connect(f"file:{self.path}/state/runtime.db?mode=ro", uri=True, timeout=10)
        try:
            return db.execute(sql, values).fetchall()
        finally:
            db.close()

    def wait_settled(self, count, timeout, poll=0.01):
        """Until so many occurrences are settled on the disk: epoch seconds of that look. Raises TimeoutError."""
        db = sqlite3.connect(f"file:{self.path}/state/runtime.db?mode=ro", uri=True, timeout=10)
        try:
            until(lambda: db.execute(SETTLED).fetchone()[0] >= count, f"{count} occurrences are settled", timeout, poll)
            return time.time()
        finally:
            db.close()
