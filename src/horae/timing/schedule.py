"""A schedule as a person writes it, read once: the text, its set, its meaning in words, its warnings.

Order of reading: a date-time, a cron line, a phrase. No text fits two of them. What counts from "now" (`in 30m`,
`tomorrow at 9am`, `every 90 minutes`) counts from the `anchor` argument, and `written` holds the text in which that is
fixed: a tool that makes a job stores `written`, so that the job means the same whenever its file is read again.

Invariant: parsing `written` with any anchor gives an equal set. Past one-shots are not refused here, since only the
caller knows whether the job is new.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from horae.errors import Invalid
from horae.limits import SCHEDULE_CHARS_MAX
from horae.timing.cron import parse_cron
from horae.timing.dates import read_instant
from horae.timing.durations import period_words
from horae.timing.phrases import parse_phrase
from horae.timing.recurrence import Gap, Grid, RecurrenceSet, Repeat, default_policy
from horae.timing.words import cron_words, grid_words, once_words, rfc3339, rules_words
from horae.timing.zones import offset_s, zone

Kind = Literal["once", "interval", "cron", "phrase"]

_CALENDAR = re.compile(r"(?:rrule|exrule|rdate|exdate|dtstart|freq|begin)\s*[:=;]", re.IGNORECASE)
_CRON_FIRST = re.compile(r"[0-9*?][0-9*?,/\-]*")
_CRON_FIELD = re.compile(r"[0-9A-Za-z*?,/#\-]+")


@dataclass(frozen=True, slots=True)
class Schedule:
    """`text` has single spaces; `written` is for files; `set` holds the slots; `meaning` is English."""

    text: str
    written: str
    kind: Kind
    timezone: str
    set: RecurrenceSet
    meaning: str
    warnings: tuple[str, ...] = ()


def parse_schedule(
    text: str, timezone: str, *, anchor: datetime, gap: Gap | None = None, repeat: Repeat | None = None
) -> Schedule:
    """Read any schedule text. `anchor` (aware) is what relative words and intervals count from. Raises `Invalid`.

    `gap` and `repeat` say what happens to wall times that the clock skips or shows twice; None is the default of the
    schedule, see `default_policy`.
    """
    schedule = _read(text, timezone, anchor)
    if not schedule.set.rules:
        return schedule
    usual = default_policy(schedule.set.rules)
    return replace(schedule, set=replace(schedule.set, gap=gap or usual[0], repeat=repeat or usual[1]))


def _read(text: str, timezone: str, anchor: datetime) -> Schedule:
    if anchor.tzinfo is None:
        raise ValueError("the anchor needs an offset: a naive one would be read in the machine's zone")
    zone(timezone)  # an unknown zone is said first
    clean = _clean(text)
    if _CALENDAR.match(clean):
        raise Invalid("calendar rules (RRULE) are not supported yet", "write a cron line or a phrase", value=clean)
    reading = read_instant(clean, timezone)
    if reading is not None:
        return _once(clean, timezone, reading.instant, reading.warnings)
    if _is_cron(clean):
        cron = parse_cron(clean)
        return Schedule(
            clean, clean, "cron", timezone, RecurrenceSet(timezone, cron.rules), cron_words(cron), cron.warnings
        )
    phrase = parse_phrase(clean, timezone, anchor)
    if phrase.once is not None:
        return _once(clean, timezone, phrase.once, phrase.warnings)
    if phrase.grid is not None:
        return _interval(clean, timezone, phrase.grid, phrase.warnings)
    meaning = rules_words(phrase.rules)
    return Schedule(clean, clean, "phrase", timezone, RecurrenceSet(timezone, phrase.rules), meaning, phrase.warnings)


def _clean(text: str) -> str:
    if len(text) > SCHEDULE_CHARS_MAX:
        raise Invalid(f"a schedule of {len(text)} characters is too long", f"the most is {SCHEDULE_CHARS_MAX}")
    unseen = next((char for char in text if char != "\t" and not char.isprintable()), None)
    if unseen is not None:
        raise Invalid(f"a schedule must not contain the character U+{ord(unseen):04X}", "write it on one plain line")
    clean = " ".join(text.split())
    if not clean:
        raise Invalid("an empty schedule", "write, for example, `every day at 9am`, `in 30m` or `30 18 * * 1-5`")
    return clean


def _is_cron(text: str) -> bool:
    """Whether it is meant as a cron line, so that its refusal speaks of fields."""
    if text.startswith("@"):
        return True
    fields = text.split(" ")
    if len(fields) < 2 or not all(_CRON_FIELD.fullmatch(field) for field in fields[1:]):
        return False
    starred = any("*" in field or "?" in field for field in fields)
    numbers = sum(bool(_CRON_FIRST.fullmatch(field)) for field in fields)
    return starred or (len(fields) in (5, 6) and numbers >= 2 and bool(_CRON_FIRST.fullmatch(fields[0])))


def _once(text: str, timezone: str, instant: datetime, warnings: tuple[str, ...]) -> Schedule:
    slots = RecurrenceSet(timezone, dates=(instant,))
    written = rfc3339(instant, offset_s(instant, timezone))
    return Schedule(text, written, "once", timezone, slots, once_words(instant, timezone), warnings)


def _interval(text: str, timezone: str, grid: Grid, warnings: tuple[str, ...]) -> Schedule:
    start = rfc3339(grid.anchor, offset_s(grid.anchor, timezone))
    written = f"every {period_words(grid.period_s)} from {start}"
    slots = RecurrenceSet(timezone, grids=(grid,))
    return Schedule(text, written, "interval", timezone, slots, grid_words(grid, timezone), warnings)
