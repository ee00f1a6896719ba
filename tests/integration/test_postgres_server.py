"""A PostgreSQL server that is stopped, killed and started again under a store that goes on."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from horae.errors import Conflict, Problem, Trouble
from horae.store import writer as writing
from horae.store.postgres import PostgresStore
from horae.store.postgreslisten import Listener
from horae.store.postgresreaders import Readers
from horae.store.writer import GroupWriter
from tests.support.builders import HOUR, MINUTE, SetClock, a_job, an_owner
from tests.support.postgres import Cluster, own_cluster
from tests.support.process import until
from tests.support.servers import server_or_skip

WRITERS, EACH = 6, 80


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server of one test's own. It forces commits to the disk, and takes its time, so that it can die in the middle."""
    with server_or_skip():
        made = own_cluster(durable=True, settings=("commit_delay=15000", "commit_siblings=0"))
    yield made
    made.remove()


def said(what: str) -> Any:
    return lambda tx: tx.journal.append(what, actor="gateway")


def whats(cluster: Cluster) -> list[str]:
    with psycopg.connect(cluster.url()) as link:
        return [what for (what,) in link.execute("SELECT what FROM journal ORDER BY number")]


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGINT], ids=["crash", "stop"])
def test_P2_a_server_that_is_restarted_under_load_loses_nothing_and_doubles_nothing(
    cluster: Cluster, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "RETRY_S", 0.02)
    store = PostgresStore(cluster.url(), chain="g1")
    troubles: list[Problem | None] = []
    writer = GroupWriter(store, troubles.append)
    writer.start()
    done: list[str] = []

    async def write(name: int) -> None:
        for n in range(EACH):
            await writer.commit(said(f"{name}-{n}"))
            done.append(f"{name}-{n}")

    async def all_of_them() -> None:
        await asyncio.gather(*(write(name) for name in range(WRITERS)))

    def restart_again_and_again() -> None:
        for nth in range(1, 6):
            until(lambda nth=nth: len(done) >= nth * WRITERS * EACH // 7, "the writers get on", 60)
            cluster.restart(how)

    disturbing = threading.Thread(target=restart_again_and_again)
    disturbing.start()
    asyncio.run(all_of_them())
    disturbing.join()
    writer.close()
    store.close()
    assert any(troubles), "it was noticed"
    assert troubles[-1] is None, "and got over"
    found = whats(cluster)
    assert sorted(found) == sorted(done)
    assert len(set(found)) == len(found) == WRITERS * EACH
    with psycopg.connect(cluster.url()) as link:
        assert link.execute("SELECT number, count(*) OVER () FROM journal_chain").fetchall() == [(len(found), 1)]


def test_while_the_server_is_away_that_is_said_and_nothing_must_be_opened_anew(cluster: Cluster) -> None:
    store, readers = PostgresStore(cluster.url()), Readers(cluster.url())
    reader = readers.open()
    assert reader is not None
    reader.close()
    cluster.stop()
    for _ in range(2):
        with pytest.raises(Trouble, match="cannot be reached") as away:
            store.transact(said("no"))
        assert "goes on by itself" in str(away.value.hint)
        with pytest.raises(Trouble, match="cannot be reached"):
            readers.open()
    cluster.start()
    store.transact(said("yes"))
    reader = readers.open()
    assert reader is not None
    assert reader.counts() == {}
    reader.close()
    readers.close()
    store.close()
    assert whats(cluster) == ["yes"]


def test_a_listener_survives_the_servers_restart(cluster: Cluster) -> None:
    store = PostgresStore(cluster.url())
    told: list[int] = []
    listener = Listener(cluster.url(), lambda: told.append(1))
    until(lambda: told, "the listener has begun")
    cluster.restart(signal.SIGQUIT)
    until(lambda: len(told) > 1, "it is back, and lets everybody look")
    before = len(told)
    store.transact(lambda tx: store.db.notify())
    until(lambda: len(told) > before, "it hears again")
    listener.close()
    store.close()


def test_P3_a_writer_that_is_suspended_in_a_transaction_holds_nobody_up(cluster: Cluster) -> None:
    """As when its machine sleeps: the server ends its session, and what it comes back with has no effect."""
    limits = "&options=-cidle_in_transaction_session_timeout%3D200%20-clock_timeout%3D5000"
    sleeper, other = PostgresStore(f"{cluster.url()}{limits}", chain="g1"), PostgresStore(f"{cluster.url()}{limits}")
    other.transact(lambda tx: tx.zones.record(0))
    woken = threading.Event()

    def work(tx: Any) -> None:
        other_row = sleeper.db.execute("UPDATE zone_data SET version = 'asleep' RETURNING id").fetchall()
        assert len(other_row) == 1
        assert woken.wait(20)
        said("late")(tx)

    refused: list[Problem] = []

    def sleep() -> None:
        try:
            sleeper.transact(work)
        except (Trouble, Conflict) as problem:
            refused.append(problem)

    sleeping = threading.Thread(target=sleep)
    sleeping.start()
    with psycopg.connect(cluster.url(), autocommit=True) as link:
        held = "SELECT count(*) FROM pg_locks WHERE mode = 'RowExclusiveLock' AND relation = 'zone_data'::regclass"
        until(lambda: link.execute(held).fetchone() == (1,), "the sleeper holds the row")
    other.transact(lambda tx: other.db.execute("UPDATE zone_data SET version = 'awake'"))
    woken.set()
    sleeping.join(20)
    assert len(refused) == 1
    assert "nothing was changed" in refused[0].message or "cannot be reached" in refused[0].message
    sleeper.transact(said("after"))
    assert whats(cluster) == ["after"]
    with psycopg.connect(cluster.url()) as link:
        assert link.execute("SELECT version FROM zone_data").fetchall() == [("awake",)]
    sleeper.close()
    other.close()


def test_P3_whoever_takes_over_waits_for_nothing_that_a_suspended_gateway_holds(cluster: Cluster) -> None:
    """Its session is ended with its lease, however long the server itself would be patient."""
    clock = SetClock()
    sleeper = PostgresStore(cluster.url(), clock, chain="g1")
    other = PostgresStore(cluster.url(), clock, chain="g2")
    one, two = an_owner("g1"), an_owner("g2")
    other.transact(lambda tx: tx.jobs.upsert(a_job(), signature="s", meaning="m", actor="test"))
    sleeper.transact(lambda tx: tx.runs.sign_on(one, "test"))
    other.transact(lambda tx: tx.runs.sign_on(two, "test"))
    clock.time += MINUTE
    sleeper.transact(lambda tx: tx.runs.renew(one))
    (claim,) = sleeper.transact(lambda tx: tx.runs.claim_due(one, 9))
    asleep, woken = threading.Event(), threading.Event()
    refused: list[Problem] = []

    def work(tx: Any) -> None:
        tx.runs.renew(one)
        asleep.set()
        assert woken.wait(60)

    def sleep() -> None:
        try:
            sleeper.transact(work)
        except (Trouble, Conflict) as problem:
            refused.append(problem)

    sleeping = threading.Thread(target=sleep)
    sleeping.start()
    assert asleep.wait(20)
    clock.time += HOUR
    began = time.monotonic()
    taken = other.transact(lambda tx: tx.runs.take_over(two, ()))
    took_s = time.monotonic() - began
    woken.set()
    sleeping.join(20)
    assert [orphan.run_id for orphan, _ in taken] == [claim.run_id]
    assert took_s < 8.0, "the server's own patience is fifteen seconds"
    assert len(refused) == 1
    sleeper.close()
    other.close()
