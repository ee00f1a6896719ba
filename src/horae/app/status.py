"""How a home is doing, by its store alone: what is due, how late runs were, who is alive, what waits for a person."""

from __future__ import annotations

from typing import Any

from horae.app.budget import budget_of
from horae.core.instants import to_us
from horae.core.labels import offered, unoffered
from horae.core.lateness import summary
from horae.ports import Home

Json = dict[str, Any]
LATENESS_OF = 1000  # runs that the status sums up
WAITING_MAX = 50


def status_of(home: Home) -> Json:
    """Next due, lateness, live runs, gateways, what waits, and what nobody will start."""
    now_us = store_now(home)
    reader = home.read()
    try:
        gateways = reader.gateways(now_us, shared=home.settings.store is not None)
        labels = offered(gateways)
        stranded = [item for item in reader.due_by_labels(now_us) if unoffered(item["runs_on"], labels)]
        return {
            "next_due": reader.next_due(),
            "lateness_ms": summary(reader.lateness_ms(LATENESS_OF)),
            "live_runs": reader.live_runs(),
            "waiting": reader.waiting(WAITING_MAX, now_us),
            "deliveries": reader.on_the_way(),
            "budget": budget_of(home, reader),
            "gateways": gateways,
            "problems": [
                f"{_slots(item['count'])} for a gateway; {unoffered(item['runs_on'], labels)}" for item in stranded
            ],
        }
    finally:
        reader.close()


def cluster_status(home: Home) -> Json | None:
    """The same in the shape of one gateway: the newest that is alive stands for all. None when there is none."""
    found = status_of(home)
    alive = [gateway for gateway in found["gateways"] if gateway["alive"]]
    if not alive:
        return None
    newest = alive[0]
    one = {key: newest[key] for key in ("alive", "pid", "since", "version")}
    return {**found, **one, "shared": True, "stopping": all(gateway["draining"] for gateway in alive)}


def anybody_alive(home: Home) -> bool:
    """Whether any gateway of a shared store is alive."""
    now_us = store_now(home)
    reader = home.read()
    try:
        return any(gateway["alive"] for gateway in reader.gateways(now_us, shared=True))
    finally:
        reader.close()


def store_now(home: Home) -> int:
    """The time by which leases are judged: of a shared store its own, whatever this machine's clock says."""
    return to_us(home.clock.now() if home.settings.store is None else home.store.transact(lambda tx: tx.now))


def _slots(count: int) -> str:
    return "1 due slot waits" if count == 1 else f"{count} due slots wait"
