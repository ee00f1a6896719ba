"""What a run takes along that goes on later: its agent's own state, and what it has told that only an end makes last.

Notes, drafts and what was watched are taken in when a run has ended. One that is parked or held has not ended: it tells them
again when it goes on. An agent without a state of its own begins anew, and then so does all of this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

CARRIED = frozenset({"note", "draft", "watched"})


@dataclass(frozen=True, slots=True)
class Onward:
    """Of one run."""

    agent: str
    prompt: str
    told: Sequence[Mapping[str, Any]] = ()

    def dump(self) -> str:
        """As text."""
        return json.dumps({"agent": self.agent, "prompt": self.prompt, "told": list(self.told)}, ensure_ascii=False)


def onward_of(text: str | None) -> Onward | None:
    """None where there is none, or it is not one of ours: it begins anew."""
    try:
        said: Any = json.loads(text or "null")
        found = cast("dict[str, Any]", said)
        return Onward(str(found["agent"]), str(found["prompt"]), [dict(one) for one in found["told"]])
    except (ValueError, KeyError, TypeError):
        return None


def notes_of(notes: Mapping[str, str], told: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The notepad with what was noted before the wait."""
    found = dict(notes)
    for one in told:
        if one.get("kind") != "note":
            continue
        if one.get("value") is None:
            found.pop(str(one.get("key")), None)
        else:
            found[str(one.get("key"))] = str(one["value"])
    return found
