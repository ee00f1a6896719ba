"""The work of an agent's process, from its task to its answer: what the fork of its shim calls.

    script      may say that there is nothing to do
    watch       what has not changed needs nobody
    prompt      put together, looked through, told
    agent       built in, by the Agent Client Protocol, or a program
    answer      standard output, and nothing else

Every other end is a `Stop`; each end is told as the last event. This module is loaded before the fork, with all that takes
time to load. Loading it starts no thread and opens nothing.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import traceback
from typing import Any, cast

from horae.agents import builtin
from horae.agents.forms import asked_for, is_formless
from horae.agents.lookthrough import look_through, look_through_again
from horae.agents.meter import Meter
from horae.agents.onward import Onward, notes_of, onward_of
from horae.agents.script import output_of
from horae.agents.stop import Stop
from horae.agents.task import Task
from horae.agents.tell import Tell, is_too_long
from horae.agents.warm import warm
from horae.agents.watching import looked
from horae.config import environment
from horae.core.activity import LATER
from horae.core.answerform import unmet
from horae.core.prompting import Parts, assemble, digest
from horae.errors import Problem

LADDER_S = (60.0, 300.0, 900.0, 1800.0, 3600.0)  # a provider that cannot answer is asked again after so long
HELD_MAX = 28  # times that it was held, which take a day on that ladder: then it has failed, and somebody is told
QUIET = ("done", "unchanged", "asleep", *LATER)
SECRET_CHARS_LEAST = 6  # shorter ones stand in many texts
TOO_LONG = "what it had said and done so far is too long to be kept: when it goes on, it begins anew"
EMPTY = "the agent gave an empty answer"
OTHERS = {"acp": "horae.agents.acp", "command": "horae.agents.command"}
"""Agents that are programs: loaded when one is asked for."""

warm()


def main(task: dict[str, Any], fd: int) -> int:
    """Do it. Returns the exit status: 0 for every end that is none of trouble."""
    one = _One(cast("Task", task), fd)
    try:
        answer = one.work()
    except Stop as stop:
        return one.ended(stop)
    except Exception as error:  # the border to whatever agents and their libraries raise
        if environment().get("HORAE_DEBUG"):
            sys.stderr.write(one.tell.clean(traceback.format_exc()[-8000:]))
        words = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        return one.ended(Stop("failed", f"the agent failed: {words}"))
    sys.stdout.write(answer.encode("utf-8", "replace").decode())  # a lone half of a character cannot be written
    sys.stdout.flush()
    one.tell.event("end", how="done", says="it has answered")
    return 0


class _One:
    """One run."""

    def __init__(self, task: Task, fd: int) -> None:
        self.tell = Tell(fd, _keys(task))
        self._task: Task = task
        self._prompt = ""

    def work(self) -> str:
        """The answer."""
        task, tell = self._task.copy(), self.tell
        past = onward_of(task["state"])
        if past is not None:
            task["state"], task["notes"] = past.agent, notes_of(task["notes"], past.told)
            for said in past.told:
                tell.event(**{key: value for key, value in said.items() if key != "at"})
            self._prompt = past.prompt
        else:
            task["state"] = None
            self._prompt = task["replay"] or asyncio.run(_assembled(task, tell))
            if task["replay"]:
                look_through_again(self._prompt, tell)
        tell.event("prompt", sha256=digest(self._prompt), chars=len(self._prompt), text=self._prompt)
        for skill in task["skills"]:
            tell.event("skill", name=skill["name"], sha256=skill["sha256"])
        run = builtin.run if task["kind"] == "builtin" else importlib.import_module(OTHERS[task["kind"]]).run
        answer: str = run(task, self._prompt, tell, Meter(task["models"], task["allow"], tell))
        if answer.strip():
            return _formed(answer, task["schema"])
        if task["empty"] == "silent":
            return ""
        raise Stop("failed", EMPTY)

    def ended(self, stop: Stop) -> int:
        """Tell how it ended otherwise."""
        says = self.tell.clean(stop.says)
        if stop.how == "held" and self._task["held"] >= HELD_MAX:
            stop = Stop("failed", says := f"given up after {self._task['held']} waits: {says}")
        again, state = stop.again_s, None
        if stop.how in LATER:
            if again is None:
                again = LADDER_S[min(self._task["held"], len(LADDER_S) - 1)]
            if stop.state is not None:
                state = Onward(stop.state, self._prompt, self.tell.carried).dump()
                if is_too_long(state):
                    state = None
                    self.tell.event("warning", text=TOO_LONG)
        self.tell.event("end", how=stop.how, says=says, again_s=again, state=state, ask=stop.ask)
        if stop.how in QUIET:
            return 0
        sys.stderr.write(f"{says}\n")
        return 1


async def _assembled(task: Task, tell: Tell) -> str:
    """What is sent first, with what the script and the source say. Raises `Stop`."""
    script = None
    if task["script"] is not None:
        script = (task["script"]["name"], tell.clean(await output_of(task["script"], task["walls"], tell)))
    watched = await looked(task, tell)
    parts = Parts(
        prompt=task["prompt"],
        skills=[(skill["name"], skill["text"]) for skill in task["skills"]],
        context=[(one["job"], one["at"], one["text"]) for one in task["context"]],
        script=script,
        watched=watched,
        payload=None if task["payload"] is None else (task["payload"][0], task["payload"][1]),
        extra=task["extra"],
        lateness=task["lateness"],
    )
    look_through(parts, tell)
    try:
        prompt = assemble(parts)
    except Problem as error:
        raise Stop("failed", str(error)) from error
    if task["schema"] is not None and task["kind"] != "builtin":
        prompt = f"{prompt}\n{asked_for(task['schema'])}"
    return prompt


def _formed(answer: str, schema: str | None) -> str:
    """The answer, where it has the form that it must have. Raises `Stop`."""
    wrong = None if schema is None or is_formless(answer) else unmet(schema, answer)
    if wrong is not None:
        raise Stop("failed", f"the answer does not fit the job's `schema`: {wrong}")
    return answer


def _keys(task: Task) -> list[str]:
    """What nobody may be told: keys of providers and servers, and the secrets that only the job's script has."""
    found = [model["key"] or "" for model in task["models"]]
    found += [server["token"] or "" for server in task["mcp"]]
    for program in (task["script"], task["watch_script"]):
        own = program["env"] if program is not None else {}
        found += [value for name, value in own.items() if name not in task["env"] and len(value) >= SECRET_CHARS_LEAST]
    return found
