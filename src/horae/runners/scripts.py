"""Which program a job means, and whether it may be started: looked at on the disk, decided by rule.

- `script:` names a file inside `<home>/scripts`, after every symbolic link and `..` has been resolved. An escape is
  refused, whoever made the link.
- Its interpreter is its shebang line, else its ending, else it must be an executable program itself. A Python script with
  a PEP 723 block is started by `uv`, which brings the packages that it names.
- `command:` is a list of arguments, never a shell line; its program must be on the config's list `commands`.
- What `core/guard.py` finds in either stands against it.

A script is read and looked at once, until it changes: what was found is kept with what `stat` says of the file.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from stat import S_ISREG

from horae.core.guard import Finding, findings, refusal
from horae.core.inlinemeta import dependencies
from horae.core.model import Job
from horae.core.preflight import Facts
from horae.errors import Invalid
from horae.limits import SCRIPT_BYTES_MAX
from horae.runners.room import exhausted

BY_ENDING = {
    ".sh": ("/bin/sh",),
    ".bash": ("bash",),
    ".py": (sys.executable,),
    ".js": ("node",),
    ".rb": ("ruby",),
    ".pl": ("perl",),
}
SHEBANG_BYTES_MAX = 512
BINARY_LOOK_BYTES = 8192  # a NUL byte so near to the beginning: it is no text
KEPT_MAX = 10_000  # scripts whose text has been looked at: more jobs than that are not on one machine
ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)
UV_RUN = ("run", "--script", "--quiet")

_PYTHON = re.compile(r"python(?:\d+(?:\.\d+)*)?")
Lookup = Callable[[Sequence[str]], tuple[Mapping[str, str], tuple[str, ...]]]
"""The values of these secrets, and the reasons why some have none."""


@dataclass(frozen=True, slots=True)
class ScriptText:
    """What there is to know of a script's text."""

    head: bytes
    found: tuple[Finding, ...] = ()
    needs: tuple[str, ...] | None = None
    """The packages of its PEP 723 block; None without one."""
    problem: str | None = None


def _none(names: Sequence[str]) -> tuple[Mapping[str, str], tuple[str, ...]]:
    return {}, tuple(f"secret {name} has no value: nothing here reads secrets" for name in names)


def facts_for(
    job: Job, folder: str, commands: Sequence[str], path: str, *, shared: bool = False, secrets: Lookup = _none
) -> Facts:
    """What is to be started for this job and what stands against it."""
    if job.script is not None:
        facts = script_facts(job.script, folder, path, shared=shared)
    else:
        facts = command_facts(job.command, folder, commands, path)
    if job.workdir is not None:
        cwd, problem = working_folder(job.workdir)
        facts = replace(facts, cwd=cwd, problems=facts.problems + ((problem,) if problem else ()))
    if job.secrets:
        values, problems = secrets(job.secrets)
        facts = replace(facts, secrets=values, problems=facts.problems + problems)
    return facts


