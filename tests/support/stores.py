"""One store under test, whichever it is: the verbs through `ports.Tx`, and the rows as they lie there.

Another store is one more class here and one more entry in ADAPTERS; no test of the contract names one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from unittest import mock

from horae.core.chain import HOME
from horae.core.delivery import Parcel, Receipt
from horae.core.model import Claim, Job, Owner
from horae.ports import Orphan
from horae.store import postgres
from horae.store.postgres import PostgresStore
from horae.store.postgresreaders import open_reader as postgres_reader
from horae.store.queries import Reader, open_reader
from horae.store.sqlite import SqliteStore
from tests.support.builders import SetClock, a_job, addressed, an_ending, an_owner
from tests.support.postgres import take_database
from tests.support.world import new_database

Row = dict[str, Any]
TABLES = (
    *("job", "occurrence", "run", "output", "delivery", "journal", "fence", "gateway"),
    *(
        "incident",
        "expectation",
        "closed_address",
        "activity",
        "agent_prompt",
        "notepad",
        "watched",
        "resume",
        "ask",
        "budget",
    ),
)


class SqliteUnderTest:
    """A store in a file."""

    def __init__(self, folder: str) -> None:
        self.file = os.path.join(folder, "runtime.db")
        new_database(self.file)
        self.clock = SetClock()
        self.store = SqliteStore(self.file, self.clock)
        self._opened: list[Any] = []

    # ── what differs from store to store

    def again(self, clock: SetClock | None = None) -> SqliteStore:
        """A second connection to the same store."""
        self._opened.append(SqliteStore(self.file, clock or self.clock))
        return self._opened[-1]

    def reader(self) -> Reader:
        self._opened.append(open_reader(self.file))
        return self._opened[-1]

    def rows(self, sql: str, *args: Any) -> list[Row]:
        cursor = self.store.db.cursor()
        cursor.row_factory = sqlite3.Row
        return [dict(row) for row in cursor.execute(sql, args).fetchall()]

    def damage(self, sql: str, *args: Any) -> None:
        """Write behind the store's back."""
        self.store.db.execute(sql, args)

    def close(self) -> None:
        for opened in self._opened:
            opened.close()
        self.store.close()

    # ── shorthand

    def do(self, work: Callable[[Any], Any]) -> Any:
        return self.store.transact(work)

    def put(self, job: Job | None = None, **given: Any) -> Job:
        job = job or a_job(**given)
        self.do(lambda tx: tx.jobs.upsert(job, signature="s", meaning="m", actor="test"))
        return job

    def sign_on(self, name: str = "g1") -> Owner:
        owner = an_owner(name)
        self.do(lambda tx: tx.runs.sign_on(owner, "test"))
        return owner

    def claim(self, owner: Owner, limit: int = 1000) -> list[Claim]:
        return self.do(lambda tx: tx.runs.claim_due(owner, limit))

    def carry_out(self, claim: Claim, event: str = "complete", message: str = "done", **ending: Any) -> None:
        """From a claim to its outcome, deliveries left pending."""
        self.do(lambda tx: tx.runs.start(claim))
        self.do(lambda tx: tx.runs.finish(claim, an_ending(event, message, **ending), addressed(claim)))
        self.do(lambda tx: tx.runs.settle(claim))

    def take(self, name: str = "g1", limit: int = 100) -> list[Parcel]:
        """What a gateway sends now: it is on its way."""
        return self.do(lambda tx: tx.outbox.take_due(an_owner(name), limit))

    def record(self, parcel: Parcel, event: str = "accept", **given: Any) -> None:
        """What became of it."""
        receipt = Receipt(event, **given)  # pyright: ignore[reportArgumentType]
        self.do(lambda tx: tx.notices.record(parcel, receipt))

    def deliver(self, name: str = "g1", event: str = "accept", **given: Any) -> list[str]:
        """Send whatever is due, all with the same outcome; where to."""
        reached: list[str] = []
        while parcels := self.take(name):
            for parcel in parcels:
                self.record(parcel, event, **given)
            reached += [parcel.address for parcel in parcels]
        return reached

    def take_over(self, owner: Owner) -> list[tuple[Orphan, Claim]]:
        """Everything that others have open: they are proven gone."""
        gone = {holder.owner.id for holder in self.do(lambda tx: tx.runs.others(owner))}
        return self.do(lambda tx: tx.runs.take_over(owner, gone))

    def adopt(self, claim: Claim, owner: Owner) -> Claim:
        """The same attempt in another's hands."""
        return {taken.run_id: taken for _, taken in self.take_over(owner)}[claim.run_id]

    def slots(self, job: Job, *columns: str) -> list[tuple[Any, ...]]:
        """(slot as HH:MM[:SS], state, outcome, …) of a job's scheduled occurrences, by slot."""
        found = self.rows("SELECT * FROM occurrence WHERE job_id = ? AND trigger = 'schedule' ORDER BY slot_at", job.id)
        return [(hhmm(row["slot_at"]), row["state"], row["outcome"], *(row[name] for name in columns)) for row in found]

    def planned(self, job: Job) -> list[str]:
        return [slot for slot, state, *_ in self.slots(job) if state == "planned"]

    def occurrence(self, key: str) -> Row:
        return self.rows("SELECT * FROM occurrence WHERE key = ?", key)[0]

    def run(self, run_id: str) -> Row:
        return self.rows("SELECT * FROM run WHERE id = ?", run_id)[0]

    def job(self, job: Job) -> Row:
        return self.rows("SELECT * FROM job WHERE id = ?", job.id)[0]

    def journal(self, *whats: str) -> list[Row]:
        every: Sequence[Row] = self.rows("SELECT * FROM journal ORDER BY seq")
        return [row for row in every if not whats or row["what"] in whats]

    def everything(self) -> dict[str, list[Row]]:
        return {table: self.rows(f"SELECT * FROM {table}") for table in TABLES}


