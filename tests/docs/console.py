"""Run the console blocks of a page, and compare what is printed with what the page says.

The scheme, for writers of pages (CONTRIBUTING.md has it too):

- A block is fenced with ```console. `$ ` begins a command, `> ` goes on with it, all else is what it prints.
- One page is one session in a fresh folder that is `~`, on a terminal of `COLUMNS` columns. `horae` is the program.
- `<!-- console: command -->` runs a command that readers do not see.
- A command that ends in ` &` goes on in the background until the page is done.
- A command without output in the page may print anything, but must succeed.
- A command that only looks is asked again while it shows a run that goes on, unless the page shows one too.
- `…` alone on a line stands for any number of lines.
- Instants, dates, times, ids, counts of things that vary, and runs of blanks are not compared: see `NORMAL`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = 132
READY_S = 30.0
LOOKS = re.compile(r"horae (list|runs|why|status|next|doctor)\b")
GOES_ON = re.compile(r"\b(running|claimed)\b")
BLOCK = re.compile(r"^```console\n(.*?)^```$|^<!-- console: (.*?) -->$", re.DOTALL | re.MULTILINE)
NORMAL = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?([+-]\d\d:\d\d|Z)", "INSTANT"),
    (r"\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day (?=\d)", ""),
    (
        r"\b\d{1,2} (January|February|March|April|May|June|July|August|September|October|November|December) \d{4}",
        "DATE",
    ),
    (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
    (r"\b\d\d:\d\d(:\d\d)? on (?=DATE)", "TIME on "),
    (r"\b\d\d:\d\d:\d\d\b", "TIME"),
    (r"\b[0-9a-f]{32}\b|\b[0-9a-f]{16}\b|\b[0-9a-f]{12}\b", "ID"),
    (r"\b\d+(\.\d+)? (ms|s|min \d+ s|MiB)\b", "AMOUNT"),
    (r"\b(pid|undo|entry|tzdata|Python|version|horae|Horae) \d[\w.]*", r"\1 NUMBER"),
    (r"\bhttp://127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\bh[lst]_[\w-]{40,}", "SECRET"),
    (r"\balive on \S+,", "alive on HOST,"),
    (r"\s+", " "),
)


@dataclass
class Step:
    """One command of a page, and the lines that it is said to print."""

    command: str
    said: list[str] = field(default_factory=list)
    hidden: bool = False


def steps(text: str) -> list[Step]:
    """All commands of a page, in order."""
    found: list[Step] = []
    for block in BLOCK.finditer(text):
        if block[2] is not None:
            found.append(Step(block[2], hidden=True))
            continue
        for line in block[1].splitlines():
            if line.startswith("$ "):
                found.append(Step(line[2:]))
            elif line.startswith("> ") and not found[-1].said:
                found[-1].command += "\n" + line[2:]
            else:
                found[-1].said.append(line)
    return found


def normal(line: str) -> str:
    """A line without what differs from run to run."""
    for pattern, name in NORMAL:
        line = re.sub(pattern, name, line)
    return line.strip()


def agree(said: list[str], printed: list[str]) -> bool:
    """Whether the printed lines are what the page says, `…` standing for any lines."""
    if not said:
        return not printed
    if said[0].strip() == "…":
        return any(agree(said[1:], printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and normal(said[0]) == normal(printed[0]) and agree(said[1:], printed[1:])


class Session:
    """A shell's worth of commands in one fresh home."""

    def __init__(self, folder: Path, *, columns: int = COLUMNS, colours: bool = False) -> None:
        self.home = folder.resolve()
        self._columns = columns
        self._behind: list[subprocess.Popen[bytes]] = []
        self._env = {
            "HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TERM": "xterm",
            "NO_COLOR": "" if colours else "1",
            "USER": "ada",
            "LANG": "C.UTF-8",
            "HORAE_TIMEZONE": "Europe/Paris",
        }

    def run(self, command: str) -> tuple[str, int]:
        """What a terminal shows of it, with the folder written as `~`, and its exit status."""
        if command.endswith(" &"):
            return self._start(command.removesuffix(" &")), 0
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, self._columns, 0, 0))
        child = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.home,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the other end has gone
            while data := os.read(ours, 65536):
                seen += data
        os.close(ours)
        return self._shown(seen), child.wait(timeout=60)

    def settled(self, step: Step) -> tuple[list[str], int]:
        """What a command prints, once no run that its page does not show is on its way: jobs have slots of their own."""
        end = time.monotonic() + READY_S
        while True:
            shown, status = self.run(step.command)
            printed = shown.splitlines()
            if not step.said or agree(step.said, printed) or not LOOKS.match(step.command):
                return printed, status
            if not GOES_ON.search(shown) or time.monotonic() > end:
                return printed, status
            time.sleep(0.05)

    def _start(self, command: str) -> str:
        path = self.home / f"background-{len(self._behind)}"
        with path.open("wb") as out:
            child = subprocess.Popen(
                ["bash", "-c", f"exec {command}"], cwd=self.home, env=self._env, stdout=out, stderr=out
            )
        self._behind.append(child)
        end = time.monotonic() + READY_S
        while b"ready" not in path.read_bytes():
            assert child.poll() is None, path.read_text(encoding="utf-8")
            assert time.monotonic() < end, f"{command} did not become ready"
            time.sleep(0.05)
        return self._shown(path.read_bytes())

    def _shown(self, data: bytes) -> str:
        return data.decode("utf-8", "replace").replace("\r\n", "\n").replace(str(self.home), "~")

    def close(self) -> None:
        """End what runs behind."""
        for child in self._behind:
            child.send_signal(signal.SIGTERM)
            child.wait(timeout=60)


def complaints(text: str, folder: Path) -> list[str]:
    """Where a page and the program disagree."""
    session, found = Session(folder), []
    try:
        for step in steps(text):
            printed, status = session.settled(step)
            if step.said and not agree(step.said, printed):
                found.append(f"$ {step.command}\nthe page says:\n{_lines(step.said)}\nit prints:\n{_lines(printed)}")
            elif not step.said and status != 0:
                found.append(f"$ {step.command}\nended with status {status}:\n{_lines(printed)}")
    finally:
        session.close()
    return found


def _lines(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
