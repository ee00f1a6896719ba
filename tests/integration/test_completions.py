"""Completion scripts in the shells that they are for: commands, options, and names of jobs."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pexpect
import pytest

from horae.cli.main import COMMANDS
from tests.support.process import TestHome

TERMINAL: dict[str, Any] = {"encoding": "utf-8", "timeout": 15, "dimensions": (60, 200)}


@pytest.fixture
def jobs(home: TestHome) -> TestHome:
    for name in ("Harbour tides", "Harvest", "Other"):
        home.json("add", "every 1h", "--script", "hi.sh", "--name", name)
    return home


def shell(home: TestHome, *words: str) -> list[str]:
    done = subprocess.run(
        words, env=home.environment(), capture_output=True, text=True, check=False, timeout=20, cwd=home.path
    )
    assert done.stderr == "", done.stderr
    return done.stdout.split()


def bash(home: TestHome, *words: str) -> list[str]:
    """What TAB offers for the last word."""
    (home.path / "completion").write_text(home.horae("completions", "bash").out)
    given = " ".join(f"'{word}'" for word in words)
    ask = f"COMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; _horae"
    script = f"source completion; {ask}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return shell(home, "bash", "-c", script)


def test_bash(jobs: TestHome) -> None:
    assert set(bash(jobs, "horae", "")) >= set(COMMANDS)
    assert bash(jobs, "horae", "sta") == ["status"]
    assert bash(jobs, "horae", "--json", "ru") == ["run", "runs"]
    assert bash(jobs, "horae", "show", "har") == ["harbour-tides", "harvest"]
    assert bash(jobs, "horae", "--home", "x", "show", "oth") == ["other"]
    assert bash(jobs, "horae", "calendar", "har") == ["harbour-tides", "harvest"]
    assert "--timezone" in bash(jobs, "horae", "calendar", "--")
    assert bash(jobs, "horae", "run", "--w") == ["--wait", "--with"]
    assert "--editor" in bash(jobs, "horae", "edit", "other", "--")
    assert bash(jobs, "horae", "show", "zzz") == []


def test_bash_is_asked_by_a_real_tab(jobs: TestHome) -> None:
    (jobs.path / "completion").write_text(jobs.horae("completions", "bash").out)
    words = ["--norc", "--noprofile", "-i"]
    child = pexpect.spawn("bash", words, env=jobs.environment({"TERM": "dumb"}), **TERMINAL, cwd=str(jobs.path))
    child.sendline("source completion")
    child.send("horae show harb\t")
    child.expect("harbour-tides")
    child.sendcontrol("c")
    child.sendline("exit")
    child.expect(pexpect.EOF)
    child.close()


def test_bash_without_any_home(jobs: TestHome) -> None:
    jobs.env["HORAE_HOME"] = "/nonexistent"
    (jobs.path / "completion").write_text(jobs.horae("completions", "bash").out)
    assert bash(jobs, "horae", "show", "") == []


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed (Debian: apt-get install zsh)")
def test_zsh(jobs: TestHome) -> None:
    functions = jobs.path / "functions"
    functions.mkdir()
    (functions / "_horae").write_text(jobs.horae("completions", "zsh").out)
    child = pexpect.spawn("zsh", ["-f", "-i"], env=jobs.environment({"TERM": "dumb"}), **TERMINAL, cwd=str(jobs.path))
    child.sendline(
        "unsetopt zle_bracketed_paste beep; fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D"
    )
    child.sendline("PS1='READY> '")
    child.expect("READY> ")
    child.send("horae show harb\t")
    child.expect("harbour-tides")
    child.sendcontrol("u")
    child.send("horae stat\t")
    child.expect("status")
    child.sendcontrol("u")
    child.send("horae run --dr\t")
    child.expect("--dry")
    child.sendcontrol("u")
    child.sendline("exit")
    child.expect(pexpect.EOF)
    child.close()


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed (Debian: apt-get install fish)")
def test_fish(jobs: TestHome) -> None:
    (jobs.path / "horae.fish").write_text(jobs.horae("completions", "fish").out)

    def offered(line: str) -> list[str]:
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source horae.fish; complete -C '{line}'"],
            env=jobs.environment(), capture_output=True, text=True, check=False, timeout=20, cwd=jobs.path,
        )  # fmt: skip
        assert done.stderr == "", done.stderr
        return [found.split("\t")[0] for found in done.stdout.splitlines()]

    assert set(offered("horae ")) >= set(COMMANDS)
    assert offered("horae sta") == ["status"]
    assert offered("horae show harb") == ["harbour-tides"]
    assert "--dry" in offered("horae run --d")
