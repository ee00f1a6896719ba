"""What faces need of a transaction. Most transactions need none of it, so each part is made when it is asked for."""

from __future__ import annotations

from datetime import datetime

from horae.store.credentials import Credentials
from horae.store.database import Db
from horae.store.drafts import Drafts
from horae.store.hookcalls import HookCalls
from horae.store.journal import Journal
from horae.store.once import Once


class Doors:
    """`ports.Doors`, on any store."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._given = (db, now, journal)

    @property
    def credentials(self) -> Credentials:
        """Who may come in."""
        return Credentials(*self._given)

    @property
    def once(self) -> Once:
        """Requests that are sent twice."""
        return Once(*self._given)

    @property
    def hook_calls(self) -> HookCalls:
        """Calls of hooks that were taken."""
        return HookCalls(*self._given)

    @property
    def drafts(self) -> Drafts:
        """Jobs that are proposed."""
        return Drafts(*self._given)
