"""What an agent did, as its process tells it: one event a line, and what can be read off all of them. Pure.

The process that works for an agent job writes JSON objects, one a line, to a descriptor that only it has; its shim puts
each into the spool as an `EVENT`. Every event has `kind` and `at` (seconds since 1970). Its answer is its standard output.

    prompt   sha256, chars, text         what was sent first, exactly
    script   exit, ms                    the script before it has ended
    skill    name, sha256
    watched  sha256, text, changed       what its source says now; text is bounded
    ask      turn, model, bound          a model call begins, which may use so many tokens
    model    turn, model, input, output, cached, usd (or null), stop, ms
    text     text                        what the model said on the way
    tool     id, tool, toolset, args     a tool is called; args is bounded text
    result   id, ok, text, ms
    denied   tool, args, why
    note     key, value (null: removed)  of the job's notepad
    draft    what (`job`, `message`), body (an object)
    warning  text
    usage    note                        why usage is not known exactly
    end      how, says, again_s, state, ask

`end` is the last one. `how` is one of `HOWS`; `says` is a sentence for a person. What can go on later has `state`, a JSON
text: who is given it goes on from there.

Nothing that is told can keep a run from ending: numbers that count are bounded, what goes too deep is cut, and no text
holds what a database does not take.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from math import isfinite
from typing import Any, cast

HOWS = {
    "done": "it has answered",
    "unchanged": "what it watches is as before; no model was called",
    "asleep": "its script said that there is nothing to do; no model was called",
    "failed": "it could not do its work",
    "limit": "a limit of turns, tokens or money was reached",
    "loop": "it went on without progress",
    "denied": "it asked again for what it may not do",
    "refused": "what would have been sent holds what must not be sent",
    "parked": "it waits for a person's word",
    "held": "its provider cannot answer now; it goes on later",
}
QUIET = ("unchanged", "asleep")
LATER = ("parked", "held")
TRACE_MAX = 500  # events of a run that are kept; of a longer one the beginning and the end
TRACE_CHARS_MAX = 2000  # of each text in them
TRACE_FIELDS_MAX = 32  # of each event
COUNT_MAX = 10**12  # of tokens and the like: more is a slip, and databases count in 64 bits
USD_MAX = 10**6
AGAIN_S_MAX = 366 * 86400
DEPTH_MAX = 40  # of what stands in an event


@dataclass(frozen=True, slots=True)
class Work:
    """What an agent did."""

    model: str | None = None
    turns: int = 0
    """Model calls, also those whose answer nobody has seen, without those that their provider refused."""
    input: int = 0
    output: int = 0
    """Tokens."""
    usd: float | None = None
    """None: the price is not known."""
    open_bound: int = 0
    """Tokens that a call may have used whose answer nobody has seen."""
    prompt: str | None = None
    prompt_sha256: str | None = None
    skills: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str | None], ...] = ()
    drafts: tuple[Mapping[str, Any], ...] = ()
    watched: tuple[str, str] | None = None
    """Digest and text."""
    how: str | None = None
    says: str = ""
    again_s: float | None = None
    state: str | None = None
    ask: Mapping[str, Any] | None = None
    """Of a parked one: `tool`, `toolset`, `args`, `digest`."""
    trace: tuple[Mapping[str, Any], ...] = ()

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input + self.output


def work_of(events: Iterable[Mapping[str, Any]]) -> Work:
    """What the events of a run say together. What is not as it should be is left out: a run must end all the same."""
    told = [_plain(event, DEPTH_MAX) for event in events if isinstance(event.get("kind"), str)]
    values: dict[str, Any] = {}
    usd, priced, asked = 0.0, True, dict[int, int]()
    skills: list[tuple[str, str]] = []
    notes: list[tuple[str, str | None]] = []
    drafts: list[Mapping[str, Any]] = []
    turns = tokens_in = tokens_out = 0
    for event in told:
        kind = event["kind"]
        if kind == "prompt":
            values |= {"prompt": _text(event, "text"), "prompt_sha256": _text(event, "sha256")}
        elif kind == "ask":
            asked[_whole(event, "turn")] = _whole(event, "bound")
        elif kind == "model":
            turns += not _came_to_nothing(event)
            asked.pop(_whole(event, "turn"), None)
            tokens_in, tokens_out = tokens_in + _whole(event, "input"), tokens_out + _whole(event, "output")
            values["model"] = _text(event, "model") or values.get("model")
            cost = _amount(event, "usd", USD_MAX)
            priced = priced and cost is not None
            usd += cost or 0.0
        elif kind == "skill":
            skills.append((_text(event, "name") or "", _text(event, "sha256") or ""))
        elif kind == "note":
            notes.append((_text(event, "key") or "", _text(event, "value")))
        elif kind == "draft":
            drafts.append({"what": _text(event, "what"), "body": event.get("body")})
        elif kind == "watched":
            values["watched"] = (_text(event, "sha256") or "", _text(event, "text") or "")
        elif kind == "end":
            ask = event.get("ask")
            values |= {
                "how": how if (how := _text(event, "how")) in HOWS else "failed",
                "says": _text(event, "says") or "",
                "again_s": _amount(event, "again_s", AGAIN_S_MAX),
                "state": _text(event, "state"),
                "ask": ask if isinstance(ask, Mapping) else None,
            }
    return Work(
        turns=turns + len(asked),
        input=tokens_in,
        output=tokens_out,
        usd=usd if priced else None,
        open_bound=sum(asked.values()),
        skills=tuple(skills),
        notes=tuple(notes),
        drafts=tuple(drafts),
        trace=trace_of(told),
        **values,
    )


def _came_to_nothing(event: Mapping[str, Any]) -> bool:
    """A call that used nothing: who waits for a provider has not used up its turns by asking it."""
    return event.get("stop") == "error" and not (_whole(event, "input") or _whole(event, "output"))


def redacted(work: Work, redact: Callable[[str], str]) -> Work:
    """The same without what `redact` takes out of a text."""
    found: dict[str, Any] = {field.name: _redacted(getattr(work, field.name), redact) for field in fields(Work)}
    return replace(work, **found)


def _redacted(value: object, redact: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, tuple | list):
        items = [_redacted(item, redact) for item in cast("Sequence[object]", value)]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, Mapping):
        return {key: _redacted(item, redact) for key, item in cast("Mapping[str, object]", value).items()}
    return value


def trace_of(events: list[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The events as they are kept: without what is kept elsewhere, each bounded, and not too many of them."""
    if len(events) <= TRACE_MAX:
        return tuple(map(_kept, events))
    half = TRACE_MAX // 2
    gap = {"kind": "gap", "at": events[half].get("at"), "count": len(events) - 2 * half}
    return (*map(_kept, events[:half]), gap, *map(_kept, events[-half:]))


