"""How much of what there is, as metrics show it."""

from __future__ import annotations

from horae.core.instants import to_us
from tests.support.builders import at
from tests.support.stores import SqliteUnderTest as UnderTest


def test_a_fresh_home_has_nothing(s: UnderTest) -> None:
    found = s.reader().gauges(to_us(s.clock.time))
    assert found["jobs"] == {}
    assert found["oldest_due"] is None
    assert found["next_due"] is None
    assert [found[name] for name in ("due", "live", "asks", "incidents", "unknown", "journal")] == [0] * 6


def test_what_is_due_live_open_and_owned_is_counted(s: UnderTest) -> None:
    for slug in ("one", "two"):
        s.put(slug=slug)
    s.clock.time = at("08:01")
    owner, now = s.sign_on(), to_us(s.clock.time)
    due = s.reader().gauges(now)
    assert (due["due"], due["live"]) == (2, 0)
    assert due["oldest_due"] <= now
    assert len(s.claim(owner)) == 2
    live = s.reader().gauges(now)
    assert (live["due"], live["live"]) == (0, 2)
    assert live["next_due"] > now
    assert live["jobs"] == {"active": 2}
    assert set(live["gateways"]) == {owner.id}
    assert live["journal"] == s.rows("SELECT max(seq) AS seq FROM journal")[0]["seq"]
