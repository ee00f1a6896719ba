"""What is there whenever a run has skills: the files beside a skill's text, read-only and in its folder alone."""

from __future__ import annotations

import os

from pydantic_ai import FunctionToolset, RunContext, ToolFailed

from horae.agents.tools.confine import Outside, opened
from horae.agents.tools.place import Place, data

BYTES_MAX = 256 * 1024
GIVEN_CHARS_MAX = 30_000


def read_skill_file(ctx: RunContext[Place], skill: str, path: str) -> str:
    """Read a file that belongs to a skill.

    Args:
        ctx: The run.
        skill: The name of the skill.
        path: From the skill's folder on.
    """
    place = ctx.deps
    folder = next((one["folder"] for one in place.task["skills"] if one["name"] == skill), None)
    if folder is None:
        known = ", ".join(one["name"] for one in place.task["skills"])
        raise ToolFailed(f"there is no skill {skill!r}; there are: {known}")
    try:
        with opened(folder, path, os.O_RDONLY, place.walls) as fd:
            raw = os.read(fd, BYTES_MAX)
    except Outside as error:
        raise place.refuse("read_skill_file", {"skill": skill, "path": path}, str(error)) from error
    except OSError as error:
        raise ToolFailed(f"{path}: {error.strerror}") from error
    if b"\0" in raw:
        raise ToolFailed(f"{path} is no text")
    text = raw.decode("utf-8", "replace")
    shown = text if len(text) <= GIVEN_CHARS_MAX else text[:GIVEN_CHARS_MAX] + "\n[… cut …]"
    return data(shown, f"the skill {skill}, {path}")


TOOLS = FunctionToolset[Place]([read_skill_file], id="skills", sequential=True)
