"""What becomes of a job's planned slots when zone data changed.

The old data is gone. What it said is left in the rows: each has its instant and the offset from UTC that was true when it
was planned, together a *wall time*. So a slot follows its wall time: it moves to the instant that the new data gives it.

- A wall time that had its turn is not run again: the plan goes on strictly after the instant that the last of them has
  now, and where it would still come by another of them, the slot there is *closed*.
- None is lost: what the plan had not come by yet is planned, if need be in the past. Then it is due, and catching up
  decides about it. So a cursor that has come due stays, and where its wall time has moved, the plan goes on behind that.
- Skips and moves of slots to come go along with their slot. A skip whose slot there is no more is gone with it; a move
  stays, since a person wants a run when it is due.
- What does not follow the clock does not change: intervals, instants with an offset, and schedules that go around the
  clock, of which each real slot runs once whatever it is called. So do rules that follow the clock of another zone than
  the job's, since no row has kept that one's offset.

Two slots of a job cannot share an instant: a wall time whose instant had its turn under another name stays where it was
planned, and keeps its name. With unchanged data every answer is "as it was"; asking twice gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from horae.timing.clockchange import EPOCH, instants_of
from horae.timing.policy import default_policy
from horae.timing.recurrence import RecurrenceSet
from horae.timing.zones import offset_s

SECOND = timedelta(seconds=1)
FARTHEST = timedelta(hours=26)  # from one edge of the world's offsets from UTC to the other


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
    cursor: Ahead | Passed | None
    """The ordinary planned row, to come or due; None when there is none."""
    begun: datetime
    """When the cursor was planned; without one, how far the plan has come."""
    others: tuple[Ahead, ...] = ()
    """Skips, moves, and slots that were given back, ascending."""
    passed: tuple[Passed, ...] = ()
    """All whose slots may lie behind `begun` or the cursor by the new data: no data moves a wall time by over `FARTHEST`."""


@dataclass(frozen=True, slots=True)
class Course:
    """Where everything is now."""

    places: tuple[tuple[Ahead, datetime | None], ...]
    """Each row ahead with its slot: the one that it had, another, or None when there is none any more."""
    kept: frozenset[str]
    """Keys of rows that stay since another has their instant: the offset that they have tells their wall time, as before."""
    after: datetime
    """The plan goes on with the first free slot after this."""
    closed: tuple[tuple[Passed, datetime], ...]
    """Wall times that had their turn, with the later slot that they would have again."""
    outrun: bool
    """The cursor is due and stays, but its wall time moved: the slot to go on with is planned beside it."""


def follow(slots: RecurrenceSet, standing: Standing, taken: Callable[[datetime], bool]) -> Course:
    """Decide by the new data. `taken` says whether a row that is what it is has that slot already."""
    clock = _Clock(slots, standing.zone)
    images = [(row, clock.image(row.slot, row.offset_s)) for row in standing.passed]
    after = _frontier(clock, standing, [image for _, image in images])
    used: set[datetime] = set()

    def free(slot: datetime) -> bool:
        return slot not in used and not taken(slot)

    places: list[tuple[Ahead, datetime | None]] = []
    kept: set[str] = set()
    for row in standing.others:
        own = clock.slots_of(row)
        place = next(filter(free, own), None)
        if place is None and row.slot not in used and (row.exception == "move" or slots.contains(row.slot)):
            place = row.slot
            kept.update([row.key] if own else [])
        if place is not None:
            used.add(place)
        places.append((row, place))
    cursor, floor = standing.cursor, after
    if isinstance(cursor, Ahead):
        had = {image for _, image in images}
        slot = first_free(slots, after, lambda slot: slot not in had and free(slot))
        own = clock.image(cursor.slot, cursor.offset_s)
        lost = own != cursor.slot and own > after and taken(own)
        if lost and cursor.slot not in used and (slot is None or cursor.slot <= slot):
            slot = cursor.slot
            kept.add(cursor.key)
            floor = min(after, slot)  # the plan goes on behind that one
        if slot is not None:
            used.add(slot)
        places.append((cursor, slot))
    closed: list[tuple[Passed, datetime]] = []
    for passed, again in images:
        if again > floor and slots.contains(again) and free(again):
            used.add(again)
            closed.append((passed, again))
    outrun = isinstance(cursor, Passed) and after != cursor.slot
    return Course(tuple(places), frozenset(kept), after, tuple(closed), outrun)


def first_free(slots: RecurrenceSet, after: datetime, free: Callable[[datetime], bool]) -> datetime | None:
    """The first slot after an instant that is free."""
    slot = slots.next_after(after)
    while slot is not None and not free(slot):
        slot = slots.next_after(slot)
    return slot


def _frontier(clock: _Clock, standing: Standing, passed: Sequence[datetime]) -> datetime:
    """The instant strictly after which the plan goes on: that of the last wall time that it has come by."""
    if standing.cursor is None:
        return standing.begun
    own = clock.image(standing.cursor.slot, standing.cursor.offset_s)
    if isinstance(standing.cursor, Passed):
        return own
    fresh = min(standing.begun, own - SECOND)  # it has not had its turn, wherever it is now
    return max((fresh, *(image for image in passed if image <= own)))


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

    def slots_of(self, row: Ahead) -> list[datetime]:
        """The slots that its wall time has: none when a gap had moved it and the gap is no more."""
        if self._stays(row.slot, row.offset_s):
            return [row.slot]
        wall = _wall(row.slot, row.offset_s)
        found = instants_of(wall, self._zone, self.slots.gap, self.slots.repeat)
        return [instant for instant in found if self.slots.contains(instant)]

    def _stays(self, instant: datetime, offset: int) -> bool:
        """Whether an instant with that offset is where it was, because it does not follow the clock or nothing changed."""
        return not self._followed or instant in self.slots.dates or offset_s(instant, self._zone) == offset


def _wall(instant: datetime, offset: int) -> datetime:
    """What a clock showed, in whole seconds."""
    return (EPOCH + (instant - EPOCH) // SECOND * SECOND + timedelta(seconds=offset)).replace(tzinfo=None)
