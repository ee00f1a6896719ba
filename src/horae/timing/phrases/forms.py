"""The grammar of whole schedules: what a phrase may be, and what is near to one and refused with a question.

    schedule   in 2 hours · today at 18:00 · item; item; ...
    item       a date with a time · clause, then clause, then ...
    clause     an interval, or days with times; behind it `starting`, `until`, `10 times`, `except`

The values are what is said. What it means takes a zone and the instant of writing: see `sets`.
"""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple, NoReturn

from horae.errors import Invalid
from horae.timing.dates import Moment
from horae.timing.daysets import EVERY_DAY, Days
from horae.timing.durations import parse_duration
from horae.timing.phrases.days import DAYS, MONTHS_ONLY, in_months, sayable
from horae.timing.phrases.grammar import (
    Leaf,
    Name,
    Place,
    Placed,
    Refused,
    Rule,
    choice,
    many,
    optional,
    reading,
    sequence,
)
from horae.timing.phrases.periods import NUMBERED_DAYS
from horae.timing.phrases.times import (
    BARE_PERIOD,
    COUNT,
    DATE,
    DURATION,
    JOINT,
    MOMENT,
    PERIOD,
    ROUNDS,
    TIME,
    TIMES,
    UNIT,
)
from horae.timing.phrases.unclear import Unclear
from horae.timing.phrases.weekdays import ONE_WEEKDAY
from horae.timing.vocabulary import PARTS_OF_DAY, WEEKDAYS
from horae.timing.words.times import clock


class Once(NamedTuple):
    """One instant: after a delay in seconds, or at a moment, or at a time so many days ahead."""

    delay: int | None = None
    moment: Moment | None = None
    ahead: int | None = None
    time: int = 0


class Every(NamedTuple):
    """Elapsed time in seconds, from a moment, or a time of the day of writing, or the instant of writing."""

    period: int
    start: Moment | int | None = None


class Timed(NamedTuple):
    """Days (a union) at times, in seconds after midnight."""

    days: list[Days]
    times: tuple[int, ...]


class Clause(NamedTuple):
    """An interval or days with times, where it stands in the source, and what bounds it."""

    body: Every | list[Timed]
    start: int
    end: int
    starting: Moment | None = None
    until: Moment | None = None
    number: int | None = None
    without: tuple[Moment, ...] = ()


# --- once


def _at(day: date, times: tuple[int, ...]) -> Once:
    return Once(moment=Moment(day, _only(times)))


def _at_moment(moment: Moment) -> Once:
    if moment.time is None:
        raise _no_time(f"{moment.day:%Y-%m-%d}")
    return Once(moment=moment)


def _only(times: tuple[int, ...]) -> int:
    first, *others = times
    if others:
        raise Invalid(f"a date with {len(times)} times names several instants", "write one job for each")
    return first


_AHEAD = choice(
    Name("`today` or `tomorrow`", {"today": 0, "tomorrow": 1}),
    reading(sequence(optional("the"), "day after tomorrow"), lambda: 2),
)
_AT_TIMES = sequence(optional("at"), TIMES)
_RELATIVE = Rule(
    "instant from now",
    choice(
        reading(sequence("in", choice(DURATION, sequence(choice("a", "an"), UNIT))), lambda delay: Once(delay=delay)),
        reading(sequence(_AHEAD, _AT_TIMES), lambda ahead, times: Once(ahead=ahead, time=_only(times))),
        reading(sequence(_AT_TIMES, _AHEAD), lambda times, ahead: Once(ahead=ahead, time=_only(times))),
    ),
)
_ABSOLUTE = Rule(
    "instant",
    sequence(
        optional("once", optional(",")),
        choice(
            reading(sequence(optional("on"), DATE, _AT_TIMES), _at),
            reading(MOMENT, _at_moment),
        ),
    ),
)

# --- again and again


def _timed(days: list[Days], times: tuple[int, ...], months: tuple[int, ...] | None = None) -> Timed:
    return Timed(sayable(in_months(days, months)), times)


