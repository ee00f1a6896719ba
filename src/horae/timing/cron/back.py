"""Recurrence sets as cron lines: exact, in one canonical numeric form, or refused with the reason.

The line is found from what the set selects, not from how it was said, so equal sets give the same line. Times must be
one product of hours and minutes. Days are covered by what a day field can name: numbers, `L`, `L-2`, `LW`, `15W`, and in
the other field weekdays, `1#2`, `5L`. Either field may be enough (then neither begins with a star) or both must match
(then one of them begins with a star: any list can that holds day 1, or Sunday, since `*/31` is day 1).

Invariant: reading the line gives an equal set; the line is read once more before it is given out. Refused are also
sets for which such a line may exist but none of the forms tried here is it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from horae.errors import Invalid
from horae.timing.cron.fields import DAY, HOUR, MINUTE, MONTH, WEEKDAY, Field
from horae.timing.cron.line import parse_cron
from horae.timing.days import ones
from horae.timing.normal import Kind, fits_a_month, spelled, table
from horae.timing.recurrence import RecurrenceSet
from horae.timing.rules import Rule
from horae.timing.vocabulary import runs_of

_LONG_AGO = datetime(2, 1, 2, tzinfo=UTC)
_LAST_OF = 30  # L-30 is the first of a month of 31 days


class _Atom(NamedTuple):
    """One entry of a day field, and the days that it names in each kind of month (as bits)."""

    text: str
    value: int | None
    """The number of a plain entry."""
    days: tuple[int, ...]


def to_cron(slots: RecurrenceSet, *, since: datetime | None = None) -> str:
    """The five-field line with exactly these slots. Bounds that lie before `since` do not count. Raises `Invalid`.

    What the line does at clock changes is not part of it: that stays with the job.
    """
    rules = _plain_rules(slots, since)
    kinds = [kind for kind in table(rules) if kind.minutes]
    minutes = {bits for kind in kinds for bits in kind.minutes.values()}
    if len(minutes) != 1:
        raise _unsayable("it runs at other times on some days than on others", "write one job for each")
    hour, minute = _product(minutes.pop())
    months, wanted = sorted({kind.month for kind in kinds}), spelled(rules)
    kinds = [kind for kind in table(rules) if kind.month in months]
    for day, weekday in _day_fields(kinds):
        line = f"{minute} {hour} {day} {_field(MONTH, months)} {weekday}"
        if spelled(parse_cron(line).rules) == wanted:
            return line
    raise _unsayable("no lists of month days and weekdays name exactly these days", None)


def _plain_rules(slots: RecurrenceSet, since: datetime | None) -> tuple[Rule, ...]:
    if slots.grids:
        raise _unsayable("an interval counts elapsed time from its anchor", "cron counts anew in each hour and day")
    if slots.dates:
        raise _unsayable("it has single dates, and cron lines have no year", None)
    if slots.exdates or slots.exceptions:
        raise _unsayable("it leaves out or moves single slots", "do that with `horae skip` and `horae move`")
    for rule in slots.rules:
        if rule.until is not None or rule.count is not None:
            raise _unsayable("it ends, and cron lines go on for ever", None)
        if rule.start is not None or rule.since is not None:
            first = replace(slots, rules=(rule,)).next_after(_LONG_AGO)
            if first is not None and (since is None or first > since):
                raise _unsayable(f"it begins on {first:%Y-%m-%d}, and cron lines have always been there", None)
        if rule.second:
            raise _unsayable(f"it runs at second {rule.second} of the minute", "cron lines know minutes only")
        if not fits_a_month(rule):
            raise _unsayable(_beyond(rule), None)
    if not slots.rules:
        raise _unsayable("it never runs", None)
    return slots.rules


def _beyond(rule: Rule) -> str:
    if rule.interval != 1:
        return f"it leaves out periods (INTERVAL={rule.interval}), and cron lines remember none"
    return "it counts in weeks or years, and a cron line knows the month only"


def _product(bits: int) -> tuple[str, str]:
    """The hour and the minute field of the minutes of a day."""
    times = ones(bits)
    hours, minutes = sorted({time // 60 for time in times}), sorted({time % 60 for time in times})
    if len(hours) * len(minutes) != len(times):
        says = "its times are no product: a cron line runs at each of its minutes in each of its hours"
        raise _unsayable(says, "write one job for each minute")
    return _field(HOUR, hours), _field(MINUTE, minutes)


def _day_fields(kinds: list[Kind]) -> Iterator[tuple[str, str]]:
    """Pairs of day fields that cover the days, the simplest first. Not all of them may be right: read them again."""
    active = tuple(sum(1 << day for day in kind.minutes) for kind in kinds)
    if all(bits == (2 << kind.length) - 2 for bits, kind in zip(active, kinds, strict=True)):
        yield "*", "*"
        return
    whole = tuple((2 << kind.length) - 2 for kind in kinds)
    monthdays, weekdays = list(_monthday_atoms(kinds)), list(_weekday_atoms(kinds))
    for plain in (True, False):
        if (chosen := _cover([a for a in weekdays if a.value is not None or not plain], active, whole)) is not None:
            yield "*", _listed(WEEKDAY, chosen)
        if (chosen := _cover([a for a in monthdays if a.value is not None or not plain], active, whole)) is not None:
            yield _listed(DAY, chosen), "*"
    if (chosen := _cover([*monthdays, *weekdays], active, whole)) is not None:
        days = [atom for atom in chosen if atom in monthdays]
        yield _listed(DAY, days, star=False), _listed(WEEKDAY, [a for a in chosen if a not in days], star=False)
    yield from _both(kinds, active, monthdays, weekdays)


def _both(
    kinds: list[Kind], active: tuple[int, ...], monthdays: list[_Atom], weekdays: list[_Atom]
) -> Iterator[tuple[str, str]]:
    """Both fields restrict, and the star of one says that both must match."""
    plain = [atom for atom in weekdays if atom.value is not None]
    for step in range(2, 7):
        values = range(0, 7, step)
        within = _union([atom for atom in plain if atom.value in values], len(kinds))
        if (chosen := _cover(monthdays, active, within)) is not None:
            yield _listed(DAY, chosen), f"*/{step}"
    yield from _days_by_step(kinds, active, plain)
    seen = [atom for atom in plain if _meets(atom.days, active)]
    if (chosen := _cover(monthdays, active, _union(seen, len(kinds)))) is not None:
        if any(atom.value == 1 for atom in chosen):
            yield _starred(DAY, chosen), _listed(WEEKDAY, seen)
        if any(atom.value == 0 for atom in seen):
            yield _listed(DAY, chosen), _starred(WEEKDAY, seen)
    yield from _days_by_step(kinds, active, weekdays)
    numbers = [atom for atom in monthdays if atom.value is not None and _meets(atom.days, active)]
    chosen = _cover(weekdays, active, _union(numbers, len(kinds)))
    if chosen is not None and any(atom.value == 1 for atom in numbers):
        yield _starred(DAY, numbers), _listed(WEEKDAY, chosen)


def _days_by_step(kinds: list[Kind], active: tuple[int, ...], weekdays: list[_Atom]) -> Iterator[tuple[str, str]]:
    for step in range(2, 32):
        within = tuple(sum(1 << day for day in range(1, kind.length + 1, step)) for kind in kinds)
        if (chosen := _cover(weekdays, active, within)) is not None:
            yield f"*/{step}", _listed(WEEKDAY, chosen)


def _cover(atoms: list[_Atom], active: tuple[int, ...], within: tuple[int, ...]) -> list[_Atom] | None:
    """The fewest atoms, of the first ones listed, whose days within `within` are the active ones; None if none are."""
    chosen: list[_Atom] = []
    missing = list(active)
    for atom in atoms:
        cut = [days & allowed for days, allowed in zip(atom.days, within, strict=True)]
        if any(days & ~wanted for days, wanted in zip(cut, active, strict=True)):
            continue
        if any(days & left for days, left in zip(cut, missing, strict=True)):
            chosen.append(atom)
            missing = [left & ~days for left, days in zip(missing, cut, strict=True)]
    if any(missing):
        return None
    for atom in chosen[::-1]:
        others = _union([other for other in chosen if other is not atom], len(active))
        if all(not wanted & ~(other & allowed) for wanted, other, allowed in zip(active, others, within, strict=True)):
            chosen.remove(atom)
    return chosen


def _monthday_atoms(kinds: list[Kind]) -> Iterator[_Atom]:
    for number in range(1, 32):
        yield _Atom(str(number), number, tuple(1 << number if number <= kind.length else 0 for kind in kinds))
    for back in range(_LAST_OF + 1):
        days = tuple(1 << kind.length - back if kind.length > back else 0 for kind in kinds)
        yield _Atom(f"L-{back}" if back else "L", None, days)
    yield _Atom("LW", None, tuple(1 << _last_workday(kind) for kind in kinds))
    for number in range(1, 32):
        yield _Atom(f"{number}W", None, tuple(_nearest(kind, number) for kind in kinds))


def _weekday_atoms(kinds: list[Kind]) -> Iterator[_Atom]:
    for value in range(7):  # 0 is Sunday here
        days = tuple(sum(1 << day for day in _those(kind, value)) for kind in kinds)
        yield _Atom(str(value), value, days)
    for value in range(7):
        for ordinal in range(1, 6):
            days = tuple(1 << those[ordinal - 1] if len(those := _those(k, value)) >= ordinal else 0 for k in kinds)
            yield _Atom(f"{value}#{ordinal}", None, days)
        yield _Atom(f"{value}L", None, tuple(1 << _those(kind, value)[-1] for kind in kinds))


def _those(kind: Kind, value: int) -> range:
    """The days of the month that are this weekday, Sunday being 0."""
    return range(1 + (value - 1 - kind.weekday) % 7, kind.length + 1, 7)


def _weekday(kind: Kind, day: int) -> int:
    return (kind.weekday + day - 1) % 7


def _last_workday(kind: Kind) -> int:
    return next(day for day in range(kind.length, 0, -1) if _weekday(kind, day) < 5)


def _nearest(kind: Kind, number: int) -> int:
    if number > kind.length:
        return 0
    workdays = [day for day in range(1, kind.length + 1) if _weekday(kind, day) < 5]
    return 1 << min(workdays, key=lambda day: abs(day - number))


def _union(atoms: list[_Atom], size: int) -> tuple[int, ...]:
    total = [0] * size
    for atom in atoms:
        total = [known | days for known, days in zip(total, atom.days, strict=True)]
    return tuple(total)


def _meets(days: tuple[int, ...], active: tuple[int, ...]) -> bool:
    return any(one & other for one, other in zip(days, active, strict=True))


def _listed(field: Field, atoms: list[_Atom], *, star: bool = True) -> str:
    numbers = sorted(atom.value for atom in atoms if atom.value is not None)
    parts = [_field(field, numbers, star=star)] if numbers else []
    return ",".join(parts + [atom.text for atom in atoms if atom.value is None])


def _starred(field: Field, atoms: list[_Atom]) -> str:
    """A list that begins with a star and holds just these: the widest step from its first value, then the others."""
    numbers = sorted(atom.value for atom in atoms if atom.value is not None)
    size = field.last_star - field.low + 1
    step = next(n for n in range(2, size + 1) if set(range(field.low, field.last_star + 1, n)) <= set(numbers))
    rest = [number for number in numbers if number not in range(field.low, field.last_star + 1, step)]
    texts = [f"*/{step}", *([_field(field, rest, star=False)] if rest else [])]
    return ",".join(texts + [atom.text for atom in atoms if atom.value is None])


def _field(field: Field, values: list[int], *, star: bool = True) -> str:
    """Values in the shortest of the forms `*`, `*/n`, `a-b`, `a-b/n`, and lists of values and ranges."""
    every = list(range(field.low, field.last_star + 1))
    if values == every:
        return "*" if star else f"{field.low}-{field.last_star}"
    steps = {later - earlier for earlier, later in pairwise(values)}
    if len(values) > 2 and len(steps) == 1 and (step := steps.pop()) > 1:
        if star and values == every[::step]:
            return f"*/{step}"
        return f"{values[0]}-{values[-1]}/{step}"
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs_of(values))


def _unsayable(why: str, hint: str | None) -> Invalid:
    return Invalid(f"no cron line can say this: {why}", hint, field="cron")
