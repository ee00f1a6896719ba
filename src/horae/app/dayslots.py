"""The slots of one set by days, without walking through more of them than a person would read.

`edges` are the instants at which the days begin, and the last one ends. `apart` are the slots about which a person
decided something, or that run beyond the others: they are shown by themselves, so they are left out here. Few slots are
walked through; many are counted, which is arithmetic, with the first and the last of each day.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby, pairwise

from horae.app.upcoming import within
from horae.timing.clockchange import SECOND
from horae.timing.recurrence import RecurrenceSet

LISTED_MAX = 4  # slots of one job on one day that are still listed one by one
WALKED_MAX = 2000  # slots of one job that are walked through; more are counted day by day


def day_of(edges: Sequence[datetime], instant: datetime) -> int:
    """The place of the day that holds an instant."""
    return bisect_right(edges, instant) - 1


def slots_by_day(
    slots: RecurrenceSet,
    apart: Collection[datetime],
    edges: Sequence[datetime],
    after: datetime,
    until: datetime,
    listed: int = LISTED_MAX,
) -> Iterator[tuple[int, int, list[datetime]]]:
    """(day, number of slots, the slots), of the days that have some; of too many slots only the first and the last."""
    if slots.count(after, until, WALKED_MAX + 1) <= WALKED_MAX:
        plain = (slot for slot in slots.between(after, until) if slot not in apart)
        for day, group in groupby(plain, key=partial(day_of, edges)):
            found = list(group)
            yield day, len(found), found if len(found) <= listed else [found[0], found[-1]]
        return
    for day, (opens, closes) in enumerate(pairwise(edges)):
        low, high = max(after, opens - SECOND), min(until, closes - SECOND)
        if high <= low:
            continue
        count = slots.count(low, high) - within(slots, apart, low, high)
        plain = (slot for slot in slots.between(low, high) if slot not in apart)
        if count > listed:
            last = slots.last_until(high)
            while last is not None and last in apart:
                last = slots.last_until(last - SECOND)
            yield day, count, [next(plain), last or high]
        elif count > 0:
            yield day, count, list(plain)


def used_up(
    slots: RecurrenceSet, apart: Collection[datetime], after: datetime, until: datetime, left: int
) -> datetime | None:
    """The instant of the last of `left` slots that are not apart, at most `until`; None when none is left.

    Both instants are whole seconds, as slots are.
    """
    if left == 0:
        return None

    def runs(end: datetime) -> int:
        return slots.count(after, end, left + len(apart)) - within(slots, apart, after, end)

    if runs(until) < left:
        return until
    low, high = 0, (until - after) // SECOND
    while low < high:
        middle = (low + high) // 2
        if runs(after + middle * SECOND) >= left:
            high = middle
        else:
            low = middle + 1
    return after + low * SECOND
