"""Which program a job means, and whether it may be started: looked at on the disk, decided by rule.

- `script:` names a file inside `<home>/scripts`, after every symbolic link and `..` has been resolved. An escape is
  refused, whoever made the link.
- Its interpreter is its shebang line, else its ending, else it must be an executable program itself.
- `command:` is a list of arguments, never a shell line; its program must be on the config's list `commands`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from horae.core.model import Job
from horae.core.preflight import Facts
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


def facts_for(job: Job, folder: str, commands: Sequence[str], path: str, *, shared: bool = False) -> Facts:
    """What is to be started for this job and what stands against it."""
    if job.agent:
        return Facts(problems=("agent jobs cannot run yet: this version runs scripts and commands (agent: false)",))
    if job.script is not None:
        return script_facts(job.script, folder, path, shared=shared)
    return command_facts(job.command, folder, commands, path)


def script_facts(name: str, folder: str, path: str, *, shared: bool = False) -> Facts:
    """A file from the scripts folder."""
    if "\0" in name:
        return Facts(problems=(f"script {name!r} is no name of a file",))
    root = os.path.realpath(folder)
    file = os.path.realpath(os.path.join(root, name))
    if os.path.commonpath((root, file)) != root:
        return Facts(problems=(f"script {name} leads outside {folder}, to {file}; scripts come only from that folder",))
    if not os.path.exists(file):
        how = "; `horae apply DIR` takes scripts into the shared store" if shared else ""
        return Facts(problems=(f"script {name} does not exist in {folder}{how}",))
    if not os.path.isfile(file):
        return Facts(problems=(f"script {name} is not a file",))
    try:
        with open(file, "rb") as opened:
            head = opened.read(SHEBANG_BYTES_MAX)
    except OSError as error:
        if (refusal := exhausted(error)) is not None:  # no fault of the job's
            raise refusal from error
        return Facts(problems=(f"script {name} cannot be read: {error.strerror}",))
    argv, problem = interpreter(head, file, path)
    if problem is not None:
        return Facts(problems=(f"script {name}: {problem}",))
    return Facts((*argv, file) if argv else (file,), os.path.dirname(file))


def interpreter(head: bytes, file: str, path: str) -> tuple[tuple[str, ...], str | None]:
    """The words to put before the script's path (none for a program), or what is wrong."""
    if head.startswith(b"#!"):
        words = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split(None, 1)
        if words and os.path.basename(words[0]) == "env":
            words = [word for word in (words[1] if len(words) > 1 else "").split() if word != "-S"]
        else:
            words = [word.strip() for word in words]
    else:
        words = list(BY_ENDING.get(os.path.splitext(file)[1], ()))
        if not words:
            if os.access(file, os.X_OK):
                return (), None
            endings = ", ".join(BY_ENDING)
            return (), f"it has no #! line, no known ending ({endings}), and is not executable"
    program = shutil.which(words[0], path=path) if words else None
    if program is None:
        return (), f"its interpreter {words[0] if words else '(empty #! line)'} is not on this machine"
    return (program, *words[1:]), None


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
    return Facts((program, *argv[1:]), folder)
