"""Promise P12: every zone, every clock change from 2015 to 2037, against a walk over real minutes.

The oracle (`tests/support/oracles_clock.py`) reads the zone files itself and shares no code with what it judges. Zones
whose files are equal byte by byte share one walk; each is asked by its own name all the same. The ordinary run takes
one change of every zone; the long one takes all of them, some ten minutes of one core. Default policies everywhere, the
nine combinations in turn, and all of them at every third change.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from io import BytesIO
from itertools import product
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from horae.errors import Invalid
from horae.timing.clockchange import Gap, Repeat
from horae.timing.schedule import parse_schedule
from tests.support.oracles import Recurrence
from tests.support.oracles_clock import (
    FIRST_YEAR,
    LAST_YEAR,
    Change,
    Members,
    Walk,
    data,
    families,
    midnight,
    modern,
    offset_at,
)
from tests.support.oracles_questions import TICKS, agree
from tests.support.oracles_random import rule as random_rule

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ANCHOR = datetime(2026, 11, 30, tzinfo=UTC)
AROUND_M = 26 * 60
GAPS: tuple[Gap, ...] = ("shift", "after", "skip")
REPEATS: tuple[Repeat, ...] = ("first", "both", "last")
Policy = tuple[Gap, Repeat]
POLICIES: tuple[Policy, ...] = tuple(product(GAPS, REPEATS))

# The minutes of a day that each line names, spelled out here, and the policy that it has when its job says none.
DAILY: Policy = ("shift", "first")
FOLLOWING: Policy = ("skip", "both")
MATRIX: dict[str, tuple[frozenset[int], Policy]] = {
    "30 2 * * *": (frozenset({150}), DAILY),
    "30 1 * * *": (frozenset({90}), DAILY),
    "0 0 * * *": (frozenset({0}), DAILY),
    "59 23 * * *": (frozenset({1439}), DAILY),
    "0,30 1-3 * * *": (frozenset({60, 90, 120, 150, 180, 210}), DAILY),
    "0 * * * *": (frozenset(range(0, 1440, 60)), FOLLOWING),
    "*/15 * * * *": (frozenset(range(0, 1440, 15)), FOLLOWING),
    "0 */2 * * *": (frozenset(range(0, 1440, 120)), FOLLOWING),
}

CHANGING = [family for family in families() if modern(family[0])]


def _offset(instant: datetime, place: ZoneInfo) -> int:
    offset = instant.astimezone(place).utcoffset()
    assert offset is not None
    return offset // timedelta(seconds=1)


def _instant(minute: float) -> datetime:
    return EPOCH + timedelta(minutes=minute)


class Case(NamedTuple):
    line: str
    members: Members
    policy: Policy
    """The default one."""


def _inside(change: Change) -> list[str]:
    """Lines that are due in the very gap or fold: at its first, a middle and its last minute, and at its end."""
    low, high = sorted((change.at + change.before, change.at + change.after))
    walls = {minute % 1440 for minute in (low // 60, (low + high) // 120, high // 60 - 1, high // 60)}
    return [f"{wall % 60} {wall // 60} * * *" for wall in sorted(walls)]


def _around(change: Change) -> tuple[int, int]:
    return change.at // 60 - AROUND_M, change.at // 60 + AROUND_M


@lru_cache(maxsize=64)
def _cases(name: str, change: Change) -> tuple[Walk, list[Case]]:
    """The walk in a zone and what each line of the matrix has in it."""
    walk = Walk(name, *_around(change))
    lines = dict(MATRIX)
    for line in _inside(change):
        minute, hour = map(int, line.split()[:2])
        lines[line] = (frozenset({hour * 60 + minute}), DAILY)
    return walk, [
        Case(line, walk.members(lambda wall, times=times: wall % 1440 in times), policy)
        for line, (times, policy) in lines.items()
    ]


def _edges(change: Change, due: list[datetime]) -> list[datetime]:
    """Where off-by-one errors would be: around the change, the ends of its gap or fold, and the slots themselves."""
    at, width = EPOCH + timedelta(seconds=change.at), timedelta(seconds=abs(change.after - change.before))
    second, tick = timedelta(seconds=1), timedelta(microseconds=1)
    found = {at + side * width + step for side in (-1, 0, 1) for step in (-MINUTE, -second, 0 * second, tick, MINUTE)}
    found |= {at + width / 2, at - width / 2}
    if len(due) <= 16:
        found |= {slot + step for slot in due for step in TICKS}
    first, last = (_instant(minute) for minute in _around(change))
    return [first, *sorted(edge for edge in found if first < edge < last), last]


def _check(name: str, like: str, change: Change, *, all_policies: bool) -> None:
    """Every line, with its default policy and with all nine, or with one of them in turn. `like` has an equal file."""
    walk, cases = _cases(like, change)
    for place, case in enumerate(cases):
        one = POLICIES[(place + change.at // 3600) % len(POLICIES)]
        for policy in (None, *(POLICIES if all_policies else (one,))):
            given = policy or (None, None)
            slots = parse_schedule(case.line, name, anchor=ANCHOR, gap=given[0], repeat=given[1]).set
            gap, repeat = policy or case.policy
            expected = walk.slots(case.members, gap, repeat)
            due = [_instant(slot) for slot in expected]
            agree(slots, due, _edges(change, due), f"{case.line} in {name}, {gap}/{repeat}, at {change.at}")


def _chosen(name: str) -> Change:
    """One change of the zone: another one for each name, and the same in each run."""
    known = modern(name)
    return known[zlib.crc32(name.encode()) % len(known)]


@pytest.mark.parametrize("family", CHANGING, ids=lambda family: family[0])
def test_P12_one_change_of_every_zone(family: list[str]) -> None:
    for name in family:
        _check(name, family[0], _chosen(name), all_policies=False)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("family", CHANGING, ids=lambda family: family[0])
def test_P12_every_change_of_every_zone(family: list[str]) -> None:
    first, *others = family
    for number, change in enumerate(modern(first)):
        _check(first, first, change, all_policies=number % 3 == 0)
        for name in others:
            _check(name, first, change, all_policies=False)


def _rule_near(random: Random, name: str, change: Change) -> Recurrence:
    """A random rule that begins in the days before the change, by the zone's own clock, and is due around it."""
    made = random_rule(random)
    while made.freq in {"MONTHLY", "YEARLY"}:
        made = random_rule(random)
    start = change.at // 60 - random.randint(60, 4320)
    wall = datetime(1970, 1, 1) + timedelta(minutes=start + offset_at(name, start * 60) // 60)
    hours = made.byhour and tuple(sorted({*made.byhour, *random.sample(range(4), 2)}))
    until = made.until and datetime(1970, 1, 1) + timedelta(minutes=change.at // 60 + random.randint(-90, 90))
    return replace(made, start=wall, bymonth=(), byyearday=(), bymonthday=(), byhour=hours, until=until)


def _check_rule(random: Random, name: str) -> None:
    change = random.choice(modern(name))
    made = _rule_near(random, name, change)
    gap, repeat = random.choice(POLICIES)
    try:
        slots = parse_schedule(made.text(name), name, anchor=ANCHOR, gap=gap, repeat=repeat).set
    except Invalid:  # never due, which test_oracle_rules.py looks after
        return
    walk = Walk(name, *_around(change))
    walls = {(wall - datetime(1970, 1, 1)) // MINUTE for wall in replace(made, until=None).instances(8)}
    due = [_instant(slot) for slot in walk.slots(walk.members(walls.__contains__), gap, repeat)]
    if made.until:
        due = [slot for slot in due if slot <= made.until.replace(tzinfo=UTC)]
    agree(slots, due, _edges(change, due), f"{made.text(name)}, {gap}/{repeat}")


@pytest.mark.parametrize("block", [*range(4), *(pytest.param(block, marks=pytest.mark.long) for block in range(4, 60))])
def test_P12_random_rules_over_changes_of_random_zones(block: int) -> None:
    """INTERVAL, COUNT, BYSETPOS and the start are about wall times, UNTIL is an instant: also inside a change."""
    random = Random(8536_000 + block)
    for _ in range(60):
        _check_rule(random, random.choice(random.choice(CHANGING)))


def test_the_changes_are_those_that_the_standard_library_sees() -> None:
    """The oracle's own reading of the files, checked by a second reader: no change more, none less, none elsewhere."""
    for name, *_ in families():
        place = ZoneInfo.from_file(BytesIO(data(name)))
        for change in modern(name):
            before, after = (EPOCH + timedelta(seconds=change.at + step) for step in (-1, 0))
            assert (_offset(before, place), _offset(after, place)) == (change.before, change.after), name
        week = 7 * 86400
        for second in range(midnight(FIRST_YEAR), midnight(LAST_YEAR + 1), week):
            assert _offset(EPOCH + timedelta(seconds=second), place) == offset_at(name, second), name
