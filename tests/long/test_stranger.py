"""A stranger's first minute: clone, `make run`, see work being done, stop it. Installs from the lock files."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pexpect
import pytest

ROOT = Path(__file__).parents[2]
INSTALL_S, SEEN_WITHIN_S = 300, 15


@pytest.mark.timeout(600)
def test_two_commands_and_real_work_is_seen(tmp_path: Path) -> None:
    clone, home = tmp_path / "a clone", tmp_path / "a home"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HORAE_", "VIRTUAL_ENV"))}
    env |= {"TERM": "xterm", "HOME": str(tmp_path / "nobody")}
    child = pexpect.spawn(
        "make",
        ["run", f"HOME_DIR={home}"],
        cwd=str(clone),
        env=env,
        encoding="utf-8",
        timeout=INSTALL_S,
        dimensions=(50, 120),
    )
    child.expect("ready")
    seen = time.monotonic()
    child.expect("heartbeat  completed .* alive on ", timeout=SEEN_WITHIN_S)
    assert time.monotonic() - seen < SEEN_WITHIN_S
    horae = [clone / ".venv" / "bin" / "horae", "--home", home]
    listed = subprocess.run([*horae, "list"], env=env, capture_output=True, text=True, check=True).stdout
    assert {line.split("\t")[0] for line in listed.splitlines()} == {"heartbeat", "watchdog"}
    assert subprocess.run([*horae, "status"], env=env, check=False).returncode == 0
    child.sendintr()
    child.expect("stopped", timeout=20)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus in (0, 2, 130) or child.signalstatus == signal.SIGINT  # make itself is interrupted too
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True
    ).stdout
    assert status == ""
    assert not (tmp_path / "nobody" / ".horae").exists()  # the home that was named, and no other
    again = pexpect.spawn("make", ["run", f"HOME_DIR={home}"], cwd=str(clone), env=env, encoding="utf-8", timeout=30)
    again.expect("ready")
    again.sendintr()
    again.expect(pexpect.EOF)
    again.close()
