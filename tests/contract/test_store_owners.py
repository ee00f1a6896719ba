"""Gateways as owners: who holds a lease, what may be taken over, and what becomes of runs that were asked to end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest import mock

import pytest

from horae.core.model import End, Owner
from horae.errors import Stale
from horae.store import claimwrites
from horae.store.ledger import Ledger
from horae.store.owners import LEASE, Owners
from tests.contract.test_store_claims import brought_to, tells
from tests.support.builders import SECOND, addressed, an_ending, an_owner, at
from tests.support.stores import SqliteUnderTest as UnderTest


def test_a_lease_is_held_until_it_ends_is_taken_or_given_up(s: UnderTest) -> None:
    one = s.sign_on("g1")

    def holds() -> bool:
        return s.do(lambda tx: tx.runs.holds(one))

    assert holds()
    s.clock.time += LEASE - SECOND
    assert holds()
    s.clock.time += SECOND
    assert not holds(), "it has ended"
    s.do(lambda tx: tx.runs.renew(one))
    assert holds()
    s.do(lambda tx: tx.runs.sign_off(one, 600.0))
    assert not holds(), "whoever has signed off holds none, although its runs are kept for it"
    assert not s.do(lambda tx: tx.runs.holds(an_owner("nobody")))


def test_whoever_was_taken_over_holds_no_lease(s: UnderTest) -> None:
    brought_to(s, "running")
    one, two = an_owner("g1"), s.sign_on("g2")
    s.do(lambda tx: tx.runs.renew(one))
    s.do(lambda tx: tx.runs.take_over(two, {"g1"}))
    assert not s.do(lambda tx: tx.runs.holds(one))


def test_P2_whoever_may_not_judge_takes_only_what_is_proven_gone(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    two = s.sign_on("g2")
    s.clock.time += 10 * LEASE
    assert s.do(lambda tx: tx.runs.take_over(two, (), lapsed=False)) == []
    assert s.run(claim.run_id)["gateway_id"] == "g1"
    assert not s.journal("gateway_lost")
    ((orphan, _),) = s.do(lambda tx: tx.runs.take_over(two, {"g1"}, lapsed=False))
    assert orphan.run_id == claim.run_id


def test_P2_whoever_renews_just_in_time_keeps_its_runs(s: UnderTest) -> None:
    """The lease had ended when it was looked at, and has not when its runs would be taken."""
    claim = brought_to(s, "running")
    one, two, real = an_owner("g1"), s.sign_on("g2"), Owners.others

    def late(self: Owners, owner: Owner) -> Any:
        found = real(self, owner)
        self.renew(one)
        return found

    s.clock.time += LEASE
    s.do(lambda tx: tx.runs.renew(two))
    with mock.patch.object(Owners, "others", late):
        assert s.do(lambda tx: tx.runs.take_over(two, ())) == []
    assert (s.run(claim.run_id)["gateway_id"], s.run(claim.run_id)["token"]) == ("g1", claim.token)
    assert not s.journal("gateway_lost")


def test_P3_whoever_has_signed_off_renews_no_lease(s: UnderTest) -> None:
    one = s.sign_on("g1")
    s.do(lambda tx: tx.runs.sign_off(one))
    before = s.everything()
    with pytest.raises(Stale):
        s.do(lambda tx: tx.runs.renew(one))
    assert s.everything() == before


def test_a_gateway_speaks_for_itself_only(s: UnderTest) -> None:
    one, two = s.sign_on("g1"), s.sign_on("g2")
    (before,) = s.rows("SELECT * FROM gateway WHERE id = 'g2'")
    s.clock.time += SECOND
    for verb in ("renew", "drain", "sign_off"):
        s.do(lambda tx, verb=verb: getattr(tx.runs, verb)(one))
    assert s.rows("SELECT * FROM gateway WHERE id = 'g2'") == [before]
    assert s.do(lambda tx: tx.runs.holds(two))


def test_an_adopted_run_is_told_in_the_journal(s: UnderTest) -> None:
    claim = brought_to(s, "running")
    s.take_over(s.sign_on("g2"))
    (entry,) = s.journal("adopted")
    assert (entry["run_id"], entry["key"], entry["job_id"]) == (claim.run_id, claim.key, claim.job_id)
    assert all(word in entry["detail"] for word in ('"g1"', '"g2"', '"running"'))


# ── asked to end


def asked(s: UnderTest, run_id: str, reason: str = "cancelled by anna") -> None:
    assert s.do(lambda tx: tx.runs.ask_to_end(run_id, actor="anna", reason=reason))


def test_a_former_owner_calls_nothing_off(s: UnderTest) -> None:
    claim = brought_to(s, "claimed")
    one, two = an_owner("g1"), s.sign_on("g2")
    asked(s, claim.run_id)
    s.take_over(two)
    assert s.do(lambda tx: tx.runs.asked_to_end(one)) == []
    assert s.run(claim.run_id)["state"] == "claimed"
    s.do(lambda tx: tx.runs.asked_to_end(two))
    assert s.run(claim.run_id)["state"] == "cancelled"


@pytest.mark.parametrize("state", ["finished", "blocked", "released", "settled"])
def test_O3_what_is_over_cannot_be_asked_to_end(s: UnderTest, state: str) -> None:
    claim = brought_to(s, state)
    before = s.everything()
    assert not s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="enough"))
    assert s.everything() == before


@pytest.mark.parametrize("state", ["claimed", "running"])
def test_whoever_owns_a_run_is_told_when_it_shall_end(s: UnderTest, state: str) -> None:
    claim = brought_to(s, state)
    assert tells(s, lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="enough"))


@pytest.mark.parametrize("meanwhile", ["taken over", "started"])
def test_P3_O3_what_was_found_to_be_called_off_is_called_off_only_if_it_is_still_so(
    s: UnderTest, meanwhile: str
) -> None:
    """Others write between the look and the word, where a store is shared."""
    claim = brought_to(s, "claimed")
    one, two, real = an_owner("g1"), s.sign_on("g2"), Ledger._call_off
    asked(s, claim.run_id)

    def late(self: Ledger, owner: Owner, run_id: str, reason: str) -> None:
        if meanwhile == "started":
            self.start(claim)
        else:
            self.take_over(two, {"g1"})
        real(self, owner, run_id, reason)

    with mock.patch.object(Ledger, "_call_off", late):
        s.do(lambda tx: tx.runs.asked_to_end(one))
    assert s.run(claim.run_id)["state"] == ("running" if meanwhile == "started" else "claimed")
    assert s.occurrence(claim.key)["state"] == "claimed"


@pytest.mark.parametrize("meanwhile", ["state = 'completed'", "cancel_reason = 'cancelled by anna'"])
def test_O3_what_was_found_to_stand_in_the_way_is_asked_to_end_only_if_it_is_still_so(
    s: UnderTest, meanwhile: str
) -> None:
    s.put(overlap="cancel_running")
    owner, real = s.sign_on(), claimwrites.can_be_asked
    s.clock.time = at("08:01")
    (claim,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(claim))

    def late(run: Any) -> bool:
        found = real(run)
        s.store.db.execute(f"UPDATE run SET {meanwhile} WHERE id = ?", (claim.run_id,))
        return found

    s.clock.time = at("08:02")
    with mock.patch.object(claimwrites, "can_be_asked", late):
        assert s.claim(owner) == []
    before = {"state": "running", "cancel_reason": None}
    now = s.run(claim.run_id)
    assert {name for name, value in before.items() if now[name] != value} == {meanwhile.split(maxsplit=1)[0]}
    assert now["cancel_reason"] in (None, "cancelled by anna")
    assert not s.journal("cancel_asked")


def retried(s: UnderTest, **job: Any) -> Any:
    """The second attempt at a slot, claimed; the first one failed."""
    s.put(schedule="1 8 * * *", **job)
    owner = s.sign_on()
    s.clock.time = at("08:01")
    (first,) = s.claim(owner)
    s.do(lambda tx: tx.runs.start(first))
    s.do(
        lambda tx: tx.runs.conclude_all(
            [End(first, an_ending("fail", reason="exit status 9"), addressed(first), retry_s=5.0)]
        )
    )
    s.clock.time += timedelta(seconds=5)
    (second,) = s.claim(owner)
    assert (second.key, second.attempt) == (first.key, 2)
    return second


def test_a_retry_that_is_called_off_leaves_a_slot_that_ran(s: UnderTest) -> None:
    second = retried(s)
    asked(s, second.run_id)
    s.do(lambda tx: tx.runs.asked_to_end(an_owner("g1")))
    row = s.occurrence(second.key)
    assert row["outcome"] == "ran"
    assert row["reason"] == "exit status 9; not tried again: cancelled by anna"
    with pytest.raises(Stale):
        s.do(lambda tx: tx.runs.start(second))


def test_a_retry_that_is_called_off_counts_for_repeat(s: UnderTest) -> None:
    second = retried(s, repeat=1)
    asked(s, second.run_id)
    s.do(lambda tx: tx.runs.asked_to_end(an_owner("g1")))
    (job,) = s.rows("SELECT counted, completed_reason FROM job")
    assert (job["counted"], job["completed_reason"]) == (1, "it ran 1 of 1 times")
