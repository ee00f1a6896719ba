"""What an ACP agent may use, by the job's grants. It asks before a call, or tells that it calls; both are judged here.

A call is of a *kind*, and each kind belongs to a toolset. Asked for: a granted one is allowed, once and never for good; one
that needs a person's word parks the run; any other is denied, and who goes on asking is stopped (`tools.place`). What
belongs to no toolset is denied too. Called without asking: nothing can be undone, but an agent that uses what its job was
not granted is stopped there; what it did was within the walls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from horae.agents.stop import Stop
from horae.agents.task import Task
from horae.agents.tell import TEXT_CHARS_MAX, Tell
from horae.agents.tools.place import Place, as_text, digest_of
from horae.agents.tools.told import TOO_LONG

TOOLSETS = {
    "read": "files",
    "search": "files",
    "edit": "files",
    "delete": "files",
    "move": "files",
    "execute": "shell",
    "fetch": "web",
}
FREE = ("think",)
OTHER = "other"
EFFECTS = ("edit", "delete", "move", "execute", "fetch")  # kinds that do something outside of the agent
PARKED_S = 86_400.0


class Policy:
    """Of one run."""

    def __init__(self, task: Task, tell: Tell) -> None:
        self._task, self.place = task, Place(task, tell)
        self._decision = task["decision"]
        self._used = False
        self._asked, self._done = set[str](), set[str]()
        self._spoken = Counter[str]()

    def offers(self, toolset: str) -> bool:
        """Whether this process may do for the agent what the toolset is for, without more ado."""
        return toolset in self._task["tools"] and toolset not in self._task["approve"]

    def asked(self, call: str, kind: str, title: str, args: Any) -> bool:
        """Whether it may be done. Raises Stop: denied too often, or parked."""
        toolset = toolset_of(kind)
        self._asked.add(call)
        self._spoken[toolset] += 1
        if kind in FREE:
            return True
        tool = _tool(kind, title, args)
        digest = digest_of(tool, args)
        if toolset in self._task["approve"] and toolset in self._task["tools"]:
            said, text = self._said(digest), as_text(args)
            if said is None and len(text) > TEXT_CHARS_MAX:
                self.place.deny(tool, text, TOO_LONG)
                return False
            if said is None:
                ask = {"tool": tool, "toolset": toolset, "args": text, "digest": digest}
                raise Stop("parked", f"it waits for a person's word on {title or tool}", again_s=PARKED_S, ask=ask)
            if said:
                return True
            why = "a person said no"
        elif toolset in self._task["tools"]:
            return True
        else:
            why = f"the job was not granted {toolset}"
        self.place.deny(tool, args, why)
        return False

    def called(self, call: str, kind: str, title: str) -> None:
        """It has done this, whether it asked or not; some ask by another name than that of the call. Raises Stop."""
        toolset = toolset_of(kind)
        if kind not in EFFECTS or self.offers(toolset) or call in self._done:
            return
        self._done.add(call)
        if call in self._asked or self._spoken[toolset] > 0:
            self._spoken[toolset] -= 1
            return
        why = "needs a person's word for" if toolset in self._task["tools"] else "was not granted"
        raise Stop(
            "denied",
            f"it used {kind} ({title[:200]}) without asking, which the job {why}: "
            f"grant `{toolset}`, or have the agent's own settings ask before it",
        )

    def _said(self, digest: str) -> bool | None:
        """What a person said about this very call; a yes is good for once. None: nothing."""
        decision = self._decision
        if decision is None or decision.get("digest") != digest:
            return None
        if not decision.get("approved"):
            return False
        once, self._used = not self._used, True
        return True if once else None


def toolset_of(kind: str) -> str:
    """Which toolset a kind of call belongs to."""
    return TOOLSETS.get(kind, OTHER)


def told(decision: dict[str, Any] | None, ask: dict[str, Any] | None) -> str:
    """What a person decided, for the agent."""
    if decision is None:
        return ""
    what = f"{ask.get('tool')} {ask.get('args')}" if ask else "what you asked for"
    by, reason = decision.get("by") or "a person", decision.get("reason")
    because = f" They said: {reason}" if reason else ""
    if decision.get("approved"):
        return f"You had asked to be allowed this: {what}\n{by} was asked and allows it, once.{because} Do it now, and go on."
    return f"You had asked to be allowed this: {what}\n{by} was asked and does not allow it.{because} Go on without it."


def option(options: Iterable[tuple[str, str]], *, allow: bool) -> str | None:
    """Of the ids and kinds of options the one to take: for once. None: there is none, so the request is called off."""
    wanted = ("allow_once",) if allow else ("reject_once", "reject_always")
    found = {kind: name for name, kind in reversed(list(options))}
    return next((found[kind] for kind in wanted if kind in found), None)


def _tool(kind: str, title: str, args: Any) -> str:
    """By what a call is known: its kind, and where it says no arguments, its title."""
    return kind if args else f"{kind}: {title[:200]}"
