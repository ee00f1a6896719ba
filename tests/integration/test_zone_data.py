"""A gateway and zone data of another version than the one that planned its slots."""

from __future__ import annotations

from horae.timing.zones import version
from tests.support.process import TestHome, running, until

HOUR_US = 3600 * 1_000_000


def planned_by_another_law(home: TestHome) -> int:
    """The job's slot is where it would be if clocks were an hour behind; returns where it belongs."""
    home.json("add", "every day at 04:00", "--script", "hi.sh", "--name", "Nightly", "--timezone", "Asia/Tokyo")
    ((slot_at,),) = home.sql("SELECT slot_at FROM occurrence")
    home.sql_write(
        f"UPDATE occurrence SET slot_at = slot_at + {HOUR_US}, due_at = due_at + {HOUR_US}, offset_s = offset_s - 3600"
    )
    home.sql_write(f"UPDATE job SET cursor_at = cursor_at + {HOUR_US}")
    home.sql_write("UPDATE zone_data SET version = '1999a'")
    return slot_at


def test_a_gateway_plans_anew_before_it_is_ready(home: TestHome) -> None:
    slot_at = planned_by_another_law(home)
    with running(home) as gateway:
        assert home.sql("SELECT slot_at, due_at, offset_s FROM occurrence") == [(slot_at, slot_at, 9 * 3600)]
        assert home.sql("SELECT version FROM zone_data") == [(version(),)]
        assert f"zone data 1999a → {version()}: 1 jobs have slots at other instants now" in gateway.said()


def test_the_doctor_sees_that_a_gateway_plans_with_another_version(home: TestHome) -> None:
    with running(home):
        home.sql_write("UPDATE zone_data SET version = '1999a'")  # as one does that runs since before an upgrade
        answer = home.json("doctor", status=1)
        (check,) = [check for check in answer["checks"] if check["check"] == "zone data"]
        assert not check["ok"]
        assert check["what"] == f"slots are planned with tzdata 1999a, and {version()} is installed"
        assert "restart the gateway" in check["remedy"]
    with running(home):
        until(lambda: home.json("doctor", status=None)["ok"], "all is well again")
