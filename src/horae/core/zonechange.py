"""What becomes of a job's planned slots when zone data changed.

The old data is gone. What it said is left in the rows: each has its instant and the offset from UTC that was true when it
was planned, together a *wall time*. So a slot follows its wall time: it moves to the instant that the new data gives it.

- A wall time that had its turn is not run again: the plan goes on strictly after the instant that it has now, and where
  the plan would still come by that instant, the slot there is *closed*.
- None is lost: what the plan had not come by yet is planned, if need be in the past. Then it is due, and catching up
  decides about it.
- Skips and moves of slots to come go along with their slot. A skip whose slot there is no more is gone with it; a move
  stays, since a person wants a run when it is due.
- What does not follow the clock does not change: intervals, instants with an offset, and schedules that go around the
  clock, of which each real slot runs once whatever it is called. So do rules that follow the clock of another zone than
  the job's, since no row has kept that one's offset.

Two slots of a job cannot share an instant: a wall time whose instant had its turn under another name stays where it was
planned. With unchanged data every answer is "as it was"; asking twice gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from horae.timing.clockchange import EPOCH, instants_of
from horae.timing.recurrence import RecurrenceSet, default_policy
from horae.timing.zones import offset_s

SECOND = timedelta(seconds=1)


class Ahead(NamedTuple):
    """A planned row whose slot and due instant are both to come."""

    key: str
    slot: datetime
    offset_s: int
    exception: str | None


class Passed(NamedTuple):
    """A row that is what it is: its slot had its turn, or has come due. For a span, its last slot."""

    slot: datetime
    offset_s: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What is on record of one job."""

    zone: str
    cursor: Ahead | None
    """The ordinary planned row; None when there is none, or when it has come due."""
    begun: datetime
    """When the cursor was planned; without one, how far the plan has come."""
    last: Passed | None
    """The last one before the cursor."""
    others: tuple[Ahead, ...] = ()
    """Skips, moves, and slots that were given back, ascending."""
    early: tuple[Passed, ...] = ()
    """Those that the plan has not come by yet: slots that were moved to an earlier time, and a cursor that is due."""


@dataclass(frozen=True, slots=True)
class Course:
    """Where everything is now."""

    places: tuple[tuple[Ahead, datetime | None], ...]
    """Each row ahead with its slot: the one that it had, another, or None when there is none any more."""
    after: datetime
    """The cursor is at the first free slot after this."""
    closed: tuple[tuple[Passed, datetime], ...]
    """Wall times that had their turn, with the later slot that they would have again."""


def follow(slots: RecurrenceSet, standing: Standing, taken: Callable[[datetime], bool]) -> Course:
    """Decide by the new data. `taken` says whether a row that is what it is has that slot already."""
    clock = _Clock(slots, standing.zone)
    after = standing.begun if standing.cursor is None else _begin(clock, standing, standing.cursor)
    used: set[datetime] = set()

    def free(slot: datetime) -> bool:
        return slot not in used and not taken(slot)

    places: list[tuple[Ahead, datetime | None]] = []
    for row in standing.others:
        place = next(filter(free, clock.counterparts(row)), None)
        if place is None and row.exception == "move" and row.slot not in used:
            place = row.slot
        if place is not None:
            used.add(place)
        places.append((row, place))
    closed: list[tuple[Passed, datetime]] = []
    for passed in standing.early:
        again = clock.image(passed.slot, passed.offset_s)
        if again > after and slots.contains(again) and free(again):
            used.add(again)
            closed.append((passed, again))
    if standing.cursor is not None:
        slot = slots.next_after(after)
        while slot is not None and not free(slot):
            slot = slots.next_after(slot)
        row = standing.cursor
        own = clock.image(row.slot, row.offset_s)
        if own != row.slot and own > after and taken(own) and row.slot not in used:
            slot = row.slot if slot is None else min(slot, row.slot)
        places.append((row, slot))
    return Course(tuple(places), after, tuple(closed))


def _begin(clock: _Clock, standing: Standing, cursor: Ahead) -> datetime:
    """The instant strictly after which the plan goes on."""
    own = clock.image(cursor.slot, cursor.offset_s) - SECOND  # it has not had its turn, wherever it is now
    if standing.last is None:
        return min(standing.begun, own)
    last = clock.image(standing.last.slot, standing.last.offset_s)
    return max(last, min(standing.begun, own))


class _Clock:
    """The zone's clock by the new data, for what follows it."""

    def __init__(self, slots: RecurrenceSet, zone: str) -> None:
        self.slots = slots
        self._zone = zone
        around = bool(slots.grids) or default_policy(slots.rules) == ("skip", "both")
        self._followed = not around and slots.zone == zone

    def image(self, instant: datetime, offset: int) -> datetime:
        """Where the wall time that an instant had is now; of two instants the later one."""
        if self._stays(instant, offset):
            return instant
        wall = _wall(instant, offset)
        found = instants_of(wall, self._zone, self.slots.gap, self.slots.repeat)
        if found:
            return found[-1]
        (end,) = instants_of(wall, self._zone, "after")  # it is left out: all that comes after the gap is to come
        return end - SECOND

    def counterparts(self, row: Ahead) -> Iterator[datetime]:
        """The slots that may be this row's, the likeliest first."""
        stays = self._stays(row.slot, row.offset_s)
        if not stays:
            wall = _wall(row.slot, row.offset_s)
            yield from filter(self.slots.contains, instants_of(wall, self._zone, self.slots.gap, self.slots.repeat))
        if stays or self.slots.contains(row.slot):  # one that a gap had moved is where it was when the gap is no more
            yield row.slot

    def _stays(self, instant: datetime, offset: int) -> bool:
        """Whether an instant with that offset is where it was, because it does not follow the clock or nothing changed."""
        return not self._followed or instant in self.slots.dates or offset_s(instant, self._zone) == offset


def _wall(instant: datetime, offset: int) -> datetime:
    """What a clock showed, in whole seconds."""
    return (EPOCH + (instant - EPOCH) // SECOND * SECOND + timedelta(seconds=offset)).replace(tzinfo=None)
