"""Gateways as owners of runs: leases, whose is whose, and taking over what one of them left behind.

A lease belongs to a gateway and covers all its runs, so one statement renews them all. Until it ends, by the store's
clock inside the transaction, its owner counts as alive, whatever anybody sees; only a proof (the same boot of the same
machine, and the process is not there) makes it end earlier. Taking over gives each attempt a new token in the same
transaction, so from then on nothing that the former owner writes has an effect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any

from horae.core.cadence import DAMAGE
from horae.core.definition import from_definition
from horae.core.instants import from_us, to_us
from horae.core.model import Claim, Job, Leaseholder, Owner
from horae.errors import Stale
from horae.limits import LEASE_S
from horae.ports import Orphan
from horae.ports.store import never
from horae.store.claimrows import outfitted
from horae.store.database import Db
from horae.store.journal import Journal
from horae.store.outbox import Outbox
from horae.store.rows import maybe

LEASE = timedelta(seconds=LEASE_S)
OPEN = (
    "SELECT r.gateway_id FROM run r WHERE r.state IN ('claimed', 'running')"
    " UNION SELECT d.gateway_id FROM delivery d WHERE d.state = 'sending'"
    " UNION SELECT r.gateway_id FROM occurrence o JOIN run r ON r.key = o.key AND r.attempt = o.attempts"
    " WHERE o.state = 'claimed'"
)
HOLDERS = f"SELECT * FROM gateway WHERE id <> ? AND id IN ({OPEN}) ORDER BY since_at, id"
ORPHANS = """
SELECT r.id FROM run r WHERE r.gateway_id = ? AND r.state IN ('claimed', 'running')
UNION ALL
SELECT r.id FROM occurrence o JOIN run r ON r.key = o.key AND r.attempt = o.attempts
WHERE o.state = 'claimed' AND r.gateway_id = ? AND r.state NOT IN ('claimed', 'running')
"""
SPOOLS = "SELECT DISTINCT spool FROM gateway WHERE host = ? AND boot = ? AND spool IS NOT NULL ORDER BY spool"
ADOPT = (
    "UPDATE run SET token = ?, gateway_id = ? WHERE id = ? RETURNING state, pid, pid_started, started_at, cancel_reason"
)
CLAIM_ROW = """
SELECT r.id, r.token, r.key, r.job_id, r.attempt, r.claimed_at, r.state,
       (SELECT count(*) FROM run f WHERE f.key = r.key AND f.state = 'failed') AS failures,
       o.trigger, o.slot_at, o.due_at, o.offset_s, o.missed, o.input, o.replay_of, o.cause, o.model AS wanted_model,
       j.model AS frozen_model, j.slug, j.name, j.schedule, j.timezone, j.definition