def script_facts(name: str, folder: str, path: str, *, shared: bool = False) -> Facts:
    """A file from the scripts folder."""
    if "\0" in name:
        return Facts(problems=(f"script {name!r} is no name of a file",))
    root = os.path.realpath(folder)
    file = os.path.realpath(os.path.join(root, name))
    if os.path.commonpath((root, file)) != root:
        return Facts(problems=(f"script {name} leads outside {folder}, to {file}; scripts come only from that folder",))
    try:
        status = os.stat(file)
        if not S_ISREG(status.st_mode):
            return Facts(problems=(f"script {name} is not a file",))
        text = _text(file, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    except OSError as error:
        if error.errno in ABSENT:
            how = "; `horae apply DIR` takes scripts into the shared store" if shared else ""
            return Facts(problems=(f"script {name} does not exist in {folder}{how}",))
        if (refusal_of := exhausted(error)) is not None:  # no fault of the job's
            raise refusal_of from error
        return Facts(problems=(f"script {name} cannot be read: {error.strerror}",))
    problems = [refusal(item, f"script {name}, line {item.line}", "edit the script") for item in text.found]
    argv, problem = started_by(text, file, path)
    problems += [f"script {name}: {problem}"] if problem is not None else []
    return (
        Facts((*argv, file), os.path.dirname(file), tuple(problems))
        if not problems
        else Facts(problems=tuple(problems))
    )


@lru_cache(KEPT_MAX)
def _text(file: str, stamp: tuple[int, ...]) -> ScriptText:  # noqa: ARG001  what the text is kept with
    with open(file, "rb") as opened:
        data = opened.read(SCRIPT_BYTES_MAX)
    head = data[:SHEBANG_BYTES_MAX]
    if b"\0" in data[:BINARY_LOOK_BYTES]:
        return ScriptText(head)
    text = data.decode("utf-8", "replace")
    try:
        return ScriptText(head, findings(text), dependencies(text))
    except Invalid as error:
        return ScriptText(head, findings(text), problem=error.message)


def started_by(text: ScriptText, file: str, path: str) -> tuple[tuple[str, ...], str | None]:
    """The words to put before the script's path (none for a program), or what is wrong."""
    words = _interpreter(text.head, file)
    if words is None:
        if os.access(file, os.X_OK):
            return (), None
        endings = ", ".join(BY_ENDING)
        return (), f"it has no #! line, no known ending ({endings}), and is not executable"
    program = os.path.basename(words[0]) if words else ""
    python = _PYTHON.fullmatch(program) is not None or tuple(words) == BY_ENDING[".py"]
    if program == "uv" or (python and (text.needs is not None or text.problem is not None)):
        return _with_uv(text, words, path, python=python)
    found = shutil.which(words[0], path=path) if words else None
    if found is None:
        return (), f"its interpreter {words[0] if words else '(empty #! line)'} is not on this machine"
    return (found, *words[1:]), None


def _interpreter(head: bytes, file: str) -> list[str] | None:
    """The interpreter with its arguments, as the `#!` line or the ending has it; None when neither says anything."""
    if not head.startswith(b"#!"):
        return [*BY_ENDING[ending]] if (ending := os.path.splitext(file)[1]) in BY_ENDING else None
    words = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split(None, 1)
    if words and os.path.basename(words[0]) == "env":
        return [word for word in (words[1] if len(words) > 1 else "").split() if word != "-S"]
    return [word.strip() for word in words]


def _with_uv(text: ScriptText, words: Sequence[str], path: str, *, python: bool) -> tuple[tuple[str, ...], str | None]:
    """By uv, which brings the packages; without it, by this Python when there are none to bring."""
    if text.problem is not None:
        return (), text.problem
    uv = shutil.which("uv", path=path) or beside(sys.executable, "uv")
    if uv is not None:
        return (uv, *(UV_RUN if python else words[1:])), None
    if text.needs == ():
        return (sys.executable,), None
    what = f"the packages that it names ({', '.join(text.needs)}) need" if text.needs else "its #! line needs"
    return (), f"{what} uv, which is not on this machine; install it (`pip install uv`), on the PATH of the gateway"


def beside(program: str, name: str) -> str | None:
    """A program in the folder of another one."""
    path = os.path.join(os.path.dirname(program), name)
    return path if os.path.isfile(path) and os.access(path, os.X_OK) else None


def command_facts(argv: Sequence[str], folder: str, commands: Sequence[str], path: str) -> Facts:
    """A list of arguments whose program the config allows."""
    program = shutil.which(argv[0], path=path)
    named = argv[0] in commands or (program is not None and program in commands)
    if not named and program not in (None, *(shutil.which(name, path=path) for name in commands)):
        listed = ", ".join(commands) or "empty"
        hint = f'add it to `commands = ["{argv[0]}"]` in config.toml, which a gateway reads at its start'
        return Facts(problems=(f"program {argv[0]} is not on the list of allowed commands ({listed}); {hint}",))
    if program is None:
        return Facts(problems=(f"program {argv[0]} is not on this machine",))
    found = _in_command(tuple(argv))
    if found:
        return Facts(problems=tuple(refusal(item, "command", "edit the job's `command`") for item in found))
    return Facts((program, *argv[1:]), folder)


@lru_cache(KEPT_MAX)
def _in_command(argv: tuple[str, ...]) -> tuple[Finding, ...]:
    return findings(" ".join(argv))


def working_folder(workdir: str) -> tuple[str, str | None]:
    """The folder that is meant, or what is wrong with it."""
    path = os.path.expanduser(workdir)
    if not os.path.isdir(path):
        return path, f"workdir {workdir} is not a folder" + (f" ({path})" if path != workdir else "")
    if not os.access(path, os.X_OK):
        return path, f"workdir {workdir} may not be entered by the user that runs Horae"
    return path, None
