"""Rules in a zone under a policy, as an ascending sequence of instants. All in whole seconds; no datetime.

Each span of constant offset contributes its *real* slots, the walls that its clock shows, less those that the repeat
policy gives to the neighbour: that trims the span at one end, nothing more. A span that begins with a gap contributes
its *moved* slots too: the walls that were left out. Both are stretches of walls read with one offset, so every
question is one or two searches in `Walls` per span.

Bounds: `since` and `until` cut the sequence by instants, exactly, also inside a change; the rules' own start and end are
walls. A search looks no further than the horizon.

Invariants: strictly ascending, no instant twice (a moved slot that meets a real one is the same slot). A search that
finds no wall for days jumps to where the next one is due instead of visiting the spans between.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from horae.timing.clockchange import EPOCH, SECOND, Gap, Repeat, Span, span_at
from horae.timing.walls import DAY, Layer, Walls

# Searches stay inside what datetime can hold, with room for offsets.
EARLIEST = (datetime(2, 1, 1, tzinfo=UTC) - EPOCH) // SECOND
LATEST = (datetime(9998, 1, 1, tzinfo=UTC) - EPOCH) // SECOND

_FAR = 3 * DAY  # no offset and no clock change moves a wall time further than this from its instant


class RuleSlots:
    """Slots of `walls` in the zone. Bounds are instants in seconds since the epoch, inclusive."""

    def __init__(
        self,
        walls: Layer | Walls,
        zone: str,
        gap: Gap,
        repeat: Repeat,
        since: int | None = None,
        until: int | None = None,
    ) -> None:
        self._walls = walls
        self._zone = zone
        self._gap: Gap = gap
        self._repeat: Repeat = repeat
        # Walls begin and end too, at most a few days from these instants: a search must not end before it gets there
        self.low = EARLIEST if since is None or since < EARLIEST else since
        self.high = LATEST if until is None or until > LATEST else until
        self.low = max(self.low, walls.low - _FAR)
        self.high = min(self.high, walls.high + _FAR)

    def next(self, at: int) -> int | None:
        """The first slot from `at` on, within the horizon."""
        at = max(at, self.low)
        limit = at + self._walls.reach
        limit = min(limit, self.high)
        while at <= limit:
            span = span_at(self._zone, at)
            offset = span.offset
            if offset == span.before == span.after:  # no change near: nearly always
                wall = self._walls.next(at + offset, limit + _FAR)
                found = wall - offset if wall is not None and wall < span.end + offset else None
            else:
                low, high = self._real(span)
                wall = self._walls.next(max(low, at) + offset, limit + _FAR)
                found = wall - offset if wall is not None and wall < high + offset else None
                if offset > span.before and at < span.born + offset - span.before:
                    found = _least(found, self._next_moved(span, at))
            if found is not None:
                return found if found <= limit else None
            if span.end - at > _FAR:
                if wall is None:
                    return None
                at = max(span.end, wall - _FAR)
            else:
                at = span.end
        return None

    def walk(self, at: int) -> Iterator[int]:
        """All slots from `at` on, ascending, until none comes within the horizon."""
        found = self.next(at)
        while found is not None:
            span = span_at(self._zone, found)
            if span.offset > span.before and found < span.born + span.offset - span.before:
                yield found  # in the shadow of a gap moved slots lie between the real ones
                found = self.next(found + 1)
                continue
            end = min(self._real(span)[1] - 1, self.high)
            for wall in self._walls.members(found + span.offset, end + span.offset):
                yield wall - span.offset
            found = self.next(end + 1)

    def last(self, at: int) -> int | None:
        """The last slot up to `at`, within the horizon."""
        at = min(at, self.high)
        floor = max(at - self._walls.reach, self.low)
        while at >= floor:
            span = span_at(self._zone, at)
            low, high = self._real(span)
            wall = self._walls.last((at if at < high else high - 1) + span.offset, floor - _FAR)
            found = wall - span.offset if wall is not None and wall >= low + span.offset else None
            if span.offset > span.before:
                found = _most(found, self._last_moved(span, at))
            if found is not None:
                return found if found >= floor else None
            if at - span.start > _FAR:
                if wall is None:
                    return None
                at = min(span.start - 1, wall + _FAR)
            else:
                at = span.start - 1
        return None

    def has(self, at: int) -> bool:
        """Whether the instant is a slot."""
        if not self.low <= at <= self.high:
            return False
        span = span_at(self._zone, at)
        return self._has_real(span, at) or (span.offset > span.before and self._next_moved(span, at) == at)

    def count(self, start: int, end: int, limit: int) -> int:
        """The number of slots in [start, end], or `limit` if there are more."""
        total, at, end = 0, max(start, self.low), min(end, self.high)
        while at <= end and total < limit:
            span = span_at(self._zone, at)
            low, high = self._real(span)
            total += self._walls.count(max(at, low) + span.offset, min(end + 1, high) + span.offset)
            if span.offset > span.before:
                total += self._count_only_moved(span, at, end)
            at = span.end
        return min(total, limit)

    def _real(self, span: Span) -> tuple[int, int]:
        """The instants [low, high) of the span whose walls are its own."""
        low, high = span.start, span.end
        if self._repeat == "first" and span.before > span.offset:
            low = max(low, span.born + span.before - span.offset)
        elif self._repeat == "last" and span.after < span.offset:
            high = min(high, span.dies + span.after - span.offset)
        return low, high

    def _has_real(self, span: Span, at: int) -> bool:
        low, high = self._real(span)
        return low <= at < high and self._walls.next(at + span.offset, at + span.offset) is not None

    def _next_moved(self, span: Span, at: int) -> int | None:
        """The first instant from `at` on to which the gap at the span's birth moves a wall time."""
        first, last = span.born + span.before, span.born + span.offset - 1
        if self._gap == "skip":
            return None
        if self._gap == "after":
            return span.born if at <= span.born and self._walls.next(first, last) is not None else None
        wall = self._walls.next(max(first, at + span.before), last)
        return wall - span.before if wall is not None and wall - span.before < span.end else None

    def _last_moved(self, span: Span, at: int) -> int | None:
        """The last instant up to `at`, not before the span's start, to which its gap moves a wall time."""
        first, last = span.born + span.before, span.born + span.offset - 1
        if self._gap == "skip":
            return None
        if self._gap == "after":
            return span.born if span.born >= span.start and self._walls.next(first, last) is not None else None
        wall = self._walls.last(min(last, at + span.before), first)
        return wall - span.before if wall is not None and wall - span.before >= span.start else None

    def _count_only_moved(self, span: Span, at: int, end: int) -> int:
        """How many moved slots in [at, end] of this span are not real ones too. A gap is a day long at most."""
        total = 0
        moved = self._next_moved(span, max(at, span.start))
        while moved is not None and moved <= end:
            total += not self._has_real(span, moved)
            moved = self._next_moved(span, moved + 1)
        return total


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None or (other is not None and other < one) else one


def _most(one: int | None, other: int | None) -> int | None:
    return other if one is None or (other is not None and other > one) else one
