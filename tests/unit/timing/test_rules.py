"""What a rule may hold, and the label that editors see."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from horae.errors import Invalid
from horae.timing.recurrence import RecurrenceSet
from horae.timing.rules import WORKDAYS, Rule, products


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"freq": "SECONDLY"}, "FREQ=SECONDLY is not one of"),
        ({"freq": "WEEKLY"}, "a WEEKLY rule does not say on which days"),
        ({"freq": "WEEKLY", "byday": ((1, 0),)}, "a numbered weekday"),
        ({"freq": "WEEKLY", "bymonthday": (1,), "byday": ((0, 0),)}, "BYMONTHDAY is not for weekly rules"),
        ({"freq": "DAILY", "byday": ((1, 0),)}, "a numbered weekday"),
        ({"freq": "DAILY", "byyearday": (1,)}, "BYYEARDAY is not for daily"),
        ({"freq": "MONTHLY", "byweekno": (1,), "byday": ((0, 0),)}, "BYWEEKNO is for yearly rules"),
        ({"freq": "MONTHLY", "byday": ((6, 0),)}, "no month has more than five of a weekday"),
        ({"freq": "YEARLY"}, "a YEARLY rule does not say on which days"),
        ({"freq": "DAILY", "byhour": (24,)}, "byhour 24 is out of range: it goes from 0 to 23"),
        ({"freq": "DAILY", "byhour": ()}, "a DAILY rule does not say at which hour"),
        ({"freq": "HOURLY", "byminute": ()}, "a HOURLY rule does not say at which minute"),
        ({"freq": "MONTHLY", "bymonthday": (0,)}, "bymonthday 0 is out of range"),
        ({"freq": "MONTHLY", "byday": WORKDAYS, "bysetpos": (0,)}, "bysetpos 0 is out of range"),
        ({"freq": "DAILY", "interval": 2}, "a rule with INTERVAL or COUNT needs a start"),
        ({"freq": "DAILY", "count": 2}, "a rule with INTERVAL or COUNT needs a start"),
        ({"freq": "DAILY", "until": datetime(2027, 1, 1)}, "is not a whole second with an offset"),
    ],
)
def test_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        Rule(**parts)


def test_positions_count_instances_as_the_rfc_says() -> None:
    last = Rule("MONTHLY", byday=WORKDAYS, byhour=(9, 17), bysetpos=(-1,))
    january = datetime(2027, 1, 1, tzinfo=UTC)
    assert RecurrenceSet("UTC", (last,)).next_after(january) == datetime(2027, 1, 29, 17, tzinfo=UTC)
    both = Rule("MONTHLY", byday=WORKDAYS, byhour=(9, 17), bysetpos=(-2, -1))
    assert RecurrenceSet("UTC", (both,)).next_after(january) == datetime(2027, 1, 29, 9, tzinfo=UTC)


def test_times_become_the_fewest_disjoint_products() -> None:
    assert products((540, 1020)) == (((9, 17), (0,)),)
    assert products((540, 1050)) == (((9,), (0,)), ((17,), (30,)))
    assert products(tuple(range(540, 1021, 15))) == ((tuple(range(9, 18)), (0,)), (tuple(range(9, 17)), (15, 30, 45)))
