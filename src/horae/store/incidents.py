"""Incidents in the transaction that brings them about: opened, continued, told, ended. What is decided is in `core/incident`.

A batch of runs without trouble, of jobs without any, costs three statements. Failures are looked at one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha1
from itertools import count
from typing import Any, NamedTuple

from horae.core.cadence import DAMAGE
from horae.core.compose import title_of
from horae.core.definition import from_definition
from horae.core.delivery import Addressee, Manner
from horae.core.expect import EVERY, said_nothing
from horae.core.incident import (
    ENDED_BY_SUCCESS,
    OF_RUNS,
    Incident,
    cause_of,
    kind_of,
    paused_note,
    paused_reason,
    recovery,
    unblocked,
    why_untold,
    words_of,
)
from horae.core.instants import from_us, to_us
from horae.core.model import End
from horae.errors import NotFound, Refused
from horae.ports.store import Hearers
from horae.store.catalogue import Catalogue
from horae.store.database import Db
from horae.store.journal import Journal
from horae.store.letters import Letter
from horae.store.outbox import Outbox
from horae.store.rows import maybe

ON_ITS_WAY = (
    "EXISTS (SELECT 1 FROM delivery d WHERE d.incident_id = i.id AND d.state IN ('pending', 'sending')) AS on_its_way"
)
OPEN = f"SELECT i.*, {ON_ITS_WAY} FROM incident i WHERE i.ended_at IS NULL"
BEGIN = (
    "INSERT INTO incident (id, job_id, kind, cause, says, opened_at, last_at, run_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)
GO_ON = "UPDATE incident SET count = count + 1, says = ?, last_at = ?, run_id = coalesce(?, run_id) WHERE id = ?"
ID_CHARS = 8
CAUSES_MAX = 10  # open incidents of one kind of a job: what says something else each time would be told each time
OTHER_CAUSES = "other causes, each time another"


class Noted(NamedTuple):
    """What follows from the end of a run for its message."""

    end: End
    untold: str | None = None
    """Why its alert is not sent."""
    incident_id: str | None = None


class Incidents:
    """The verbs on incidents, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal, outbox: Outbox, jobs: Catalogue) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._journal = journal
        self._outbox = outbox
        self._jobs = jobs

    def note_all(self, ends: Sequence[End]) -> list[Noted]:
        """What each end of a run begins, continues or ends, in their order. What is tried again is no failure yet."""
        final = [end for end in ends if end.retry_s is None and end.claim.replay is None]
        if not final:
            return [Noted(end) for end in ends]
        jobs = sorted({end.claim.job_id for end in final})
        if self._db.shared and any(end.ending.event != "complete" for end in final):
            lock = f"SELECT id FROM job WHERE {self._db.among('id')} ORDER BY id{self._db.for_update}"
            self._db.execute(lock, (self._db.listed(jobs),)).fetchall()  # one gateway at a time judges a job's trouble
        good = sorted({end.claim.job_id for end in final if end.ending.event == "complete"})
        if good:  # before anything is read: it waits for whoever judges the same job
            mended = f"UPDATE job SET failing = 0 WHERE failing > 0 AND {self._db.among('id')}"
            self._db.execute(mended, (self._db.listed(good),))
        here: dict[str, list[Incident]] = {}
        for row in self._db.execute(f"{OPEN} AND {self._db.among('i.job_id')}", (self._db.listed(jobs),)).fetchall():
            here.setdefault(row["job_id"], []).append(incident_of(row))
        return [self._note(end, here.setdefault(end.claim.job_id, [])) for end in ends]

    def _note(self, end: End, here: list[Incident]) -> Noted:
        if end.retry_s is not None or end.claim.replay is not None:  # how a replay went says nothing about its job
            return Noted(end)
        if end.ending.event == "complete":
            self._went_well(end, here)
            return Noted(end)
        kind = kind_of(end.ending)
        return Noted(end) if kind is None else self._went_wrong(end, kind, here)

    def _went_wrong(self, end: End, kind: str, here: list[Incident]) -> Noted:
        claim, says = end.claim, words_of(end.ending)
        incident, before = self._goes_on(claim.job_id, kind, (cause_of(end.ending), says), claim.run_id, here)
        untold = why_untold(before, self.now)
        if kind != "unknown":  # nobody knows that it has failed
            end, paused = self._count(end, says)
            untold = None if paused else untold
        self._expect_telling(incident, end.to, end.manner, untold)
        return Noted(end, untold, incident.id)

    def _count(self, end: End, says: str) -> tuple[End, bool]:
        """One failure more; the one that is too many pauses its job, and says so."""
        claim, most = end.claim, end.manner.pause_after
        (failing,) = self._db.execute(
            "UPDATE job SET failing = failing + 1 WHERE id = ? RETURNING failing", (claim.job_id,)
        ).fetchone()
        if not most or failing < most:
            return end, False
        if self._jobs.pause(claim.job_id, actor="gateway", reason=paused_reason(failing, says)) is None:
            return end, False
        message = f"{end.ending.message}\n\n{paused_note(claim.job.slug, failing)}"
        return replace(end, ending=replace(end.ending, message=message)), True

    def _went_well(self, end: End, here: list[Incident]) -> None:
        job, said = end.claim.job, bool(end.ending.message)
        over = [each for each in here if each.kind in ENDED_BY_SUCCESS or (each.kind == "quiet" and said)]
        if over:
            ended = self.end(over, end.claim.job_id, f"run {end.claim.run_id}")
            here[:] = [each for each in here if each not in over]
            told = [each for each in ended if each.told_at is not None or each.on_its_way]
            if told:
                text = recovery(job.name, told, self.now)
                self._letter("recovery", end, text, told[0].id)
        if job.expect_every_s is not None:
            due = to_us(self.now + timedelta(seconds=job.expect_every_s))
            again = "UPDATE expectation SET due_at = ? WHERE job_id = ? AND kind = ?"
            self._db.execute(again, (due, end.claim.job_id, EVERY))
        if job.expect_output is not None:
            self._count_silence(end, said, job.expect_output, here)

    def _count_silence(self, end: End, said: bool, most: int, here: list[Incident]) -> None:
        claim = end.claim
        if said:
            self._db.execute("UPDATE job SET silent = 0 WHERE id = ? AND silent > 0", (claim.job_id,))
            return
        (silent,) = self._db.execute(
            "UPDATE job SET silent = silent + 1 WHERE id = ? RETURNING silent", (claim.job_id,)
        ).fetchone()
        if silent >= most:
            cause, text = said_nothing(claim.job.name, silent)
            incident, before = self._goes_on(claim.job_id, "quiet", (cause, cause), claim.run_id, here)
            if why_untold(before, self.now) is None:
                self._letter("quiet", end, text, incident.id)
                self._expect_telling(incident, end.alerts, end.manner, None)

    def _letter(self, kind: str, end: End, text: str, incident_id: str) -> None:
        claim = end.claim
        letter = Letter(
            kind,
            title_of(kind, claim.job.name, None),
            alert=True,
            run_id=claim.run_id,
            job_id=claim.job_id,
            key=claim.key,
            incident_id=incident_id,
            body=text,
        )
        self._outbox.put(letter, away(end.alerts), end.manner)

    # ── one incident ────────────────────────────────────────────────────────────────────────────────────────────────

    def goes_on(
        self, job_id: str, kind: str, why: tuple[str, str], run_id: str | None
    ) -> tuple[Incident, Incident | None]:
        """It has happened (again). Returns the incident, and how it stood before; None when it has begun with this.

        `why` is the cause that it is grouped by, and the words for people.
        """
        rows = self._db.execute(f"{OPEN} AND i.job_id = ?", (job_id,)).fetchall()
        return self._goes_on(job_id, kind, why, run_id, [incident_of(row) for row in rows])

    def _goes_on(
        self, job_id: str, kind: str, why: tuple[str, str], run_id: str | None, here: list[Incident]
    ) -> tuple[Incident, Incident | None]:
        cause, says = why
        known = [each.cause for each in here if each.kind == kind]
        if kind in OF_RUNS and cause not in known and len(known) >= CAUSES_MAX:
            cause = OTHER_CAUSES
            why = cause, says
        before = next((each for each in here if (each.kind, each.cause) == (kind, cause)), None)
        if before is not None:
            self._db.execute(GO_ON, (says, self._us, run_id, before.id))
            now = replace(before, count=before.count + 1, says=says, last_at=self.now)
            here[here.index(before)] = now
            return now, before
        name = ""
        for number in count():  # one that is over may have that id: of the same instant, or by chance
            name = incident_id(job_id, kind, cause, self._us, number)
            if self._db.execute(BEGIN, (name, job_id, kind, cause, says, self._us, self._us, run_id)).rowcount == 1:
                break
            here[:] = [incident_of(row) for row in self._db.execute(f"{OPEN} AND i.job_id = ?", (job_id,)).fetchall()]
            if any(
                (each.kind, each.cause) == (kind, cause) for each in here
            ):  # another gateway has opened it meanwhile
                return self._goes_on(job_id, kind, why, run_id, here)
        self._journal.append("incident_opened", actor="gateway", job_id=job_id, incident=name, kind=kind, cause=says)
        begun = Incident(name, kind, cause, says, self.now, self.now, 1, None, 0, None, None)
        here.append(begun)
        return begun, None

    def _expect_telling(self, incident: Incident, to: Sequence[Addressee], manner: Manner, untold: str | None) -> None:
        """Note when it is told again. Where nothing is sent anywhere, it is told by being on record."""
        if untold is not None:
            return
        remind = None
        if manner.remind_s is not None and away(to):
            remind = to_us(self.now + timedelta(seconds=manner.remind_s))
        told = None if away(to) else self._us
        self._db.execute(
            "UPDATE incident SET remind_at = ?, told_at = coalesce(told_at, ?), acked_at = NULL, acked_by = NULL,"
            " snoozed_until = NULL WHERE id = ?",
            (remind, told, incident.id),
        )

    def tell(self, incident: Incident, letter: Letter, to: Sequence[Addressee], manner: Manner, round: int = 0) -> None:
        """Send a letter about it, and note when to do so again."""
        self._outbox.put(letter, away(to), manner, round)
        self._expect_telling(incident, to, manner, None)

    def told(self, incident_id: str) -> None:
        """A message about it has arrived."""
        self._db.execute("UPDATE incident SET told_at = coalesce(told_at, ?) WHERE id = ?", (self._us, incident_id))

    def end(self, over: Iterable[Incident], job_id: str, by: str, actor: str = "gateway") -> list[Incident]:
        """They are over. Returns those that were not before."""
        ended: list[Incident] = []
        for each in over:
            met = self._db.execute(
                "UPDATE incident SET ended_at = ?, ended_by = ?, remind_at = NULL WHERE id = ? AND ended_at IS NULL",
                (self._us, by, each.id),
            )
            if met.rowcount == 1:
                ended.append(each)
                self._journal.append("incident_ended", actor=actor, job_id=job_id, incident=each.id, by=by)
        return ended

    def resolved(self, job_id: str, actor: str) -> None:
        """A person has said how a run ended: once nobody wonders about any of its job, that is no trouble any more."""
        if self._db.execute("SELECT 1 FROM run WHERE job_id = ? AND state = 'unknown' LIMIT 1", (job_id,)).fetchone():
            return
        rows = self._db.execute(f"{OPEN} AND i.job_id = ? AND i.kind = 'unknown'", (job_id,)).fetchall()
        self.end([incident_of(row) for row in rows], job_id, f"resolved by {actor}", actor)

    def blocked(self) -> list[str]:
        """Ids of jobs with an open incident of kind `blocked`."""
        sql = "SELECT DISTINCT job_id FROM incident WHERE kind = 'blocked' AND ended_at IS NULL ORDER BY job_id"
        return [job_id for (job_id,) in self._db.execute(sql).fetchall()]

    def unblock(self, job_ids: Sequence[str], hearers: Hearers) -> list[str]:
        """These jobs may begin again, as far as anybody can see: what blocked them is over, and told where that was."""
        freed: list[str] = []
        for job_id in job_ids:
            rows = self._db.execute(f"{OPEN} AND i.job_id = ? AND i.kind = 'blocked'", (job_id,)).fetchall()
            ended = self.end([incident_of(row) for row in rows], job_id, "what was in its way is gone")
            if ended:
                freed.append(job_id)
                self._tell_unblocked(job_id, [each for each in ended if each.told_at or each.on_its_way], hearers)
        return freed

    def _tell_unblocked(self, job_id: str, told: Sequence[Incident], hearers: Hearers) -> None:
        row = self._jobs.get(job_id)
        if row is None or not told:
            return
        try:
            job = from_definition(json.loads(row["definition"]))
        except DAMAGE:
            return
        text, title = unblocked(job.name, told, self.now), title_of("recovery", job.name, None)
        to, manner = hearers.alerts(job)
        letter = Letter("recovery", title, alert=True, job_id=job_id, incident_id=told[0].id, body=text)
        self._outbox.put(letter, away(to), manner)

    def _over(self, job_id: str) -> bool:
        """Whether no run of it will ever show that it works again."""
        sql = "SELECT 1 FROM job WHERE id = ? AND (removed_at IS NOT NULL OR completed_at IS NOT NULL)"
        return self._db.execute(sql, (job_id,)).fetchone() is not None

    def arrived(self, address: str) -> None:
        """A message has arrived there, so the address is well, whatever did not arrive before, of whichever job."""
        for row in self._db.execute(f"{OPEN} AND i.kind = 'undelivered' AND i.cause = ?", (address,)).fetchall():
            self.end([incident_of(row)], row["job_id"], "a message arrived there")

    def acknowledge(self, incident_id: str, *, actor: str, until: datetime | None) -> int:
        """A person has seen it: it is not told again, or not until then. Raises NotFound, Refused."""
        row = self._db.execute("SELECT * FROM incident WHERE id = ?", (incident_id,)).fetchone()
        if row is None:
            raise NotFound(f"there is no incident {incident_id}", "`horae incidents --all` lists them")
        seen = "UPDATE delivery SET seen_at = ? WHERE seen_at IS NULL AND state IN ('failed', 'unknown', 'expired')"
        if row["kind"] == "undelivered":
            met = self._db.execute(f"{seen} AND job_id = ? AND address = ?", (self._us, row["job_id"], row["cause"]))
            if row["ended_at"] is not None and met.rowcount:
                return self._journal.append("acknowledged", actor=actor, job_id=row["job_id"], incident=incident_id)
        if row["ended_at"] is not None:
            says = f"incident {incident_id} is over since {from_us(row['ended_at']):%Y-%m-%d %H:%M}Z"
            raise Refused(says, "there is nothing to acknowledge")
        self._db.execute(
            "UPDATE incident SET acked_at = ?, acked_by = ?, snoozed_until = ?, remind_at = ? WHERE id = ?",
            (self._us, actor, *[None if until is None else to_us(until)] * 2, incident_id),
        )
        if until is None and self._over(row["job_id"]):
            rows = self._db.execute(f"{OPEN} AND i.id = ?", (incident_id,)).fetchall()
            self.end([incident_of(each) for each in rows], row["job_id"], f"acknowledged by {actor}", actor)
        what = "acknowledged" if until is None else "snoozed"
        told = {} if until is None else {"until": until.isoformat(timespec="seconds")}
        return self._journal.append(what, actor=actor, job_id=row["job_id"], incident=incident_id, **told)


def incident_id(job_id: str, kind: str, cause: str, at_us: int, number: int) -> str:
    """Short enough to be typed."""
    text = f"{job_id}/{kind}/{cause}/{at_us}/{number}"
    return sha1(text.encode(), usedforsecurity=False).hexdigest()[:ID_CHARS]


def away(to: Sequence[Addressee]) -> tuple[Addressee, ...]:
    """Those of them that something must be sent to."""
    return tuple(one for one in to if one.kept is None)


def incident_of(row: Any) -> Incident:
    """A row as what decisions are made of."""
    return Incident(
        id=row["id"],
        kind=row["kind"],
        cause=row["cause"],
        says=row["says"],
        opened_at=from_us(row["opened_at"]),
        last_at=from_us(row["last_at"]),
        count=row["count"],
        told_at=maybe(row["told_at"]),
        reminders=row["reminders"],
        acked_by=row["acked_by"],
        snoozed_until=maybe(row["snoozed_until"]),
        on_its_way=bool(row["on_its_way"]) if "on_its_way" in row.keys() else False,  # noqa: SIM118 - a row is no dict
    )
