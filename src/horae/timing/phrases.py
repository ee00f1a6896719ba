"""A small fixed English for schedules. Deterministic: the whole text fits one form, or it is refused.

    once      in 2 hours · today at 18:00 · tomorrow at 9am · on 2026-12-24 at 18:00
    interval  every 90 minutes · every hour · every 90 minutes from 08:00 · ... from 2026-11-30 09:00
    days      <days> at <time>[, <time> and <time>] · hourly · every 15 minutes between 9:00 and 17:00 on weekdays

An interval is elapsed time from its anchor, by default the instant of writing; days and times are wall times. What is
close to a form is never taken for it: the refusal lists the nearest forms. A duration alone is refused since products
read `30m` both as "once, in 30 minutes" and as "every 30 minutes". A day without a time is asked for the time.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from horae.errors import Invalid
from horae.limits import HORIZON_YEARS, INTERVAL_MIN_S
from horae.timing.dates import Reading, on_wall, read_instant
from horae.timing.durations import UNITS, parse_duration, period_words
from horae.timing.phrasedays import JOINT, TIME, Days, read_days, read_time, read_times
from horae.timing.recurrence import Grid
from horae.timing.rules import Rule, at_times
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
    "every 15 minutes between 9:00 and 17:00 on weekdays",
    "hourly",
    "every day at 9am",
    "daily at 18:30",
    "weekdays at 9am",
    "weekends at 10:00",
    "every monday at 9am",
    "every monday and thursday at 18:30",
    "every mon, wed, fri at 7:15am",
    "mondays at noon",
    "first of the month at 07:00",
    "1st and 15th of the month at 8am",
    "last day of the month at 23:00",
    "first monday of the month at 9am",
    "last friday of the month at 17:00",
    "every year on 24 december at 12:00",
)
"""An example of each form; the tests read all of them."""

_TIMES = re.compile(rf"(.+?) (?:at )?({TIME}(?:{JOINT}{TIME})*)")
_BARE_TIMES = re.compile(rf"(?:at )?{TIME}(?:{JOINT}{TIME})*")
_BARE_HOUR = re.compile(r"(.+) at ([0-9]{1,2})")
_UNIT = re.compile(r"([0-9][0-9.]* ?)?([a-z]+)(?![a-z])")
_BETWEEN = re.compile(rf"every (.+?) between ({TIME}) and ({TIME})(?: (.+))?")
_FROM = re.compile(r"every (.+?) from (.+)")
_CHARS_MAX = 300  # the longest that makes sense; matching cost grows with the square of the length

_DATED = re.compile(r"on ([0-9]{4}-[0-9]{2}-[0-9]{2})")


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a phrase says: exactly one of the three."""

    once: datetime | None = None
    grid: Grid | None = None
    rules: tuple[Rule, ...] = ()
    warnings: tuple[str, ...] = ()


def parse_phrase(text: str, timezone: str, anchor: datetime) -> Phrase:
    """Read a phrase. Relative words count from `anchor` (aware). Raises `Invalid`."""
    phrase = " ".join(text.split()).lower()
    if len(phrase) > _CHARS_MAX:
        raise Invalid(f"a phrase of {len(phrase)} characters is too long", f"the most is {_CHARS_MAX}")
    if phrase == "hourly":
        return Phrase(rules=at_times(tuple(range(0, 1440, 60))))
    found = (
        _delayed(phrase, anchor)
        or _between(phrase)
        or _interval(phrase, timezone, anchor)
        or _timed(phrase, timezone, anchor)
    )
    if found is None:
        raise _unreadable(phrase)
    return found


def _delayed(phrase: str, anchor: datetime) -> Phrase | None:
    if not phrase.startswith("in "):
        return None
    seconds = _bounded(parse_duration(phrase.removeprefix("in ")))
    due = anchor + timedelta(seconds=seconds)
    if due.microsecond:  # upwards: never earlier than asked
        due = due.replace(microsecond=0) + timedelta(seconds=1)
    return Phrase(once=due)


def _interval(phrase: str, timezone: str, anchor: datetime) -> Phrase | None:
    given = _FROM.fullmatch(phrase)
    period_text = given[1] if given else phrase.removeprefix("every ")
    if (not given and period_text == phrase) or not _is_duration(period_text):
        return None
    if not given and period_text in ("day", "week"):
        return None  # "every day" wants a time of day
    period = parse_duration(period_text if period_text[0].isdigit() else f"1 {period_text}")
    if period < INTERVAL_MIN_S:
        raise Invalid(f"an interval of {period_text} is too short", f"the least is {INTERVAL_MIN_S} s", value=phrase)
    start = _start(given[2], timezone, anchor) if given else Reading(anchor.replace(microsecond=0))
    warnings = start.warnings
    if period % 86400 == 0 and _changes_clocks(timezone, anchor):
        elapsed = (
            f"every {period_words(period)} is elapsed time: in {timezone} its time of day moves with each clock change"
        )
        warnings += (f"{elapsed}; for a fixed time of day name it, as in `every day at 9am`",)
    return Phrase(grid=Grid(_bounded(period), start.instant), warnings=warnings)


def _start(text: str, timezone: str, anchor: datetime) -> Reading:
    """Where a grid begins: a time of the anchor's local date, or a date-time."""
    reading = read_instant(text, timezone)
    if reading is not None:
        return reading
    today = anchor.astimezone(zone(timezone)).date()
    return on_wall(_at(today.isoformat(), read_time(text)), timezone)


