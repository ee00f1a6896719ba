"""Filters of templates: values as people read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from horae.timing.durations import short_duration

SYMBOLS = {  # by state and by outcome: never by colour alone
    "completed": "✓", "ran": "✓", "delivered": "✓", "active": "●", "running": "▶", "claimed": "▶", "failed": "✗",
    "blocked": "■", "unknown": "?", "cancelled": "–", "missed": "!", "skipped": "›", "void": "·", "released": "↺",
    "paused": "⏸", "quarantined": "⚠", "draft": "✎", "pending": "…", "sending": "…", "suppressed": "–",
    "expired": "⌛", "planned": "○",
}  # fmt: skip


def symbol(state: object) -> str:
    """One sign for a state."""
    return SYMBOLS.get(str(state), "·")


def duration(seconds: float | None) -> str:
    """Seconds, short; a dash where nothing is known."""
    return "–" if seconds is None else short_duration(seconds)


FILTERS: Mapping[str, Callable[..., Any]] = {"symbol": symbol, "duration": duration}
