"""Rules in a normal form: a value that is equal for rules with equal slots, however they are said.

Rules that have always been there and look no further than a month are spelled out: what they select in each of the 91
kinds of month (its name, the weekday of its first day, its length). So DAILY;BYDAY=MO and WEEKLY;BYDAY=MO, one rule at
9 and 17 and two rules, a step of two hours and its list of hours are equal. Bounds are replaced by the first and the
last slot, so a COUNT equals the UNTIL that it leads to.

Limits: near a clock change bounds are compared as they are written; rules with INTERVAL, and those counted in weeks or
years, part by part in canonical spelling; and a union is recognised among rules that share their bounds. Two sets that
differ here and have equal slots all the same are possible; two that are equal here have equal slots always.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import cache
from typing import NamedTuple

from horae.timing.clockchange import Gap, Repeat, span_at
from horae.timing.days import EPOCH_DAY, month_length
from horae.timing.rules import EVERY_WEEKDAY, Rule
from horae.timing.ruleslots import EARLIEST, LATEST, RuleSlots
from horae.timing.walls import DAY, layer_of, walls_of


def normal_rules(rules: tuple[Rule, ...], zone: str, gap: Gap, repeat: Repeat) -> tuple[object, ...]:
    """The normal form of a union of rules in a zone."""
    groups: dict[object, list[Rule]] = {}
    for rule in rules:
        alone = rule if rule.count is not None or not fits_a_month(canonical(rule)) else None  # a COUNT is of one rule
        groups.setdefault((rule.start, rule.since, rule.until, alone), []).append(rule)
    found: list[tuple[object, ...]] = []
    for group in groups.values():
        first, last = _ends(tuple(group), zone, gap, repeat)
        rule = canonical(group[0])
        if fits_a_month(rule):
            shape: object = spelled(tuple(map(canonical, group)))
        else:
            shape = replace(rule, start=None, interval=1, count=None, since=None, until=None), rule.interval
        # Inside a change the bounds of walls and those of instants cut differently, though the ends may be the same
        exact = (rule.start, rule.count, rule.since, rule.until) if _changes_near(zone, first, last) else None
        entry = (shape, first, last, exact)
        if shape and first != -1 and entry not in found:
            found.append(entry)
    return tuple(sorted(found, key=repr))


def canonical(rule: Rule) -> Rule:
    """The same rule without what changes nothing: full lists, a step that another frequency says, an idle WKST."""
    if rule.freq == "DAILY" and rule.interval % 7 == 0 and not (rule.byday or rule.bymonthday or rule.bysetpos):
        assert rule.start is not None, "a rule with INTERVAL has a start"
        rule = replace(rule, freq="WEEKLY", interval=rule.interval // 7, byday=((0, rule.start.weekday()),))
    if rule.freq == "MONTHLY" and rule.interval % 12 == 0 and not rule.bymonth:
        assert rule.start is not None, "a rule with INTERVAL has a start"
        rule = replace(rule, freq="YEARLY", interval=rule.interval // 12, bymonth=(rule.start.month,))
    changed: dict[str, object] = {}
    # With it a yearly rule counts weekdays and positions in months, without it in years
    in_year = rule.freq == "YEARLY" and (rule.bysetpos or any(ordinal for ordinal, _ in rule.byday))
    if len(rule.bymonth) == 12 and not in_year:
        changed["bymonth"] = ()
    if set(rule.bymonthday) >= set(range(1, 32)) and (rule.byday or rule.freq == "DAILY"):
        changed["bymonthday"] = ()
    if set(rule.byday) >= set(EVERY_WEEKDAY):
        idle = rule.bymonthday or rule.byyearday or rule.byweekno or rule.freq in {"DAILY", "HOURLY", "MINUTELY"}
        changed["byday"] = () if idle else EVERY_WEEKDAY
    if rule.freq in {"HOURLY", "MINUTELY"} and len(rule.byhour) == 24:
        changed["byhour"] = ()
    if rule.freq == "MINUTELY" and len(rule.byminute) == 60:
        changed["byminute"] = ()
    weeks = rule.byweekno or (rule.freq == "WEEKLY" and (rule.interval > 1 or rule.bysetpos) and len(rule.byday) > 1)
    if not weeks:
        changed["wkst"] = 0
    return replace(rule, **changed) if changed else rule  # pyright: ignore[reportArgumentType]


def spelled(rules: tuple[Rule, ...]) -> tuple[object, ...]:
    """For each second of the minute and kind of month: which days have which minutes. Bounds are not looked at."""
    found: list[object] = []
    for second in sorted({rule.second for rule in rules}):
        kinds: list[tuple[tuple[int, int], ...]] = []
        for kind in table(tuple(rule for rule in rules if rule.second == second)):
            days_of: dict[int, int] = {}
            for day, minutes in kind.minutes.items():
                days_of[minutes] = days_of.get(minutes, 0) | 1 << day
            kinds.append(tuple(sorted(days_of.items())))
        if any(kinds):
            found.append((second, tuple(kinds)))
    return tuple(found)


class Kind(NamedTuple):
    """A kind of month, and the minutes (as bits) of each of its days that has some."""

    month: int
    weekday: int
    """Of its first day; Monday is 0."""
    length: int
    minutes: dict[int, int]


def table(rules: tuple[Rule, ...]) -> list[Kind]:
    """What rules that fit a month select, kind by kind. Bounds are not looked at."""
    layers = [layer_of(replace(rule, start=rule.start if rule.interval != 1 else None, count=None)) for rule in rules]
    kinds: list[Kind] = []
    for year, month, first in _months():
        length = month_length(year, month)
        minutes: dict[int, int] = {}
        for day in range(first, first + length):
            bits = 0
            for layer in layers:
                bits |= layer.minutes(day)
            if bits:
                minutes[day - first + 1] = bits
        kinds.append(Kind(month, (first + 3) % 7, length, minutes))
    return kinds


def fits_a_month(rule: Rule) -> bool:
    """Whether what it selects in a month depends on the kind of the month alone."""
    if rule.byyearday or rule.byweekno:
        return False
    if rule.freq == "YEARLY" and not rule.bymonth and any(ordinal for ordinal, _ in rule.byday):
        return False
    if rule.bysetpos and (rule.freq == "WEEKLY" or (rule.freq == "YEARLY" and len(rule.bymonth) != 1)):
        return False
    if rule.freq in {"HOURLY", "MINUTELY"}:
        return 1440 % (rule.interval * (60 if rule.freq == "HOURLY" else 1)) == 0
    return rule.interval == 1


def _ends(rules: tuple[Rule, ...], zone: str, gap: Gap, repeat: Repeat) -> tuple[int | None, int | None]:
    """The first and the last slot where there is a bound; (-1, -1) when there is none between the bounds."""
    rule = rules[0]
    if not rule.bounded:
        return None, None
    since = None if rule.since is None else int(rule.since.timestamp())
    until = None if rule.until is None else int(rule.until.timestamp())
    slots = RuleSlots(walls_of(rules), zone, gap, repeat, since, until)
    begins, ends = rule.start is not None or since is not None, rule.count is not None or until is not None
    first = slots.next(EARLIEST) if begins else None
    last = slots.last(LATEST) if ends else None
    if (begins and first is None) or (ends and last is None):
        return -1, -1
    return first, last


def _changes_near(zone: str, *instants: int | None) -> bool:
    """Whether the clock changes within two days of one of the instants."""
    for instant in instants:
        if instant is not None:
            span = span_at(zone, instant)
            begun = span.before != span.offset and instant - span.born < 2 * DAY
            if begun or (span.after != span.offset and span.dies - instant < 2 * DAY):
                return True
    return False


@cache
def _months() -> tuple[tuple[int, int, int], ...]:
    """One month of each kind: year, month, day number of its first day. Weekdays and lengths repeat every 28 years."""
    found: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    first = date(2000, 1, 1).toordinal() - EPOCH_DAY
    for year in range(2000, 2028):
        for month in range(1, 13):
            length = month_length(year, month)
            found.setdefault((month, first % 7, length), (year, month, first))
            first += length
    return tuple(found[key] for key in sorted(found))
