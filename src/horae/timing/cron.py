"""Cron lines: five fields or one @word, to recurrence rules.

The dialect is Debian's (see `cronfields` for a field, `crondays` for the two day fields). A line that reads as one
thing and means another is refused if there is another spelling for it (six fields, `5/15`, `22-2`), else accepted with
a warning that says the true meaning (`*/90`, `*/7`, `0 9 1 * 1`). What can never fire is refused: a job that waits for
31 February looks healthy for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from horae.errors import Invalid
from horae.timing.crondays import day_rules, either
from horae.timing.cronfields import DAY, FIELDS, HOUR, MINUTE, MONTH, WEEKDAY, Field, FieldSet, parse_field
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
_PLURALS = {"minute": "minutes", "hour": "hours", "day of month": "days", "month": "months", "day of week": "days"}
_WHOLES = {"minute": "hour", "hour": "day", "day of month": "month", "month": "year", "day of week": "week"}
_RATES = {"minute": "hourly", "hour": "daily", "day of month": "monthly", "month": "yearly", "day of week": "weekly"}


@dataclass(frozen=True, slots=True)
class Cron:
    """A parsed line. The field sets are kept because rules no longer show how the line was meant."""

    line: str
    rules: tuple[Rule, ...]
    warnings: tuple[str, ...]
    minute: FieldSet
    hour: FieldSet
    day: FieldSet
    month: FieldSet
    weekday: FieldSet

    @property
    def either(self) -> bool:
        """Whether a day of the month *or* a weekday is enough."""
        return either(self.day, self.weekday)


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
    minute, hour, day, month, weekday = (parse_field(kind, part) for kind, part in zip(FIELDS, fields, strict=True))
    rules = day_rules(day, weekday, month, hour, minute)
    firing = tuple(rule for rule in rules if layer_of(rule).fires())
    if not firing:
        raise _never(text, day, month)
    warnings = _step_warnings(((MINUTE, minute), (HOUR, hour), (DAY, day), (MONTH, month), (WEEKDAY, weekday)))
    warnings += _day_warnings(day, month, weekday)
    return Cron(text, firing, tuple(warnings), minute, hour, day, month, weekday)


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


def _step_warnings(fields: tuple[tuple[Field, FieldSet], ...]) -> list[str]:
    """What `*/n` really does where n is not a divisor: cron counts anew in every hour, day, month or year."""
    warnings: list[str] = []
    for kind, found in fields:
        step, size = found.star_step, kind.last_star - kind.low + 1
        if step is None or step == 1:
            continue
        whole, plural = _WHOLES[kind.name], _PLURALS[kind.name]
        if step >= size:
            meant = f"`every {step} {plural}`" if kind in (MINUTE, HOUR, DAY) else f"every {step} {plural}"
            true = f"fires {_RATES[kind.name]}, at {kind.name} {kind.low} only; did you mean {meant}?"
            warnings.append(f"`{found.text}`: a step of {step} is not less than the {whole} has {plural}, so it {true}")
        elif size % step or kind is DAY:
            warnings.append(f"`{found.text}` is uneven: {_uneven(kind, step, size)}")
    return warnings


def _uneven(kind: Field, step: int, size: int) -> str:
    plural, whole = _PLURALS[kind.name], _WHOLES[kind.name]
    values = list(range(kind.low, kind.last_star + 1, step))
    if kind is DAY:
        return f"it counts from day 1 in every month anew, so after day {values[-1]} comes day 1 of the next month"
    shown = ", ".join(map(str, values)) if kind is not WEEKDAY else ", ".join(kind.names[value] for value in values)
    pause = size - values[-1] + kind.low
    unit = plural if pause != 1 else plural[:-1]
    hint = f"; for a steady pace write `every {step} {plural}`" if kind in (MINUTE, HOUR) else ""
    return f"it fires at {shown} of every {whole}, and then after {pause} {unit}, not {step}{hint}"


def _day_warnings(day: FieldSet, month: FieldSet, weekday: FieldSet) -> list[str]:
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
    return warnings


def _weekday_names(weekday: FieldSet) -> str:
    if weekday.ordinals:
        return f"weekday {weekday.text}"
    names = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
    return ", ".join(names[number] for number in weekday.numbers)