def _between(phrase: str) -> Phrase | None:
    given = _BETWEEN.fullmatch(phrase)
    if given is None or not _is_duration(given[1]):
        return None
    days = read_days(given[4]) if given[4] else Days()
    if days is None:
        raise _unreadable(phrase)
    period = parse_duration(given[1] if given[1][0].isdigit() else f"1 {given[1]}")
    first, last = read_time(given[2]), read_time(given[3])
    if last <= first:
        raise Invalid(f"{given[3]} is not after {given[2]} on the same day", "write two schedules, one for each day")
    minutes, odd = divmod(period, 60)
    if odd or not minutes or (60 % minutes and minutes % 60):
        message = f"every {period_words(period)} does not come out at the same minutes of each hour"
        raise Invalid(message, f"write `every {period_words(period)} from {given[2]}`, which runs day and night")
    return Phrase(rules=_rules(days, tuple(range(first, last + 1, minutes))), warnings=_warnings(days))


def _timed(phrase: str, timezone: str, anchor: datetime) -> Phrase | None:
    given = _TIMES.fullmatch(phrase)
    if given is None:
        return None
    days_text, times = given[1], read_times(given[2])
    first, *more = times
    dated = _DATED.fullmatch(days_text)
    if dated or days_text in ("today", "tomorrow"):
        if more:
            raise Invalid(f"{phrase!r} names several instants", "write one job for each", value=phrase)
        today = anchor.astimezone(zone(timezone)).date()
        day = dated[1] if dated else (today + timedelta(days=days_text == "tomorrow")).isoformat()
        reading = on_wall(_at(day, first), timezone)
        return Phrase(once=reading.instant, warnings=reading.warnings)
    days = read_days(days_text)
    return Phrase(rules=_rules(days, times), warnings=_warnings(days)) if days else None


def _rules(days: Days, times: tuple[int, ...]) -> tuple[Rule, ...]:
    return at_times(times, bymonth=days.bymonth, bymonthday=days.bymonthday, byday=days.byday)


def _warnings(days: Days) -> tuple[str, ...]:
    if days.bymonth == (2,) and days.bymonthday == (29,):
        return ("29 February comes in leap years only",)
    missing = min(days.bymonthday, default=0)
    if missing > 28 and not days.bymonth:
        return (f"months without a day {missing} have no run; write `last day of the month` for the last of each",)
    fifth = [ordinal for ordinal, _ in days.byday if ordinal == 5]
    return ("most months have no fifth one; write `last` for the last of each",) if fifth else ()


def _is_duration(text: str) -> bool:
    """Whether it begins with a count of a unit, or is a unit ("hour")."""
    match = _UNIT.match(text)
    if re.fullmatch(r"[0-9.]+", text):
        return True  # parse_duration says what is missing
    if match is None or match[2] not in UNITS:
        return False
    return match[1] is not None or (match.end() == len(text) and len(text) > 1 and not text.endswith("s"))


def _bounded(seconds: int) -> int:
    if seconds > HORIZON_YEARS * 365 * 86400:
        raise Invalid(f"{period_words(seconds)} is longer than {HORIZON_YEARS} years", "write a shorter one")
    return seconds


def _at(day: str, minutes: int) -> datetime:
    try:
        return datetime.fromisoformat(f"{day}T{minutes // 60:02d}:{minutes % 60:02d}")
    except ValueError as error:
        raise Invalid(f"{day!r} is no date of the calendar: {error}", "write it as 2026-12-24", value=day) from None


def _changes_clocks(timezone: str, anchor: datetime) -> bool:
    place = zone(timezone)
    offsets = {(anchor + timedelta(days=days)).astimezone(place).utcoffset() for days in (0, 91, 182, 273)}
    return len(offsets) > 1


def _unreadable(phrase: str) -> Invalid:
    """Why it is refused: what is missing or has two readings, else the nearest forms."""
    shown = phrase if len(phrase) <= 60 else f"{phrase[:60]}…"
    if _is_duration(phrase) and phrase[0].isdigit():
        period = phrase if not re.fullmatch(r"[0-9.]+", phrase) else f"{phrase}m"
        message = f"products disagree on {shown!r}: once after that time, or again and again"
        return Invalid(message, f"write `in {period}` or `every {period}`", value=phrase)
    bare_hour = _BARE_HOUR.fullmatch(phrase)
    if bare_hour:
        number = int(bare_hour[2])
        spellings = f"`{bare_hour[1]} at {number}am`, `… {number}pm` or `… {number:02d}:00`"
        return Invalid(f"{bare_hour[2]!r} could be morning or evening", f"write {spellings}", value=phrase)
    if _BARE_TIMES.fullmatch(phrase):
        time = phrase.removeprefix("at ")
        forms = f"`every day at {time}`, `today at {time}` or `tomorrow at {time}`"
        return Invalid(f"{shown!r} names a time but no day", f"write {forms}", value=phrase)
    if phrase in ("today", "tomorrow") or _DATED.fullmatch(phrase) or read_days(phrase) is not None:
        return Invalid(f"{shown!r} names no time of day", f"write, for example, `{shown} at 9am`", value=phrase)
    if phrase in ("every week", "every month", "every year", "weekly", "monthly", "yearly"):
        forms = "`every monday at 9am`, `first of the month at 07:00` or `every year on 24 december at 12:00`"
        return Invalid(f"{shown!r} names no day and no time", f"write, for example, {forms}", value=phrase)
    near = difflib.get_close_matches(phrase[:120], FORMS, n=3, cutoff=0.3) or list(FORMS[:3])
    forms = ", ".join(f"`{form}`" for form in near)
    return Invalid(f"cannot read the schedule {shown!r}", f"the nearest forms: {forms}", value=phrase, nearest=near)
