"""Groups in the store: never more live runs than its limit, nobody overtaken, and what waits costs a look nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from horae.core.model import Retries, Terms
from horae.store.postgres import PostgresStore
from tests.support.builders import SECOND, a_job, addressed, an_ending, an_owner, at
from tests.support.policies import Hands
from tests.support.servers import server_or_skip
from tests.support.stores import PostgresUnderTest
from tests.support.stores import SqliteUnderTest as UnderTest
from tests.support.world import scratch

OPEN = "state <> 'settled' AND due_at < 1772441000000000"  # of that day
ONCE = "1 8 * * *"
DAILY = "every 1 day from 2026-03-02T08:01:00+00:00"


def test_a_group_runs_one_at_a_time_by_priority_and_time(s: UnderTest) -> None:
    hands = Hands(s)
    jobs = [
        hands.put("first", group="gpu", schedule="1 8 * * *"),
        hands.put("second", group="gpu", schedule="2 8 * * *"),
        hands.put("urgent", group="gpu", schedule="3 8 * * *", priority=5),
        hands.put("other", schedule="3 8 * * *"),
    ]
    assert hands.at("08:01") == ["first 08:01"]
    assert hands.at("08:02") == []
    assert hands.at("08:03") == ["other 08:03"]
    assert hands.waits_for(jobs[1]) == {"08:02": "group gpu"}
    assert [hands.told(job, "waiting") for job in jobs] == [[], ["waiting"], ["waiting"], []]
    hands.end(hands.claims[0])
    assert hands.at("08:03:10") == ["urgent 08:03"]
    hands.end(hands.claims[1])
    (claim,) = hands.look("08:03:20")
    assert (hands.called(claim), claim.due) == ("second 08:02", at("08:02"))
    assert hands.at("08:03:30") == []


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_group_has_as_many_live_runs_as_its_limit_says(s: UnderTest, limit: int) -> None:
    hands = Hands(s, groups={"gpu": limit, "cpu": 9})
    for number in range(7):
        hands.put(f"job{number}", group="gpu", schedule=DAILY)
    began = []
    s.clock.time = at("08:01")
    while found := hands.at(s.clock.time + SECOND):
        began += found
        assert len(hands.claims) == limit or len(began) == 7
        hands.end()
    while hands.claims:
        hands.end()
    assert len(set(began)) == 7


@pytest.mark.parametrize("overlap", ["queue", "queue_one", "cancel_running", "allow"])
def test_a_slot_that_finds_its_group_full_is_held_and_its_job_goes_on(s: UnderTest, overlap: Any) -> None:
    hands = Hands(s)
    hands.put("long", group="gpu", schedule=ONCE)
    job = hands.put("short", group="gpu", schedule="* * * * *", overlap=overlap, starts="2026-03-02T08:02:00+00:00")
    hands.at("08:01")
    for minute in ("08:02", "08:03"):
        assert hands.at(minute) == []
    held = ["08:02", "08:03"] if overlap in ("queue", "allow") else ["08:03"]
    assert (hands.held(job), hands.waits_for(job)) == (held, dict.fromkeys(held, "group gpu"))
    assert s.planned(job)[-1] == "08:04"
    assert s.rows("SELECT 1 FROM run WHERE cancel_reason IS NOT NULL") == [], "a neighbour is not cancelled"
    assert "gpu is full (1 at a time)" in hands.reasons(job)["08:03"]
    hands.end()
    assert hands.at("08:03:30") == [f"short {held[0]}"]


def test_a_slot_with_skip_waits_in_its_place_and_the_latest_runs(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put("long", group="gpu", schedule=ONCE)
    job = hands.put("short", group="gpu", starts="2026-03-02T08:02:00+00:00")
    for minute in ("08:01", "08:02", "08:03", "08:04"):
        hands.at(minute)
    assert hands.outcomes(job) == {"08:02": "planned"}
    hands.end()
    (claim,) = hands.look("08:04:30")
    assert (claim.slot, claim.missed) == (at("08:04"), 2)


def test_a_manual_run_waits_for_its_group_too(s: UnderTest) -> None:
    hands = Hands(s)
    long, job = hands.put("long", group="gpu", schedule=ONCE), hands.put("short", group="gpu", schedule="0 0 1 1 *")
    hands.at("08:01")
    run_id = hands.order(job)
    assert hands.at("08:01:10") == []
    assert hands.told(job, "waiting") == ["waiting"]
    hands.order(long, 2)
    assert hands.at("08:01:20") == []
    hands.end()
    (claim,) = hands.look("08:01:30")
    assert claim.run_id == run_id
    hands.end()
    assert hands.at("08:01:40") == ["long by hand"]


def test_a_mark_means_nothing_once_its_group_or_its_job_is_another(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put("long", group="gpu", schedule=ONCE)
    job = hands.put("short", group="gpu", schedule="2 8 * * *")
    hands.at("08:01")
    hands.at("08:02")
    assert hands.waits_for(job) == {"08:02": "group gpu"}
    hands.put("short", group="cpu", schedule="2 8 * * *")
    assert hands.at("08:02:10") == ["short 08:02"]


def test_a_higher_limit_of_a_gateway_that_begins_anew_holds_at_once(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put("long", group="gpu", schedule=ONCE)
    hands.put("short", group="gpu", schedule="2 8 * * *")
    hands.at("08:01")
    assert hands.at("08:02") == []
    assert Hands(s, "g2", groups={"gpu": 2}).at("08:02:01") == ["short 08:02"]


def test_a_retry_leaves_its_place_to_others_of_its_group(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put("flaky", group="gpu", schedule=ONCE, retries=Retries(max=1, backoff_s=30.0), priority=1)
    hands.put("other", group="gpu", schedule=ONCE)
    assert hands.at("08:01") == ["flaky 08:01"]
    assert hands.fail()
    assert hands.at("08:01:02") == ["other 08:01"]
    assert hands.at("08:02") == []
    hands.end()
    assert hands.at("08:02:10") == ["flaky 08:01"]


def test_a_job_that_waits_for_labels_fills_no_group(s: UnderTest) -> None:
    hands = Hands(s)
    far = hands.put("far", group="gpu", schedule=ONCE, runs_on=("moon",), priority=9)
    hands.put("near", group="gpu", schedule=ONCE)
    assert hands.at("08:01") == ["near 08:01"]
    assert hands.waits_for(far) == {}
    there = Hands(s, "g2")
    there.owner = replace(there.owner, labels=frozenset({"moon"}))
    assert there.at("08:01:10") == []
    assert hands.waits_for(far) == {"08:01": "group gpu"}
    hands.end()
    assert hands.at("08:02") == [], "what it may not run is not its to read"
    assert there.at("08:02") == ["far 08:01"]


def test_a_damaged_job_of_a_full_group_harms_nobody(s: UnderTest) -> None:
    hands = Hands(s)
    hands.put("long", group="gpu", schedule=ONCE)
    bad = hands.put("bad", group="gpu", schedule="2 8 * * *")
    hands.put("good", group="gpu", schedule="3 8 * * *")
    for minute in ("08:01", "08:02", "08:03"):
        hands.at(minute)
    s.damage("UPDATE job SET definition = '[]' WHERE slug = 'bad'")
    hands.end()
    assert hands.at("08:03:10") == ["good 08:03"]
    assert hands.outcomes(bad) == {"08:02": "blocked"}


# ── what it costs


class Counting:
    """How many rows the statements of a look gave back."""

    def __init__(self, s: UnderTest) -> None:
        self.rows: Counter[str] = Counter()
        self._db, self._execute = s.store.db, s.store.db.execute

    def execute(self, sql: str, args: Any = ()) -> Any:
        answer = self._execute(sql, args)
        return _Counted(answer, self.rows, " ".join(sql.split())[:40])

    @contextmanager
    def on(self) -> Iterator[Counter[str]]:
        self.rows.clear()
        self._db.execute = self.execute
        try:
            yield self.rows
        finally:
            self._db.execute = self._execute


class _Counted:
    def __init__(self, answer: Any, rows: Counter[str], name: str) -> None:
        self._answer, self._rows, self._name = answer, rows, name

    def fetchall(self) -> list[Any]:
        found = self._answer.fetchall()
        self._rows[self._name] += len(found)
        return found

    def fetchone(self) -> Any:
        self._rows[self._name] += 1
        return self._answer.fetchone()

    @property
    def rowcount(self) -> int:
        return self._answer.rowcount

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())


def test_what_waits_for_a_full_group_is_not_read_again_and_one_at_a_time_when_it_is_free(s: UnderTest) -> None:
    hands = Hands(s)
    for number in range(200):
        hands.put(f"job{number:03}", group="gpu", schedule=DAILY)
    hands.at("08:01")
    counting = Counting(s)
    with counting.on() as rows:
        assert hands.look("08:01:01") == []
    assert sum(rows.values()) < 10, rows
    for second in range(2, 6):
        hands.end()
        with counting.on() as rows:
            assert len(hands.look(f"08:01:{second:02}")) == 1
        assert sum(rows.values()) < 20, rows
    assert len(s.journal("waiting")) == 199, "it is said once that something waits"


def test_what_waits_for_its_own_job_is_not_read_again_while_it_is_busy(s: UnderTest) -> None:
    hands = Hands(s)
    job = hands.put(overlap="queue")
    for minute in range(1, 60):
        hands.at(at("08:00") + timedelta(minutes=minute))
    assert len(hands.held(job)) == 58
    counting = Counting(s)
    with counting.on() as rows:
        assert hands.look("08:59:30") == []
    assert sum(rows.values()) < 10, rows


def test_what_has_no_group_does_not_stand_behind_what_waits_for_one(s: UnderTest) -> None:
    hands = Hands(s, groups={"gpu": 2})
    for number in range(300):
        hands.put(f"job{number:03}", group="gpu", schedule=DAILY, priority=number % 3)
    hands.put("high", schedule="2 8 * * *", priority=50)
    first = hands.at("08:01")
    assert len(first) == 2
    assert all(claim.job.priority == 2 for claim in hands.claims)
    assert hands.at("08:02", limit=1) == ["high 08:02"]


# ── several gateways


def test_runs_of_another_gateway_fill_a_group_as_well(s: UnderTest) -> None:
    one = Hands(s, "g1")
    two = Hands(s, "g2")
    for slug in ("tides", "winds"):
        one.put(slug, group="gpu", schedule=DAILY)
    assert len(one.at("08:01")) == 1
    assert two.at("08:01") == []
    one.end()
    assert len(two.at("08:01:05")) == 1


@pytest.fixture
def shared() -> Iterator[PostgresUnderTest]:
    """Where writers do not take turns."""
    with scratch() as folder:
        with server_or_skip():
            made = PostgresUnderTest(folder)
        yield made
        made.close()


def test_who_meets_a_group_that_another_is_at_looks_again_soon(shared: PostgresUnderTest) -> None:
    s = shared
    hands, other = Hands(s), s.again()
    for slug in ("tides", "winds", "waves"):
        hands.put(slug, group="gpu", schedule=DAILY)
    s.clock.time = at("08:01")
    with other.transaction() as tx:
        assert len(tx.runs.claim_due(an_owner("g2"), 1, Terms())) == 1
        found, soon = s.do(lambda tx: (tx.runs.claim_due(hands.owner, 9, hands.terms), tx.runs.next_due()))
        assert found == []
        assert soon - s.clock.time < SECOND
        assert s.rows("SELECT 1 FROM occurrence WHERE waits_for IS NOT NULL") == [], "nothing is known about it"
        tx.journal.flush()
    assert hands.at("08:01:01") == []
    assert len(s.rows("SELECT 1 FROM occurrence WHERE waits_for = 'group gpu'")) == 2


def test_who_begins_to_wait_looks_again_soon_since_the_run_may_just_have_ended(shared: PostgresUnderTest) -> None:
    s, hands = shared, Hands(shared)
    hands.put(overlap="queue")
    hands.at("08:01")
    s.clock.time = at("08:02")
    for soon in (True, False):
        found, due = s.do(lambda tx: (tx.runs.claim_due(hands.owner, 9), tx.runs.next_due()))
        assert found == []
        assert (due - s.clock.time < SECOND) == soon, "once"


def test_the_end_of_a_run_is_told_to_others_only_if_somebody_waits(shared: PostgresUnderTest) -> None:
    s, told = shared, list[bool]()
    hands = Hands(s)
    hands.put("tides", group="gpu", schedule=DAILY)
    hands.put("winds", group="gpu", schedule=DAILY)
    own = hands.put("own", overlap="queue")
    hands.put("alone", schedule=DAILY)

    def end(slug: str) -> bool:
        hands.end(next(claim for claim in hands.claims if claim.job.slug == slug))
        return s.store.db.telling

    hands.at("08:01")
    began = next(claim.job.slug for claim in hands.claims if claim.job.group)
    told.append(end("alone"))
    told.append(end(began))
    hands.at("08:02")
    told.append(end("own"))
    assert told == [False, True, True]
    assert hands.at("08:02:10")[-1:] == ["own 08:02"]
    assert hands.held(own) == []


@pytest.mark.parametrize("limit", [1, 3])
def test_P2_gateways_that_claim_at_once_never_fill_a_place_twice(shared: PostgresUnderTest, limit: int) -> None:
    s = shared
    names, jobs = ("g1", "g2", "g3"), 24
    for name in names:
        s.sign_on(name)
    for number in range(jobs):
        s.put(a_job(f"job{number:02}", group="gpu", schedule=DAILY))
    s.clock.time = at("08:01")
    most: list[int] = []

    def work(name: str) -> int:
        store: Any = PostgresStore(s.database.url, s.clock, chain=name)
        owner, terms, done = an_owner(name), Terms(groups={"gpu": limit}), 0
        try:
            for _ in range(400):
                claims = store.transact(lambda tx: tx.runs.claim_due(owner, 5, terms))
                ((live,),) = store.db.execute("SELECT count(*) FROM occurrence WHERE state = 'claimed'").fetchall()
                most.append(live)
                for claim in claims:
                    store.transact(lambda tx, claim=claim: tx.runs.start(claim))
                    store.transact(lambda tx, claim=claim: tx.runs.finish(claim, an_ending(), addressed(claim)))
                    store.transact(lambda tx, claim=claim: tx.runs.settle(claim))
                    done += 1
                if not store.db.execute(f"SELECT 1 FROM occurrence WHERE {OPEN} LIMIT 1").fetchall():
                    break
        finally:
            store.close()
        return done

    with ThreadPoolExecutor(len(names)) as pool:
        done = list(pool.map(work, names))
    assert sum(done) == jobs
    assert max(most) <= limit
