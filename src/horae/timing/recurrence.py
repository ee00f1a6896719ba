"""The recurrence set: the one internal form of every schedule.

A set is the union of rules (wall times in a zone, mapped to instants by a policy for clock changes), at most one grid
(elapsed time from an anchor) and single dates. Cron lines, intervals, one-shots and phrases are only syntax for it, and
calendar rules will be too: what they add (exclusions, an end, a step between days) belongs here and in `rules`.

Invariants, each held by a property test: `next_after` ascends strictly and never repeats an instant; `last_until`,
`between`, `count` and `contains` agree with it. Instants in and out are aware datetimes, those going out are in UTC and
whole seconds. Failure cases: None when nothing is left or nothing comes within `limits.HORIZON_YEARS`; a search walks
months, so no rule can make it hang.

Which policy is the default: see `default_policy`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from horae.errors import Invalid
from horae.limits import HORIZON_YEARS, INTERVAL_MIN_S, MISSED_COUNT_MAX
from horae.timing.clockchange import EPOCH, Gap, Repeat
from horae.timing.rules import Rule
from horae.timing.ruleslots import RuleSlots
from horae.timing.walls import DAY, walls_of

__all__ = ["Gap", "Grid", "RecurrenceSet", "Repeat", "Rule", "default_policy"]

_SECOND = timedelta(seconds=1)
_HORIZON_S = HORIZON_YEARS * 366 * DAY
# Searches stay inside what datetime can hold, with room for offsets.
_EARLIEST = (datetime(2, 1, 1, tzinfo=UTC) - EPOCH) // _SECOND
_LATEST = (datetime(9998, 1, 1, tzinfo=UTC) - EPOCH) // _SECOND
_FOLLOWS_BELOW_S = 3 * 3600


@dataclass(frozen=True, slots=True)
class Grid:
    """The slots `anchor + k * period_s` for k = 0, 1, 2, ... in elapsed time. It never drifts, whatever runs late."""

    period_s: int
    anchor: datetime

    def __post_init__(self) -> None:
        if self.period_s < INTERVAL_MIN_S:
            raise Invalid(f"an interval of {self.period_s} s is too short", f"the least is {INTERVAL_MIN_S} s")
        object.__setattr__(self, "anchor", _whole(self.anchor))


@dataclass(frozen=True)
class RecurrenceSet:
    """See the module. `dates` are single instants. Equal sets have equal slots; the reverse need not hold."""

    zone: str
    rules: tuple[Rule, ...] = ()
    grid: Grid | None = None
    dates: tuple[datetime, ...] = ()
    gap: Gap = "shift"
    repeat: Repeat = "first"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dates", tuple(sorted({_whole(date) for date in self.dates})))

    def next_after(self, instant: datetime) -> datetime | None:
        """The first slot strictly after the instant."""
        at = max((instant - EPOCH) // _SECOND + 1, _EARLIEST)
        found = self._next(at)
        return None if found is None else EPOCH + timedelta(seconds=found)

    def last_until(self, instant: datetime) -> datetime | None:
        """The last slot that is not after the instant."""
        at = min((instant - EPOCH) // _SECOND, _LATEST)
        floor = max(at - _HORIZON_S, _EARLIEST)
        found = [self._rule_slots.last(at, floor)] if self.rules else []
        if self.grid is not None and at >= self._anchor:
            found.append(at - (at - self._anchor) % self.grid.period_s)
        found += [date for date in self._dates if date <= at][-1:]
        known = [slot for slot in found if slot is not None]
        return EPOCH + timedelta(seconds=max(known)) if known else None

    def between(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """The slots in (after, until], ascending."""
        at, end = (after - EPOCH) // _SECOND, (until - EPOCH) // _SECOND
        found = self._next(max(at + 1, _EARLIEST))
        while found is not None and found <= end:
            yield EPOCH + timedelta(seconds=found)
            found = self._next(found + 1)

    def count(self, after: datetime, until: datetime, limit: int = MISSED_COUNT_MAX) -> int:
        """How many slots are in (after, until]; `limit` when there are more. Arithmetic, not a walk over slots."""
        start = max((after - EPOCH) // _SECOND + 1, _EARLIEST)
        end = min((until - EPOCH) // _SECOND, _LATEST)
        if end < start:
            return 0
        parts = bool(self.rules) + (self.grid is not None) + bool(self.dates)
        if parts > 1:  # no syntax makes such a set yet, so the slow and certain way does
            return self._count_by_walking(start, end, limit)
        if self.rules:
            return self._rule_slots.count(start, end, limit)
        if self.grid is not None:
            return min(limit, self._grid_count(self.grid.period_s, start, end))
        return min(limit, sum(start <= date <= end for date in self._dates))

    def contains(self, instant: datetime) -> bool:
        """Whether the instant is a slot."""
        at, rest = divmod(instant - EPOCH, _SECOND)
        if rest or not _EARLIEST <= at <= _LATEST:
            return False
        if self.grid is not None and at >= self._anchor and (at - self._anchor) % self.grid.period_s == 0:
            return True
        return at in self._dates or (bool(self.rules) and self._rule_slots.has(at))

    # Kept on the instance: hashing long rules for a shared cache would cost more than the search itself.
    @cached_property
    def _rule_slots(self) -> RuleSlots:
        return RuleSlots(walls_of(self.rules), self.zone, self.gap, self.repeat)

    @cached_property
    def _anchor(self) -> int:
        return 0 if self.grid is None else (self.grid.anchor - EPOCH) // _SECOND

    @cached_property
    def _dates(self) -> tuple[int, ...]:
        return tuple((date - EPOCH) // _SECOND for date in self.dates)

    def _next(self, at: int) -> int | None:
        """The first slot from `at` on."""
        limit = min(at + _HORIZON_S, _LATEST)
        best = self._rule_slots.next(at, limit) if self.rules else None
        if self.grid is not None:
            period = self.grid.period_s
            slot = self._anchor if at <= self._anchor else at + (self._anchor - at) % period
            if slot <= _LATEST and (best is None or slot < best):
                best = slot
        for date in self._dates:
            if date >= at:
                return date if best is None or date < best else best
        return best

    def _grid_count(self, period: int, start: int, end: int) -> int:
        if end < self._anchor:
            return 0
        below = (start - 1 - self._anchor) // period if start > self._anchor else -1
        return (end - self._anchor) // period - below

    def _count_by_walking(self, start: int, end: int, limit: int) -> int:
        total, found = 0, self._next(start)
        while found is not None and found <= end and total < limit:
            total += 1
            found = self._next(found + 1)
        return total


def default_policy(rules: tuple[Rule, ...]) -> tuple[Gap, Repeat]:
    """What a set of rules does at clock changes when its job does not say: `(gap, repeat)`.

    Spacing is the *longest* pause between neighbouring times of day, counted around midnight as if the rule ran every
    day. Under three hours (such schedules go around the clock) every real slot runs: a wall time that is left out needs
    no substitute, one that comes twice runs twice. All else names times of day, and is shifted and not repeated.

    The *shortest* pause would be wrong: "at 2:00 and 2:30" would lose both runs on the night of a gap, and "at 1:00 and
    1:30" would run four times in a repeated hour. The price is that "every 15 minutes from 0:00 to 5:45" pauses for one
    hour in that night.
    """
    if rules and all(_longest_pause_s(rule.times()) < _FOLLOWS_BELOW_S for rule in rules):
        return "skip", "both"
    return "shift", "first"


def _longest_pause_s(times: tuple[int, ...]) -> int:
    following = (*times[1:], times[0] + DAY)
    return max(later - earlier for earlier, later in zip(times, following, strict=True))


def _whole(instant: datetime) -> datetime:
    if instant.tzinfo is None or instant.microsecond:
        raise Invalid(f"{instant.isoformat()} is not a whole second with an offset", value=instant.isoformat())
    return instant.astimezone(UTC)
