"""Cron lines: five fields or one @word, to recurrence rules.

The dialect is Debian's (see `fields` for a field, `days` for the two day fields). A line that reads as one
thing and means another is refused if there is another spelling for it (six fields, `5/15`, `22-2`), else accepted with
a warning that says the true meaning (`*/90`, `*/7`, `0 9 1 * 1`). What can never fire is refused: a job that waits for
31 February looks healthy for ever.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from horae.errors import Invalid
from horae.timing.cron.days import day_rules, either
from horae.timing.cron.fields import DAY, HOUR, MINUTE, MONTH, WEEKDAY, FieldSet, parse_field
from horae.timing.days import plainly_fires
from horae.timing.rules import Rule
from horae.timing.walls import layer_of

WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_LONGEST_MONTH = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Cron(NamedTuple):
    """What a line says."""

    rules: tuple[Rule, ...]
    warnings: tuple[str, ...]


@lru_cache(maxsize=1024)
def parse_cron(line: str) -> Cron:
    """Read "30 18 * * 1-5" or "@daily". Raises `Invalid`; its `details` hold the field to blame and its value."""
    text = " ".join(line.split())
    if text.startswith("@"):
        return _parse(text, _word(text).split())
    fields = text.split(" ")
    if len(fields) == 6:
        raise _six(fields)
    if len(fields) != 5:
        message = (
            f"a cron line has five fields (minute, hour, day of month, month, day of week); this has {len(fields)}"
        )
        raise Invalid(message, "for example `30 18 * * 1-5`", field="line", value=text)
    return _parse(text, fields)


def _parse(text: str, fields: list[str]) -> Cron:
    minute, hour = parse_field(MINUTE, fields[0]), parse_field(HOUR, fields[1])
    day, month = parse_field(DAY, fields[2]), parse_field(MONTH, fields[3])
    weekday = parse_field(WEEKDAY, fields[4])
    firing = day_rules(day, weekday, month, hour, minute)
    if not all(map(plainly_fires, firing)):
        firing = tuple(rule for rule in firing if layer_of(rule).fires())
    if not firing:
        raise _never(text, day, month)
    warnings = minute.warnings + hour.warnings + day.warnings + month.warnings + weekday.warnings
    plain = day.full or (weekday.full and day.numbers[:1] > (0,) and day.numbers[-1] <= 28)
    return Cron(firing, warnings if plain else warnings + _day_warnings(day, month, weekday))


def _word(text: str) -> str:
    word = text.lower()
    if word in WORDS:
        return WORDS[word]
    if word == "@reboot":
        message = "@reboot names no time: a scheduler that restarts does not mean that the machine did"
        raise Invalid(message, "start such work from your init system", field="line", value=text)
    if word.startswith("@every"):
        raise Invalid(f"{text!r} is not a cron word", f"write `every{text[6:]}`", field="line", value=text)
    raise Invalid(f"{text!r} is not a cron word", f"the words are {', '.join(WORDS)}", field="line", value=text)


def _six(fields: list[str]) -> Invalid:
    first, last = " ".join(fields[1:]), " ".join(fields[:5])
    message = (
        "a cron line has five fields; this has six, and products disagree on the sixth: "
        f"with seconds first it means `{first}` at {_second(fields[0])}, "
        f"with seconds last it means `{last}` at {_second(fields[5])}"
    )
    which = f"`{first}`" if first == last else f"`{first}` or `{last}`"
    hint = f"write {which}; for less than a minute write, for example, `every 30 seconds`"
    return Invalid(message, hint, field="line", value=" ".join(fields), seconds_first=first, seconds_last=last)


def _second(field: str) -> str:
    return "every second" if field == "*" else f"second {field}"


def _never(text: str, day: FieldSet, month: FieldSet) -> Invalid:
    last = max(_LONGEST_MONTH[number] for number in month.numbers)
    reason = f": no month of it has a day {day.text}" if min(day.numbers + day.nearest, default=0) > last else ""
    field = "day of month" if reason else "line"
    return Invalid(f"`{text}` never fires{reason}", "check the day and the month", field=field, value=day.text)


def _day_warnings(day: FieldSet, month: FieldSet, weekday: FieldSet) -> tuple[str, ...]:
    warnings: list[str] = []
    if either(day, weekday):
        true = f"it runs on day {day.text} of the month OR on {_weekday_names(weekday)}, not only when both match"
        warnings.append(f"both day fields are restricted: {true}")
    elif not day.full and not weekday.full and weekday.numbers + weekday.ordinals:
        starred = day.text if day.star else weekday.text
        warnings.append(
            f"`{starred}` begins with a star, so both day fields must match; some other crons need only one"
        )
    missing = [number for number in day.numbers if number > 28]
    if missing and len(missing) == len(day.numbers) and not (day.nearest or day.last_weekday or either(day, weekday)):
        short = [number for number in month.numbers if _LONGEST_MONTH[number] - (number == 2) < missing[0]]
        if short:
            leap = missing == [29] and list(month.numbers) == [2]
            fewer = "29 February comes in leap years only" if leap else f"months without a day {missing[0]} have no run"
            warnings.append(f"{fewer}; for the last day of {'the' if leap else 'each'} month write L")
    return tuple(warnings)


def _weekday_names(weekday: FieldSet) -> str:
    if weekday.ordinals:
        return f"weekday {weekday.text}"
    names = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
    return ", ".join(names[number] for number in weekday.numbers)
