"""What agents that are programs have in common: their words and environment, the meter before their provider, a shut memory.

The provider's key is in this process and nowhere else: a program gets a key that only the meter of its run takes. Where
there are no walls (`walls`) nothing would keep it from looking into this process, so that is made unreadable for others of
the same user; behind walls the kernel forbids it, and whoever watches runs can go on to read the environment.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from horae.agents.meter import Meter
from horae.agents.proxy import Proxy
from horae.agents.stop import Stop
from horae.agents.task import AgentProgram, Task
from horae.agents.tell import Tell
from horae.agents.upstream import is_known
from horae.agents.walls import behind

PR_SET_DUMPABLE = 4
UNCOUNTED = (
    "what {name} uses cannot be counted: it is not told where the meter is ({{base_url}} in its `env` or `command`)"
)


@dataclass(frozen=True, slots=True)
class Launch:
    """An agent that is a program, ready to be started."""

    task: Task
    agent: AgentProgram
    proxy: Proxy | None

    def argv(self, prompt: str | None = None) -> list[str]:
        """Its words, behind walls where there are some. `prompt` stands where {prompt} does."""
        words = self._words() if prompt is None else self._words() | {"prompt": prompt}
        return [*behind(self.task["walls"]), *(filled(word, words) for word in self.agent["command"])]

    @property
    def takes_prompt(self) -> bool:
        """Whether the prompt is one of its words."""
        return any("{prompt}" in word for word in self.agent["command"])

    @property
    def env(self) -> dict[str, str]:
        """Its environment."""
        words = self._words()
        return self.task["env"] | {name: filled(value, words) for name, value in self.agent["env"].items()}

    @property
    def cwd(self) -> str:
        """Where it works: the job's folder, else the run's own."""
        return self.task["folder"] or self.task["env"].get("HORAE_OUTPUT") or "/"

    @property
    def passed_by(self) -> bool:
        """Whether it has an answer of no model that the meter knows of."""
        return self.proxy is not None and self.proxy.calls == 0

    def ended(self, state: str | None = None) -> Stop | None:
        """The end that the meter or the provider means for it, whatever it makes of that itself."""
        if self.proxy is None:
            return None
        if self.proxy.stop is not None:
            return self.proxy.stop
        return self.proxy.trouble.stop(state) if self.proxy.trouble is not None else None

    def _words(self) -> dict[str, str]:
        words = {"model": self.task["models"][0]["id"]} if self.task["models"] else {}
        if self.proxy is not None:
            words |= {"base_url": self.proxy.address_for(self.agent["api"]), "key": self.proxy.key}
        return words


@contextmanager
def launching(task: Task, meter: Meter, tell: Tell, port: int | None = None) -> Generator[Launch]:
    """The task's program, with a meter for as long as it is used: at `port`, if that is free. Raises Stop."""
    agent = task["agent"]
    if agent is None:
        raise Stop("failed", f"the task of {task['name']} names no program")
    if task["walls"] is None:
        conceal()
    if not agent["metered"]:
        tell.event("usage", note=UNCOUNTED.format(name=agent["name"]))
        yield Launch(task, agent, None)
    elif not task["models"]:
        raise Stop("failed", f"{agent['name']} is told where the meter is, but the job has no model: set `model`")
    elif (model := task["models"][0])["base_url"] is None and not is_known(model):
        raise Stop("failed", f"a provider of kind {model['kind']} needs a `base_url` for {agent['name']} to be metered")
    else:
        with Proxy(task["models"], meter, tell, port=port) as proxy:
            yield Launch(task, agent, proxy)


def conceal() -> None:
    """Nobody but the system's administrator may look into this process from now on."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def filled(text: str, words: Mapping[str, str]) -> str:
    """A text with the words in the places of their names: in one pass, so that nothing in a word is taken for a name."""
    found = ""
    while text:
        before, brace, rest = text.partition("{")
        name, end, after = rest.partition("}")
        if brace and end and name in words:
            found, text = found + before + words[name], after
        else:
            found, text = found + before + brace, rest
    return found
