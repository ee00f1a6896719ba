"""One decision of the journal in words, as people read it. Pure; whatever programs said in it is foreign text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from horae.timing.durations import short_duration


def decision_words(decision: Mapping[str, Any]) -> str:
    """What was decided; `what` and `detail` of an entry."""
    detail = {key: value for key, value in decision["detail"].items() if key != "undo" and value not in (None, "", 0)}
    match decision["what"]:
        case "planned" | "ahead":
            how = "planned" if decision["what"] == "planned" else detail.get("note")
            return f"{how} by {detail.get('by')} in {detail.get('zone')}"
        case "claimed":
            missed = f", it stands for {detail['missed']} missed before it" if detail.get("missed") else ""
            late = detail.get("late_s", 0)
            return f"claimed, {short_duration(late)} after it was due" + missed
        case "exception_cleared":
            return "what was decided about it was taken back"
        case "let_in" | "shut_out":
            how = "let in by" if decision["what"] == "let_in" else "shut out: the end of"
            return f"{detail.get('name')} {how} a {detail.get('kind')}, with the role {detail.get('role')}"
        case "proposed":
            return "a job was proposed, and waits for a person's word"
        case "undone" if detail.get("redo"):
            number = detail.get("entry")
            return f"entry {number} was part of an undo: only `horae undo {number}` takes it back"
        case "undone":
            return f"entry {detail.get('entry')} was taken back"
        case _:
            more = ", ".join(
                f"{key.removesuffix('_s')} {short_duration(value) if key.endswith('_s') else value}"
                for key, value in detail.items()
            )
            return decision["what"].replace("_", " ") + (f": {more}" if more else "")
