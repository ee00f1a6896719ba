"""A schedule as a person writes it, read once: the text, its set, its meaning in words, its warnings.

Order of reading: RFC 5545 text, `on demand`, a date-time, a cron line, a phrase. No text fits two of them. What fits none
and is a text of another product is refused by its name (`foreign`). What counts from "now"
(`in 30m`, `tomorrow at 9am`, `every 90 minutes`) counts from the `anchor` argument, and `written` holds the text in
which that is fixed: a tool that makes a job stores `written`, so that the job means the same whenever its file is read.

Invariant: parsing `written` with any anchor gives an equal set. Past one-shots are not refused here, since only the
caller knows whether the job is new.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Literal

from horae.errors import Invalid
from horae.limits import SCHEDULE_CHARS_MAX
from horae.timing.cron.line import parse_cron
from horae.timing.dates import read_instant
from horae.timing.foreign import known
from horae.timing.ical.text import BEGINS, read_rfc5545
from horae.timing.phrases.phrase import parse_phrase
from horae.timing.policy import default_policy
from horae.timing.recurrence import Gap, RecurrenceSet, Repeat
from horae.timing.words.sets import describe
from horae.timing.zones import zone

Kind = Literal["once", "interval", "cron", "phrase", "rrule", "demand"]

ON_DEMAND = "on demand"  # no slot at all: a person or another job starts it

_CRON_LINE = re.compile(r"[0-9*][0-9*,/\-]* [0-9*][0-9*,/\-]*(?: [0-9A-Za-z*?,/#\-]+){3}")
_CRON_FIRST = re.compile(r"[0-9*?][0-9*?,/\-]*")
_CRON_FIELD = re.compile(r"[0-9A-Za-z*?,/#.\-]+")


@dataclass(frozen=True)
class Schedule:
    """`text` has single spaces; `written` is for files; `set` holds the slots."""

    text: str
    written: str
    kind: Kind
    timezone: str
    set: RecurrenceSet
    warnings: tuple[str, ...] = ()

    @cached_property
    def meaning(self) -> str:
        """In English. Only looked for when asked: it takes longer than the reading."""
        if self.kind == "demand":
            return "on demand: when a person runs it, or after the job that it names"
        return describe(self.set, self.timezone)


def parse_schedule(
    text: str, timezone: str, *, anchor: datetime, gap: Gap | None = None, repeat: Repeat | None = None
) -> Schedule:
    """Read any schedule text. `anchor` (aware) is what relative words and intervals count from. Raises `Invalid`.

    `gap` and `repeat` say what happens to wall times that the clock skips or shows twice; None is the default of the
    schedule, see `default_policy`.
    """
    if anchor.tzinfo is None:
        raise ValueError("the anchor needs an offset: a naive one would be read in the machine's zone")
    zone(timezone)  # an unknown zone is said first
    if len(text) <= SCHEDULE_CHARS_MAX and _CRON_LINE.fullmatch(text):  # most are, and this is the quickest look
        return _cron(text, timezone, gap, repeat)
    if BEGINS.match(text.lstrip()):
        return _calendar(text, timezone, anchor, gap, repeat)
    clean = _clean(text)
    if clean.lower() == ON_DEMAND:
        return Schedule(clean, ON_DEMAND, "demand", timezone, RecurrenceSet(timezone))
    try:
        return _in_words(clean, timezone, anchor, gap, repeat)
    except Invalid as refusal:
        raise known(clean, partial(_is_read, timezone=timezone, anchor=anchor)) or refusal from None


def _in_words(text: str, timezone: str, anchor: datetime, gap: Gap | None, repeat: Repeat | None) -> Schedule:
    reading = read_instant(text, timezone)
    if reading is not None:
        return _once(text, timezone, reading.instant, reading.warnings)
    if _is_cron(text):
        return _cron(text, timezone, gap, repeat)
    phrase = parse_phrase(text, timezone, anchor, gap=gap, repeat=repeat)
    return Schedule(text, phrase.written, phrase.kind, timezone, phrase.set, phrase.warnings)


def _is_read(text: str, *, timezone: str, anchor: datetime) -> bool:
    try:
        _in_words(_clean(text), timezone, anchor, None, None)
    except Invalid:
        return False
    return True


def _cron(text: str, timezone: str, gap: Gap | None, repeat: Repeat | None) -> Schedule:
    cron = parse_cron(text)
    usual = default_policy(cron.rules)
    slots = RecurrenceSet(timezone, cron.rules, gap=gap or usual[0], repeat=repeat or usual[1])
    return Schedule(text, text, "cron", timezone, slots, cron.warnings)


def _calendar(text: str, timezone: str, anchor: datetime, gap: Gap | None, repeat: Repeat | None) -> Schedule:
    clean = _clean("\n".join(text.splitlines()), lines=True)
    found = read_rfc5545(clean, timezone, anchor=anchor, gap=gap, repeat=repeat)
    if found.set.exceptions:
        message = "RECURRENCE-ID skips or moves one slot: that is decided about a job, and not a part of its schedule"
        raise Invalid(message, "use `horae skip` and `horae move`", field="RECURRENCE-ID")
    return Schedule(clean, found.written, "rrule", timezone, found.set, found.warnings)


def _clean(text: str, *, lines: bool = False) -> str:
    if len(text) > SCHEDULE_CHARS_MAX:
        raise Invalid(f"a schedule of {len(text)} characters is too long", f"the most is {SCHEDULE_CHARS_MAX}")
    unseen = (
        None
        if text.isprintable()
        else next((char for char in text if not char.isprintable() and char not in ("\t\n" if lines else "\t")), None)
    )
    if unseen is not None:
        raise Invalid(f"a schedule must not contain the character U+{ord(unseen):04X}", "write it on one plain line")
    clean = text.strip() if lines else " ".join(text.split())
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
    return starred or (len(fields) in (5, 6) and all(map(_CRON_FIRST.fullmatch, fields[:2])))


def _once(text: str, timezone: str, instant: datetime, warnings: tuple[str, ...]) -> Schedule:
    slots = RecurrenceSet(timezone, dates=(instant,))
    written = instant.astimezone(zone(timezone)).isoformat()
    return Schedule(text, written, "once", timezone, slots, warnings)
