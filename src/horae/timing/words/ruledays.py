"""Rules as sentences can say them: days, times of day, and what no plain sentence says.

A rule is a product of days and times. What counts within a day (BYSETPOS of a daily rule, a step through hours that
comes out even) is worked out into times; what picks from the days of a month or year becomes positions of days, if it
takes whole days. The rest stays as `picked` (positions among the instances of a period) or `pace` (a step through hours
or minutes that does not come out even in a day); these have words, and the grammar does not read them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from horae.timing.days import ones
from horae.timing.daysets import Days
from horae.timing.normal import canonical
from horae.timing.rules import Rule
from horae.timing.walls import DAY, HORIZON_S, layer_of, minutes_of_day


@dataclass(frozen=True, slots=True)
class Said:
    """Days (a union) and times (seconds after midnight) of one rule. `picked` and `pace` are rules with such a part."""

    days: tuple[Days, ...]
    times: tuple[int, ...]
    picked: Rule | None = None
    pace: Rule | None = None


def said_of(rule: Rule) -> Said:
    """The rule, without its bounds."""
    rule = canonical(rule)
    if rule.freq in {"HOURLY", "MINUTELY"} and 1440 % (rule.interval * (60 if rule.freq == "HOURLY" else 1)):
        minutes = rule.byminute
        if rule.bysetpos and rule.freq == "HOURLY":
            listed = list(minutes or range(60))
            minutes = tuple(listed[place] for place in _places(rule.bysetpos, len(listed)))
        pace = replace(rule, byminute=minutes or rule.byminute, bysetpos=())
        return Said((_days(replace(pace, interval=1)),), (), pace=pace)
    if rule.freq in {"DAILY", "HOURLY", "MINUTELY"}:
        times = _worked_out(rule)
        rule = replace(rule, bysetpos=(), interval=rule.interval if rule.freq == "DAILY" else 1)
        return Said(_union(_days(rule)), _seconds(times, rule.second))
    times = ones(minutes_of_day(rule.byhour, rule.byminute))
    if not rule.bysetpos:
        return Said(_union(_days(rule)), _seconds(times, rule.second))
    positions = _of_days(rule.bysetpos, len(times))
    if positions is not None and rule.freq == "WEEKLY" and not rule.bymonth:
        week = sorted(rule.byday, key=lambda pair: (pair[1] - rule.wkst) % 7)
        chosen = tuple(week[place] for place in _places(positions, len(week)))
        days = _days(canonical(replace(rule, byday=chosen or rule.byday, bysetpos=())))
        return Said((days,), _seconds(times, rule.second) if chosen else ())
    if positions is None or not _has_positions(rule):
        plain = replace(rule, bysetpos=(), wkst=rule.wkst if rule.interval > 1 else 0)
        return Said((_days(plain),), _seconds(times, rule.second), picked=rule)
    days = _days(replace(rule, bysetpos=()))
    in_year = rule.freq == "YEARLY" and not rule.bymonth
    if len(days.weekdays) == 1:  # the second of all Mondays
        weekday = days.weekdays[0][1]
        numbered = replace(days, weekdays=tuple((position, weekday) for position in positions), in_year=in_year)
        return Said((numbered,), _seconds(times, rule.second))
    return Said((replace(days, positions=positions, in_year=in_year),), _seconds(times, rule.second))


def _days(rule: Rule) -> Days:
    numbered = any(number for number, _ in rule.byday)
    counted = rule.interval > 1
    return Days(
        rule.bymonth,
        rule.bymonthday,
        rule.byday,
        rule.byyearday,
        rule.byweekno,
        in_year=numbered and rule.freq == "YEARLY" and not rule.bymonth,
        unit=rule.freq if counted else None,
        every=rule.interval,
        wkst=rule.wkst if _week_matters(rule) else 0,
    )


def _week_matters(rule: Rule) -> bool:
    """Whether other days would be meant if weeks began on Monday."""
    if not rule.wkst or rule.freq != "WEEKLY":
        return bool(rule.wkst)
    assert rule.start is not None, "a rule with INTERVAL has a start"
    start, every = rule.start.toordinal(), 7 * rule.interval

    def meant(wkst: int) -> set[int]:
        opening = start - (rule.start.weekday() - wkst) % 7 if rule.start else 0
        return {(opening + (weekday - wkst) % 7) % every for _, weekday in rule.byday}

    return meant(rule.wkst) != meant(0)


def _union(days: Days) -> tuple[Days, ...]:
    """Weekdays of both kinds, as in "Mondays and the first Friday", apart: no sentence restricts such a list."""
    plain = tuple(pair for pair in days.weekdays if not pair[0])
    numbered = tuple(pair for pair in days.weekdays if pair[0])
    if not (plain and numbered) or days.every > 1:
        return (days,)
    return replace(days, weekdays=plain, in_year=False), replace(days, weekdays=numbered)


def _worked_out(rule: Rule) -> list[int]:
    """The minutes of each day on which the rule has any: they are the same on all."""
    layer = layer_of(replace(rule, count=None, until=None, since=None))
    low = 0 if rule.start is None else layer.low
    first = layer.next(low, low + HORIZON_S)
    return [] if first is None else ones(layer.minutes(first // DAY))


def _seconds(minutes: list[int], second: int) -> tuple[int, ...]:
    return tuple(minute * 60 + second for minute in minutes)


def _of_days(positions: tuple[int, ...], each: int) -> tuple[int, ...] | None:
    """Positions among instances as positions among days, if they take all instances of each day."""
    days: dict[int, int] = {}
    for position in positions:
        day = (position - 1) // each + 1 if position > 0 else -((-position - 1) // each + 1)
        days[day] = days.get(day, 0) + 1
    return tuple(sorted(days)) if set(days.values()) == {each} else None


def _places(positions: tuple[int, ...], size: int) -> list[int]:
    places = {position - 1 if position > 0 else size + position for position in positions}
    return [place for place in sorted(places) if 0 <= place < size]


def _has_positions(rule: Rule) -> bool:
    """Whether a sentence can count the days: whole weekdays of a month, or of a year."""
    if rule.bymonthday or rule.byyearday or rule.byweekno or any(number for number, _ in rule.byday):
        return False
    return rule.freq == "MONTHLY" or (rule.freq == "YEARLY" and len(rule.bymonth) < 2)