INTERVAL = Rule(
    "interval",
    choice(
        reading(sequence("every", BARE_PERIOD), Every),
        reading(sequence("every", PERIOD, "from", choice(MOMENT, TIME)), Every),
    ),
)


def _in_part(part: Place, times: tuple[int, ...], months: tuple[int, ...] | None) -> Timed:
    """Every day, in a part of it. Raises `Unclear` for times outside of it: a night belongs to two days."""
    morning = part.value == "morning"
    for time in times:
        if morning != (time < _NOON):
            if part.value == "night":
                message = f"{clock(time)} in the night could belong to the day before or to the day behind it"
            else:
                message = f"{clock(time)} is not in the {part.value}"
            raise Unclear(message, part, ["every day"])
    return _timed([EVERY_DAY], times, months)


_NOON = 12 * 3600
_ANY_TIMES = choice(_AT_TIMES, ROUNDS)
_PART_OF_DAY = Placed(
    choice(
        sequence(choice("every", "each"), Name("a part of the day", {part: part for part in PARTS_OF_DAY})),
        reading(sequence("nightly"), lambda: "night"),
    )
)
TIMED = Rule(
    "days with times",
    choice(
        reading(sequence(DAYS, optional(","), _ANY_TIMES, optional(MONTHS_ONLY)), _timed),
        reading(sequence(_ANY_TIMES, optional(","), DAYS), lambda times, days: _timed(days, times)),
        reading(
            sequence(ROUNDS, optional(MONTHS_ONLY)),
            lambda times, months: _timed([EVERY_DAY], times, months),
        ),
        reading(sequence(_PART_OF_DAY, _AT_TIMES, optional(MONTHS_ONLY)), _in_part),
        reading(
            sequence(_AT_TIMES, _PART_OF_DAY, optional(MONTHS_ONLY)),
            lambda times, part, months: _in_part(part, times, months),
        ),
    ),
)

# --- bounds

_NAMES = {"starting": "starting", "until": "until", "number": "10 times", "without": "except"}


def _clause(body: Place, bounds: list[tuple[str, Any]] | None) -> Clause:
    given: dict[str, Any] = {}
    for name, value in bounds or ():
        if name in given:
            raise Invalid(f"`{_NAMES[name]}` stands there twice", "say it once", value=body.source)
        given[name] = value
    return Clause(body.value, body.start, body.start + len(body.source), **given)


BOUND = Rule(
    "bound",
    sequence(
        optional(","),
        choice(
            reading(sequence("starting", optional("on"), MOMENT), lambda moment: ("starting", moment)),
            reading(sequence("until", optional("on"), MOMENT), lambda moment: ("until", moment)),
            reading(sequence(COUNT, choice("times", "time")), lambda number: ("number", number)),
            reading(
                sequence("except", many(sequence(optional("on"), MOMENT), JOINT)),
                lambda moments: ("without", tuple(moments)),
            ),
        ),
    ),
)
CLAUSE = Rule(
    "clause",
    sequence(
        Placed(choice(INTERVAL, many(TIMED, sequence(optional(","), "and")))),
        optional(many(BOUND)),
    ),
    _clause,
)
SCHEDULE = Rule(
    "schedule",
    choice(
        reading(_RELATIVE, lambda once: [once]),
        many(
            choice(_ABSOLUTE, Rule("clauses", many(CLAUSE, sequence(optional(","), "then")))),
            sequence(";", optional("and")),
        ),
    ),
)
"""Its value is a list; each item is a `Once` or a list of clauses that follow one another."""

# --- what is near to a form, with what it lacks


def _twice_readable(place: Place) -> NoReturn:
    shown = place.source
    period = shown if shown[-1].isalpha() else f"{shown}m"
    message = f"products disagree on {shown!r}: once after that time, or again and again"
    raise Invalid(message, f"write `in {period}` or `every {period}`", value=shown)


