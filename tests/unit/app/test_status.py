"""How a home is doing, from what its store says: who stands for all gateways, whose clock counts, what is a problem."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from horae.app.status import anybody_alive, cluster_status, status_of
from horae.core.agent import AgentSettings
from horae.ports import Home
from tests.support.builders import HOUR, START, us

SHARED = "postgresql://host/db"


def gateway(pid: int, lease_until: datetime = START, **more: Any) -> dict[str, Any]:
    about = {
        "pid": pid,
        "since": "today",
        "version": "1",
        "labels": [],
        "draining": False,
        "lease_until": us(lease_until),
    }
    return about | more


def a_home(
    *gateways: dict[str, Any],
    store: str | None = SHARED,
    store_now: datetime = START,
    own_now: datetime = START,
    due: tuple[tuple[str, int], ...] = (),
) -> Home:
    """A home whose reader knows these gateways, and that many due slots by the labels that they ask for."""

    def alive(now_us: int, *, shared: bool) -> list[dict[str, Any]]:
        assert shared == (store is not None)
        return [{**one, "alive": one["lease_until"] > now_us} for one in gateways]

    reader = SimpleNamespace(
        gateways=alive,
        due_by_labels=lambda _now: [{"runs_on": labels.split(), "count": count} for labels, count in due],
        next_due=lambda: "soon",
        lateness_ms=lambda last: [1.0, 3.0],
        live_runs=lambda: [{"run": "r"}],
        on_the_way=lambda: {"pending": 0, "held": 0, "next": None},
        waiting=lambda limit, now_us: (
            [{"kind": "failing"}] if now_us == us(own_now if store is None else store_now) else []
        ),
        close=lambda: None,
    )
    home = SimpleNamespace(
        settings=SimpleNamespace(store=store, agents=AgentSettings()),
        read=lambda: reader,
        clock=SimpleNamespace(now=lambda: own_now),
        store=SimpleNamespace(transact=lambda work: work(SimpleNamespace(now=store_now))),
    )
    return cast("Home", home)


def test_the_first_that_is_alive_stands_for_all() -> None:
    found = cluster_status(a_home(gateway(1, START - HOUR), gateway(2, START + HOUR), gateway(3, START + HOUR)))
    assert found is not None
    assert (found["alive"], found["pid"], found["stopping"], found["shared"]) == (True, 2, False, True)
    assert [one["pid"] for one in found["gateways"]] == [1, 2, 3]
    assert (found["next_due"], found["live_runs"], found["waiting"]) == ("soon", [{"run": "r"}], [{"kind": "failing"}])
    assert found["lateness_ms"]["count"] == 2


@pytest.mark.parametrize("gateways", [(), (gateway(1, START - HOUR),), (gateway(1, START),)])
def test_none_when_nobody_is_alive(gateways: tuple[dict[str, Any], ...]) -> None:
    home = a_home(*gateways)
    assert cluster_status(home) is None
    assert not anybody_alive(home)


def test_it_is_stopping_when_all_are() -> None:
    stops, stays = gateway(1, START + HOUR, draining=True), gateway(2, START + HOUR)
    gone = gateway(3, START - HOUR)
    assert (cluster_status(a_home(stops, stays)) or {})["stopping"] is False
    assert (cluster_status(a_home(stops, gone)) or {})["stopping"] is True


@pytest.mark.parametrize("off", [-2 * HOUR, 2 * HOUR])
def test_leases_end_by_the_time_of_the_store_that_is_shared(off: Any) -> None:
    assert anybody_alive(a_home(gateway(1, START + HOUR), own_now=START + off))
    assert not anybody_alive(a_home(gateway(1, START - HOUR), own_now=START + off))


def test_a_file_has_no_time_of_its_own() -> None:
    home = a_home(gateway(1, START + HOUR), store=None, store_now=START + 9 * HOUR, own_now=START)
    assert [one["alive"] for one in status_of(home)["gateways"]] == [True]


def test_due_slots_that_nobody_would_take_are_problems() -> None:
    alive = gateway(1, START + HOUR, labels=["eu"])
    dead = gateway(2, START - HOUR, labels=["gpu"])
    found = status_of(a_home(alive, dead, due=(("eu", 5), ("gpu", 1), ("eu gpu", 2))))
    assert found["problems"] == [
        "1 due slot waits for a gateway; none has gpu (those that are alive have eu)",
        "2 due slots wait for a gateway; none has eu, gpu (those that are alive have eu)",
    ]
    assert status_of(a_home(alive, due=(("eu", 5),)))["problems"] == []
