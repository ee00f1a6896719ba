"""The value of an RRULE, to a rule or a grid and back.

Reading fills in what the RFC takes from DTSTART (the weekday of a weekly rule, the time of day), so that a `Rule` is
explicit; writing leaves out again what DTSTART says, since that is what calendar editors show. Every part is taken
once; what is unknown, sub-minute, or counts in another calendar is refused by name.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from horae.errors import Invalid
from horae.limits import HORIZON_YEARS, RULE_PARTS_MAX
from horae.timing.ical.dates import TextDate, refused, short, stamp, until
from horae.timing.recurrence import Grid
from horae.timing.rules import EVERY_WEEKDAY, FREQUENCIES, Day, Rule
from horae.timing.walls import layer_of

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")
_BYDAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_LISTS = {
    "BYMONTH": "bymonth", "BYMONTHDAY": "bymonthday", "BYYEARDAY": "byyearday", "BYWEEKNO": "byweekno",
    "BYDAY": "byday", "BYHOUR": "byhour", "BYMINUTE": "byminute", "BYSECOND": "bysecond", "BYSETPOS": "bysetpos",
}  # fmt: skip
_PARTS = ("FREQ", "INTERVAL", "COUNT", "UNTIL", *_LISTS, "WKST")
_STEP_S = {"MINUTELY": 60, "HOURLY": 3600, "DAILY": 86400, "WEEKLY": 604800}


def parts_of(text: str) -> dict[str, str]:
    """The parts of an RRULE by name, each once and none of them strange."""
    if not text:
        raise refused("RRULE", "has nothing behind its colon", "write its parts without spaces, as RRULE:FREQ=DAILY")
    parts: dict[str, str] = {}
    for item in text.removesuffix(";").split(";"):
        name, equals, value = item.partition("=")
        if name not in _PARTS:
            hint = f"the parts are {', '.join(_PARTS)}"
            if name in {"RSCALE", "SKIP"}:
                raise refused(name, "counts in another calendar", "write the rule in the Gregorian one")
            raise refused(short(name) or "an empty part", "is no part of an RRULE", hint)
        if name in parts:
            raise refused(name, "comes twice in one RRULE", "join the values with commas")
        if not equals or not value:
            raise refused(name, "has no value", f"write, for example, {name}=…")
        parts[name] = value
    if "FREQ" not in parts:
        raise refused("RRULE", "has no FREQ", "begin it with, for example, FREQ=DAILY")
    if parts["FREQ"] == "SECONDLY":
        raise refused(
            "FREQ=SECONDLY", "runs more than once a minute", "for that write, for example, `every 30 seconds`"
        )
    if parts["FREQ"] not in FREQUENCIES:
        raise refused(f"FREQ={short(parts['FREQ'])}", "is unknown", f"it is one of {', '.join(FREQUENCIES)}")
    if "COUNT" in parts and "UNTIL" in parts:
        raise refused("COUNT", "and UNTIL exclude each other", "leave one of the two out")
    if sum(value.count(",") + 1 for value in parts.values()) > RULE_PARTS_MAX:
        raise refused("RRULE", f"has more than {RULE_PARTS_MAX} values", "leave some out")
    return parts


def grid_of(parts: dict[str, str], start: TextDate | None) -> Grid | None:
    """A plain step from an instant in UTC is elapsed time."""
    if start is None or not start.utc or start.day or parts["FREQ"] not in _STEP_S:
        return None
    if set(parts) - {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST"}:
        return None
    anchor = start.wall.replace(tzinfo=UTC)
    period = _STEP_S[parts["FREQ"]] * _positive("INTERVAL", parts.get("INTERVAL", "1"))
    if period > HORIZON_YEARS * 365 * 86400:
        raise refused(f"INTERVAL={parts['INTERVAL']}", f"is longer than {HORIZON_YEARS} years", "write a shorter one")
    end = until(parts["UNTIL"], "UTC") if "UNTIL" in parts else None
    if "COUNT" in parts:
        try:
            end = anchor + timedelta(seconds=(_positive("COUNT", parts["COUNT"]) - 1) * period)
        except OverflowError:
            raise refused(f"COUNT={parts['COUNT']}", "leads out of the calendar", "leave it out") from None
    return Grid(period, anchor, end)


def rule_of(parts: dict[str, str], start: datetime, place: str, *, bare: bool) -> Rule:
    """The rule that starts at a wall time of the zone `place`; `bare` when no DTSTART said so."""
    freq = parts["FREQ"]
    given: dict[str, Any] = {
        name: _weekdays(parts[part]) if part == "BYDAY" else _numbers(part, parts[part])
        for part, name in _LISTS.items()
        if part in parts
    }
    seconds = given.pop("bysecond", (0 if bare else start.second,))
    if len(set(seconds)) > 1:
        raise refused("BYSECOND", "with several values runs more than once a minute", "keep one of them")
    if "bysetpos" in given and len(given) == 1:
        raise refused("BYSETPOS", "has nothing to pick from", "add another BY part")
    rule: dict[str, Any] = {**_derived(freq, start, given), **given, "second": seconds[0], "start": start}
    if "INTERVAL" in parts:
        rule["interval"] = _positive("INTERVAL", parts["INTERVAL"])
    if "COUNT" in parts:
        rule["count"] = _positive("COUNT", parts["COUNT"])
    if "UNTIL" in parts:
        rule["until"] = until(parts["UNTIL"], place)
    if "WKST" in parts:
        if parts["WKST"] not in WEEKDAYS:
            raise refused(f"WKST={short(parts['WKST'])}", "is no weekday", f"it is one of {', '.join(WEEKDAYS)}")
        rule["wkst"] = WEEKDAYS.index(parts["WKST"])
    made = Rule(freq, **rule)  # pyright: ignore[reportArgumentType]  # `parts_of` looked
    layer_of(made)  # a COUNT without end is refused here
    return made


def _derived(freq: str, start: datetime, given: dict[str, Any]) -> dict[str, Any]:
    """What the RFC takes from DTSTART: the parts finer than FREQ that the rule does not name."""
    derived: dict[str, Any] = {"byhour": (), "byminute": ()}
    if freq != "MINUTELY":
        derived["byminute"] = (start.minute,)
        if freq != "HOURLY":
            derived["byhour"] = (start.hour,)
    weekday = ((0, start.weekday()),)
    days_given = bool(given.keys() & {"byday", "bymonthday", "byyearday"})
    if freq == "WEEKLY" or (freq == "YEARLY" and "byweekno" in given and not days_given):
        derived["byday"] = weekday
    elif freq == "MONTHLY" and not days_given:
        derived["bymonthday"] = (start.day,)
    elif freq == "YEARLY" and not days_given:
        derived["bymonthday"] = (start.day,)
        if "bymonth" not in given:
            derived["bymonth"] = (start.month,)
    return derived


def _numbers(name: str, text: str) -> tuple[int, ...]:
    values: list[int] = []
    for part in text.split(","):
        if not _NUMBER.fullmatch(part):
            raise refused(f"{name}={short(text)}", f"holds {short(part)!r}, which is no number", None)
        values.append(int(part))
    return tuple(values)


def _positive(name: str, text: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) < 1:
        raise refused(f"{name}={short(text)}", "is not a whole number from 1 on", "at most nine digits")
    return int(text)


def _weekdays(text: str) -> tuple[Day, ...]:
    days: list[Day] = []
    for part in text.split(","):
        match = _BYDAY.fullmatch(part)
        if match is None or (match[1] and int(match[1]) == 0):
            raise refused(f"BYDAY={short(text)}", f"holds {short(part)!r}", "write, for example, MO, 2TU or -1FR")
        days.append((int(match[1] or 0), WEEKDAYS.index(match[2])))
    return tuple(days)


def written_rule(rule: Rule, start: datetime | None) -> str:
    """The value of an RRULE whose DTSTART is `start`."""
    parts = [f"FREQ={rule.freq}"]
    if rule.interval != 1:
        parts.append(f"INTERVAL={rule.interval}")
    if rule.count is not None:
        parts.append(f"COUNT={rule.count}")
    if rule.until is not None:
        parts.append(f"UNTIL={stamp(rule.until)}")
    for part, name in _LISTS.items():
        if part == "BYSECOND":
            if start is None and rule.second:
                parts.append(f"BYSECOND={rule.second}")
            continue
        values = getattr(rule, name)
        if part == "BYDAY" and rule.byweekno and not (values or rule.bymonthday or rule.byyearday):
            values = EVERY_WEEKDAY  # without them a reader takes the weekday of DTSTART
        if start is not None and part in _said_by(rule, start):
            continue  # what calendars expect
        if part == "BYDAY":
            values = tuple(f"{ordinal or ''}{WEEKDAYS[weekday]}" for ordinal, weekday in values)
        if values:
            parts.append(f"{part}={','.join(map(str, values))}")
    if rule.wkst:
        parts.append(f"WKST={WEEKDAYS[rule.wkst]}")
    return ";".join(parts)


def _said_by(rule: Rule, start: datetime) -> tuple[str, ...]:
    """The parts that DTSTART says already."""
    if rule.bysetpos:  # positions pick from the times: they must be there
        return ()
    if rule.freq == "HOURLY":
        return ("BYMINUTE",) if rule.byminute == (start.minute,) else ()
    one_time = rule.freq != "MINUTELY" and (rule.byhour, rule.byminute) == ((start.hour,), (start.minute,))
    return ("BYHOUR", "BYMINUTE") if one_time else ()


def written_grid(grid: Grid) -> str:
    """The value of an RRULE whose DTSTART is the anchor, in UTC. Raises `Invalid` for parts of a minute."""
    step = next(
        (name for name in ("WEEKLY", "DAILY", "HOURLY", "MINUTELY") if grid.period_s % _STEP_S[name] == 0), None
    )
    if step is None:
        says = f"an interval of {grid.period_s} s is finer than the minutes of RFC 5545 rules"
        raise Invalid(says, "use whole minutes", field="FREQ", value=grid.period_s)
    amount = grid.period_s // _STEP_S[step]
    interval = f";INTERVAL={amount}" if amount != 1 else ""
    return f"FREQ={step}{interval}" + (f";UNTIL={stamp(grid.until)}" if grid.until else "")
