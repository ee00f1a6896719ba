"""Short questions to programs of the system, each with a bound.

A program that hangs is ended with all that it started, or what it holds open would be waited for. Nothing is raised: see
`ports.command`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from horae.ports.command import Said
from horae.timing.durations import duration_words

ASK_S = 2.0  # a manager that is well answers within some milliseconds
BUS = "DBUS_SESSION_BUS_ADDRESS"
RUNTIME = "XDG_RUNTIME_DIR"


def ask(argv: Sequence[str], env: Mapping[str, str] | None, timeout_s: float = ASK_S) -> Said:
    """Run it to its end. Blocks for `timeout_s` at most; the program is looked for on the PATH of `env`, None is our own."""
    words = tuple(argv)
    try:
        process = subprocess.Popen(
            words,
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except FileNotFoundError:
        return Said(words, None, why=f"{words[0]} is not on this machine", missing=True)
    except (OSError, ValueError) as error:
        return Said(words, None, why=str(getattr(error, "strerror", None) or error))
    with process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            end_group(process)
            return Said(words, None, why=f"no answer within {duration_words(max(1, round(timeout_s)))}")
        except BaseException:
            end_group(process)
            raise
    return Said(words, process.returncode, out, err)


def end_group(process: subprocess.Popen[str]) -> None:
    """End a program with what it started, and take note of its end; what still holds its pipes is not waited for."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def with_bus(env: Mapping[str, str], uid: int, root: str = "/run/user") -> dict[str, str]:
    """The environment in which a person's own manager is found: after `su` or in a cron job its folder is not named."""
    folder = os.path.join(root, str(uid))
    if env.get(RUNTIME) or env.get(BUS) or not os.path.isdir(folder):
        return dict(env)
    return {**env, RUNTIME: folder}