def _no_day(place: Place) -> NoReturn:
    time = place.source.removeprefix("at ")
    hint = f"write `every day at {time}`, `today at {time}` or `tomorrow at {time}`"
    raise Invalid(f"{place.source!r} names a time but no day", hint, value=place.source)


def _of_no_period(place: Place) -> NoReturn:
    """Days such as "2nd monday", which count in a period that is not named; behind "every" they may be a pace."""
    every, days = place.value
    first: Days = days.value[0]
    pair = first.weekdays[0] if len(first.weekdays) == 1 else (0, 0)
    spellings = [f"{every or ''} {days.source} of the month".strip()]
    message = f"{days.source!r} does not say of what"
    if every and len(days.value) == 1 and pair[0] > 1:
        number, weekday = pair
        spellings.append(f"every {number} weeks on {WEEKDAYS[weekday].lower()}")
        message = f"`{place.source}` could count in the month or in weeks"
    elif every and days.source.endswith("day") and first.monthdays and first.monthdays[0] > 1:
        spellings.append(f"every {first.monthdays[0]} days")
        message = f"`{place.source}` could count in the month or from now on"
    raise Unclear(message, place, spellings)


def _next_weekday(place: Place) -> NoReturn:
    hint = "write its date, as in `on 2026-12-24 at 18:00`"
    raise Invalid(f"{place.source!r} could be the coming one or the one behind it", hint, value=place.source)


def _no_time(shown: str) -> Invalid:
    return Invalid(f"{shown!r} names no time of day", f"write, for example, `{shown} at 9am`", value=shown)


def _raise_no_time(place: Place) -> NoReturn:
    raise _no_time(place.source)


def _no_day_no_time(place: Place) -> NoReturn:
    forms = "`every monday at 9am`, `first of the month at 07:00` or `every year on 24 december at 12:00`"
    raise Invalid(f"{place.source!r} names no day and no time", f"write, for example, {forms}", value=place.source)


def _no_day_of_period(place: Place) -> NoReturn:
    forms = "`every 2 weeks on monday at 9am`, `every month on the 1st at 9am`"
    message = f"{place.source!r} does not say on which day"
    raise Invalid(message, f"write, for example, {forms}", value=place.source)


_NO_DAY = ("every week", "every month", "every year", "weekly", "monthly", "yearly")
_UNNAMED = sequence(
    optional("on"),
    Placed(sequence(optional(Name("`every`", {"every": "every", "each": "every"})), Placed(NUMBERED_DAYS))),
)
_PERIODS = ("week", "weeks", "month", "months", "year", "years")
NEAR = choice(
    Refused("", Placed(choice(DURATION, Leaf("a number", r"[0-9]+(?:\.[0-9]+)?", ["30"]))), _twice_readable),
    Refused("", sequence("every", Leaf("a number", r"[0-9]+(?:\.[0-9]+)?", ["5"])), parse_duration),
    Refused("", Placed(_AT_TIMES), _no_day),
    Refused("", Placed(choice(_AHEAD, sequence(optional("on"), DATE), DAYS)), _raise_no_time),
    Refused("", Placed(choice(*_NO_DAY)), _no_day_no_time),
    Refused("", sequence(Placed(choice(*_NO_DAY)), _ANY_TIMES), lambda period, _: _no_day_of_period(period)),
    Refused("", Placed(sequence("every", COUNT, choice(*_PERIODS), optional(_ANY_TIMES))), _no_day_of_period),
    Refused("", sequence(_UNNAMED, optional(","), _ANY_TIMES), lambda days, _: _of_no_period(days)),
    Refused("", sequence(_ANY_TIMES, _UNNAMED), lambda _, days: _of_no_period(days)),
    Refused(
        "",
        sequence(Placed(sequence(choice("next", "this", "coming"), ONE_WEEKDAY)), optional(_ANY_TIMES)),
        lambda day, _: _next_weekday(day),
    ),
)
"""What a text that fits no form may fit instead; reading it raises `Invalid`."""
