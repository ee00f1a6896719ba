"""The script before an agent: what it prints becomes data in the prompt, and it can say that there is nothing to do.

Its last line may be an object with `wakeAgent`: false ends the run without a model call; true changes nothing. The line is
no part of the output then. A script that fails or takes too long fails the run: an agent is not woken on half of what it
should see.
"""

from __future__ import annotations

import json
import os
from typing import Any, cast

from horae.agents.programs import Ended, run
from horae.agents.stop import Stop
from horae.agents.task import Program, Walls
from horae.agents.tell import Tell
from horae.agents.tools.shut import is_within
from horae.agents.walls import behind
from horae.runners.sandbox import sandboxed

TAIL_CHARS = 500
WAKE = "wakeAgent"


async def output_of(program: Program, walls: Walls | None, tell: Tell) -> str:
    """What it printed. Raises `Stop`: asleep, or failed."""
    ended = await started(program, walls)
    tell.event("script", exit=ended.code, ms=ended.ms)
    _check(program["name"], ended)
    body, wakes = awake(ended.out)
    if not wakes:
        raise Stop("asleep", f"the script {program['name']} says that there is nothing to do")
    return body


async def source_of(program: Program, walls: Walls | None, tell: Tell) -> str:
    """What a script prints that is watched: all of it."""
    ended = await started(program, walls)
    tell.event("script", exit=ended.code, ms=ended.ms)
    _check(program["name"], ended)
    return ended.out


async def started(program: Program, walls: Walls | None) -> Ended:
    """Run it behind the walls that it has."""
    env = dict(program["env"])
    return await run(_words(program, walls, env), cwd=program["cwd"], env=env, timeout_s=program["timeout_s"])


def awake(out: str) -> tuple[str, bool]:
    """The output without its word to the scheduler, and whether the agent is to be woken."""
    body, _, last = out.rstrip().rpartition("\n")
    try:
        said: Any = json.loads(last)
    except ValueError:
        return out, True
    if not isinstance(said, dict) or not isinstance(cast("dict[str, Any]", said).get(WAKE), bool):
        return out, True
    return (body + "\n" if body else ""), bool(cast("dict[str, Any]", said)[WAKE])


def _words(program: Program, walls: Walls | None, env: dict[str, str]) -> list[str]:
    argv = program["argv"]
    if program["sandbox"] not in ("", "off"):
        output = env.get("HORAE_OUTPUT")
        cwd = program["cwd"]
        home = os.path.realpath(walls["home"] if walls else env.get("HORAE_HOME", os.devnull))
        inside = is_within(os.path.realpath(cwd), home)
        writable = [path for path in (output, None if inside else cwd) if path]
        hidden = [home, *(walls["hidden"] if walls else [])]
        readable = [
            os.path.dirname(word) for word in argv if os.path.isabs(word)
        ]  # the script, in a home that is hidden
        return [*sandboxed(argv, program["sandbox"], cwd=cwd, writable=writable, hidden=hidden, readable=readable)]
    return [*(behind(walls) if program["landlock"] else []), *argv]


def _check(name: str, ended: Ended) -> None:
    if ended.code == 0:
        return
    if ended.code is None:
        said = f"the script {name} did not do its work: {ended.why}"
    elif ended.code < 0:
        said = f"the script {name} was ended by signal {-ended.code}"
    else:
        said = f"the script {name} failed with exit status {ended.code}"
    tail = ended.err.strip() or ended.out.strip()
    raise Stop(
        "failed", f"{said}: …{tail[-TAIL_CHARS:]}" if len(tail) > TAIL_CHARS else f"{said}: {tail}" if tail else said
    )
