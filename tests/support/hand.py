"""The engine's verbs by hand, on a home for which no gateway runs: one clock for them and for the commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from unittest import mock

from horae.clock import SystemClock
from horae.core.model import Claim, Owner
from horae.store.sqlite import SqliteStore
from tests.support.builders import SetClock, addressed, an_ending, an_owner
from tests.support.process import TestHome


@dataclass
class Hand:
    """Whoever does by hand what a gateway would do."""

    home: TestHome
    clock: SetClock = field(default_factory=SetClock)
    owner: Owner = field(default_factory=an_owner)
    known: bool = False

    def at(self, now: datetime) -> None:
        """It is this time now, for everybody."""
        self.clock.time = now

    def do(self, work: Callable[[Any], Any]) -> Any:
        """One transaction."""
        store = SqliteStore(str(self.home.path / "state" / "runtime.db"), self.clock)
        try:
            if not self.known:
                store.transact(lambda tx: tx.runs.sign_on(self.owner, "test"))
                self.known = True
            return store.transact(work)
        finally:
            store.close()

    def claim(self) -> list[Claim]:
        """Claim what is due."""
        return self.do(lambda tx: tx.runs.claim_due(self.owner, 1000))

    def start(self, claim: Claim) -> Claim:
        """It runs now."""
        self.do(lambda tx: tx.runs.start(claim))
        return claim

    def end(self, claim: Claim, event: str = "complete", message: str = "done") -> None:
        """It has ended, and everything about it is settled."""
        reason = {"complete": "exit status 0", "fail": "exit status 1", "lose": "nobody saw it end"}[event]
        self.do(
            lambda tx: tx.runs.finish(
                claim, an_ending(event, message, reason=reason, alert=event != "complete"), addressed(claim)
            )
        )
        self.do(lambda tx: tx.runs.settle(claim))

    def carry_out(self, now: datetime, event: str = "complete") -> list[Claim]:
        """Let it be this time, and everything that is due then run to its end."""
        self.at(now)
        claims = self.claim()
        for claim in claims:
            self.end(self.start(claim), event)
        return claims


@contextmanager
def by_hand(home: TestHome, now: datetime) -> Iterator[Hand]:
    """Commands of this process see the hand's clock."""
    hand = Hand(home, SetClock(now))
    with mock.patch.object(SystemClock, "now", side_effect=lambda: hand.clock.time):
        yield hand
