"""Schedules in plain English, exact: two sets with different slots never get the same words, and nothing is "about".

Where the grammar of phrases can say a set, its words are such a phrase and read back to an equal set. A sentence has a
clause for each stretch of the set, `then` where one takes over from the one before, and `;` between what runs side by
side. What is no sentence (positions among times, weeks that begin on a Sunday, skipped slots, a policy for clock changes
that is not the default) has words that the grammar refuses, rather than words that it reads as something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import groupby

from horae.timing.clockchange import SECOND, instants_of
from horae.timing.dates import begin_of, end_of
from horae.timing.daysets import EVERY_DAY, Days, rules_of
from horae.timing.durations import period_words
from horae.timing.policy import default_policy
from horae.timing.recurrence import RecurrenceSet
from horae.timing.rules import Rule
from horae.timing.vocabulary import MONTHS, WEEKDAYS, listed, numbered, ordinal
from horae.timing.words.days import in_order, is_date, months_words, union_words
from horae.timing.words.dayunion import simplified
from horae.timing.words.ruledays import Said, said_of
from horae.timing.words.stretches import Stretch, bare, bare_grid, begin_words, change_words, end_words
from horae.timing.words.times import clock, date_words, instant_words, seconds_of, times_words
from horae.timing.zones import zone

__all__ = ["MONTHS", "WEEKDAYS", "describe"]

_PERIODS = {"WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}


def describe(slots: RecurrenceSet, zone_name: str) -> str:
    """The set in English, for a job in that zone: "at 18:30 on weekdays until 31 January 2027"."""
    place = slots.zone if slots.rules else zone_name
    slots = replace(slots, zone=place)
    stretches = _stretches(slots)
    words = "; ".join([*_chains(stretches, slots), *_single(slots)]) or "never"
    spoken = tuple(rule for stretch in stretches for rule in stretch.spoken)
    if spoken and (slots.gap, slots.repeat) != default_policy(spoken):
        words += f" (clock changes: gap {slots.gap}, repeat {slots.repeat})"
    if slots.exceptions:
        words += f" ({'; '.join(_exceptions(slots))})"
    return words if place == zone_name else f"{words} (in {place})"


# --- sentences


def _chains(stretches: list[Stretch], slots: RecurrenceSet) -> Iterator[str]:
    """A sentence for each stretch that follows no other, with those that follow it."""
    follower: dict[int, tuple[int, str, str]] = {}
    taken: set[int] = set()
    for index, stretch in enumerate(stretches):
        for after, other in enumerate(stretches):
            if after != index and after not in taken and (change := change_words(stretch, other)):
                follower[index] = (after, *change)
                taken.add(after)
                break
    for index in range(len(stretches)):
        if index not in taken:
            yield _chain(stretches, follower, index, slots)


def _chain(
    stretches: list[Stretch], follower: dict[int, tuple[int, str, str]], index: int, slots: RecurrenceSet
) -> str:
    words, begin = "", begin_words(stretches[index])
    while True:
        stretch = stretches[index]
        after, end, next_begin = follower.get(index, (None, end_words(stretch), ""))
        words += f"{stretch.words}{begin}{end}{_left_out(stretch, slots)}"
        if after is None:
            return words
        words, index, begin = f"{words}, then ", after, next_begin


def _left_out(stretch: Stretch, slots: RecurrenceSet) -> str:
    """Such as ", except 25 December 2026": days of which all slots are left out, else single slots."""
    left_out = {date for date in slots.exdates if stretch.slots.contains(date)}
    words: list[str] = []
    for day, dates in groupby(sorted(left_out), lambda date: date.astimezone(zone(slots.zone)).date()):
        whole = stretch.slots.between(begin_of(day, slots.zone) - SECOND, end_of(day, slots.zone))
        all_of_it = all(slot in left_out for slot in whole)
        words += [date_words(day)] if all_of_it else _single_words(list(dates), stretch.slots, left_out)
    return f", except {listed(words)}" if words else ""


def _single_words(dates: list[datetime], slots: RecurrenceSet, left_out: set[datetime]) -> Iterator[str]:
    """Single slots that are left out: a time that comes twice stands for both, so one of them is said with its offset."""
    for date in dates:
        local = date.astimezone(zone(slots.zone)).replace(tzinfo=None)
        twins = [twin for twin in instants_of(local, slots.zone, repeat="both") if slots.contains(twin)]
        if date == twins[0] or not left_out.issuperset(twins):
            yield instant_words(date, slots.zone, exact=not left_out.issuperset(twins))


def _single(slots: RecurrenceSet) -> Iterator[str]:
    """The dates that are not slots anyway."""
    rest = replace(slots, dates=(), exdates=())
    for date in slots.dates:
        if date not in slots.exdates and not rest.contains(date):
            yield f"once, at {instant_words(date, slots.zone, weekday=True)}"


def _exceptions(slots: RecurrenceSet) -> Iterator[str]:
    for slot, due in sorted(slots.exceptions, key=lambda item: item.slot):
        shown = instant_words(slot, slots.zone)
        yield f"skipped: {shown}" if due is None else f"moved: {shown} to {instant_words(due, slots.zone)}"


# --- the words of each stretch, without bounds

Bounds = tuple[datetime | None, int | None, datetime | None, datetime | None]


def _stretches(slots: RecurrenceSet) -> list[Stretch]:
    """All that runs again and again; what has no slot is left out."""
    alone = replace(slots, rules=(), grids=(), dates=(), exdates=(), exceptions=())
    plain: dict[Bounds, list[tuple[Rule, Said]]] = {}
    found: list[Stretch] = []
    for rule in slots.rules:
        short = bare(rule, slots)
        said = said_of(short) if short else None
        if short is None or said is None or not (said.times or said.pace):
            continue
        if said.picked or said.pace or short.count:
            spoken = (short,) if said.picked or said.pace else rules_of(EVERY_DAY, said.times)
            words = _odd_words(short, said)
            found.append(Stretch(words, replace(alone, rules=(short,)), spoken, begun=said.pace is not None))
        else:
            plain.setdefault((short.start, short.count, short.since, short.until), []).append((short, said))
    for group in plain.values():
        found += _plain(group, alone)
    for grid in filter(None, map(bare_grid, slots.grids)):
        words = f"every {period_words(grid.period_s)} from {instant_words(grid.anchor, slots.zone)}"
        found.append(Stretch(words, replace(alone, grids=(grid,))))
    return found


def _plain(group: list[tuple[Rule, Said]], alone: RecurrenceSet) -> Iterator[Stretch]:
    """Rules with the same bounds: one stretch for those that leave out no periods, one for each that does."""
    times_of: dict[Days, set[int]] = {}
    for _, said in group:
        for days in said.days:
            times_of.setdefault(days, set()).update(said.times)
    steady = tuple(rule for rule, said in group if said.days[0].every == 1)
    if steady:
        units = _units({days: times for days, times in times_of.items() if days.every == 1})
        words = ", and ".join(_timed_words(union, times) for union, times in units)
        spoken = tuple(rule for _, times in units for rule in rules_of(EVERY_DAY, times))
        yield Stretch(words, replace(alone, rules=steady), spoken)
    for days, times in times_of.items():
        if days.every > 1:
            rules = tuple(rule for rule, said in group if days in said.days)
            at = tuple(sorted(times))
            yield Stretch(_timed_words([days], at), replace(alone, rules=rules), rules_of(EVERY_DAY, at))


def _units(times_of: dict[Days, set[int]]) -> list[tuple[list[Days], tuple[int, ...]]]:
    """Days with their times, such as "at 09:00 on Mondays" and "at 17:00 on Fridays"."""
    days_at: dict[tuple[int, ...], list[Days]] = {}
    for days, times in times_of.items():
        days_at.setdefault(tuple(sorted(times)), []).append(days)
    found: list[tuple[list[Days], tuple[int, ...]]] = []
    for times, given in days_at.items():
        union = simplified(given)
        others = {days.months for days in union if not is_date(days)}
        by_months: dict[tuple[int, ...] | None, list[Days]] = {}
        for days in union:  # dates of every year need not be in the same month
            by_months.setdefault(days.months if days.months in others else None, []).append(days)
        found += [(part, times) for part in by_months.values()]
    return found


def _timed_words(union: list[Days], times: tuple[int, ...]) -> str:
    at = times_words(times)
    comma = "," if at.startswith("every") else ""
    days, months = union_words(union), months_words(union)
    if union[0].every > 1:
        return f"{days}{comma} {at}{months}"
    if union == [EVERY_DAY] and comma and " from " not in at:
        return at
    return f"{at}{comma} {days}{months}"


def _odd_words(rule: Rule, said: Said) -> str:
    """Of a rule that stands alone: it is counted, picks from its instances, or steps by the clock unevenly."""
    if said.pace is None:
        words = _timed_words(list(said.days), said.times)
        if said.picked is None:
            return words
        picks = listed(f"the {ordinal(position)}" for position in in_order(said.picked.bysetpos))
        own_week = rule.freq == "WEEKLY" and rule.wkst and not said.days[0].wkst
        week = f" (weeks begin on {WEEKDAYS[rule.wkst]})" if own_week else ""
        return f"{words}, of these only {picks} of each {_PERIODS[rule.freq]}{week}"
    return _pace_words(said.pace, said.days[0])


def _pace_words(rule: Rule, days: Days) -> str:
    """Of a step through hours or minutes that does not come out even in a day, by the clock on the wall."""
    assert rule.start is not None, "a rule with INTERVAL has a start"
    hourly = rule.freq == "HOURLY"
    period = period_words(rule.interval * (3600 if hourly else 60))
    words = f"every {period} by the clock, counted from {clock(seconds_of(rule.start))} on {date_words(rule.start)}"
    if len(rule.byminute) % 60:
        words += f", at {numbered('minute', rule.byminute)} only"
    if rule.second:
        words += f", at second {rule.second}"
    if len(rule.byhour) % 24:
        words += f", in {numbered('hour', rule.byhour)} only"
    if days != EVERY_DAY:
        words += f", {union_words([days])}{months_words([days])}"
    return words
