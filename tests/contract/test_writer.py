"""The one thread that writes: groups in one commit, each member on its own, and what happens when the disk is full.

A full disk is played by SQLite's own page limit (`max_page_count`): the same error code on the same path, but no real
disk; what a file system does beyond that is not tested here.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from horae.errors import Conflict, Problem, Stale, Trouble, Unavailable
from horae.store import writer as module
from horae.store.sqlite import SqliteStore
from horae.store.writer import GroupWriter
from tests.support.builders import SetClock, a_claim
from tests.support.world import new_database, scratch


class Setup:
    """A writer over a store whose statements are counted. `held` keeps the writer's thread busy until it is left."""

    def __init__(self, folder: str) -> None:
        self.file = f"{folder}/runtime.db"
        new_database(self.file)
        self.store = SqliteStore(self.file, SetClock())
        self.statements: list[str] = []
        self.store.db.set_trace_callback(self.statements.append)
        self.troubles: list[Problem | None] = []
        self.writer = GroupWriter(self.store, self.troubles.append)
        self.writer.start()

    @property
    def commits(self) -> int:
        return self.statements.count("COMMIT")

    def hold(self) -> threading.Event:
        """Returns once the thread is inside a transaction; it stays there until the event is set."""
        inside, leave = threading.Event(), threading.Event()

        def work(tx: Any) -> None:
            inside.set()
            leave.wait(20)

        threading.Thread(target=lambda: self.writer.transact(work), daemon=True).start()
        assert inside.wait(20)
        return leave

    def whats(self) -> list[str]:
        db = sqlite3.connect(self.file)
        found = [row[0] for row in db.execute("SELECT what FROM journal ORDER BY seq")]
        db.close()
        return found


@pytest.fixture
def made() -> Iterator[Setup]:
    with scratch() as folder:
        setup = Setup(folder)
        yield setup
        setup.writer.close()
        setup.store.close()


async def until(true: Callable[[], bool]) -> None:
    """The loop goes on while another thread gets there."""
    while not true():  # noqa: ASYNC110 - the other side is a thread that knows no event of ours
        await asyncio.sleep(0)


def say(what: str) -> Any:
    return lambda tx: tx.journal.append(what, actor="test")


def test_a_burst_is_one_commit(made: Setup) -> None:
    async def main() -> list[int]:
        leave = made.hold()
        tasks = [asyncio.create_task(made.writer.commit(say(f"n{n}"))) for n in range(50)]
        await until(lambda: made.writer._queue.qsize() >= 50)
        made.statements.clear()
        leave.set()
        return await asyncio.gather(*tasks)

    numbers = asyncio.run(main())
    assert numbers == list(range(1, 51))
    assert made.commits == 2, "the one that was held, and the fifty"
    assert made.whats() == [f"n{n}" for n in range(50)]


def test_a_failing_member_harms_only_itself(made: Setup) -> None:
    def bad(tx: Any) -> None:
        tx.journal.append("half", actor="test")
        tx.runs.start(a_claim())

    def broken(tx: Any) -> None:
        tx.journal.append("half", actor="test")
        raise KeyError("ours")

    async def main() -> list[Any]:
        leave = made.hold()
        works = [say("one"), bad, say("two"), broken, say("three")]
        tasks = [asyncio.create_task(made.writer.commit(work)) for work in works]
        await until(lambda: made.writer._queue.qsize() >= 5)
        leave.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(main())
    assert isinstance(answers[1], Stale)
    assert isinstance(answers[3], KeyError)
    assert [answers[0], answers[2], answers[4]] == [1, 2, 3]
    assert made.whats() == ["one", "two", "three"]


def test_P9_of_many_items_for_one_verb_one_that_cannot_be_written_harms_only_itself(made: Setup) -> None:
    def note(tx: Any, items: Any) -> list[str]:
        for item in items:
            tx.journal.append("said", actor="test", words=item)
        tx.journal.flush()
        return [f"{item} is noted" for item in items]

    async def main() -> list[Any]:
        leave = made.hold()
        waiting = [asyncio.ensure_future(made.writer.together(note, item)) for item in ("a", "\ud800", "c")]
        await asyncio.sleep(0)
        leave.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    first, bad, last = asyncio.run(main())
    assert (first, last) == ("a is noted", "c is noted")
    assert isinstance(bad, UnicodeEncodeError)
    said = made.store.db.execute("SELECT detail FROM journal WHERE what = 'said' ORDER BY seq").fetchall()
    assert [row["detail"] for row in said] == ['{"words": "a"}', '{"words": "c"}']


