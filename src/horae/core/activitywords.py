"""What an agent did, one line for each event, as people read it. Whatever it says is foreign text: it is put on one line."""

from __future__ import annotations

from typing import Any

from horae.core.text import money_words, one_line

TEXT_CHARS = 160


def activity_words(event: dict[str, Any]) -> str:
    """One event in one line."""
    kind = event["kind"]
    words = _words(kind, event)
    return f"· {kind}{words and ' '}{words}"


def _words(kind: str, event: dict[str, Any]) -> str:
    if kind == "prompt":
        return f"{event.get('chars', 0):,} characters, sha256 {str(event.get('sha256'))[:12]}"
    if kind == "model":
        usd = event.get("usd")
        cost = "" if usd is None else f", {money_words(usd)}"
        return f"{_said(event, 'model')} answered: {event.get('input', 0):,} + {event.get('output', 0):,} tokens{cost}"
    if kind == "ask":
        return f"turn {event.get('turn')} to {_said(event, 'model')}, at most {event.get('bound', 0):,} tokens"
    if kind == "tool":
        return f"{_said(event, 'tool')} {_said(event, 'args')}"
    if kind == "result":
        return f"{'' if event.get('ok') else 'failed: '}{_said(event, 'text')}"
    if kind == "text":
        return _said(event, "text")
    if kind == "denied":
        return f"{_said(event, 'tool')}: {_said(event, 'why')}"
    if kind == "end":
        return f"{_said(event, 'how')}: {_said(event, 'says')}"
    if kind == "watched":
        return "changed" if event.get("changed") else "the same, or seen for the first time"
    if kind == "gap":
        return f"{event.get('count')} events are left out"
    told = [
        f"{key} {_said(event, key)}" for key in event if key not in ("kind", "at", "number") and event[key] is not None
    ]
    return one_line("  ".join(told), TEXT_CHARS)


def _said(event: dict[str, Any], key: str) -> str:
    return one_line(str(event.get(key, "")), TEXT_CHARS)
