"""A journal that moves on while it is walked: nothing that happens beside it looks like tampering."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from horae.app import audit
from horae.core.chain import Head, Link
from horae.store.database import connect
from horae.store.journalreader import JournalReader
from horae.store.sqlite import SqliteStore
from tests.support.builders import DAY, START, SetClock
from tests.support.chains import PlainKey
from tests.support.world import new_database, scratch

KEY = PlainKey()


class Meanwhile(JournalReader):
    """A reader beside which something happens: before each batch of entries, or before a head is read."""

    before_links: Callable[[int], object] = staticmethod(lambda after: None)
    before_head: Callable[[], None] = staticmethod(lambda: None)

    def links(self, chain: str, after: int, limit: int) -> list[Link]:
        self.before_links(after)
        return super().links(chain, after, limit)

    def head(self, chain: str) -> Head | None:
        self.before_head()
        return super().head(chain)


class Setup:
    def __init__(self, folder: str) -> None:
        file = f"{folder}/runtime.db"
        new_database(file)
        self.clock = SetClock()
        self.store = SqliteStore(file, self.clock)
        self.past = Meanwhile(connect(file, 5.0))
        self.home: Any = SimpleNamespace(
            key=lambda: KEY,
            past=lambda: self.past,
            clock=self.clock,
            actor="ann",
            settings=SimpleNamespace(timezone="UTC"),
        )

    def say(self, count: int) -> None:
        self.store.transact(lambda tx: [tx.journal.append("said", actor="test") for _ in range(count)])

    def prune(self, limit: int) -> None:
        self.store.transact(lambda tx: tx.retention.prune_chain("home", START + DAY, limit, 0, lambda: KEY))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Setup]:
    monkeypatch.setattr(audit, "BATCH", 10)
    with scratch() as folder:
        setup = Setup(folder)
        setup.say(35)
        yield setup
        setup.store.close()


def test_entries_that_come_while_it_is_walked_are_walked_too(made: Setup) -> None:
    made.past.before_head = lambda: made.say(3)
    answer = audit.verify(made.home)
    assert answer["findings"] == []
    assert answer["entries"] > 35


def test_what_is_pruned_while_it_is_walked_is_no_gap(made: Setup) -> None:
    made.past.before_links = lambda after: made.prune(after + 15 if after == 10 else 0)
    answer = audit.verify(made.home)
    assert answer["findings"] == []
    assert answer["chains"][0]["pruned"] == 15


def test_an_export_while_it_is_written_and_pruned_is_whole(made: Setup) -> None:
    made.past.before_links = lambda after: (made.say(2), made.prune(after + 15 if after == 10 else 0))
    lines: list[str] = []
    said = audit.export(made.home, lines.append)
    made.past.before_links = lambda after: None
    answer = audit.verify_export("".join(lines).splitlines(keepends=True), KEY)
    assert answer["findings"] == []
    assert answer["entries"] == said["entries"] == 35 - 15, "what it saw when it began, but for what went meanwhile"
    assert answer["chains"][0]["pruned"] == 15


def test_a_long_walk_tells_how_far_it_is(made: Setup) -> None:
    told: list[tuple[int, int]] = []
    audit.verify(made.home, progress=lambda done, total: told.append((done, total)))
    assert told == [(10, 35), (20, 35), (30, 35)]
    made.past = Meanwhile(connect(made.store.path, 5.0))
    told.clear()
    audit.export(made.home, lambda line: None, progress=lambda done, total: told.append((done, total)))
    assert told == [(10, 35), (20, 35), (30, 35)]