FROM run r JOIN occurrence o ON o.key = r.key JOIN job j ON j.id = r.job_id WHERE r.id = ?
"""


class Owners:
    """The verbs on gateways and on what they left, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal, outbox: Outbox) -> None:
        self._outbox = outbox
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._journal = journal

    def sign_on(self, owner: Owner, version: str) -> None:
        """A gateway begins to own claims; so does one again whose runs were taken over, under the same id."""
        self._db.execute(
            "INSERT INTO gateway (id, host, boot, pid, pid_started, version, since_at, lease_until, labels, spool)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET lost_at = NULL, lease_until = excluded.lease_until",
            (
                owner.id,
                owner.host,
                owner.boot,
                owner.pid,
                owner.pid_started,
                version,
                self._us,
                to_us(self.now + LEASE),
                " ".join(sorted(owner.labels)),
                owner.spool,
            ),
        )
        self._journal.append(
            "gateway_started", actor="gateway", gateway=owner.id, host=owner.host, pid=owner.pid, version=version
        )
        self._journal.anchor()

    def renew(self, owner: Owner, for_s: float = 0.0) -> None:
        """Prolong the lease over all its runs, at least for so long. Raises Stale when somebody has taken them over."""
        until = to_us(self.now + max(LEASE, timedelta(seconds=for_s)))
        met = self._db.execute(
            "UPDATE gateway SET lease_until = CASE WHEN lease_until > ? THEN lease_until ELSE ? END"
            " WHERE id = ? AND lost_at IS NULL AND stopped_at IS NULL",
            (until, until, owner.id),
        )
        if met.rowcount != 1:
            raise Stale(f"the runs of gateway {owner.id} were taken over by another")

    def holds(self, owner: Owner) -> bool:
        """Whether its lease has not ended, and nobody has taken its runs over."""
        found = self._db.execute(
            "SELECT 1 FROM gateway WHERE id = ? AND lease_until > ? AND lost_at IS NULL AND stopped_at IS NULL",
            (owner.id, self._us),
        )
        return found.fetchone() is not None

    def drain(self, owner: Owner) -> None:
        """It takes nothing new and waits for what is live."""
        self._db.execute("UPDATE gateway SET draining = 1 WHERE id = ?", (owner.id,))
        self._journal.append("gateway_draining", actor="gateway", gateway=owner.id, pid=owner.pid)

    def sign_off(self, owner: Owner, handover_s: float = 0.0) -> None:
        """It has stopped of its own will. Runs that it leaves stay its own for so long, or until it is back."""
        until = to_us(self.now + timedelta(seconds=handover_s))
        self._db.execute("UPDATE gateway SET stopped_at = ?, lease_until = ? WHERE id = ?", (self._us, until, owner.id))
        self._journal.anchor()
        self._journal.append("gateway_stopped", actor="gateway", gateway=owner.id, pid=owner.pid)

    def others(self, owner: Owner) -> list[Leaseholder]:
        """Every other gateway that owns something which has not come to its end."""
        rows = self._db.execute(HOLDERS, (owner.id,)).fetchall()
        return [_holder(row) for row in rows]

    def take_over(
        self,
        owner: Owner,
        proven: Collection[str],
        *,
        lapsed: bool = True,
        repeatable: Callable[[str], bool] = never,
    ) -> list[tuple[Orphan, Claim]]:
        """All open attempts of gateways that are `proven` gone or, if `lapsed`, whose lease has ended: `owner`'s now.

        What they were sending is to be sent again where that is `repeatable`, and unknown elsewhere.
        """
        taken: list[tuple[Orphan, Claim]] = []
        for holder in self.others(owner):
            if holder.owner.id not in proven and (holder.lease_until > self.now or not lapsed):
                continue
            self._db.end_writer(holder.owner.id)
            row = self._db.execute(
                f"SELECT lease_until, lost_at FROM gateway WHERE id = ?{self._db.for_update}", (holder.owner.id,)
            ).fetchone()
            if holder.owner.id not in proven and from_us(row["lease_until"]) > self.now:
                continue  # it has renewed meanwhile
            self._db.execute(
                "UPDATE gateway SET lost_at = coalesce(lost_at, ?) WHERE id = ?", (self._us, holder.owner.id)
            )
            if row["lost_at"] is None:
                how = "its process is gone" if holder.owner.id in proven else "its lease ended"
                self._journal.append(
                    "gateway_lost", actor="gateway", gateway=holder.owner.id, host=holder.owner.host, reason=how
                )
            runs = self._db.execute(ORPHANS, (holder.owner.id, holder.owner.id)).fetchall()
            taken += [self._adopt(run_id, holder.owner, owner) for (run_id,) in runs]
            self._outbox.recall(holder.owner.id, repeatable)
        return taken

    def _adopt(self, run_id: str, former: Owner, owner: Owner) -> tuple[Orphan, Claim]:
        """Take one attempt over, as far as it has come: a new token, so that its former owner is stale from here on."""
        (token,) = self._db.next_tokens(1)
        state, pid, born, started, asked = self._db.execute(ADOPT, (token, owner.id, run_id)).fetchone()
        orphan = Orphan(run_id, state, pid, born, maybe(started), former.host, former.boot, asked, self._spools(former))
        claim = self._claim(run_id, token)
        self._journal.append(
            "adopted",
            actor="gateway",
            job_id=claim.job_id,
            key=claim.key,
            run_id=run_id,
            gateway=owner.id,
            former=former.id,
            state=state,
        )
        return orphan, claim

    def _spools(self, owner: Owner) -> tuple[str, ...]:
        rows = self._db.execute(SPOOLS, (owner.host, owner.boot)).fetchall()
        return tuple(spool for (spool,) in rows)

    def _claim(self, run_id: str, token: int) -> Claim:
        row = self._db.execute(CLAIM_ROW, (run_id,)).fetchone()
        return Claim(
            run_id=run_id,
            token=token,
            key=row["key"],
            job_id=row["job_id"],
            attempt=row["attempt"],
            trigger=row["trigger"],
            slot=from_us(row["slot_at"]),
            due=from_us(row["due_at"]),
            claimed_at=from_us(row["claimed_at"]),
            timezone=row["timezone"],
            offset_s=row["offset_s"],
            missed=row["missed"],
            input=row["input"],
            job=outfitted(_job(row), row),
            replay=row["replay_of"],
            failures=row["failures"],
            cause=row["cause"],
        )


def _holder(row: Any) -> Leaseholder:
    labels = frozenset(row["labels"].split())
    owner = Owner(row["id"], row["host"], row["boot"], row["pid"], row["pid_started"], labels, row["spool"])
    return Leaseholder(owner, from_us(row["lease_until"]), stopped=row["stopped_at"] is not None)


def _job(row: Any) -> Job:
    """The run's job. Of a damaged definition what the row itself says, since the run must be ended all the same."""
    try:
        return from_definition(json.loads(row["definition"]))
    except DAMAGE:
        return Job(row["job_id"], row["slug"], row["name"], row["schedule"], row["timezone"])
