"""The toolset `shell`: a command in a sandbox, without network.

It sees the machine read-only, without what is hidden; only the job's folder and the run's own can be written to, and the
home of this scheduler is not there at all. A command that would stop this scheduler is denied.
"""

from __future__ import annotations

import os
import shutil

from pydantic_ai import FunctionToolset, RunContext, ToolFailed

from horae.agents.programs import run as run_program
from horae.agents.task import Walls
from horae.agents.tools.place import Place, data
from horae.agents.tools.shut import why_shut
from horae.core.guard import refusal, scan
from horae.runners.sandbox import problem, sandboxed

TIME_S = 120.0
GIVEN_CHARS_MAX = 16_000  # of each stream
WAY = "a run does not do that to its own scheduler"


async def run(ctx: RunContext[Place], command: str) -> str:
    """Run a command with sh, in the job's folder, without network, for two minutes at most.

    Args:
        ctx: The run.
        command: A shell command or script.
    """
    place = ctx.deps
    found = [item for item in scan(command, "command") if item.severity == "refuse"]
    if found:
        raise place.refuse("run", {"command": command}, refusal(found[0], "the command", WAY))
    env = place.task["env"]
    path = env.get("PATH", os.defpath)
    trouble = problem("strict", path)
    if trouble is not None:
        raise ToolFailed(f"there is no shell here: {trouble}")
    if not place.folder:
        raise ToolFailed("this run has no folder")
    walls = place.walls
    hidden = [path for path in (walls["home"], *walls["hidden"]) if path]
    folders = [folder for folder in (place.folder, env.get("HORAE_OUTPUT")) if folder]
    writable = [folder for folder in folders if not _is_shut(folder, walls)]
    argv = sandboxed(
        ("/bin/sh", "-c", command),
        "strict",
        cwd=place.folder,
        writable=writable,
        hidden=hidden,
        readable=[folder for folder in folders if folder not in writable],
        shows_named=False,
        bwrap=shutil.which("bwrap", path=path) or "bwrap",
    )
    ended = await run_program(argv, cwd="/", env=env, timeout_s=TIME_S)
    said = [f"exit status {ended.code}" if ended.code is not None else ended.why]
    said += [f"{name}:\n{_cut(text)}" for name, text in (("output", ended.out), ("errors", ended.err)) if text.strip()]
    return data("\n".join(said), "the command")


TOOLS = FunctionToolset[Place]([run], id="shell", sequential=True)


def _is_shut(folder: str, walls: Walls) -> bool:
    return why_shut(os.path.realpath(folder), walls, writes=True) is not None


def _cut(text: str) -> str:
    if len(text) <= GIVEN_CHARS_MAX:
        return text
    half = GIVEN_CHARS_MAX // 2
    return f"{text[:half]}\n[… left out …]\n{text[-half:]}"
