"""10,000 random RFC 5545 rules against a brute-force oracle and against dateutil (`make test` takes a part of them).

The oracle (`tests/support/oracles.py`) asks every day whether it fulfils every part; dateutil is asked as well, with
naive times, where it is right. Where it is not is listed in `DIFFERENCES`, each with an example on which it still is
wrong: when one of them passes, the library has been mended and the entry can go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from random import Random
from typing import NamedTuple

import pytest
from dateutil.rrule import rrulestr

from horae.errors import Invalid
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule
from tests.support.oracles import Recurrence
from tests.support.oracles_questions import agree, edges_of
from tests.support.oracles_random import forbidden_rule, rule

ANCHOR = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
NEAR_DAYS, FAR_DAYS, REFUSED_DAYS = 1200, 700, 5000
NEAR_MOST, FAR_MOST = 25, 12
PART, WHOLE, EACH = 1500, 10_000, 100


class Difference(NamedTuple):
    """Where dateutil is wrong: why, for which rules, and an example with what it says and what is right."""

    reason: str
    applies: Callable[[Recurrence], bool]
    example: Recurrence
    theirs: list[str]
    right: list[str]


def _mixed(made: Recurrence) -> bool:
    return len({ordinal == 0 for ordinal, _ in made.byday}) == 2


WEDNESDAY = datetime(2026, 11, 4, 9)
DIFFERENCES = [
    Difference(
        "BYWEEKNO without BYDAY is the whole week; the RFC takes the weekday from DTSTART",
        lambda made: bool(made.byweekno) and not made.byday,
        Recurrence("YEARLY", WEDNESDAY, byweekno=(46,)),
        ["2026-11-09", "2026-11-10"],
        ["2026-11-11", "2027-11-17"],
    ),
    Difference(
        "plain and numbered weekdays in one BYDAY must both match; the RFC lists alternatives",
        _mixed,
        Recurrence("MONTHLY", WEDNESDAY, byday=((0, 4), (-1, 0))),
        [],
        ["2026-11-06", "2026-11-13"],
    ),
    Difference(
        "BYSETPOS in the week of DTSTART counts from DTSTART, not from the week's beginning",
        lambda made: made.freq == "WEEKLY" and bool(made.bysetpos),
        Recurrence("WEEKLY", WEDNESDAY, byday=((0, 0), (0, 3)), bysetpos=(1,)),
        ["2026-11-05", "2026-11-09"],
        ["2026-11-09", "2026-11-16"],
    ),
    Difference(
        "the last days of a December that belong to week 1 are not in week -52 or -53, which is the same week",
        lambda made: bool({-52, -53} & set(made.byweekno)),
        Recurrence("YEARLY", datetime(2029, 12, 1, 9), byweekno=(-52,), byday=((0, 0),)),
        ["2032-01-05", "2033-01-03"],
        ["2029-12-31", "2030-12-30"],
    ),
    Difference(
        "the first days of a January that belong to the last week of the year before are in week 52 or 53 by mistake",
        lambda made: bool({52, 53} & set(made.byweekno)),
        Recurrence("YEARLY", datetime(2021, 12, 31, 9), byweekno=(52,), byday=((0, 5),)),
        ["2022-12-31", "2023-12-30"],
        ["2022-01-01", "2022-12-31"],
    ),
]


def _dateutil(made: Recurrence, most: int) -> list[datetime]:
    """Its first instances. It refuses some rules that never fire; the caller asks for none of these."""
    text = f"DTSTART:{made.start:%Y%m%dT%H%M%S}\nRRULE:{made.rrule(zulu='')}"
    return list(islice(rrulestr(text), most))


@pytest.mark.parametrize("known", DIFFERENCES, ids=lambda known: known.reason[:40])
def test_dateutil_is_still_wrong_where_we_say_so(known: Difference) -> None:
    assert known.applies(known.example)
    assert [str(wall.date()) for wall in _dateutil(known.example, 2)] == known.theirs
    assert [str(wall.date()) for wall in islice(known.example.instances(2000), 2)] == known.right
    slots = parse_schedule(known.example.text(), "UTC", anchor=ANCHOR).set
    before = known.example.start.replace(tzinfo=UTC) - SECOND
    assert [str(slot.date()) for slot in islice(slots.between(before, ANCHOR.replace(year=2040)), 2)] == known.right


def _instants(walls: list[datetime]) -> list[datetime]:
    return [wall.replace(tzinfo=UTC) for wall in walls]


def _days(made: Recurrence, days: int) -> int:
    """How far to look: positions in each of a million minutes take the oracle too long."""
    return 20 if made.bysetpos and made.freq in {"HOURLY", "MINUTELY"} else days


def _compare(made: Recurrence, slots: RecurrenceSet, days: int, most: int) -> list[datetime]:
    """The first instances of `made`, which is `slots` from its start on, in so many days."""
    days = _days(made, days)
    walls = list(islice(made.instances(days), most))
    if walls and not any(known.applies(made) for known in DIFFERENCES):
        assert _dateutil(made, len(walls)) == walls, made.text()
    due = _instants(walls)
    first = made.start.replace(tzinfo=UTC) - SECOND
    last = due[-1] if len(due) == most else first + SECOND + timedelta(days=days)
    agree(slots, due, edges_of(due, first, last), made.text())
    return due


def _read(made: Recurrence) -> RecurrenceSet | None:
    """None when it is refused, which is right if it is never due, or if its COUNT leads too far."""
    try:
        return parse_schedule(made.text(), "UTC", anchor=ANCHOR).set
    except Invalid as refusal:
        too_far = made.count and "is not used up within" in refusal.message
        if not too_far and next(made.instances(_days(made, REFUSED_DAYS)), None):
            pytest.fail(f"{made.text()}: {refusal}")
        return None


def _check(made: Recurrence, random: Random) -> None:
    slots = _read(made)
    if slots is None:
        return
    due = _compare(made, slots, NEAR_DAYS, NEAR_MOST)
    if made.count and len(due) == made.count:
        assert slots.next_after(due[-1]) is None
        assert slots.last_until(due[-1] + timedelta(days=40_000)) == due[-1]
    elif made.until:
        assert slots.next_after(made.until.replace(tzinfo=UTC)) is None
    elif not made.count:
        decades_later = date(random.randint(2050, 2090), random.randint(1, 12), random.randint(1, 28))
        _compare_far(made.begun_later(decades_later), slots)


def _compare_far(later: Recurrence, slots: RecurrenceSet) -> None:
    """`slots` decades after their start. `later` begins a whole number of intervals later, which changes nothing."""
    first = later.start.replace(tzinfo=UTC) - SECOND
    due = _compare(later, slots.beginning(first), FAR_DAYS, FAR_MOST)
    if due:
        assert list(islice(slots.between(first, due[-1]), len(due) + 1)) == due
        assert slots.count(first, due[-1]) == len(due)
        assert slots.next_after(first) == due[0]


def _some_rules(block: int) -> None:
    random = Random(5545_000 + block)
    for _ in range(EACH):
        _check(rule(random), random)


@pytest.mark.parametrize("block", range(PART // EACH))
def test_P12_random_rules(block: int) -> None:
    _some_rules(block)


@pytest.mark.long
@pytest.mark.parametrize("block", range(PART // EACH, WHOLE // EACH))
def test_P12_many_random_rules(block: int) -> None:
    _some_rules(block)


FOUND = {
    "plain and numbered weekdays of a year": (
        "20160425T000000 RRULE:FREQ=YEARLY;BYDAY=WE,18SA", ["2016-04-27 00:00", "2016-04-30 00:00", "2016-05-04 00:00"]
    ),
    "a week and a day of the month need no weekday": (
        "20240803T134900 RRULE:FREQ=YEARLY;BYWEEKNO=-1;BYMONTHDAY=23;BYHOUR=4", ["2024-12-23 04:49", "2025-12-23 04:49"]
    ),
    "a step that misses all hours": ("20241001T211600 RRULE:FREQ=HOURLY;INTERVAL=12;BYHOUR=11,15", []),
    "a step that misses all minutes": ("20220923T015000 RRULE:FREQ=MINUTELY;INTERVAL=10;BYMINUTE=7", []),
    "a step and a position that is never there": ("20260101T000000 RRULE:FREQ=HOURLY;INTERVAL=5;BYMINUTE=0;BYSETPOS=2", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "first"), FOUND.values(), ids=FOUND)
def test_what_random_rules_found_stays_mended(text: str, first: list[str]) -> None:
    whole = f"DTSTART;TZID=UTC:{text}"
    if not first:
        with pytest.raises(Invalid, match="never fires"):
            parse_schedule(whole, "UTC", anchor=ANCHOR)
        return
    slots = parse_schedule(whole, "UTC", anchor=ANCHOR).set
    found = islice(slots.between(datetime(2016, 1, 1, tzinfo=UTC), ANCHOR), len(first))
    assert [f"{slot:%Y-%m-%d %H:%M}" for slot in found] == first


def test_what_the_rfc_forbids_is_refused() -> None:
    random = Random(5545)
    for _ in range(300):
        made = forbidden_rule(random)
        with pytest.raises(Invalid):
            parse_schedule(made.text(), "UTC", anchor=ANCHOR)


def test_a_rule_may_be_said_without_what_its_start_says() -> None:
    """The oracle's own reading of what DTSTART stands for, spelled out, is the same set."""
    random = Random(17)
    for _ in range(200):
        made = replace(rule(random), count=None, until=None)
        if _read(made) is not None:
            short, spelled = (
                parse_schedule(one.text("Europe/Berlin"), "UTC", anchor=ANCHOR).set for one in (made, made.derived())
            )
            assert short == spelled, made.text()
