"""A job that asks for a sandbox gets one, and a limit ends it like any other."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from horae.runners.sandbox import problem
from tests.support.process import TestHome, running, until
from tests.support.shims import shims

WORKS = problem("strict", "/usr/bin:/bin") is None


def boxed(home: TestHome, mode: str, script: str, **keys: str) -> dict:
    home.config('landlock = "on"\n')
    home.script("boxed.sh", script)
    home.write("boxed", script="boxed.sh", sandbox=mode, **keys)
    with running(home):
        home.state_of("boxed", "active")
        home.json("run", "boxed", "--wait", status=None)
        run = home.runs("boxed")[0]
        return {**run, **{name: home.json("log", run["id"])[name] for name in ("stdout", "stderr", "message")}}


if WORKS:

    @pytest.mark.parametrize("mode", ["net", "strict"])
    def test_a_sandbox_has_a_system_that_cannot_be_written_to(home: TestHome, tmp_path: Path, mode: str) -> None:
        work = tmp_path / "work"
        work.mkdir()
        (home.path / "secrets.toml").write_text('KEY = "abcdef"\n')
        (home.path / "secrets.toml").chmod(0o600)
        run = boxed(
            home,
            mode,
            f"""
            for at in /etc {home.path} {home.path}/jobs /usr/bin; do echo x >$at/made && echo wrote $at; done
            cat {home.path}/secrets.toml
            echo mine >made; echo kept >"$HORAE_OUTPUT/report"; ls /sys/class/net; echo done
            """,
            workdir=str(work),
        )
        assert run["state"] == "completed", run
        assert "wrote" not in run["stdout"]
        assert "abcdef" not in run["stdout"]
        assert (work / "made").read_text() == "mine\n"
        assert not (tmp_path / "made").exists()
        assert (home.path / "state" / "output" / run["id"] / "files" / "report").read_text() == "kept\n"

    @pytest.mark.parametrize("willing", [True, False])
    def test_P7_a_limit_ends_what_is_in_a_sandbox(home: TestHome, willing: bool) -> None:
        trap = "trap 'echo bye; exit 0' TERM" if willing else "trap '' TERM"
        script = f"{trap}; setsid sleep 600 & echo up; while :; do sleep 0.1; done\n"
        run = boxed(home, "strict", script, limits="{wall: 2s}")
        assert run["reason"].startswith("wall limit of 2 seconds reached")
        assert run["used"]["proved"]
        assert run["stdout"] == ("up\nbye\n" if willing else "up\n")
        assert (run["signal"] == signal.SIGKILL) is (not willing)
        until(lambda: not shims(home.path), "the gateway's shims have ended with it")

else:

    def test_a_sandbox_that_cannot_be_had_blocks(home: TestHome) -> None:
        run = boxed(home, "strict", "echo hi\n")
        assert run["state"] == "blocked"
        assert problem("strict", "/usr/bin:/bin") in run["reason"]
