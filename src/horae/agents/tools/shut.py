"""What no tool of ours may touch, wherever the job's folder is: the scheduler's home is not written to, nor secrets read.

Programs that a run starts are kept out by Landlock; the files that our own process opens are judged here, by the same
three lists. What the kernel shows of processes is shut too: environments of others of this user are there, and they hold keys.
Of the folders that hold a path the longest decides, so a run's own folder is open within a home that is not.
What lies beside a hidden file and has its name in its own is hidden too: editors write there first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from horae.agents.task import Task, Walls
from horae.secretfile import NAME as SECRETS

PROCESSES = "/proc"


def walls_of(task: Task) -> Walls:
    """The walls of its programs; without any, the same as far as it can be told."""
    walls = task["walls"]
    if walls is not None:
        return walls
    env = task["env"]
    home = env.get("HORAE_HOME", "")
    own = [folder for folder in (env.get("HORAE_OUTPUT"),) if folder]
    return Walls(home=home, own=own, hidden=[os.path.join(home, name) for name in ("state", SECRETS)] if home else [])


def why_shut(path: str, walls: Walls, *, writes: bool) -> str | None:
    """Why an absolute path without links is shut; None: it is not."""
    if is_within(path, PROCESSES):
        return "it is of the kernel's, about processes"
    own = _longest(path, walls["own"])
    hidden = [os.path.realpath(one) for one in walls["hidden"]]
    if _longest(path, hidden) > own or any(_beside(path, one) for one in hidden):
        return "it is hidden from runs"
    if writes and walls["home"] and _longest(path, [walls["home"]]) > own:
        return "it lies in the home of the scheduler, which runs do not write to"
    return None


def _longest(path: str, folders: Sequence[str]) -> int:
    """How long the name is of the innermost of these folders that holds the path."""
    return max((len(real) for real in map(os.path.realpath, folders) if is_within(path, real)), default=0)


def _beside(path: str, hidden: str) -> bool:
    folder, name = os.path.split(hidden)
    return os.path.dirname(path) == folder and name in os.path.basename(path) and not os.path.isdir(hidden)


def is_within(path: str, folder: str) -> bool:
    """Both absolute."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
