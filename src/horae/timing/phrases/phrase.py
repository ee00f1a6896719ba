"""A small fixed English for schedules. Deterministic: the whole text fits the grammar, or it is refused.

    once      in 2 hours · today at 18:00 · tomorrow at 9am · on 2026-12-24 at 18:00
    interval  every 90 minutes · every 90 minutes from 08:00 · every 2 hours starting 2026-11-30 09:00
    days      weekdays at 9am · every 2 weeks on monday at 9am · every 15 minutes from 9:00 to 17:00 on weekdays

The grammar is data (`forms`, in the parts of `grammar`) and is published as railroad diagrams. An interval is elapsed
time from its beginning; days and times are wall times. What is close to a form is never taken for it: the refusal says
what was expected where, and lists the nearest forms. A duration alone is refused since products read `30m` both as
"once, in 30 minutes" and as "every 30 minutes". A day without a time is asked for the time.
"""

from __future__ import annotations

import difflib
import re
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from horae.errors import Invalid
from horae.timing.clockchange import Gap, Repeat
from horae.timing.durations import parse_duration
from horae.timing.phrases.forms import NEAR, SCHEDULE, Clause, Once
from horae.timing.phrases.grammar import expected, match
from horae.timing.phrases.sets import Meaning, meaning
from horae.timing.phrases.spellings import respelled, twofold
from horae.timing.phrases.unclear import Unclear
from horae.timing.recurrence import RecurrenceSet
from horae.timing.zones import zone

FORMS = (
    "in 30m",
    "in 2 hours",
    "today at 18:00",
    "tomorrow at 9am",
    "on 2026-12-24 at 18:00",
    "every 30m",
    "every hour",
    "every 90 minutes",
    "every 90 minutes from 08:00",
    "every 2 hours until 2027-01-31",
    "every 15 minutes between 9:00 and 17:00 on weekdays",
    "every 15 minutes from 9:00 to 17:00 on weekdays",
    "every 15 minutes by the clock",
    "every 2 hours by the clock",
    "hourly",
    "every hour at minutes 5 and 35",
    "every day at 9am",
    "at 9am on weekdays",
    "daily at 18:30",
    "weekdays at 9am",
    "weekends at 10:00",
    "every monday at 9am",
    "every monday and thursday at 18:30",
    "every mon, wed, fri at 7:15am",
    "mondays at noon",
    "mondays at 9am and fridays at 17:00",
    "mondays at 9am in january and july",
    "first of the month at 07:00",
    "day 15 of the month at 8am",
    "1st and 15th of the month at 8am",
    "every month on the 15th at 8am",
    "last day of the month at 23:00",
    "last weekday of the month at 17:00",
    "first monday of the month at 9am",
    "last friday of the month at 17:00",
    "every year on 24 december at 12:00",
    "every 3 days at 9am",
    "every 2 weeks on monday and friday at 9am",
    "every other friday at 17:00",
    "every 2 months on the 1st at 9am",
    "every 3 months on the last friday at 17:00",
    "every 2 years on 24 december at noon",
    "mondays at 9am starting 2026-12-07",
    "mondays at 9am until 2027-01-31",
    "mondays at 9am, 10 times",
    "weekdays at 9am except 2026-12-25 and 2027-01-01",
    "mondays at 9am until 2027-01-01, then mondays at 11am",
)
"""An example of each form; the tests read all of them."""

CHARS_MAX = 300  # the longest that makes sense; matching cost grows with the square of the length
_EXPECTED_MAX = 6

Kind = Literal["once", "interval", "phrase"]


class Phrase(NamedTuple):
    """The slots; the text in which what is counted from the instant of writing is fixed; what there is to warn about."""

    set: RecurrenceSet
    written: str
    kind: Kind
    warnings: tuple[str, ...] = ()


def parse_phrase(
    text: str, timezone: str, anchor: datetime, *, gap: Gap | None = None, repeat: Repeat | None = None
) -> Phrase:
    """Read a phrase. Relative words count from `anchor` (aware). Raises `Invalid`.

    `gap` and `repeat` say what happens to wall times that the clock skips or shows twice; None is the default.
    """
    source = " ".join(text.split())
    phrase = source.lower()
    if len(phrase) > CHARS_MAX:
        raise Invalid(f"a phrase of {len(phrase)} characters is too long", f"the most is {CHARS_MAX}")
    said = meaning(_said(phrase), timezone, anchor, gap, repeat)
    return Phrase(said.set, _written(source, said), _kind(said.set), said.warnings)


@lru_cache(maxsize=2048)  # many jobs share a phrase, and matching is most of the work
def _said(phrase: str) -> list[Once | list[Clause]]:
    """What is said, in no zone and at no time. Raises `Invalid`."""
    try:
        return _read(phrase)
    except Unclear as refusal:
        raise refusal.resolved(phrase, _read) from None


def _read(phrase: str) -> list[Once | list[Clause]]:
    """What is said. Raises `Invalid`, or `Unclear`."""
    found = match(SCHEDULE, phrase) if phrase.isascii() else None
    if found is None:
        raise _unreadable(phrase)
    return SCHEDULE.value(*found)


def _kind(slots: RecurrenceSet) -> Kind:
    if not slots.rules and not slots.grids and len(slots.dates) == 1:
        return "once"
    return "interval" if not (slots.rules or slots.dates) and len(slots.grids) == 1 else "phrase"


def _written(source: str, said: Meaning) -> str:
    if _kind(said.set) == "once":
        return said.set.dates[0].astimezone(zone(said.set.zone)).isoformat()
    for edit in reversed(said.edits):
        source = source[: edit.start] + edit.text + source[edit.end :]
    return source


def _unreadable(phrase: str) -> Invalid:
    """Why it is refused: what is missing or has two readings; what it may have been meant to say; what was expected."""
    near = match(NEAR, phrase) if phrase.isascii() else None
    if near is not None:
        try:
            NEAR.value(*near)
        except Invalid as refusal:
            return refusal
    if re.match(r"in [0-9]", phrase):
        try:
            parse_duration(phrase.removeprefix("in "))
        except Invalid as refusal:
            return refusal
    if (words := twofold(phrase)) is not None:
        return words
    message = f"cannot read the schedule {_short(phrase)!r}"
    for text in respelled(phrase):
        if text != phrase and _is_read(text):
            return Invalid(message, f"write `{text}`, if that is meant", value=phrase, write=[text])
    forms = difflib.get_close_matches(phrase[:120], FORMS, n=3, cutoff=0.3) or list(FORMS[:3])
    hint = f"the nearest forms: {', '.join(f'`{form}`' for form in forms)}"
    if not phrase.isascii():
        hint = f"phrases are English; {hint}"
    read, token, could = expected(SCHEDULE, phrase)
    if read and token:
        message += f": {_short(token)!r} is not expected after `{_short(read, -40)}`"
    elif read:
        message += f": something is missing after `{_short(read, -40)}`"
    if read and could:
        more = ", …" if len(could) > _EXPECTED_MAX else ""
        hint = f"expected there: {', '.join(could[:_EXPECTED_MAX])}{more}; {hint}"
    return Invalid(message, hint, value=phrase, nearest=forms, expected=could)


def _is_read(phrase: str) -> bool:
    found = match(SCHEDULE, phrase) if phrase.isascii() else None
    try:
        return found is not None and bool(SCHEDULE.value(*found))
    except (Invalid, Unclear):
        return False


def _short(text: str, most: int = 60) -> str:
    if len(text) <= abs(most):
        return text
    return f"{text[:most]}…" if most > 0 else f"…{text[most:]}"
