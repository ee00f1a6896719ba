"""One recurrence rule, in the vocabulary and with the meaning of RFC 5545.

A rule is a set of wall times, before any zone. `freq` and `interval` name periods counted from the one that holds
`start`; the BY lists say which days and times of a period are meant; `bysetpos` picks from the list of a period's
instances (instances, as the RFC says, not days: "the last weekday at 9 and at 17" is BYSETPOS=-2,-1). `start` is also
the least wall time, and `count` counts wall times from there: what a clock change leaves out counts, what it shows twice
counts once. `since` and `until` bound the *instants*, inclusively: they are how one rule ends where another begins.

A rule is explicit: what the RFC takes from DTSTART (the hour of a daily rule, the weekday of a weekly one) stands in
its lists; whoever reads RFC text fills that in. So without INTERVAL, COUNT and positions in a year or week it needs
no start. An empty list restricts nothing. Lists are sorted and without duplicates.

Refused: what the RFC forbids or leaves open, and more than one second of a minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from operator import lt
from typing import Any, Literal

from horae.errors import Invalid
from horae.limits import HORIZON_YEARS, RULE_COUNT_MAX, RULE_INTERVAL_MAX

Freq = Literal["MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]
FREQUENCIES: tuple[Freq, ...] = ("MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")

STEP_S: dict[str, int] = {
    "MINUTELY": 60, "HOURLY": 3600, "DAILY": 86400, "WEEKLY": 604800, "MONTHLY": 31 * 86400, "YEARLY": 366 * 86400,
}  # fmt: skip
"""The length of a period in seconds, of a month and a year the greatest."""

Day = tuple[int, int]
"""An ordinal within the period (0 = every, -1 = the last) and a weekday (0 = Monday)."""

MO, TU, WE, TH, FR, SA, SU = range(7)
WORKDAYS: tuple[Day, ...] = tuple((0, day) for day in (MO, TU, WE, TH, FR))
EVERY_WEEKDAY: tuple[Day, ...] = tuple((0, day) for day in range(7))

_RANGES: tuple[tuple[str, Any, Any], ...] = (
    ("byminute", 0, 59), ("byhour", 0, 23), ("bymonth", 1, 12), ("bymonthday", -31, 31),
    ("byday", (-99, 0), (99, 0)),  # looked at closer in `_check_weekdays`
)  # fmt: skip
_PLAIN_DAYS = frozenset(EVERY_WEEKDAY)


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
        for name, low, high in _RANGES:
            values = getattr(self, name)
            if len(values) > 1 and not _ascending(values):
                values = tuple(sorted(set(values)))
                object.__setattr__(self, name, values)
            if values and (values[0] < low or values[-1] > high):
                raise _outside(name, values, low, high)
        if 0 in self.bymonthday:
            raise _outside("bymonthday", (0,), 1, 31)
        plain = _PLAIN_DAYS.issuperset(self.byday)
        if not plain:
            _check_weekdays(self.byday)
        if (
            self.start is not None or self.interval != 1 or self.bysetpos or self.byyearday or self.byweekno
            or self.second or self.count is not None or self.since is not None or self.until is not None
        ):  # fmt: skip
            _check_rest(self)
        in_year = self.byyearday or self.byweekno
        if not (plain and self.freq == "DAILY" and self.byhour and self.byminute and not in_year):
            wrong = _wrong(self, numbered=0 if plain else max(abs(ordinal) for ordinal, _ in self.byday))
            if wrong:
                raise Invalid(wrong, field="freq", value=self.freq)

    @property
    def anchored(self) -> bool:
        """Whether its slots depend on where it starts, beyond there being none before."""
        return self.interval != 1 or self.count is not None

    @property
    def bounded(self) -> bool:
        """Whether it ever begins or ends."""
        return not (self.start is None and self.count is None and self.since is None and self.until is None)


def label(
    bymonth: tuple[int, ...], bymonthday: tuple[int, ...], byday: tuple[Day, ...], *, numbered: bool = False
) -> Freq:
    """The FREQ under which calendar editors show such a rule best. All labels mean the same for what fits a month.

    `numbered`: weekdays have ordinals, or there are positions.
    """
    if numbered:
        return "MONTHLY"
    if bymonthday and not byday:
        return "YEARLY" if bymonth else "MONTHLY"
    if byday and not bymonthday and not bymonth:
        return "WEEKLY"
    return "DAILY"


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
    return all(map(lt, values, values[1:]))


def _check_weekdays(byday: tuple[Day, ...]) -> None:
    for ordinal, weekday in byday:
        if not 0 <= weekday <= 6:
            raise _outside("byday", (weekday,), 0, 6)
        if abs(ordinal) > 53:
            raise _outside("byday", (ordinal,), -53, 53)


def _check_rest(rule: Rule) -> None:
    for name, most in (("bysetpos", 366 * 1440), ("byyearday", 366), ("byweekno", 53)):
        values = tuple(sorted(set(getattr(rule, name))))
        object.__setattr__(rule, name, values)
        if values and (values[0] < -most or values[-1] > most or 0 in values):
            raise _outside(name, tuple(abs(value) for value in values), 1, most)
    most = HORIZON_YEARS * 366 * 86400 // STEP_S.get(rule.freq, 1)
    for name, value, low, high in (
        ("bysecond", rule.second, 0, 59),
        ("interval", rule.interval, 1, min(most, RULE_INTERVAL_MAX)),
        ("wkst", rule.wkst, 0, 6),
        ("count", 1 if rule.count is None else rule.count, 1, RULE_COUNT_MAX),
    ):
        if not low <= value <= high:
            raise _outside(name, (value,), low, high)
    if rule.anchored and rule.start is None:
        raise Invalid("a rule with INTERVAL or COUNT needs a start", "give a DTSTART", field="start")
    for name in ("since", "until"):
        bound = getattr(rule, name)
        if bound is not None:
            if bound.tzinfo is None or bound.microsecond:
                raise Invalid(f"{name} {bound} is not a whole second with an offset", field=name, value=str(bound))
            object.__setattr__(rule, name, bound.astimezone(UTC))


def _wrong(rule: Rule, *, numbered: int) -> str | None:
    """What the RFC does not allow, or what is missing that it would derive. `numbered`: the greatest ordinal."""
    freq = rule.freq
    if freq not in FREQUENCIES:
        return f"FREQ={freq} is not one of {', '.join(FREQUENCIES)}"
    if numbered and freq not in {"MONTHLY", "YEARLY"}:
        return "a numbered weekday (2MO) is for monthly and yearly rules"
    if numbered > 5 and (freq == "MONTHLY" or rule.bymonth):
        return "no month has more than five of a weekday"
    if rule.byweekno and (freq != "YEARLY" or numbered):
        return "BYWEEKNO is for yearly rules, with plain weekdays"
    if rule.byyearday and freq in {"DAILY", "WEEKLY", "MONTHLY"}:
        return "BYYEARDAY is not for daily, weekly and monthly rules"
    if rule.bymonthday and freq == "WEEKLY":
        return "BYMONTHDAY is not for weekly rules"
    days = rule.byday or (freq != "WEEKLY" and (rule.bymonthday or rule.byyearday or rule.byweekno))
    if freq in {"WEEKLY", "MONTHLY", "YEARLY"} and not days:
        return f"a {freq} rule does not say on which days"
    if freq not in {"HOURLY", "MINUTELY"} and not rule.byhour:
        return f"a {freq} rule does not say at which hour"
    if freq != "MINUTELY" and not rule.byminute:
        return f"a {freq} rule does not say at which minute"
    return None


def _outside(field: str, values: tuple[Any, ...], low: int, high: int) -> Invalid:
    value = next(value for value in values if not low <= value <= high)
    return Invalid(f"{field} {value} is out of range: it goes from {low} to {high}", field=field, value=value)
