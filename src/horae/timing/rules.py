"""One recurrence rule, in the vocabulary of RFC 5545.

A rule is a set of wall times, before any zone: the days of a month that satisfy all of `bymonth`, `bymonthday` and
`byday`, each at every `byhour` x `byminute`; then `bysetpos` picks from the month's list. Positions count *instances*,
as the RFC says, not days: "the last weekday at 9 and at 17" is BYSETPOS=-2,-1.

Everything is decided within one month, so `freq` is a label for editors (which draw a weekly and a monthly rule
differently) and never changes the meaning. Combinations for which the RFC would look beyond a month (YEARLY without
BYMONTH, positions in a week) are refused, so that the label can never lie. INTERVAL, COUNT and UNTIL will join here.

Invariant: the lists are sorted and without duplicates, so equal rules compare equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from horae.errors import Invalid

Day = tuple[int, int]
"""An ordinal within the month (0 = every, -1 = the last) and a weekday (0 = Monday)."""

MO, TU, WE, TH, FR, SA, SU = range(7)
WORKDAYS: tuple[Day, ...] = tuple((0, day) for day in (MO, TU, WE, TH, FR))


@dataclass(frozen=True, slots=True)
class Rule:
    """`freq`: DAILY, WEEKLY, MONTHLY or YEARLY; an empty list restricts nothing. Raises `Invalid`."""

    freq: str
    bymonth: tuple[int, ...] = ()
    bymonthday: tuple[int, ...] = ()
    byday: tuple[Day, ...] = ()
    byhour: tuple[int, ...] = (0,)
    byminute: tuple[int, ...] = (0,)
    bysetpos: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("bymonth", "bymonthday", "byday", "byhour", "byminute", "bysetpos"):
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))
        self._check_ranges()
        self._check_label()

    def times(self) -> tuple[int, ...]:
        """The times of a day, as seconds after midnight, ascending."""
        return tuple(hour * 3600 + minute * 60 for hour in self.byhour for minute in self.byminute)

    def _check_ranges(self) -> None:
        _within("bymonth", self.bymonth, 1, 12)
        _within("bymonthday", tuple(abs(day) for day in self.bymonthday), 1, 31)
        _within("byday", tuple(abs(ordinal) for ordinal, _ in self.byday), 0, 5)
        _within("byday", tuple(weekday for _, weekday in self.byday), 0, 6)
        _within("byhour", self.byhour, 0, 23)
        _within("byminute", self.byminute, 0, 59)
        if not self.byhour or not self.byminute:
            raise Invalid("a rule needs an hour and a minute", field="byhour")
        if 0 in self.bysetpos:
            raise Invalid("bysetpos counts from 1 or from -1", field="bysetpos", value=0)

    def _check_label(self) -> None:
        ordinals = any(ordinal for ordinal, _ in self.byday)
        complete = {
            "DAILY": not ordinals and not self.bysetpos,
            "WEEKLY": bool(self.byday) and not ordinals and not self.bymonthday and not self.bysetpos,
            "MONTHLY": bool(self.byday or self.bymonthday),
            "YEARLY": bool(self.bymonth) and bool(self.byday or self.bymonthday) and not self.bysetpos,
        }
        if not complete.get(self.freq, False):
            raise Invalid(f"a {self.freq} rule cannot have these parts", field="freq", value=self.freq)


def label(bymonth: tuple[int, ...], bymonthday: tuple[int, ...], byday: tuple[Day, ...], *, setpos: bool) -> str:
    """The FREQ under which calendar editors show such a rule best. All labels mean the same here."""
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
    # A rule is a product of hours and minutes: for 9:00 and 17:30 one alone would add 9:30 and 17:00.
    hours_of: dict[int, tuple[int, ...]] = {}
    for time in sorted(set(times)):
        hours_of[time % 60] = (*hours_of.get(time % 60, ()), time // 60)
    minutes_of: dict[tuple[int, ...], list[int]] = {}
    for minute, hours in sorted(hours_of.items()):
        minutes_of.setdefault(hours, []).append(minute)
    freq = label(bymonth, bymonthday, byday, setpos=False)
    return tuple(
        Rule(freq, bymonth, bymonthday, byday, byhour=hours, byminute=tuple(minutes))
        for hours, minutes in minutes_of.items()
    )


def _within(field: str, values: tuple[int, ...], low: int, high: int) -> None:
    for value in values:
        if not low <= value <= high:
            raise Invalid(f"{field} {value} is out of range: it goes from {low} to {high}", field=field, value=value)
