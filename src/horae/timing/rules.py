"""One recurrence rule, in the vocabulary and with the meaning of RFC 5545.

A rule is a set of wall times, before any zone. `freq` and `interval` name periods counted from the one that holds
`start`; the BY lists say which days and times of a period are meant; `bysetpos` picks from the list of a period's
instances (instances, as the RFC says, not days: "the last weekday at 9 and at 17" is BYSETPOS=-2,-1). `start` is also
the least wall time, and `count` counts from there, left-out instances included. `since` and `until` bound the
*instants*, inclusively: they are how one rule ends where another begins.

A rule is explicit: what the RFC takes from DTSTART (the hour of a daily rule, the weekday of a weekly one) stands in
its lists; whoever reads RFC text fills that in. So without INTERVAL, COUNT and positions in a year or week it needs
no start. An empty list restricts nothing. Lists are sorted and without duplicates.

Refused: what the RFC forbids or leaves open, and more than one second of a minute.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal

from horae.errors import Invalid
from horae.limits import RULE_COUNT_MAX, RULE_INTERVAL_MAX

Freq = Literal["MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]
FREQUENCIES: tuple[Freq, ...] = ("MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")

Day = tuple[int, int]
"""An ordinal within the period (0 = every, -1 = the last) and a weekday (0 = Monday)."""

MO, TU, WE, TH, FR, SA, SU = range(7)
WORKDAYS: tuple[Day, ...] = tuple((0, day) for day in (MO, TU, WE, TH, FR))
EVERY_WEEKDAY: tuple[Day, ...] = tuple((0, day) for day in range(7))

_LISTS = ("bymonth", "bymonthday", "byday", "byhour", "byminute", "bysetpos", "byyearday", "byweekno")


@dataclass(frozen=True, slots=True)
class Rule:
    """See the module. `start` is naive, `since` and `until` are aware. Raises `Invalid` with `field` and `value`."""

    freq: Freq
    bymonth: tuple[int, ...] = ()
    bymonthday: tuple[int, ...] = ()
    byday: tuple[Day, ...] = ()
    byhour: tuple[int, ...] = (0,)
    byminute: tuple[int, ...] = (0,)
    bysetpos: tuple[int, ...] = ()
    byyearday: tuple[int, ...] = ()
    byweekno: tuple[int, ...] = ()
    second: int = 0
    interval: int = 1
    wkst: int = MO
    start: datetime | None = None
    count: int | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        for name in _LISTS:
            values = getattr(self, name)
            if values and not _ascending(values):
                object.__setattr__(self, name, tuple(sorted(set(values))))
        _check_lists(self.bymonth, self.bymonthday, self.byday, self.byhour, self.byminute)
        if self.bounded or self.interval != 1 or self.bysetpos or self.byyearday or self.byweekno or self.second:
            _check_rest(self)
        _check_label(self)

    @property
    def anchored(self) -> bool:
        """Whether its slots depend on where it starts, beyond there being none before."""
        return self.interval != 1 or self.count is not None

    @property
    def bounded(self) -> bool:
        """Whether it ever begins or ends."""
        return not (self.start is None and self.count is None and self.since is None and self.until is None)

    def days_only(self) -> Rule:
        """The same without bounds: what it would be if it had always been there. Not for anchored rules."""
        return replace(self, start=None, since=None, until=None) if self.bounded else self


def label(bymonth: tuple[int, ...], bymonthday: tuple[int, ...], byday: tuple[Day, ...], *, setpos: bool) -> Freq:
    """The FREQ under which calendar editors show such a rule best. All labels mean the same for what fits a month."""
    if setpos or any(ordinal for ordinal, _ in byday):
        return "MONTHLY"
    if bymonthday and not byday:
        return "YEARLY" if bymonth else "MONTHLY"
    if byday and not bymonthday and not bymonth:
        return "WEEKLY"
    return "DAILY"


def at_times(
    times: tuple[int, ...],
    *,
    bymonth: tuple[int, ...] = (),
    bymonthday: tuple[int, ...] = (),
    byday: tuple[Day, ...] = (),
) -> tuple[Rule, ...]:
    """Disjoint rules for these days at `times`, in minutes after midnight."""
    freq = label(bymonth, bymonthday, byday, setpos=False)
    day = Rule(freq, bymonth, bymonthday, byday)
    return tuple(replace(day, byhour=hours, byminute=minutes) for hours, minutes in products(times))


def products(times: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """The fewest products of hours and minutes whose disjoint union are these minutes after midnight."""
    # A rule is a product of hours and minutes: for 9:00 and 17:30 one alone would add 9:30 and 17:00.
    hours_of: dict[int, tuple[int, ...]] = {}
    for time in sorted(set(times)):
        hours_of[time % 60] = (*hours_of.get(time % 60, ()), time // 60)
    minutes_of: dict[tuple[int, ...], list[int]] = {}
    for minute, hours in sorted(hours_of.items()):
        minutes_of.setdefault(hours, []).append(minute)
    return tuple((hours, tuple(minutes)) for hours, minutes in minutes_of.items())


def _ascending(values: tuple[Any, ...]) -> bool:
    return len(values) == 1 or values == _sorted(values)


@lru_cache(maxsize=4096)
def _sorted(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


@lru_cache(maxsize=4096)  # the lists of different rules are the same few
def _check_lists(
    bymonth: tuple[int, ...],
    bymonthday: tuple[int, ...],
    byday: tuple[Day, ...],
    byhour: tuple[int, ...],
    byminute: tuple[int, ...],
) -> None:
    _within("bymonth", bymonth, 1, 12)
    _within("bymonthday", tuple(abs(day) for day in bymonthday), 1, 31)
    _within("byday", tuple(abs(ordinal) for ordinal, _ in byday), 0, 53)
    _within("byday", tuple(weekday for _, weekday in byday), 0, 6)
    _within("byhour", byhour, 0, 23)
    _within("byminute", byminute, 0, 59)


def _check_rest(rule: Rule) -> None:
    _within("byyearday", tuple(abs(day) for day in rule.byyearday), 1, 366)
    _within("byweekno", tuple(abs(week) for week in rule.byweekno), 1, 53)
    _within("bysetpos", tuple(abs(place) for place in rule.bysetpos), 1, 366 * 1440)
    _within("bysecond", (rule.second,), 0, 59)
    _within("interval", (rule.interval,), 1, RULE_INTERVAL_MAX)
    _within("wkst", (rule.wkst,), 0, 6)
    if rule.count is not None:
        _within("count", (rule.count,), 1, RULE_COUNT_MAX)
    if rule.anchored and rule.start is None:
        raise Invalid("a rule with INTERVAL or COUNT needs a start", "give a DTSTART", field="start")
    for name in ("since", "until"):
        bound = getattr(rule, name)
        if bound is not None:
            if bound.tzinfo is None or bound.microsecond:
                raise Invalid(f"{name} {bound} is not a whole second with an offset", field=name, value=str(bound))
            object.__setattr__(rule, name, bound.astimezone(UTC))


def _check_label(rule: Rule) -> None:
    """Raise `Invalid` for the combinations that the RFC does not allow, or that lack a part it would derive."""
    freq = rule.freq
    ordinals = any(ordinal for ordinal, _ in rule.byday)
    days = bool(rule.byday or rule.bymonthday or rule.byyearday or rule.byweekno)
    wrong = None
    if freq not in FREQUENCIES:
        wrong = f"FREQ={freq} is not one of {', '.join(FREQUENCIES)}"
    elif ordinals and freq not in {"MONTHLY", "YEARLY"}:
        wrong = "a numbered weekday (2MO) is for monthly and yearly rules"
    elif rule.byweekno and (freq != "YEARLY" or ordinals):
        wrong = "BYWEEKNO is for yearly rules, with plain weekdays"
    elif rule.byyearday and freq in {"DAILY", "WEEKLY", "MONTHLY"}:
        wrong = "BYYEARDAY is not for daily, weekly and monthly rules"
    elif rule.bymonthday and freq == "WEEKLY":
        wrong = "BYMONTHDAY is not for weekly rules"
    elif freq in {"WEEKLY", "MONTHLY", "YEARLY"} and not days:
        wrong = f"a {freq} rule does not say on which days"
    elif freq == "WEEKLY" and not rule.byday:
        wrong = "a WEEKLY rule does not say on which weekdays"
    elif freq not in {"HOURLY", "MINUTELY"} and not rule.byhour:
        wrong = f"a {freq} rule does not say at which hour"
    elif freq != "MINUTELY" and not rule.byminute:
        wrong = f"a {freq} rule does not say at which minute"
    elif ordinals and (freq == "MONTHLY" or rule.bymonth) and max(abs(ordinal) for ordinal, _ in rule.byday) > 5:
        wrong = "no month has more than five of a weekday"
    if wrong:
        raise Invalid(wrong, field="freq", value=freq)


def _within(field: str, values: tuple[int, ...], low: int, high: int) -> None:
    for value in values:
        if not low <= value <= high:
            raise Invalid(f"{field} {value} is out of range: it goes from {low} to {high}", field=field, value=value)
