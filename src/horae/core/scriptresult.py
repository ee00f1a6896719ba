"""What a script says with its standard output. Pure.

Most scripts just print, and what they print is the message. One that has more to say does so in the *last line that is not
empty*, as a JSON object; whatever is not exactly one of these two is output like any other:

1. `{"wakeAgent": false}`: there is nothing to do. Only the truth value false under exactly that key counts, so that no
   word that a tool happens to print silences a job.
2. `{"horae": {"message": "…", "status": "ok|failed|silent", "attachments": ["chart.png"]}}`, with no other key beside
   `horae`: the structured result. Each entry may be absent: the message is then what was printed before that line, and
   the status `ok`.

A mistake in a structured result does not undo work that was done: the entry counts as absent, and a note says so, which
stands in the reason of the run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from horae.core.text import one_line
from horae.limits import ATTACHMENTS_MAX, PATH_CHARS_MAX

Status = Literal["ok", "failed", "silent"]

ENTRIES = ("message", "status", "attachments")
SHOWN_CHARS = 60  # of a word of the script's own in a note
NOTES_MAX = 3  # what else is wrong is counted


@dataclass(frozen=True, slots=True)
class Said:
    """What a script said."""

    message: str
    """What there is to tell, trimmed. What a silent one would have told is here too."""
    status: Status = "ok"
    attachments: tuple[str, ...] = ()
    """Paths below $HORAE_OUTPUT, as the script named them. Whether they exist, and where links lead, is not known here."""
    notes: tuple[str, ...] = ()
    structured: bool = False
    """Whether it was said by the line of rule 2."""


def said(stdout: str) -> Said:
    """What this output says. Takes any text, and raises nothing."""
    text = stdout.strip()
    before, _, last = text.rpartition("\n")
    last = last.strip()
    if not (last.startswith("{") and last.endswith("}")):
        return Said(text)
    try:
        value = json.loads(last)
    except (ValueError, RecursionError):  # not JSON, or nested without end
        return Said(text)
    if value.get("wakeAgent") is False:
        return Said(before.rstrip(), "silent")
    if value.keys() == {"horae"} and isinstance(value["horae"], dict):
        return _structured(cast("dict[str, Any]", value["horae"]), before.rstrip())
    return Said(text)


def _structured(given: dict[str, Any], before: str) -> Said:
    notes = [f"its result names {_shown(key)}, which means nothing here" for key in given if key not in ENTRIES]
    message, status = given.get("message"), given.get("status", "ok")
    if message is not None and not isinstance(message, str):
        notes.append("the message in its result is no text")
        message = None
    if status not in get_args(Status):
        notes.append(f"the status in its result is {_shown(status)}, not {', '.join(get_args(Status))}")
        status = "ok"
    attachments = _attachments(given.get("attachments", []), notes)
    if len(notes) > NOTES_MAX:
        notes[NOTES_MAX:] = [f"and {len(notes) - NOTES_MAX} more mistakes in it"]
    text = before if message is None else _storable(message).strip()
    return Said(text, status, attachments, tuple(notes), structured=True)


def _attachments(given: object, notes: list[str]) -> tuple[str, ...]:
    """Those that are paths below a folder, each once."""
    if not isinstance(given, list):
        notes.append("the attachments in its result are no list")
        return ()
    found: dict[str, None] = {}
    for path in cast("list[object]", given):
        if isinstance(path, str) and _below(path):
            found[path] = None
        else:
            notes.append(f"its attachment {_shown(path)} is no path below $HORAE_OUTPUT")
    if len(found) > ATTACHMENTS_MAX:
        notes.append(f"of its {len(found)} attachments the first {ATTACHMENTS_MAX} count")
    return tuple(found)[:ATTACHMENTS_MAX]


def _below(path: str) -> bool:
    return path.isprintable() and 0 < len(path) <= PATH_CHARS_MAX and path[0] != "/" and ".." not in path.split("/")


def _shown(value: object) -> str:
    return one_line(repr(value), SHOWN_CHARS)


def _storable(text: str) -> str:
    """JSON can say what no store takes: halves of characters, and NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\u2400")
