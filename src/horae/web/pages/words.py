"""Filters of templates: values as people read them. Pure; times are shown in the zone that the environment was made for.

What comes from outside (names, output, schedules) is data: a filter that makes markup escapes what it is given, makes hidden
characters visible, and keeps a text that runs from right to left from turning the line around it (`<bdi>`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from horae.core.text import is_hidden, money_words
from horae.timing.durations import short_duration
from horae.timing.zones import offset_s

SYMBOLS = {  # by state and by outcome: never by colour alone
    "completed": "✓", "ran": "✓", "delivered": "✓", "active": "●", "running": "▶", "claimed": "▶", "failed": "✗",
    "blocked": "■", "unknown": "?", "cancelled": "–", "missed": "!", "skipped": "›", "void": "·", "released": "↺",
    "paused": "‖", "quarantined": "▲", "draft": "✎", "pending": "…", "sending": "…", "suppressed": "–",
    "expired": "⌛", "planned": "○", "approval": "◆", "failing": "✗", "delivery": "✉", "clock": "◷", "moved": "→",
    "open": "✗", "acknowledged": "✓", "snoozed": "…", "ended": "✓", "approved": "✓", "denied": "✗", "removed": "–",
}  # fmt: skip
MEANS = {  # what a state says, for those who do not know it yet
    "completed": "it ran and ended well", "ran": "it ran", "failed": "it ran and failed",
    "blocked": "it was not started, since something is missing", "unknown": "nobody knows how it ended",
    "cancelled": "somebody ended it", "missed": "its time passed while nothing could run it",
    "skipped": "left out on purpose", "void": "its schedule changed before it came due",
    "released": "given back and tried again",
    "running": "it runs now", "claimed": "it is about to start", "planned": "it is still to come",
    "paused": "its slots do not run until somebody resumes it", "quarantined": "its file is broken, so it does not run",
    "active": "its slots run", "delivered": "it arrived", "pending": "it waits to be sent", "sending": "it is being sent",
    "suppressed": "there was nothing to say", "expired": "it was given up after too many tries",
}  # fmt: skip
CHIP = '<span class="state state-{}" title="{}"><span aria-hidden="true">{}</span> {}</span>'
TIME = '<time datetime="{}" data-when="{}" title="{}">{}</time>'
UNWORDED = re.compile(r"[^a-z0-9_-]+")
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def symbol(state: object) -> str:
    """One sign for a state."""
    return SYMBOLS.get(str(state), "·")


def means(state: object) -> str:
    """What a state says, in a sentence; itself where nothing is said about it."""
    return MEANS.get(str(state), str(state))


def state(word: object, text: str | None = None) -> Markup:
    """A state as a chip: its sign, its word, its colour."""
    name = UNWORDED.sub("-", str(word).lower())
    return Markup(CHIP).format(name, means(word), symbol(word), text or str(word))  # noqa: S704  a form of ours


def duration(seconds: float | None) -> str:
    """Seconds, short; a dash where nothing is known."""
    if seconds is None:
        return "–"
    return f"{max(0, round(seconds * 1000))} ms" if seconds < 1 else short_duration(seconds)


def milliseconds(value: float | None) -> str:
    """Milliseconds as a short duration."""
    return duration(None if value is None else value / 1000)


def instant_of(value: str, zone: str) -> datetime:
    """An instant of JSON, with the wall clock of a zone."""
    found = datetime.fromisoformat(value)
    return found.astimezone(timezone(timedelta(seconds=offset_s(found, zone))))


def clock(value: str | None, zone: str = "UTC") -> str:
    """An instant as a short text: `Tue 1 Dec, 18:30`."""
    if not value:
        return "–"
    at = instant_of(value, zone)
    return f"{at:%a} {at.day} {at:%b}, {at:%H:%M}"


def fully(value: str | None, zone: str = "UTC") -> str:
    """An instant as a full text, with seconds, year and zone."""
    if not value:
        return "–"
    at = instant_of(value, zone)
    return f"{at:%A} {at.day} {at:%B} {at:%Y}, {at:%H:%M:%S} ({zone}, UTC{at:%z})"


def when(value: str | None, how: str = "both", zone: str = "UTC") -> Markup:
    """An instant as `<time>`. `how`: `both` (the clock and how far away), `far` (only that), `clock`, `since` (elapsed).

    How far away it is changes while one looks, so `horae.js` writes that; without it the clock is there.
    """
    if not value:
        return Markup('<span class="muted">–</span>')
    return Markup(TIME).format(value, how, fully(value, zone), clock(value, zone))  # noqa: S704  a form of ours


def plain(text: object) -> str:
    """A text of one or more lines whose hidden characters can be seen; tabs and line ends stay."""
    value = str(text)
    if value.isascii() and value.isprintable():
        return value
    return "".join(_seen(value, at) for at in range(len(value)))


def _seen(text: str, at: int) -> str:
    char = text[at]
    if char in "\n\t" or not is_hidden(text, at):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def name(text: object) -> Markup:
    """A name from outside: it can be read, and turns nothing around."""
    return Markup("<bdi>{}</bdi>").format(plain(text))


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 run`, `2 runs`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def number(value: float | None) -> str:
    """A number with separators; a dash where nothing is known."""
    return "–" if value is None else f"{value:,}"


def short_number(value: float | None) -> str:
    """A large number in short: 12,300 is 12.3k."""
    if value is None:
        return "–"
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if value >= size:
            return f"{value / (size if unit != 'k' else 1000):.1f}".removesuffix(".0") + unit
    return f"{value:,}"


def usd(value: float | None) -> str:
    """An amount of dollars."""
    if value is None:
        return "–"
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else money_words(value)


def size(count: int | None) -> str:
    """Bytes, short."""
    if count is None:
        return "–"
    value, unit = float(count), 0
    while value >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{count:,} {UNITS[0]}" if unit == 0 else f"{value:.1f} {UNITS[unit]}"


def pretty(value: object) -> str:
    """JSON with its lines, for people to read."""
    return plain(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def sentence(text: str) -> Markup:
    """A sentence in which commands stand between backticks."""
    parts = plain(text).split("`")
    made = [Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)]
    return Markup("").join(made)


def filters(zone: str) -> Mapping[str, Callable[..., Any]]:
    """All of them, for a home of that zone."""
    return {
        "symbol": symbol,
        "means": means,
        "state": state,
        "duration": duration,
        "milliseconds": milliseconds,
        "clock": partial(clock, zone=zone),
        "fully": partial(fully, zone=zone),
        "when": partial(when, zone=zone),
        "plain": plain,
        "name": name,
        "plural": plural,
        "number": number,
        "short_number": short_number,
        "usd": usd,
        "size": size,
        "pretty": pretty,
        "sentence": sentence,
    }