def _kept(event: Mapping[str, Any]) -> Mapping[str, Any]:
    elsewhere = ("state", "text") if event["kind"] == "prompt" else ("state",)
    rest = islice(((key, value) for key, value in event.items() if key not in elsewhere), TRACE_FIELDS_MAX)
    return {"kind": _clipped(event["kind"])} | {key[:TRACE_CHARS_MAX]: _clipped(value) for key, value in rest}


def _clipped(value: Any) -> object:
    if isinstance(value, str) and len(value) > TRACE_CHARS_MAX:
        return value[: TRACE_CHARS_MAX - 1] + "…"
    too_long = isinstance(value, dict | list) and len(json.dumps(value)) > TRACE_CHARS_MAX
    return "…" if too_long else cast("object", value)


def _plain(value: Any, depth: int) -> Any:
    """The same as what may be kept anywhere: not too deep, no text with NUL or half a character, only real numbers."""
    if isinstance(value, str):
        clean = value if value.isascii() else value.encode("utf-8", "replace").decode()
        return clean.replace("\0", "\u2400")
    if isinstance(value, float):
        return value if isfinite(value) else None
    if not isinstance(value, list | Mapping):
        return value
    if depth == 0:
        return "…"
    if isinstance(value, list):
        return [_plain(item, depth - 1) for item in cast("list[Any]", value)]
    members = cast("Mapping[str, Any]", value)
    return {_plain(key, 0): _plain(item, depth - 1) for key, item in members.items()}


def _amount(event: Mapping[str, Any], key: str, most: float) -> float | None:
    value = event.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
        return None
    return float(value)


def _text(event: Mapping[str, Any], key: str) -> str | None:
    value = event.get(key)
    return value if isinstance(value, str) else None


def _whole(event: Mapping[str, Any], key: str) -> int:
    value = event.get(key)
    return min(max(0, value), COUNT_MAX) if isinstance(value, int) and not isinstance(value, bool) else 0