class PostgresUnderTest(SqliteUnderTest):
    """A store in a database of the session's cluster. Only what differs."""

    def __init__(self, folder: str) -> None:
        self.database = take_database()
        self.clock = SetClock()
        with mock.patch.object(postgres, "connect", self.database.connect):
            self.store = PostgresStore(self.database.url, self.clock, HOME)
        self._opened: list[Any] = []
        self._spoilt = False

    def again(self, clock: SetClock | None = None) -> PostgresStore:
        self._opened.append(PostgresStore(self.database.url, clock or self.clock, HOME))
        return self._opened[-1]

    def reader(self) -> Reader:
        self._opened.append(postgres_reader(self.database.url))
        return self._opened[-1]

    def rows(self, sql: str, *args: Any) -> list[Row]:
        return [dict(row) for row in self.store.db.execute(sql, args)]

    def damage(self, sql: str, *args: Any) -> None:
        for theirs, ours in DIALECT.items():
            sql = sql.replace(theirs, ours)
        self._spoilt |= not sql.startswith(("UPDATE", "INSERT", "DELETE"))
        self.store.db.execute(sql, args)

    def close(self) -> None:
        super().close()
        self.database.give_back(spoilt=self._spoilt)

    def everything(self) -> dict[str, list[Row]]:
        found = {name: self.rows(f"SELECT * FROM {name}") for name in TABLES if name != "fence"}
        return {name: sorted(rows, key=str) for name, rows in found.items()}


DIALECT = {  # what tests say in SQLite's words
    "hex(zeroblob(9))": "repeat('00', 9)",
    "1 << 62": "1::bigint << 62",
    "DROP TRIGGER delivery_terminal": "DROP TRIGGER delivery_terminal ON delivery",
}


def hhmm(us: int) -> str:
    clock = datetime.fromtimestamp(us / 1e6, tz=SetClock().time.tzinfo).strftime("%H:%M:%S")
    return clock.removesuffix(":00")


ADAPTERS = {"postgres": PostgresUnderTest, "sqlite": SqliteUnderTest}
