"""A home at another time, with gateways that are played: what they would start is begun and ended at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from unittest import mock

from horae.clock import SystemClock
from horae.core.delivery import Receipt
from horae.core.model import Owner
from horae.store.sqlite import SqliteStore
from tests.support.builders import SetClock, addressed, an_ending, an_owner
from tests.support.process import TestHome


@contextmanager
def at(moment: str) -> Iterator[datetime]:
    """Commands find that it is this time, in UTC."""
    now = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    with mock.patch.object(SystemClock, "now", return_value=now):
        yield now


class PlayedGateway:
    """One gateway of a home, by the verbs of the store. `clock` is set by whoever plays."""

    def __init__(self, home: TestHome, moment: str, name: str = "g1") -> None:
        self.clock = SetClock(instant(moment))
        self.store: Any = SqliteStore(str(home.path / "state" / "runtime.db"), self.clock)
        self.owner: Owner = an_owner(name)
        self.store.transact(lambda tx: tx.runs.sign_on(self.owner, "test"))

    def work(self, moment: str, event: str = "complete", **ending: Any) -> list[str]:
        """Claim what is due then, and carry it out; the slots in UTC."""
        self.clock.time = instant(moment)
        claims = self.store.transact(lambda tx: tx.runs.claim_due(self.owner, 1000))
        for claim in claims:
            self.store.transact(lambda tx, c=claim: tx.runs.start(c))
            self.store.transact(lambda tx, c=claim: tx.runs.finish(c, an_ending(event, **ending), addressed(c)))
            self.store.transact(lambda tx, c=claim: tx.runs.settle(c))
            for parcel in self.store.transact(lambda tx: tx.outbox.take_due(self.owner, 100)):
                self.store.transact(lambda tx, p=parcel: tx.notices.record(p, Receipt("accept")))
        return [f"{claim.slot:%Y-%m-%dT%H:%MZ}" for claim in claims]

    def sign_off(self, moment: str) -> None:
        """It stops of its own will."""
        self.clock.time = instant(moment)
        self.store.transact(lambda tx: tx.runs.sign_off(self.owner))
        self.store.close()

    def die(self) -> None:
        """It ends without a word."""
        self.store.close()


def instant(moment: str) -> datetime:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)
