"""Who runs gateways, and what waits for which of them: as every store tells it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from horae.core.model import Owner
from horae.limits import LEASE_S
from tests.support.builders import DAY, HOUR, MINUTE, START, a_job, an_owner, us

LEASE = timedelta(seconds=LEASE_S)


def sign_on(s: Any, name: str, *labels: str) -> Owner:
    owner = replace(an_owner(name), labels=frozenset(labels))
    s.do(lambda tx: tx.runs.sign_on(owner, "1.2"))
    return owner


def told(s: Any, *, shared: bool = True) -> list[tuple[str, bool]]:
    return [(one["id"], one["alive"]) for one in s.reader().gateways(us(s.clock.time), shared=shared)]


def test_what_is_told_of_a_gateway(s: Any) -> None:
    owner = sign_on(s, "g1", "gpu", "eu")
    s.put(a_job())
    s.clock.time += MINUTE
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.renew(owner))
    (found,) = s.reader().gateways(us(s.clock.time), shared=True)
    assert found == {
        "id": "g1",
        "alive": True,
        "host": "host",
        "pid": 1000,
        "version": "1.2",
        "since": "2026-03-02T08:00:00Z",
        "lease_until": "2026-03-02T08:01:30Z",
        "labels": ["eu", "gpu"],
        "draining": False,
        "live_runs": 1,
    }
    s.do(lambda tx: tx.runs.drain(owner))
    s.carry_out(claim)
    (found,) = s.reader().gateways(us(s.clock.time), shared=True)
    assert (found["draining"], found["live_runs"]) == (True, 0)
    s.do(lambda tx: tx.runs.sign_off(owner, 0.0))
    assert told(s) == []


def test_a_lease_that_has_ended_is_told_for_a_day_behind_those_that_go_on(s: Any) -> None:
    old = sign_on(s, "old")
    s.clock.time += MINUTE
    sign_on(s, "dead")
    s.do(lambda tx: tx.runs.renew(old))
    assert told(s) == [("dead", True), ("old", True)]
    s.clock.time += LEASE - timedelta(seconds=1)
    s.do(lambda tx: tx.runs.renew(old))
    s.clock.time += timedelta(seconds=1)
    assert told(s) == [("old", True), ("dead", False)], "the one that lives first, though the other is newer"
    s.clock.time += DAY
    s.do(lambda tx: tx.runs.renew(old))
    assert told(s) == [("old", True)]


def test_many_that_died_do_not_hide_who_lives(s: Any) -> None:
    old = sign_on(s, "old")
    s.clock.time += LEASE
    for at in range(120):
        sign_on(s, f"dead{at}")
    s.clock.time += LEASE
    s.do(lambda tx: tx.runs.renew(old))
    assert told(s)[0] == ("old", True)
    assert len(told(s)) == 100


def test_a_store_that_is_not_shared_has_one_gateway_whose_lease_nobody_needs(s: Any) -> None:
    sign_on(s, "killed")
    s.clock.time += MINUTE
    sign_on(s, "now")
    s.clock.time += 10 * DAY
    assert told(s, shared=False) == [("now", True), ("killed", False)]


@pytest.mark.parametrize("there", [True, False])
def test_what_active_jobs_ask_for(s: Any, there: bool) -> None:
    s.put(a_job("plain"))
    if there:
        for slug in ("b", "a", "c"):
            s.put(a_job(slug, runs_on=("eu", "gpu")))
        s.put(a_job("d", runs_on=("tpu",)))
        s.put(a_job("off", runs_on=("us",), enabled=False))
        paused = s.put(a_job("paused", runs_on=("us",)))
        s.do(lambda tx: tx.jobs.pause(paused.id, actor="ann", reason=None))
        gone = s.put(a_job("gone", runs_on=("us",)))
        s.do(lambda tx: tx.jobs.remove(gone.id, actor="ann", reason="x"))
    wanted = [{"runs_on": ["eu", "gpu"], "jobs": 3, "slug": "a"}, {"runs_on": ["tpu"], "jobs": 1, "slug": "d"}]
    assert s.reader().jobs_by_labels() == (wanted if there else [])


def test_what_is_due_of_jobs_that_ask_for_labels(s: Any) -> None:
    nobody = sign_on(s, "g1")
    for slug in ("a", "b"):
        s.put(a_job(slug, runs_on=("gpu",)))
    s.put(a_job("later", runs_on=("tpu",), schedule=f"every 1 hour from {(START + HOUR).isoformat()}"))
    s.put(a_job("plain"))
    assert s.reader().due_by_labels(us(s.clock.time)) == []
    s.clock.time += MINUTE
    assert [claim.job.slug for claim in s.claim(nobody)] == ["plain"]
    assert s.reader().due_by_labels(us(s.clock.time)) == [{"runs_on": ["gpu"], "count": 2}]
    assert {claim.job.slug for claim in s.claim(sign_on(s, "g2", "gpu", "more"))} == {"a", "b"}
    assert s.reader().due_by_labels(us(s.clock.time)) == []
