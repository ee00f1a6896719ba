"""What the clock of a zone did to the slots of a set, in words that stand beside them in a preview.

Two kinds of answer. About a *slot*: the wall time that it stands for was skipped by the clock, or is shown twice. About
a *stretch*: wall times that have no slot at all, because the policy of the set does not run them, and intervals that
from a change on run at other times of day.

Both read a span of constant offset beside its neighbour (`clockchange.Span`), as the slots themselves are made
(`ruleslots`); so what is said is what is done, and a look away from any change is two comparisons. Times of day are
those of the rules: a single date, and an interval's slot, is an instant and has nothing to explain.

Invariants, held by tests: a note about a slot is given only within a gap's or a repeated stretch's length of a change;
every wall time of a rule near a change is a slot, or falls on one, or is told of by `left_out`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal, NamedTuple

from horae.timing.clockchange import EPOCH, SECOND, Change, Gap, Span, span_at
from horae.timing.durations import period_words
from horae.timing.recurrence import Grid, RecurrenceSet
from horae.timing.ruleslots import EARLIEST, LATEST
from horae.timing.vocabulary import MONTHS, listed
from horae.timing.walls import DAY, Layer, Walls, walls_of

Kind = Literal["shifted", "merged", "first", "last", "skipped", "once", "drifts"]
"""Of a slot: run at another time of day, standing for a skipped one beside its own, first or last showing of its time.

Of a stretch: times that the clock skips without a substitute, times that come twice and run once, intervals that run
at other times of day from then on.
"""

_LISTED_MAX = 4  # wall times that are still named one by one


class ClockNote(NamedTuple):
    """`at` is the slot's instant, or where the run would have been that is left out; in UTC."""

    at: datetime
    kind: Kind
    text: str


