"""Every question that a recurrence set answers, held against an oracle's list of what is due."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice, pairwise

from horae.timing.recurrence import RecurrenceSet

TICKS = (-timedelta(seconds=1), -timedelta(microseconds=1), timedelta(0), timedelta(seconds=1))


def agree(slots: RecurrenceSet, due: Sequence[datetime], edges: Sequence[datetime], said: str) -> None:
    """`due` is all that is due in (first edge, last edge]; `edges` ascend, and are where wrong answers would be."""
    first, last = edges[0], edges[-1]
    found = list(islice(slots.between(first, last), len(due) + 1))  # a wrong one may have millions
    assert found == due, f"{said}: between {first} and {last}"
    assert slots.count(first, last) == len(due), f"{said}: count in ({first}, {last}]"
    for edge in edges:
        after = bisect_right(due, edge)
        following, before = slots.next_after(edge), slots.last_until(edge)
        if after < len(due):
            assert following == due[after], f"{said}: next after {edge}"
        else:
            assert following is None or following > last, f"{said}: next after {edge}"
        if after:
            assert before == due[after - 1], f"{said}: last until {edge}"
        else:
            assert before is None or before <= first, f"{said}: last until {edge}"
        if edge > first:
            assert slots.contains(edge) == (after > 0 and due[after - 1] == edge), f"{said}: contains {edge}"
    for low, high in pairwise(edges):
        assert slots.count(low, high) == bisect_right(due, high) - bisect_right(due, low), f"{said}: ({low}, {high}]"
    assert all(slots.contains(slot) for slot in due), said


def edges_of(due: Sequence[datetime], first: datetime, last: datetime, most: int = 6) -> list[datetime]:
    """The ends, and the instants next to some of what is due in between."""
    some = due[:: max(1, len(due) // most)] if due else ()
    near = {slot + tick for slot in some for tick in TICKS}
    return [first, *sorted(edge for edge in near if first < edge < last), last]
