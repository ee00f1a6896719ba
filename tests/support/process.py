"""A home in a temporary folder, and Horae as real processes: the program as a person starts it, and a gateway.

What is only looked at comes from `main` in this process, ten times as fast as a program of its own; `inside` does that
for every command of a home. Nothing here sleeps for a fixed time: `until` looks again and again until something holds,
and gives up loudly.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

from horae.cli.main import main

T = TypeVar("T")
HORAE = (sys.executable, "-m", "horae")
PATIENCE_S = 20.0
LOOK_EVERY_S = 0.02
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d)")
ENDED = ("completed", "failed", "cancelled", "unknown", "blocked", "released")


def until(look: Callable[[], T | None], what: str, within_s: float = PATIENCE_S) -> T:
    """The first answer of `look` that is true. Fails when there is none in time."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {within_s:.0f} s in vain: {what}; the last look gave {found!r}")
        time.sleep(LOOK_EVERY_S)


def without_id(text: str) -> str:
    """A job file before it was given its id."""
    return re.sub(r"^id: [0-9a-f]{12}\n", "", text, flags=re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """What one command did."""

    words: tuple[str, ...]
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The `error` object; fails when there is none."""
        found = self.json
        assert list(found) == ["error"], self
        assert list(found["error"]) == ["code", "message", "hint", "details"], self
        return found["error"]

    def __str__(self) -> str:
        return f"horae {' '.join(self.words)} → {self.status}\n{self.out}\n{self.err}"


@dataclass
class TestHome:
    """One home and how to work with it."""

    __test__ = False
    path: Path
    env: dict[str, str] = field(default_factory=dict)
    inside: bool = False
    """Commands are run by this process, not as programs of their own; but a gateway and what reads its input are."""
    logs: Path | None = None
    """Where gateways' output goes; beside the home when not given."""

    # ── commands ────────────────────────────────────────────────────────────────────────────────────────────────────

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """What a command finds around it: this home, no colours, no terminal's width, and no run that it belongs to."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HORAE_", "COV_", "PYTEST_"))}
        kept.pop("NO_COLOR", None)
        return {**kept, "HORAE_HOME": str(self.path), "TZ": "UTC", "USER": "ann", **self.env, **(extra or {})}

    def horae(self, *words: str, status: int | None = 0, stdin: str = "", **env: str) -> Answer:
        """Run the program. `status` is what is expected, None for whatever comes."""
        here = self.inside and not stdin and "up" not in words
        answer = self._inside(words, env) if here else self._outside(words, stdin, env)
        assert "Traceback" not in answer.out + answer.err, answer
        assert status is None or answer.status == status, answer
        return answer

    @staticmethod
    def words(*words: str) -> list[str]:
        """The program with its arguments."""
        return [*HORAE, *words]

    def _outside(self, words: tuple[str, ...], stdin: str, env: Mapping[str, str]) -> Answer:
        done = subprocess.run(
            self.words(*words),
            env=self.environment(env),
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=60,
            check=False,
        )
        return Answer(words, done.returncode, done.stdout, done.stderr)

    def _inside(self, words: tuple[str, ...], env: Mapping[str, str]) -> Answer:
        out, err = io.StringIO(), io.StringIO()
        surroundings = mock.patch.dict(os.environ, self.environment(env), clear=True)
        with surroundings, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
        return Answer(words, status, out.getvalue(), err.getvalue())

    def look(self, *words: str) -> Any:
        """The JSON of a command that only looks, asked for in this process."""
        answer = self._inside(("--json", *words), {})
        assert answer.status in (0, 1), answer
        return answer.json

    def json(self, *words: str, status: int | None = 0, **env: str) -> Any:
        """The JSON that a command prints: exactly one document, and nothing beside it."""
        answer = self.horae("--json", *words, status=status, **env)
        assert answer.err == "", answer
        return answer.json

    def error(self, *words: str, status: int, **env: str) -> dict[str, Any]:
        """The refusal that a command prints as JSON. Without --json it says the same on standard error."""
        return self.horae("--json", *words, status=status, **env).error

    # ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def script(self, name: str, text: str) -> Path:
        """A script in scripts/."""
        path = self.path / "scripts" / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def file(self, slug: str) -> Path:
        """The file of a job."""
        return self.path / "jobs" / f"{slug}.md"

    def write(self, slug: str, **keys: object) -> Path:
        """A job file as a person would write it. `agent: false` unless said otherwise."""
        given = {"schedule": "every 1h", "agent": "false", **keys}
        lines = "".join(f"{key}: {value}\n" for key, value in given.items() if value is not None)
        self.file(slug).write_text(f"---\n{lines}---\n", encoding="utf-8")
        return self.file(slug)

    def digests(self) -> dict[str, str]:
        """SHA-256 of every file in jobs/."""
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((self.path / "jobs").iterdir())
        }

    def config(self, text: str) -> None:
        """Write config.toml. Unless it says otherwise scripts may write into their home, as those of most tests do."""
        walls = "" if "landlock" in text else 'landlock = "off"\n'
        (self.path / "config.toml").write_text(walls + text, encoding="utf-8")

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def sql(self, text: str, *args: object) -> list[tuple[Any, ...]]:
        """Rows straight from the database, for what no command shows."""
        uri = f"file:{self.path}/state/runtime.db"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=10)) as db:
            return db.execute(text, args).fetchall()

    def sql_write(self, text: str) -> None:
        """Damage the database."""
        with contextlib.closing(sqlite3.connect(self.path / "state" / "runtime.db", timeout=10)) as db, db:
            db.execute(text)

    def jobs(self) -> dict[str, dict[str, Any]]:
        """slug → job, completed ones included."""
        return {job["slug"]: job for job in self.look("list", "--all", "--limit", "5000")["jobs"]}

    def runs(self, *words: str) -> list[dict[str, Any]]:
        """Runs, newest first; none of a job that is not known yet."""
        if words and not words[0].startswith("-") and words[0] not in self.jobs():
            return []
        return self.look("runs", "--limit", "5000", *words)["runs"]

    def ended(self, run_id: str) -> dict[str, Any]:
        """Wait for the end of a run, delivery and all; returns it."""

        def look() -> dict[str, Any] | None:
            found = [run for run in self.runs() if run["id"] == run_id]
            return found[0] if found and found[0]["state"] in ENDED and found[0]["outcome"] is not None else None

        return until(look, f"run {run_id} ends")

    def state_of(self, slug: str, state: str | None) -> None:
        """Wait until `list` shows a job in a state; None: until it does not show it."""
        last: dict[str, Any] = {}

        def look() -> bool:
            last.clear()
            last.update(self.jobs().get(slug, {}))
            return last.get("state") == state

        try:
            until(look, f"{slug} is {state}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {last}") from None


@dataclass
class Gateway:
    """A gateway that was started by a test."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        """What it has printed until now."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def says(self, text: str, within_s: float = PATIENCE_S) -> str:
        """Wait until it has printed this."""
        until(
            lambda: text in self.said() or self.process.poll() is not None,
            f"the gateway says {text!r}: {self.said()}",
            within_s,
        )
        assert text in self.said(), self.said()
        return self.said()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def ends(self, within_s: float = PATIENCE_S) -> int:
        """Wait for its end; returns the exit status."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the gateway did not end within {within_s} s:\n{self.said()}") from None

    def stop(self) -> int:
        """Ask it to stop and wait until it has."""
        self.signal(signal.SIGTERM)
        return self.ends()

    def kill(self) -> None:
        """End it without a chance to say anything."""
        self.signal(signal.SIGKILL)
        self.ends()


def start(home: TestHome, *words: str, ready: bool = True, env: Mapping[str, str] | None = None) -> Gateway:
    """Start `horae up` in a session of its own; wait until it is ready. Without a port it serves no dashboard."""
    words = words if "--port" in words else ("--no-web", *words)
    log = (home.logs or home.path.parent) / f"{home.path.name}-up-{time.monotonic_ns()}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            home.words("up", *words),
            env=home.environment(env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    gateway = Gateway(process, log)
    if ready:
        try:
            gateway.says("ready")
        except AssertionError:
            finish(gateway)
            raise
    return gateway


def finish(gateway: Gateway) -> None:
    """End a gateway whatever state it is in."""
    if gateway.process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            gateway.signal(signal.SIGCONT)
            gateway.signal(signal.SIGTERM)
        try:
            gateway.process.wait(3)
        except subprocess.TimeoutExpired:
            gateway.process.kill()
            gateway.process.wait()


@contextlib.contextmanager
def running(home: TestHome, *words: str, env: Mapping[str, str] | None = None) -> Iterator[Gateway]:
    """A gateway for the length of a block. It must end well, unless the block ended it."""
    gateway = start(home, *words, env=env)
    try:
        yield gateway
        if gateway.process.poll() is None:
            assert gateway.stop() == 0, gateway.said()
            assert "Traceback" not in gateway.said(), gateway.said()
    finally:
        finish(gateway)


_TEMPLATE: list[Path] = []


def new_home(path: Path) -> TestHome:
    """A fresh home, made by `horae init` once and copied from then on, with a script `hi.sh` that says hi."""
    home = TestHome(path)
    if _TEMPLATE and _TEMPLATE[0].is_dir():
        shutil.copytree(_TEMPLATE[0], path)
        return home
    home.horae("init")
    home.script("hi.sh", "echo hi\n")
    home.config('commands = ["true", "sleep", "sh"]\ntimezone = "Europe/Paris"\n')
    template = Path(tempfile.mkdtemp(prefix="horae-template-")) / "home"
    atexit.register(shutil.rmtree, template.parent, ignore_errors=True)
    shutil.copytree(path, template)
    _TEMPLATE[:] = [template]
    return home