def test_a_listener_that_fails_makes_nothing_happen_twice(made: Setup) -> None:
    """It is told after the commit. Its error must not send the group around again."""

    def listener(entries: Any) -> None:
        raise sqlite3.OperationalError("database is locked")

    made.store.listen(listener)

    async def main() -> int:
        return await asyncio.wait_for(made.writer.commit(say("once")), 10)

    assert asyncio.run(main()) == 1
    assert made.writer.transact(say("again")) == 2
    assert made.whats() == ["once", "again"]
    assert made.troubles == []


def full(setup: Setup) -> None:
    (pages,) = setup.store.db.execute("PRAGMA page_count").fetchone()
    setup.store.db.execute(f"PRAGMA max_page_count = {pages}")


def much(tx: Any) -> int:
    return tx.journal.append("much", actor="test", text="x" * 100_000)


def test_a_full_disk_fails_people_at_once_and_keeps_the_engine_waiting(
    made: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.001)
    full(made)
    told = threading.Event()

    def tell(problem: Problem | None) -> None:
        made.troubles.append(problem)
        told.set()

    made.writer.on_trouble = tell

    async def main() -> int:
        patient = asyncio.create_task(made.writer.commit(much))
        await until(told.is_set)
        with pytest.raises(Trouble, match="full"):
            await asyncio.to_thread(made.writer.transact, much)
        assert not patient.done()
        made.store.db.execute("PRAGMA max_page_count = 1000000")
        return await asyncio.wait_for(patient, 20)

    assert asyncio.run(main()) == 1
    assert made.whats() == ["much"], "once, although it was tried many times"
    assert made.troubles[-1] is None
    assert isinstance(made.troubles[0], Trouble)


def test_O20_a_lock_that_stays_fails_people_after_the_bound_and_keeps_the_engine_waiting(
    made: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt is bounded by the store. What the engine decided has not happened, so it may be written again."""
    monkeypatch.setattr(module, "RETRY_S", 0.001)
    made.store.db.execute("PRAGMA busy_timeout = 5")
    holder = sqlite3.connect(made.file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    told = threading.Event()

    def tell(problem: Problem | None) -> None:
        made.troubles.append(problem)
        told.set()

    made.writer.on_trouble = tell
    with pytest.raises(Conflict, match="is locked by another process"):
        made.writer.transact(say("asked for"))
    assert [sql for sql in made.statements if sql.startswith("BEGIN")] == ["BEGIN IMMEDIATE"], "once"
    told.clear()

    async def main() -> int:
        patient = asyncio.create_task(made.writer.commit(say("decided")))
        await until(told.is_set)
        assert not patient.done()
        holder.execute("ROLLBACK")
        return await asyncio.wait_for(patient, 20)

    assert asyncio.run(main()) == 1
    holder.close()
    assert made.whats() == ["decided"], "once, although it was tried many times"
    assert isinstance(made.troubles[0], Conflict)
    assert made.troubles[-1] is None


def test_closing_with_a_full_disk_fails_those_who_wait(made: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.001)
    full(made)
    told = threading.Event()
    made.writer.on_trouble = lambda problem: told.set()

    async def main() -> None:
        patient = asyncio.create_task(made.writer.commit(much))
        await until(told.is_set)
        await asyncio.to_thread(made.writer.close)
        with pytest.raises(Trouble):
            await asyncio.wait_for(patient, 20)

    asyncio.run(main())


def test_closing_writes_what_was_handed_in(made: Setup) -> None:
    async def main() -> list[int]:
        leave = made.hold()
        tasks = [asyncio.create_task(made.writer.commit(say(f"n{n}"))) for n in range(1200)]
        await until(lambda: made.writer._queue.qsize() >= 1200)
        closing = asyncio.create_task(asyncio.to_thread(made.writer.close))
        await until(made.writer._closing.is_set)
        leave.set()
        await closing
        return await asyncio.wait_for(asyncio.gather(*tasks), 20)

    assert asyncio.run(main()) == list(range(1, 1201))


def test_after_closing_everybody_is_told_at_once(made: Setup) -> None:
    made.writer.close()

    async def main() -> None:
        with pytest.raises(Unavailable):
            await asyncio.wait_for(made.writer.commit(say("late")), 5)

    asyncio.run(main())
    with pytest.raises(Unavailable):
        made.writer.transact(say("late"))
    assert made.whats() == []


def test_threads_and_the_loop_share_the_writer(made: Setup) -> None:
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda n: made.writer.transact(say(f"n{n}")), range(40)))
    assert sorted(numbers) == list(range(1, 41))
    assert len(made.whats()) == 40
