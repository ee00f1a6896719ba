"""One open transaction as its callers see it: the groups of verbs over one connection and one `now`."""

from __future__ import annotations

from datetime import datetime

from horae.store.agents import Agents
from horae.store.catalogue import Catalogue
from horae.store.database import Db
from horae.store.documents import Documents
from horae.store.doors import Doors
from horae.store.incidents import Incidents
from horae.store.journal import Journal
from horae.store.ledger import Ledger
from horae.store.notices import Notices
from horae.store.outbox import Outbox
from horae.store.retention import Retention
from horae.store.zonedata import ZoneData


class StoreTx:
    """`ports.Tx`, on any store."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self.now = now
        self.journal = journal
        self.jobs = Catalogue(db, now, self.journal)
        self.outbox = Outbox(db, now, self.journal)
        self.incidents = Incidents(db, now, self.journal, self.outbox, self.jobs)
        self.agents = Agents(db, now, self.journal, self.jobs)
        self.notices = Notices(db, now, self.outbox, self.incidents)
        self.runs = Ledger(db, now, self.journal, self.jobs, self.outbox, self.incidents)
        self.documents = Documents(db, now)
        self.zones = ZoneData(db, now, self.journal, self.jobs.plan)
        self.retention = Retention(db, now)
        self.doors = Doors(db, now, self.journal)
