"""Days as sentences speak of them: the middle between words and recurrence rules.

Words become `Days` (`phrases.days`), `Days` become rules here, rules become `Days` again (`words.ruledays`), and these become
words (`words.days`). All that is said in one `Days` must hold at once; several of them are a union.

Times of day are seconds after midnight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from horae.errors import Invalid
from horae.timing.cron.line import parse_cron
from horae.timing.rules import Day, Freq, Rule, label, products


@dataclass(frozen=True, slots=True)
class Days:
    """An empty list restricts nothing; no list at all means every day. Numbers below 0 count from the end.

    `positions`: which of the listed days are meant, in each month, or in each year when `in_year`; then the numbers of
    weekdays count in the year too. `nearest`: the weekday (Monday to Friday) nearest to that day of the month; it
    stands alone or with months. `every` leaves out periods of the length `unit`: it is 1, or there is a unit.
    """

    months: tuple[int, ...] = ()
    monthdays: tuple[int, ...] = ()
    weekdays: tuple[Day, ...] = ()
    yeardays: tuple[int, ...] = ()
    weeks: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    nearest: int = 0
    in_year: bool = False
    unit: Freq | None = None
    every: int = 1
    wkst: int = 0


EVERY_DAY = Days()


def rules_of(days: Days, times: tuple[int, ...], start: datetime | None = None) -> tuple[Rule, ...]:
    """Rules for these days at these times, from the naive `start` on. Some may never fire (31 in February).

    Raises `Invalid` for the weekday nearest to a day that none of the months has.
    """
    found: list[Rule] = []
    for second in sorted({time % 60 for time in times}):
        for hours, minutes in products(tuple(time // 60 for time in times if time % 60 == second)):
            rules = _nearest(days, hours, minutes) if days.nearest else (_rule(days, hours, minutes, start),)
            found += [replace(rule, second=second) for rule in rules] if second else rules
    if days.nearest and start is not None:
        return tuple(replace(rule, start=start) for rule in found)
    return tuple(found)


def _rule(days: Days, hours: tuple[int, ...], minutes: tuple[int, ...], start: datetime | None) -> Rule:
    freq = days.unit
    if freq is None:
        counted = bool(days.positions) or any(number for number, _ in days.weekdays)
        in_year = days.in_year or days.yeardays or days.weeks
        freq = "YEARLY" if in_year else label(days.months, days.monthdays, days.weekdays, numbered=counted)
    if days == EVERY_DAY and start is None:  # nearly always
        return Rule(freq, byhour=hours, byminute=minutes)
    return Rule(
        freq,
        days.months,
        days.monthdays,
        days.weekdays,
        hours,
        minutes,
        _instances(days.positions, len(hours) * len(minutes)),
        days.yeardays,
        days.weeks,
        interval=days.every,
        wkst=days.wkst,
        start=start,
    )


def _instances(positions: tuple[int, ...], each: int) -> tuple[int, ...]:
    """Positions among days as positions among their times, of which every day has `each`."""
    found: list[int] = []
    for position in positions:
        first = (position - 1) * each + 1 if position > 0 else position * each
        found += range(first, first + each)
    return tuple(sorted(found))


def _nearest(days: Days, hours: tuple[int, ...], minutes: tuple[int, ...]) -> tuple[Rule, ...]:
    fields = (minutes, hours, days.months)
    minute, hour, months = (",".join(map(str, values)) or "*" for values in fields)
    try:
        return parse_cron(f"{minute} {hour} {days.nearest}W {months} *").rules
    except Invalid:
        raise Invalid(f"these months have no day {days.nearest}", "name months that have it") from None
