"""What no tool of ours may touch, wherever the job's folder is: the scheduler's home is not written to, nor secrets read.

Programs that a run starts are kept out by Landlock; the files that our own process opens are judged here, by the same
three lists. Of the folders that hold a path the longest decides, so a run's own folder is open within a home that is not.
What lies beside a hidden file and has its name in its own is hidden too: editors write there first.
"""

from __future__ import annotations

import os

from horae.agents.task import Task, Walls


def walls_of(task: Task) -> Walls:
    """The walls of its programs; without any, at least the home is shut."""
    walls = task["walls"]
    if walls is not None:
        return walls
    env = task["env"]
    own = [folder for folder in (env.get("HORAE_OUTPUT"),) if folder]
    return Walls(home=env.get("HORAE_HOME", ""), own=own, hidden=[])


def why_shut(path: str, walls: Walls, *, writes: bool) -> str | None:
    """Why an absolute path without links is shut; None: it is not."""
    for hidden in walls["hidden"]:
        real = os.path.realpath(hidden)
        near = os.path.dirname(path) == os.path.dirname(real) and os.path.basename(real) in os.path.basename(path)
        if is_within(path, real) or (near and not os.path.isdir(real)):
            return "it is hidden from runs"
    if not writes or not walls["home"]:
        return None
    home = os.path.realpath(walls["home"])
    own = [real for real in map(os.path.realpath, walls["own"]) if is_within(path, real)]
    if is_within(path, home) and not any(len(real) > len(home) for real in own):
        return "it lies in the home of the scheduler, which runs do not write to"
    return None


def is_within(path: str, folder: str) -> bool:
    """Both absolute."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
