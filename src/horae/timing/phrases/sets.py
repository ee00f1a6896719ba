"""What a phrase means in a zone at the instant of writing: from what is said (`forms`) to a recurrence set.

A clause says slots and bounds. What it leaves open is counted from its *base*: for a first clause the instant of
writing, for one behind `then` the instant at which it takes over. An interval without `from` begins at its base. Counted
days (every 2 weeks) and a number of times begin with the first slot after the base, or from `starting` on: the period of
that slot is the first, so "every other friday" never leaves out the coming one. A day stands for all of it: `until`
includes it, `starting` begins with it, `except` takes all its slots.

What was counted from the instant of writing becomes an edit of the source, so that the written text says it for ever.
Failure cases raise `Invalid`: days that never come, bounds that leave nothing, a day to leave out that has no slot, a
number of times for what is several rules.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

from horae.errors import Invalid
from horae.limits import HORIZON_YEARS, RULE_COUNT_MAX, RULE_COUNT_YEARS, RULE_PARTS_MAX
from horae.timing.clockchange import SECOND, Gap, Repeat, instants_of
from horae.timing.dates import Moment, Reading, begin_of, end_of, instant_of, wall_of
from horae.timing.days import plainly_fires
from horae.timing.daysets import Days, rules_of
from horae.timing.durations import period_words
from horae.timing.phrases.forms import Clause, Every, Once
from horae.timing.policy import default_policy
from horae.timing.recurrence import Grid, RecurrenceSet
from horae.timing.rules import Rule
from horae.timing.walls import HORIZON_S, layer_of, walls_of
from horae.timing.zones import zone

_WALL_EPOCH = datetime(1970, 1, 1)
_NEAR = timedelta(days=3)  # no offset moves a wall time further from its instant


class Edit(NamedTuple):
    """The source from `start` to `end` means `text` for ever."""

    start: int
    end: int
    text: str


class Meaning(NamedTuple):
    """The slots, how the source is to be written, and what there is to warn about."""

    set: RecurrenceSet
    edits: list[Edit]
    warnings: tuple[str, ...]


def meaning(
    items: list[Once | list[Clause]], timezone: str, anchor: datetime, gap: Gap | None, repeat: Repeat | None
) -> Meaning:
    """What the items mean together. `anchor` is the (aware) instant of writing; None is the default policy."""
    reader = _Reader(timezone, anchor)
    parts: list[tuple[RecurrenceSet, tuple[Moment, ...]]] = []
    for item in items:
        if isinstance(item, Once):
            parts.append((RecurrenceSet(timezone, dates=(reader.once(item),)), ()))
        else:
            parts += reader.chain(item)
    usual = default_policy(tuple(rule for part, _ in parts for rule in part.rules))
    policy = gap or usual[0], repeat or usual[1]
    first, *others = (_without(replace(part, gap=policy[0], repeat=policy[1]), days) for part, days in parts)
    for other in others:
        first |= other
    return Meaning(first, reader.edits, tuple(reader.warnings))


class _Reader:
    """Reads what is said in a zone at an instant; collects edits and warnings on the way."""

    def __init__(self, timezone: str, anchor: datetime) -> None:
        self.zone = timezone
        self.anchor = anchor.replace(microsecond=0)
        self.late = anchor.microsecond > 0
        self.edits: list[Edit] = []
        self.warnings: dict[str, None] = {}

    def once(self, said: Once) -> datetime:
        """The instant of a one-shot."""
        if said.delay is not None:  # upwards: never earlier than asked
            return _later(self.anchor, said.delay + self.late)
        moment = said.moment
        if moment is None:
            today = self.anchor.astimezone(zone(self.zone)).date()
            moment = Moment(today + timedelta(days=said.ahead or 0), said.time)
        return self._instant(instant_of(moment, self.zone))

    def chain(self, clauses: list[Clause]) -> list[tuple[RecurrenceSet, tuple[Moment, ...]]]:
        """The sets of clauses of which each takes over from the one before, with what each leaves out."""
        found: list[tuple[RecurrenceSet, tuple[Moment, ...]]] = []
        since: datetime | None = None
        for index, clause in enumerate(clauses):
            part = self._interval(clause, since) if isinstance(clause.body, Every) else self._days(clause, since)
            if since is not None:
                part = part.beginning(since)
            if clause.until is not None:
                until = self._end(clause.until)
                part = part.ending(until)
                since = until + SECOND
            elif index < len(clauses) - 1:
                raise Invalid("what comes before `then` has no end", "write, for example, `until 2027-01-01, then …`")
            if _is_empty(part):
                raise Invalid("there is no slot between its beginning and its end", "check the dates of it")
            found.append((part, clause.without))
        return found

    def _interval(self, clause: Clause, since: datetime | None) -> RecurrenceSet:
        said = clause.body
        assert isinstance(said, Every)
        begin = self._begin(clause, said, self.anchor if since is None else since)
        end = None if clause.number is None else _later(begin, (_times(clause.number) - 1) * said.period)
        grid = Grid(_bounded(said.period), begin, end)
        if clause.starting is None and since is None:
            local = begin.astimezone(zone(self.zone)).isoformat()
            self.edits.append(Edit(clause.start, clause.end, f"every {period_words(said.period)} from {local}"))
        self._warn_about_days(said.period, begin)
        return RecurrenceSet(self.zone, grids=(grid,))

    def _begin(self, clause: Clause, said: Every, base: datetime) -> datetime:
        """The anchor of an interval. The base itself is no run: so many times begin one period behind it."""
        if clause.starting is not None and said.start is not None:
            raise Invalid("`from` and `starting` are the same for an interval", "leave one of them out")
        start = said.start if clause.starting is None else clause.starting
        if start is None:
            return base if clause.number is None else _later(base, said.period)
        if isinstance(start, int):
            start = Moment(base.astimezone(zone(self.zone)).date(), start)
        elif start.time is None and clause.starting is None:
            hint = f"write `{start.day} 09:00`, or at which time it shall run"
            raise Invalid(f"{start.day} names a day but no time", hint)
        return self._instant(instant_of(start, self.zone))

    def _days(self, clause: Clause, since: datetime | None) -> RecurrenceSet:
        timed = clause.body
        assert not isinstance(timed, Every)
        counted = any(days.every > 1 for said in timed for days in said.days)
        if counted and len(timed) > 1:
            message = "a counted period, such as every 2 weeks, stands alone: each has a start of its own"
            raise Invalid(message, "write two schedules, joined with `;`")
        start = None if clause.starting is None else self._wall(clause.starting)
        if counted or clause.number is not None:
            start = self._first(clause, start, since)
        rules = tuple(rule for said in timed for days in said.days for rule in rules_of(days, said.times, start))
        if clause.number is not None:
            first, *others = rules
            if others:
                message = (
                    f"`{clause.number} times` counts the slots of one rule, and these times and days are {len(rules)}"
                )
                raise Invalid(message, "write an end instead: `until 2027-01-31`")
            rules = (replace(first, count=_times(clause.number)),)
        for said in timed:
            for days in said.days:
                self._warn_about_missing(days)
        return RecurrenceSet(self.zone, _firing(rules))

    def _first(self, clause: Clause, start: datetime | None, since: datetime | None) -> datetime:
        """The wall time of the first slot from `start` on, or else after the base, whatever periods are left out."""
        timed = clause.body
        assert not isinstance(timed, Every)
        rules: list[Rule] = []
        for said in timed:
            for days in said.days:
                rules += rules_of(replace(days, every=1), said.times)
        base = self.anchor if since is None else since
        low = start or base.astimezone(zone(self.zone)).replace(tzinfo=None) + SECOND * (since is None)
        walls = walls_of(_firing(tuple(rules)))
        seconds = (low - _WALL_EPOCH) // SECOND
        found = walls.next(seconds, seconds + HORIZON_S)
        if found is None:
            raise _never()
        first = _WALL_EPOCH + timedelta(seconds=found)
        if start is None and since is None:
            day = found - found % 86400
            alone = walls.next(day, found) == found
            shown = f"{first:%Y-%m-%d}" if alone else f"{first:%Y-%m-%d %H:%M:%S}".removesuffix(":00")
            self.edits.append(Edit(clause.end, clause.end, f" starting {shown}"))
        return first

    def _wall(self, moment: Moment) -> datetime:
        if moment.offset is None:
            return wall_of(moment)
        return self._instant(instant_of(moment, self.zone)).astimezone(zone(self.zone)).replace(tzinfo=None)

    def _end(self, moment: Moment) -> datetime:
        if moment.time is None:
            return end_of(moment.day, self.zone)
        return self._instant(instant_of(moment, self.zone))

    def _instant(self, reading: Reading) -> datetime:
        self.warnings.update(dict.fromkeys(reading.warnings))
        return reading.instant

    def _warn_about_days(self, period: int, begin: datetime) -> None:
        """An interval of whole days looks as if it kept its time of day."""
        if period % 86400:
            return
        place = zone(self.zone)
        offsets = {(begin + timedelta(days=days)).astimezone(place).utcoffset() for days in (0, 91, 182, 273)}
        if len(offsets) > 1:
            every = f"every {period_words(period)}"
            says = f"{every} is elapsed time: in {self.zone} its time of day moves with each clock change"
            form = f"every {period_words(period)} at 9am"
            if period % (7 * 86400) == 0:
                form = (
                    "every monday at 9am"
                    if period == 7 * 86400
                    else f"every {period // (7 * 86400)} weeks on monday at 9am"
                )
            self.warnings[f"{says}; for a fixed time of day name it, as in `{form}`"] = None

    def _warn_about_missing(self, days: Days) -> None:
        missing = min(days.monthdays, default=0)
        if days.months == (2,) and days.monthdays == (29,):
            self.warnings["29 February comes in leap years only"] = None
        elif missing > 28 and not days.months:
            says = f"months without a day {missing} have no run"
            self.warnings[f"{says}; write `last day of the month` for the last of each"] = None
        if any(number == 5 for number, _ in days.weekdays) and not days.in_year:
            self.warnings["most months have no fifth one; write `last` for the last of each"] = None


def _without(part: RecurrenceSet, moments: tuple[Moment, ...]) -> RecurrenceSet:
    """The set without all slots of those days, and without those slots."""
    left_out: list[datetime] = []
    for moment in moments:
        if moment.time is None:
            begin = begin_of(moment.day, part.zone)
            slots = part.between(begin - SECOND, end_of(moment.day, part.zone))
            found = list(islice(slots, RULE_PARTS_MAX + 1))
            shown = f"on {moment.day}"
        else:
            if moment.offset is None:  # whatever the clock does with it, by the policy of the set
                meant = instants_of(wall_of(moment), part.zone, part.gap, "both")
            else:
                meant = (instant_of(moment, part.zone).instant,)
            found = [instant for instant in meant if part.contains(instant)]
            shown = f"at {wall_of(moment):%H:%M} on {moment.day}"
        if not found:
            raise Invalid(f"there is no slot {shown} that could be left out", "check the date behind `except`")
        left_out += found
    if len(left_out) > RULE_PARTS_MAX:
        raise Invalid(
            f"`except` leaves out more than {RULE_PARTS_MAX} slots", "write an end and a new beginning instead"
        )
    return replace(part, exdates=tuple(left_out)) if left_out else part


def _firing(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Those that ever have a slot. Raises `Invalid` when none has."""
    if all(map(plainly_fires, rules)):
        return rules
    try:
        found = tuple(rule for rule in rules if layer_of(rule).fires())
    except Invalid as error:
        if error.details.get("field") != "count":
            raise
        message = f"{error.details['value']} times are not used up within {RULE_COUNT_YEARS} years"
        raise Invalid(message, "leave the number out, or write `until …`") from None
    if not found:
        raise _never()
    return found