def changes_between(zone: str, after: datetime, until: datetime) -> list[Change]:
    """The clock changes at instants in (after, until], ascending."""
    at = max((after - EPOCH) // SECOND, EARLIEST) + 1
    end = min((until - EPOCH) // SECOND, LATEST)
    found: list[Change] = []
    while at <= end:
        span = span_at(zone, at)
        if span.start >= at and span.start == span.born and span.before != span.offset:
            found.append(Change(span.born, span.before, span.offset))
        at = span.end
    return found


def shift_words(change: Change) -> str:
    """By how much, for a narrow place: "+1h", "-30m", "+24h"."""
    minutes, odd = divmod(abs(change.after - change.before), 60)
    hours, rest = divmod(minutes, 60)
    parts = (f"{hours}h" if hours else "", f"{rest}m" if rest else "", f"{odd}s" if odd else "")
    return ("+" if change.after > change.before else "-") + "".join(parts)


def change_words(change: Change) -> str:
    """Such as "the clock goes forward 1 hour: 02:00 becomes 03:00"."""
    step = change.after - change.before
    way = "forward" if step > 0 else "back"
    old, new = _wall(change.at + change.before), _wall(change.at + change.after)
    becomes = f"{_clock(old)} becomes {_clock(new)}"
    if old.date() != new.date():
        becomes = f"{_clock(old)} on {_date(old)} becomes {_clock(new)} on {_date(new)}"
    return f"the clock goes {way} {_length(abs(step))}: {becomes}"


class ClockNotes:
    """What is to be said about one set. The instants asked for are aware; those of slots must be slots of the set."""

    def __init__(self, slots: RecurrenceSet) -> None:
        self._set = slots
        self._zone = slots.zone

    def of_slot(self, slot: datetime) -> ClockNote | None:
        """What the clock did to one slot; None nearly always."""
        if not self._set.rules:
            return None
        at = (slot - EPOCH) // SECOND
        span = span_at(self._zone, at)
        if span.before < span.offset and at < span.born + span.offset - span.before:
            return self._moved(span, at)
        if span.before > span.offset and at < span.born + span.before - span.offset:
            return self._repeated(span, at, again=True)
        if span.after < span.offset and at >= span.dies + span.after - span.offset:
            return self._repeated(span, at, again=False)
        return None

    def left_out(self, after: datetime, until: datetime) -> list[ClockNote]:
        """What the clock left out in (after, until], and intervals that change their time of day there; ascending."""
        anchors = [grid.anchor for grid in self._set.grids]
        if not self._set.rules:  # instants do not ask the clock, and an interval not before it begins
            after = max(after, min(anchors)) if anchors else until
        found: list[ClockNote] = []
        for change in changes_between(self._zone, after - timedelta(days=1), until + timedelta(days=1)):
            found += self._of_change(change)
        return sorted(note for note in found if after < note.at <= until)

    def _of_change(self, change: Change) -> Iterator[ClockNote]:
        if change.before < change.after and self._set.gap == "skip":
            walls = [wall for wall in self._walls_in(change) if wall - change.before not in self._taken_out]
            if walls:
                runs = "no run" if len(walls) == 1 else "no runs"
                text = f"the clock skips {_walls_words(walls)}: {runs}"
                yield ClockNote(_instant(change.at), "skipped", text)
        elif change.before > change.after and self._set.repeat != "both":
            first = self._set.repeat == "first"
            run, idle = (change.before, change.after) if first else (change.after, change.before)
            walls = [
                wall
                for wall in self._walls_in(change)
                if self._set.contains(_instant(wall - run)) and not self._set.contains(_instant(wall - idle))
            ]
            if walls:
                which, comes = "second" if first else "first", "comes" if len(walls) == 1 else "come"
                idles = f"the {which} is not run" if len(walls) == 1 else f"the {which} ones are not run"
                text = f"{_walls_words(walls, f'{comes} twice')}: {idles}"
                yield ClockNote(_instant(walls[0] - idle), "once", text)
        step = change.after - change.before
        if any(_keeps_its_time(grid.period_s) and step % grid.period_s for grid in self._grids_at(change)):
            moved = f"{_length(abs(step))} {'later' if step > 0 else 'earlier'}"
            day = _date(_wall(change.at + change.after))
            text = f"from {day} on it runs {moved} by the clock: an interval counts elapsed time"
            yield ClockNote(_instant(change.at), "drifts", text)

    def _moved(self, span: Span, at: int) -> ClockNote | None:
        """The note about a slot within a gap's length behind it, if it is there for a wall time that was left out."""
        change = Change(span.born, span.before, span.offset)
        if self._set.gap == "skip" or (self._set.gap == "after" and at != span.born):
            return None
        walls = self._walls_in(change)
        if self._set.gap == "shift":
            walls = [wall for wall in walls if wall - span.before == at]
        if not walls:
            return None
        local = _wall(at + span.offset)
        own = self._is_wall(at, span.offset) or _instant(at) in self._set.dates
        if own:
            falls = "its run falls on this one" if len(walls) == 1 else "their runs fall on this one"
            return ClockNote(_instant(at), "merged", f"the clock skips {_walls_words(walls)}: {falls}")
        here = local.date() == _wall(walls[0]).date() == _wall(walls[-1]).date()
        skipped = _walls_words(walls, dated=not here)
        text = f"runs at {_clock(local)} on {_date(local)}: the clock skips {skipped}"
        return ClockNote(_instant(at), "shifted", text)

    def _repeated(self, span: Span, at: int, *, again: bool) -> ClockNote | None:
        if not self._is_wall(at, span.offset):
            return None
        local = _wall(at + span.offset)
        which = "second" if again else "first"
        both = " of two runs" if self._set.repeat == "both" else ""
        text = f"{_clock(local)} comes twice on {_date(local)}: this is the {which}{both}"
        return ClockNote(_instant(at), "last" if again else "first", text)

    def _is_wall(self, at: int, offset: int) -> bool:
        """Whether some rule has the wall time that is read from the instant with that offset."""
        wall = at + offset
        return any(low <= at <= high and walls.next(wall, wall) is not None for walls, low, high in self._parts)

    def _walls_in(self, change: Change) -> list[int]:
        """The rules' wall times that the change leaves out, or shows twice."""
        start, stop = sorted((change.at + change.before, change.at + change.after))
        found: set[int] = set()
        for walls, low, high in self._parts:
            wall = walls.next(start, stop - 1)
            while wall is not None:
                if any(low <= reading <= high for reading in _readings(wall, change, self._set.gap)):
                    found.add(wall)
                wall = walls.next(wall + 1, stop - 1)
        return sorted(found)

    def _grids_at(self, change: Change) -> Iterator[Grid]:
        at = _instant(change.at)
        return (grid for grid in self._set.grids if grid.anchor < at and (grid.until is None or at <= grid.until))

    @cached_property
    def _parts(self) -> list[tuple[Layer | Walls, int, int]]:
        """Rules that begin and end together, with these bounds in seconds."""
        bounds = dict.fromkeys((rule.since, rule.until) for rule in self._set.rules)
        parts: list[tuple[Layer | Walls, int, int]] = []
        for since, until in bounds:
            rules = tuple(rule for rule in self._set.rules if (rule.since, rule.until) == (since, until))
            low = EARLIEST if since is None else (since - EPOCH) // SECOND
            high = LATEST if until is None else (until - EPOCH) // SECOND
            parts.append((walls_of(rules), low, high))
        return parts

    @cached_property
    def _taken_out(self) -> frozenset[int]:
        """What a person left out is not the clock's doing."""
        return frozenset((date - EPOCH) // SECOND for date in self._set.exdates)


def _readings(wall: int, change: Change, gap: Gap) -> tuple[int, ...]:
    """The instants that a wall time beside the change may stand for: both showings, or where a gap moves it."""
    moved = change.at if gap == "after" else wall - change.before
    return (moved,) if change.before < change.after else (wall - change.before, wall - change.after)


def _keeps_its_time(period_s: int) -> bool:
    """Whether an interval runs at the same times of each day, as long as no clock changes."""
    return period_s % DAY == 0 or (period_s >= 3600 and DAY % period_s == 0)


def _walls_words(walls: Sequence[int], verb: str = "", *, dated: bool = True) -> str:
    """Wall times with their date, and the verb before it: "02:00 and 02:30 come twice on 25 October"."""
    shown = [_wall(wall) for wall in walls]
    verb = f" {verb}" if verb else ""
    first, last = shown[0], shown[-1]
    if first.date() != last.date():
        times = f"{_clock(first)} on {_date(first)} to {_clock(last)} on {_date(last)}"
        return f"{len(walls)} times of day from {times}{verb}"
    day = f" on {_date(first)}" if dated else ""
    if len(walls) > _LISTED_MAX:
        return f"{len(walls)} times of day from {_clock(first)} to {_clock(last)}{verb}{day}"
    return f"{listed(_clock(wall) for wall in shown)}{verb}{day}"


def _length(seconds: int) -> str:
    words = period_words(seconds)
    return words if words[0].isdigit() else f"1 {words}"


def _instant(at: int) -> datetime:
    return EPOCH + timedelta(seconds=at)


def _wall(at: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=at)


def _clock(wall: datetime) -> str:
    return f"{wall:%H:%M:%S}" if wall.second else f"{wall:%H:%M}"


def _date(wall: datetime) -> str:
    return f"{wall.day} {MONTHS[wall.month - 1]}"
