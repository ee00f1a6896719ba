"""Calls of hooks: each is taken once, whoever else takes it, and one that starts nothing is on record."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

from tests.support.stores import SqliteUnderTest as UnderTest


def test_a_call_is_taken_once_and_its_answer_kept(s: UnderTest) -> None:
    assert s.do(lambda tx: tx.doors.hook_calls.take("ci", "id 1"))
    s.do(lambda tx: tx.doors.hook_calls.keep("ci", ["id 1"], '{"a": 1}'))
    assert not s.do(lambda tx: tx.doors.hook_calls.take("ci", "id 1"))
    assert s.do(lambda tx: tx.doors.hook_calls.take("other", "id 1")), "another hook's ids are others"
    assert s.do(lambda tx: tx.doors.hook_calls.answer("ci", "id 1")) == '{"a": 1}'
    assert s.do(lambda tx: tx.doors.hook_calls.answer("ci", "id 2")) is None


def test_of_two_that_take_it_at_once_one_gets_it(s: UnderTest) -> None:
    stores, together = [s.store, s.again()], Barrier(2, timeout=20)

    def take(store: Any) -> list[bool]:
        together.wait()
        return [store.transact(lambda tx, n=n: tx.doors.hook_calls.take("ci", f"id {n}")) for n in range(20)]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(take, stores)
    assert [a + b for a, b in zip(first, second, strict=True)] == [1] * 20


def test_calls_are_counted_and_old_ones_go(s: UnderTest) -> None:
    for number in range(3):
        s.do(lambda tx, number=number: tx.doors.hook_calls.take("ci", f"call {number}"))
    s.do(lambda tx: tx.doors.hook_calls.take("ci", "id 1"))
    count = lambda: s.do(lambda tx: tx.doors.hook_calls.count("ci", tx.now - timedelta(minutes=1)))
    assert count() == 3
    assert set(s.reader().hooks_called()) == {"ci"}
    s.clock.time += timedelta(minutes=2)
    assert count() == 0
    assert s.do(lambda tx: tx.doors.hook_calls.prune(tx.now, 2)) == 2
    assert s.do(lambda tx: tx.doors.hook_calls.prune(tx.now, 10)) == 2


def test_a_run_that_a_hook_orders_has_what_came_and_says_why(s: UnderTest) -> None:
    owner, job = s.sign_on(), s.put()
    made = s.do(
        lambda tx: tx.doors.hook_calls.order(job.id, run_id="a" * 12, actor="hook ci", input="x\n\"'", cause="hook ci")
    )
    assert s.do(lambda tx: tx.doors.hook_calls.waiting(job.id)) == 1
    (claim,) = [claim for claim in s.claim(owner) if claim.key == made["key"]]
    assert (claim.cause, claim.input, claim.run_id) == ("hook ci", "x\n\"'", "a" * 12)


def test_a_call_that_starts_nothing_is_an_occurrence_that_was_skipped(s: UnderTest) -> None:
    job = s.put()
    row = s.do(lambda tx: tx.jobs.get(job.id))
    given = {"run_id": "a" * 12, "actor": "hook ci", "cause": "hook ci", "reason": "paused by ann; called by hook ci"}
    key = s.do(lambda tx: tx.doors.hook_calls.drop(row, **given))
    found = s.reader().occurrence_by_key(key)
    assert found is not None
    assert (found["state"], found["outcome"], found["reason"]) == ("settled", "skipped", given["reason"])
    told = [row["what"] for row in s.rows("SELECT what FROM journal WHERE key = ?", key)]
    assert told == ["skipped"]
