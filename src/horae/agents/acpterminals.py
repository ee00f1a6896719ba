"""Commands that are run for an ACP agent: in the sandbox, as those of the toolset `shell`, and each in a task of its own.

All that the agent says of a command is for the inside of the sandbox: its words, its folder, and its environment above all,
since what builds the sandbox would obey that (`LD_PRELOAD`), outside of every wall. No path that it names is shown for that.

What a command printed is there when it has ended: its agent waits for that, or ends it.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Mapping, Sequence

import acp

from horae.agents.programs import Ended, run
from horae.agents.stop import Stop
from horae.agents.tools.place import Place
from horae.agents.tools.shut import why_shut
from horae.core.guard import refusal, scan
from horae.runners.sandbox import problem, sandboxed

TIME_S = 600.0
TERMINALS_MAX = 32  # of one run, at a time
INSIDE = 'cd -- "$1" && shift && exec "$@"'
WAY = "a run does not do that to its own scheduler"

_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


class Terminals:
    """Of one run."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._running: dict[str, asyncio.Task[Ended]] = {}
        self._number = 0

    def begin(self, argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> str:
        """Start a command; its name. Raises Stop where it must not be."""
        for found in scan(" ".join(argv), "command"):
            if found.severity == "refuse":
                raise Stop("denied", refusal(found, "the command", WAY))
        if sum(not one.done() for one in self._running.values()) >= TERMINALS_MAX:
            raise Stop("denied", f"{TERMINALS_MAX} commands are running already")
        own = self._place.task["env"]
        given = [f"{key}={value}" for key, value in env.items() if _NAME.fullmatch(key) and key not in own]
        words = ["env", *given, *argv] if given else argv
        boxed = self._boxed(("/bin/sh", "-c", INSIDE, "sh", cwd or self._place.folder, *words))
        self._number += 1
        name = f"terminal-{self._number}"
        self._running[name] = asyncio.ensure_future(run(boxed, cwd="/", env=own, timeout_s=TIME_S))
        return name

    def _boxed(self, argv: Sequence[str]) -> tuple[str, ...]:
        place, env = self._place, self._place.task["env"]
        path = env.get("PATH", os.defpath)
        if (trouble := problem("strict", path)) is not None:
            raise Stop("denied", f"there is no shell here: {trouble}")
        if not place.folder:
            raise Stop("denied", "this run has no folder")
        walls = place.walls
        folders = [folder for folder in (place.folder, env.get("HORAE_OUTPUT")) if folder]
        shut = [folder for folder in folders if why_shut(os.path.realpath(folder), walls, writes=True) is not None]
        return sandboxed(
            argv,
            "strict",
            cwd=place.folder,
            writable=[folder for folder in folders if folder not in shut],
            hidden=[path for path in (walls["home"], *walls["hidden"]) if path],
            readable=shut,
            shows_named=False,
            bwrap=shutil.which("bwrap", path=path) or "bwrap",
        )

    def output(self, name: str) -> tuple[str, Ended | None]:
        """What it printed, and how it ended if it has. Raises RequestError."""
        one = self._of(name)
        if not one.done() or one.cancelled():
            return "", Ended(None, "", "", 0, "it was ended") if one.cancelled() else None
        ended = one.result()
        return ended.out + ended.err + (f"\n[{ended.why}]" if ended.why else ""), ended

    async def wait(self, name: str) -> Ended:
        """How it ended. Raises RequestError."""
        one = self._of(name)
        await asyncio.wait([one])
        return Ended(None, "", "", 0, "it was ended") if one.cancelled() else one.result()

    def kill(self, name: str) -> None:
        """End it, if it has not ended yet. Raises RequestError."""
        self._of(name).cancel()

    async def close(self) -> None:
        """End all of them."""
        for one in self._running.values():
            one.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _of(self, name: str) -> asyncio.Task[Ended]:
        if name not in self._running:
            raise acp.RequestError.invalid_params({"details": f"there is no terminal {name}"})
        return self._running[name]
