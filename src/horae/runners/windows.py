"""End a process with everything below it, on Windows, where there are no process groups to signal.

`taskkill /T /F` walks the tree by parent ids. Its words are in the system's language, its exit statuses are not: 128 says
that there was no such process, 1 that it could not be ended, 255 that of several some could not, mostly because they had
ended on their own. What it could not do is tried once more for the process itself; its children are then not proved gone.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping

from horae.runners.command import ask

NO_SUCH_PROCESS = 128
INVALID_PARAMETER = 87  # what Windows says of the number of a process that is no more


def end_tree(
    pid: int,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    *,
    kill: Callable[[int, int], None] = os.kill,
    program: str = "taskkill",
) -> str | None:
    """End it and all below it. None when nothing of it is left, else why that is not proved."""
    if pid <= 0:
        return f"{pid} is not the number of a process"
    said = ask((program, "/PID", str(pid), "/T", "/F"), env, timeout_s)
    if said.ok or said.code == NO_SUCH_PROCESS:
        return None
    try:
        kill(pid, signal.SIGTERM)  # which is TerminateProcess there
    except ProcessLookupError:
        return (
            None if said.code is not None else _unproved(said.words, "it has ended, and what it started is not known")
        )
    except PermissionError:
        return _unproved(said.words, "and it may not be ended by us: it belongs to somebody else, or to the system")
    except OSError as error:
        if getattr(error, "winerror", None) == INVALID_PARAMETER:
            return (
                None
                if said.code is not None
                else _unproved(said.words, "it has ended, and what it started is not known")
            )
        return _unproved(said.words, f"and it could not be ended: {error.strerror or error}")
    return _unproved(said.words, "so only the process itself was ended, and what it started is not known")


def _unproved(words: str, then: str) -> str:
    return f"taskkill: {words}; {then}"
