"""What a zone does to wall times: spans of constant offset, and the policy where they meet.

Model: a zone cuts the time line into *spans* with one offset each. Inside a span wall time and instant differ by a
constant, so slots there are plain arithmetic. Where two spans meet at an instant `at`, either wall times are left out
(a gap: `before` < `after`, the walls [at + before, at + after) never show) or shown twice (`before` > `after`).

Policy. Gap: `shift` reads the wall time with the offset from before the change, so 02:30 becomes 03:30 (RFC 5545);
`after` takes the first instant after the gap; `skip` has none. Repeat: `first`, `last`, or `both`.

Cases that shaped this: Lord Howe moves by 30 minutes; Sao Paulo left out midnight, St John's changed at one minute
past it, so a moved or repeated time may belong to another date than its slot; Apia left out a whole day (2011-12-30),
whose times shift onto those of the next day. Changes come from probing zone data every six days: no zone has two that
close (the least is Recife's week of October 2000; a test reads all zones).
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from horae.timing.zones import zone

Gap = Literal["shift", "after", "skip"]
Repeat = Literal["first", "both", "last"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Inside the package instants and wall times are whole seconds from here."""

_DAY = 86400
SECOND = timedelta(seconds=1)
_BLOCK = 25  # spans are worked out 2**25 seconds at a time, a little over a year
_PROBE = 6 * _DAY
_MARGIN = 2 * _DAY  # a change acts on walls up to a day from it: blocks look that far over their edges


class Change(NamedTuple):
    """At the instant `at` (seconds) the offset goes from `before` to `after` (seconds ahead of UTC)."""

    at: int
    before: int
    after: int


class Span(NamedTuple):
    """The instants [start, end) with one offset. A block's edge also ends a span: then nothing changes there.

    `born` and `before`: the change that began it; `dies` and `after`: the one that ends it. Where there is none near,
    the offsets equal `offset`.
    """

    start: int
    end: int
    offset: int
    born: int
    before: int
    dies: int
    after: int


def span_at(name: str, instant: int) -> Span:
    """The span of the zone that holds the instant."""
    spans = _block(name, instant >> _BLOCK)
    for span in spans:  # nearly always two or three
        if instant < span.end:
            return span
    raise AssertionError("a block covers its instants")


def instants_of(wall: datetime, name: str, gap: Gap = "shift", repeat: Repeat = "first") -> tuple[datetime, ...]:
    """The instants (UTC, ascending) at which the naive wall time is due in the zone: none, one or two."""
    place = zone(name)
    first, second = _offset(wall.replace(tzinfo=place, fold=0)), _offset(wall.replace(tzinfo=place, fold=1))
    seconds = (wall.replace(tzinfo=UTC) - EPOCH) // SECOND
    if first == second:
        return (_datetime(seconds - first),)
    if first > second:
        chosen = {"first": (first,), "last": (second,), "both": (first, second)}[repeat]
        return tuple(_datetime(seconds - offset) for offset in chosen)
    if gap == "skip":
        return ()
    if gap == "shift":
        return (_datetime(seconds - first),)
    return (_datetime(_change_between(place, seconds - second, seconds - first).at),)


@lru_cache(maxsize=8192)
def _block(name: str, number: int) -> tuple[Span, ...]:
    start, end = number << _BLOCK, (number + 1) << _BLOCK
    place = zone(name)
    changes = _changes(place, start - _MARGIN, end + _MARGIN)
    inner = [change.at for change in changes if start < change.at < end]
    edges = [start, *inner, end]
    return tuple(_span(place, changes, low, high) for low, high in pairwise(edges))


def _span(place: ZoneInfo, changes: list[Change], start: int, end: int) -> Span:
    offset = _offset(_datetime(start).astimezone(place))
    ats = [change.at for change in changes]
    index = bisect_right(ats, start)
    born = changes[index - 1] if index > 0 else Change(start, offset, offset)
    dies = changes[index] if index < len(changes) else Change(end, offset, offset)
    return Span(start, end, offset, born.at, born.before, dies.at, dies.after)


def _changes(place: ZoneInfo, start: int, end: int) -> list[Change]:
    """All changes in (start, end], ascending, and maybe one that follows soon after."""
    found: list[Change] = []
    known = _offset(_datetime(start).astimezone(place))
    for probe in range(start + _PROBE, end + _PROBE, _PROBE):
        offset = _offset(_datetime(probe).astimezone(place))
        if offset != known:
            found.append(_change_between(place, probe - _PROBE, probe))
            known = offset
    return found


def _change_between(place: ZoneInfo, low: int, high: int) -> Change:
    """The one change in (low, high], to the second."""
    before, after = _offset(_datetime(low).astimezone(place)), _offset(_datetime(high).astimezone(place))
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(_datetime(middle).astimezone(place)) == before:
            low = middle
        else:
            high = middle
    return Change(high, before, after)


def _offset(local: datetime) -> int:
    offset = local.utcoffset()
    assert offset is not None  # a ZoneInfo always answers
    return offset.days * _DAY + offset.seconds


def _datetime(instant: int) -> datetime:
    return EPOCH + timedelta(seconds=instant)
