"""Which policy for clock changes a schedule has when its job does not say: decided by its timetable.

A timetable that goes around the clock has a time every few hours, day and night: then every real slot runs. All others
name times of day. How a timetable is written, as one rule or as several, makes no difference.
"""

from __future__ import annotations

from functools import lru_cache

from horae.timing.clockchange import Gap, Repeat
from horae.timing.rules import Rule
from horae.timing.walls import SUBDAILY, times_of_day

_FOLLOWS_BELOW_M = 180


def default_policy(rules: tuple[Rule, ...]) -> tuple[Gap, Repeat]:
    """What a set of rules does at clock changes when its job does not say: `(gap, repeat)`.

    Spacing is the *longest* pause between neighbouring times of day, counted around midnight as if the rule ran every
    day. Under three hours (such schedules go around the clock) every real slot runs: a wall time that is left out needs
    no substitute, one that comes twice runs twice. All else names times of day, and is shifted and not repeated.

    The *shortest* pause would be wrong: "at 2:00 and 2:30" would lose both runs on the night of a gap, and "at 1:00 and
    1:30" would run four times in a repeated hour. The price is that "every 15 minutes from 0:00 to 5:45" pauses for one
    hour in that night.
    """
    if len(rules) == 1:  # nearly always
        around = _goes_around(rules[0], 0)
    else:
        minutes_on: dict[object, int] = {}
        for rule in rules:  # 9:00 and 9:30 on one day are one timetable, whether one rule says so or two
            minutes_on[_days_of(rule)] = minutes_on.get(_days_of(rule), 0) | (times_of_day(rule) or 0)
        around = bool(rules) and all(_goes_around(rule, minutes_on[_days_of(rule)]) for rule in rules)
    return ("skip", "both") if around else ("shift", "first")


def _days_of(rule: Rule) -> object:
    """Equal for rules that run on the same days, as far as their parts tell."""
    numbered = rule.freq if any(ordinal for ordinal, _ in rule.byday) or rule.bysetpos else ""
    steps = (rule.freq, rule.interval, rule.start) if rule.interval != 1 and rule.freq not in SUBDAILY else ()
    lists = (rule.bymonth, rule.bymonthday, rule.byday, rule.byyearday, rule.byweekno, rule.bysetpos)
    return numbered, steps, lists, rule.since, rule.until


def _goes_around(rule: Rule, minutes: int) -> bool:
    """`minutes`: the times of all rules with the same days, as bits; 0 for those of the rule alone."""
    if rule.bysetpos and rule.freq not in SUBDAILY:
        return False
    if minutes == 0 and rule.freq not in SUBDAILY and len(rule.byhour) < 9:
        return False  # nine times a day at least, or some pause is too long
    times = minutes or times_of_day(rule)
    if times is None:  # a step that comes at other times on other days
        step = rule.interval * (60 if rule.freq == "HOURLY" else 1)
        return step < _FOLLOWS_BELOW_M and not rule.byhour and (rule.freq == "HOURLY" or not rule.byminute)
    return _no_long_pause(times)


@lru_cache(maxsize=1024)
def _no_long_pause(times: int) -> bool:
    twice = times | times << 1440
    covered, reach = twice, 1
    while reach < _FOLLOWS_BELOW_M - 1:  # each time stands for itself and the 178 minutes that follow
        step = min(reach, _FOLLOWS_BELOW_M - 1 - reach)
        covered |= covered << step
        reach += step
    day = (1 << 1440) - 1
    return covered >> 1440 & day == day
