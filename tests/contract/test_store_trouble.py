"""What goes wrong with incidents and messages themselves: nothing stays untold, held up, or open for ever."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest

from horae.core.delivery import Addressee
from horae.core.model import Claim, End
from horae.store.incidents import CAUSES_MAX
from tests.contract.test_store_incidents import MANNER, Telling, hearers, to
from tests.support.builders import DAY, HOUR, MINUTE, a_job, an_ending, an_owner, at
from tests.support.stores import SqliteUnderTest as UnderTest

PAGER = Addressee("pager", "pager")


@pytest.fixture
def t(s: UnderTest) -> Telling:
    return Telling(s)


def end_of(claim: Claim, event: str, reason: str = "exit status 1", retry_s: float | None = None) -> End:
    alert = event != "complete"
    message = f"failed: {reason}" if alert else "fine"
    ending = an_ending(event, message, reason=reason if alert else "exit status 0", alert=alert)
    return End(claim, ending, to(claim.job), to(claim.job), MANNER, retry_s=retry_s)


def crashed(t: Telling) -> None:
    """Whoever was sending is gone, and another goes on; a message that comes twice is taken for one."""
    other = t.s.sign_on("g2")
    t.s.do(lambda tx: tx.runs.take_over(other, {"g1"}, repeatable=lambda address: True))


# ── told after all


@pytest.mark.parametrize("catch_up", ["once", "all"])
def test_a_failure_whose_retry_never_came_is_told_when_its_slot_is_over(s: UnderTest, catch_up: str) -> None:
    """No gateway ran until the next slot was due, so the retry gave way to it."""
    t = Telling(s, schedule="0 8 * * *", catch_up=catch_up)
    s.clock.time = at("08:00", 3)
    (claim,) = s.claim(t.owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.do(lambda tx: tx.runs.conclude_all([end_of(claim, "fail", retry_s=30.0)]))
    assert t.told() == []
    s.clock.time = at("10:00", 6)
    s.claim(t.owner)
    assert t.told() == [("desk", "alert")]
    assert (t.bodies, len(t.incidents())) == (["failed: exit status 1"], 1)
    assert t.told() == []


def test_a_failure_whose_retry_came_is_told_by_that(s: UnderTest) -> None:
    t = Telling(s, schedule="0 8 * * *")
    s.clock.time = at("08:00", 3)
    (claim,) = s.claim(t.owner)
    s.do(lambda tx: tx.runs.start(claim))
    s.do(lambda tx: tx.runs.conclude_all([end_of(claim, "fail", retry_s=30.0)]))
    s.clock.time += MINUTE
    (again,) = s.claim(t.owner)
    s.do(lambda tx: tx.runs.start(again))
    s.do(lambda tx: tx.runs.conclude_all([end_of(again, "complete")]))
    assert t.told() == [("desk", "result")]
    assert t.incidents(all=True) == []


def test_one_batch_may_end_and_begin_the_same_trouble(s: UnderTest) -> None:
    t = Telling(s, overlap="allow")
    claims = [t.claim() for _ in range(3)]
    events = ("fail", "complete", "fail")
    s.do(lambda tx: tx.runs.conclude_all([end_of(c, e) for c, e in zip(claims, events, strict=True)]))
    assert sorted(found["state"] for found in t.incidents(all=True)) == ["ended", "open"]


def test_causes_that_are_new_each_time_are_one_incident_in_the_end(t: Telling) -> None:
    words = [f"{a}{b}{c}" for a in "ghijk" for b in "lmnop" for c in "qrstu"]
    for word in words[:60]:
        t.fail(f"cannot open /tmp/{word}")
    assert len(t.told()) == len(t.incidents()) == CAUSES_MAX + 1
    assert max(found["count"] for found in t.incidents()) == 60 - CAUSES_MAX


def test_many_come_due_at_once_and_none_waits_for_the_next_look_of_the_clock(s: UnderTest) -> None:
    s.clock.time = at("09:00", 3)
    for n in range(150):
        s.put(a_job(f"j{n}", schedule="0 18 * * *", expect_by="19:00", deliver=("desk",)))
    s.clock.time = at("19:00", 3)

    def look(tx: Any) -> Any:
        tx.notices.look(hearers())
        return tx.notices.next_due()

    assert s.do(look) == s.clock.time
    s.do(look)
    assert len(s.rows("SELECT 1 AS one FROM delivery WHERE kind = 'overdue'")) == 150


def test_a_job_whose_file_is_broken_is_overdue_all_the_same(s: UnderTest) -> None:
    t = Telling(s, schedule="0 18 * * *", expect_by="19:00")
    s.do(lambda tx: tx.jobs.quarantine(t.job.slug, {"message": "broken"}, signature="x", actor="test"))
    s.clock.time = at("19:00")
    assert t.told() == [("desk", "overdue")]


# ── nothing is held up


def test_what_cannot_be_sent_holds_up_nothing_behind_it(t: Telling) -> None:
    t.end()
    (parcel,) = t.s.take()
    t.s.record(parcel, "retry", reason="503")
    t.s.clock.time += 3 * DAY
    t.fail()
    (parcel,) = t.s.take()
    assert parcel.items[0].kind == "alert"
    assert t.states()[0][0] == "expired"


def test_of_a_closed_address_all_that_waits_is_ended_at_once(t: Telling) -> None:
    for _ in range(5):
        t.end()
    t.s.deliver(event="refuse", reason="gone", closes=True)
    assert {state for state, _ in t.states()} == {"failed"}


def test_what_ended_without_being_sent_is_followed_by_another_look(t: Telling) -> None:
    t.fallback = (PAGER,)
    t.fail()
    t.s.do(lambda tx: tx.outbox._close("desk", "gone"))

    def look(tx: Any) -> Any:
        tx.notices.look(hearers(*t.fallback))
        taken = tx.outbox.take_due(t.owner, 8)
        return [parcel.address for parcel in taken], tx.notices.next_due()

    assert t.s.do(look) == ([], t.s.clock.time)
    assert t.s.do(look)[0] == ["pager"]


def test_an_address_that_had_its_turn_comes_after_those_that_had_none(t: Telling) -> None:
    for address in ("a", "b", "desk"):
        t.s.put(replace(t.job, deliver=(address,)))
        t.end()
    taken = t.s.do(lambda tx: tx.outbox.take_due(t.owner, 1, ("b", "a")))
    assert [parcel.address for parcel in taken] == ["desk"]
    taken = t.s.do(lambda tx: tx.outbox.take_due(t.owner, 1, ("b", "a")))
    assert [parcel.address for parcel in taken] == ["b"], "the one that had it longer ago"


# ── what may have arrived


@pytest.mark.parametrize("how", ["expired", "refused"])
def test_P4_what_may_have_arrived_before_a_crash_is_unknown_however_its_repeat_ends(t: Telling, how: str) -> None:
    t.end()
    t.s.take()
    crashed(t)
    if how == "expired":
        t.s.clock.time += 2 * DAY
        assert t.s.take("g2") == []
    else:
        t.s.deliver("g2", event="refuse", reason="404")
    assert t.states()[0][0] == "unknown"


def test_a_digest_of_one_stays_the_same_message_after_a_crash(t: Telling) -> None:
    def digest() -> None:
        claim, who = t.claim(), (Addressee("desk", "desk", digest=True),)
        t.s.do(lambda tx: tx.runs.conclude_all([End(claim, an_ending(), who, who, MANNER)]))

    digest()
    (first,) = t.s.take()
    crashed(t)
    t.owner = an_owner("g2")
    digest()
    (again,) = t.s.take("g2")
    assert [item.delivery_id for item in first.items] == [item.delivery_id for item in again.items]


# ── an end for everything


def test_a_persons_word_on_an_unknown_run_ends_its_incident(t: Telling) -> None:
    claim = t.end("lose", "the shim is gone")
    t.told()
    t.s.do(lambda tx: tx.runs.resolve(claim.run_id, "completed", actor="anna", reason=None, again=None))
    (found,) = t.incidents(all=True)
    assert (found["state"], found["ended_by"]) == ("ended", "resolved by anna")


def test_acknowledging_ends_what_no_run_can_end_any_more(t: Telling) -> None:
    t.fail()
    t.s.do(lambda tx: tx.jobs.complete(t.job.id, actor="x", reason="its last slot"))
    t.s.do(lambda tx: tx.incidents.acknowledge(t.only["id"], actor="anna", until=None))
    assert t.incidents() == []


def test_what_is_expected_no_more_is_overdue_no_more(s: UnderTest) -> None:
    t = Telling(s, schedule="every day at 08:30", expect_by="09:30")
    s.clock.time = at("09:30")
    assert t.told() == [("desk", "overdue")]
    s.put(replace(t.job, expect_by=None))
    assert t.incidents() == []


def test_a_loss_can_be_acknowledged_when_its_address_is_well_again(t: Telling) -> None:
    t.end()
    t.told("refuse", reason="no")
    t.look()
    name = t.only["id"]
    t.end()
    t.told()
    assert [item["kind"] for item in t.s.reader().waiting(9)] == ["delivery"]
    t.s.do(lambda tx: tx.incidents.acknowledge(name, actor="anna", until=None))
    assert t.s.reader().waiting(9) == []


def test_what_was_sent_anew_and_arrived_is_pruned_like_all_else(t: Telling) -> None:
    claim = t.end()
    t.told("refuse", reason="no")
    t.s.do(lambda tx: tx.outbox.resend(claim.run_id, None, MANNER, actor="anna"))
    t.told()
    t.end()
    t.s.clock.time += 400 * DAY
    t.s.do(lambda tx: tx.retention.prune_runs(0, t.s.clock.time - DAY, 100, (0, "")))
    assert t.s.run(claim.run_id)["pruned"] == 2


def test_a_word_that_reached_nobody_is_not_pruned_unseen(t: Telling) -> None:
    t.fail()
    t.told()
    t.s.clock.time += DAY
    assert t.told("refuse", reason="no") == [("desk", "reminder")]
    t.s.clock.time += 100 * DAY
    t.s.do(lambda tx: tx.retention.prune_runs(0, t.s.clock.time - DAY, 100, (0, "")))
    assert t.s.rows("SELECT kind FROM delivery WHERE run_id IS NULL AND kind = 'reminder'")


def test_what_is_lost_of_a_removed_job_is_no_trouble_any_more(t: Telling) -> None:
    t.end()
    t.s.do(lambda tx: tx.jobs.remove(t.job.id, actor="anna", reason="done"))
    assert t.told("refuse", reason="no") == [("desk", "result")]
    t.look()
    assert t.incidents(all=True) == []


def test_a_person_who_paused_a_job_is_not_reminded_of_it(t: Telling) -> None:
    t.fail()
    t.told()
    t.s.do(lambda tx: tx.jobs.pause(t.job.id, actor="anna", reason="holiday"))
    t.s.clock.time += DAY
    assert t.told() == []
    t.s.do(lambda tx: tx.jobs.resume(t.job.id, actor="anna"))
    t.s.clock.time += DAY
    assert t.told() == [("desk", "reminder")]


# ── gateways beside one another


def beside(s: UnderTest, *works: Callable[[Any], Any]) -> None:
    """Each in a transaction of its own, at the same moment."""
    stores, bar = [s.again() for _ in works], Barrier(len(works))

    def go(store: Any, work: Callable[[Any], Any]) -> None:
        bar.wait()
        store.transact(work)

    with ThreadPoolExecutor(len(works)) as pool:
        for each in [pool.submit(go, store, work) for store, work in zip(stores, works, strict=True)]:
            each.result()


def test_two_runs_that_complete_at_once_tell_one_recovery(s: UnderTest) -> None:
    t = Telling(s, overlap="allow")
    for _ in range(6):
        t.fail()
        t.told()
        one, two = t.claim(), t.claim()
        beside(
            s,
            lambda tx, c=one: tx.runs.conclude_all([end_of(c, "complete")]),
            lambda tx, c=two: tx.runs.conclude_all([end_of(c, "complete")]),
        )
        assert [kind for _, kind in t.told()].count("recovery") == 1
    assert len(s.journal("incident_ended")) == 6


def test_two_that_fail_at_once_when_nobody_has_been_told_yet_tell_it_once(s: UnderTest) -> None:
    t = Telling(s, overlap="allow")
    for n in range(6):
        cause = f"cause {'abcdef'[n]}"
        t.fail(cause)
        t.told("refuse", reason="no")
        one, two = t.claim(), t.claim()
        beside(
            s,
            lambda tx, c=one, w=cause: tx.runs.conclude_all([end_of(c, "fail", w)]),
            lambda tx, c=two, w=cause: tx.runs.conclude_all([end_of(c, "fail", w)]),
        )
        assert [kind for _, kind in t.told()].count("alert") == 1
        t.s.clock.time += HOUR