def _is_empty(part: RecurrenceSet) -> bool:
    """Whether its bounds leave nothing. Without a beginning there are always slots before the end."""
    begins = [rule.since or (rule.start and rule.start.replace(tzinfo=UTC)) for rule in part.rules]
    begins += [grid.anchor for grid in part.grids]
    known = [begin for begin in begins if begin is not None]
    return len(known) == len(begins) and part.next_after(min(known) - _NEAR) is None


def _times(count: int) -> int:
    if not 1 <= count <= RULE_COUNT_MAX:
        raise Invalid(f"{count} times is out of range", f"it goes from 1 to {RULE_COUNT_MAX}", value=count)
    return count


def _bounded(seconds: int) -> int:
    if seconds > HORIZON_YEARS * 365 * 86400:
        raise Invalid(f"{period_words(seconds)} is longer than {HORIZON_YEARS} years", "write a shorter one")
    return seconds


def _later(instant: datetime, seconds: int) -> datetime:
    later = _bounded(seconds)
    if instant.year > 9997 - HORIZON_YEARS:
        raise Invalid(f"{instant:%Y-%m-%d} is too near to the end of the calendar", "write an earlier date")
    return instant + timedelta(seconds=later)


def _never() -> Invalid:
    return Invalid("these days never come", "check the day and the month")
