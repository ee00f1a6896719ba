"""Claiming: every due occurrence is settled unrun, claimed, or left to wait, and its job's next slot is planned.

All due rows are read at once (`waiting.py` says which), the pure core decides about each, and the answers are written in
bulk (`claimwrites.py`), so that a burst of thousands costs one commit and a few statements. A job that can still fire has
one ordinary planned row at its cursor *before it is due*: whatever uses that row up plans the next one in the same
transaction.

Several slots of one job may be open at once: its cursor's and all that passed since, moved ones, held ones, one that was
given back, one that waits for its retry. They are answered together when the first of them is met (`core/admission.py`).
The ordinary row, one slot of a job of which nothing is live and whose policies have nothing to say, is not put through that.

What becomes of a job's rows is found out first and written after that, so that a damaged record leaves nothing half done.
Rows that wait to be written in bulk are not in the database yet: whatever asks it about the same job must write them first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from horae.core.admission import Answers, Ended, Standing, by_hand, decide, early
from horae.core.cadence import DAMAGE, slots_of
from horae.core.catchup import Open, Settled, backlog, passed
from horae.core.definition import from_definition
from horae.core.exclusion import excluded
from horae.core.instants import from_us, to_us
from horae.core.model import Claim, Job, Owner, Terms
from horae.store.catalogue import Catalogue
from horae.store.claimrows import PROMISED, RIVALS, ROWS, SLOTS, SPOKEN_FOR, Found, all_of, candidate, open_of
from horae.store.claimwrites import Writes, can_be_asked
from horae.store.database import Db
from horae.store.journal import Journal
from horae.store.rows import maybe
from horae.store.waiting import OWN, Groups, Queue, queues

NO_ROOM = "waits until a gateway has room for it"
OWN_MAX = 100  # slots of its own jobs that a gateway without room answers at once


class Claiming:
    """One pass over what is due, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal, jobs: Catalogue, owner: Owner, terms: Terms) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._owner = owner
        self._calendars = terms.calendars
        self._groups = Groups(db, terms.groups)
        self._writes = Writes(db, now, journal, jobs.plan, owner, self._groups)
        self.full = False
        """Whether there may be more that is due."""
        self.contended = False
        """Whether something due may be free in a moment: somebody else is at its job, or ends what it has begun to wait for."""
        self._may_start = True
        self._answered: set[str] = set()  # rows that were read with a rival of theirs

    def claim_due(self, limit: int) -> list[Claim]:
        """Settle or claim due occurrences, at most `limit`, and plan each job's next slot. Those that wait do not count.

        Without a limit to use up nothing begins, but slots of jobs that have a run here are answered all the same.
        """
        if limit <= 0:
            self._answer_own()
            return []
        writes, some = self._writes, queues(self._db, self._owner.labels, self._groups)
        for priority in sorted({priority for queue in some for priority in queue.priorities}, reverse=True):
            for queue in some:
                queue.enter(priority)
            while writes.done < limit and (picked := self._pick(some, limit - writes.done)):
                self._answer(self._read(picked), limit)
        self.full = writes.done >= limit
        self.contended = self.contended or bool(self._groups.taken) or (writes.waits and self._db.shared)
        return writes.claims

    def _answer_own(self) -> None:
        """Who has no room for runs still answers for those that it has: a slot may mean that one of them is to end."""
        self._may_start = False
        picked = self._db.execute(f"{OWN}{self._db.if_free}", (self._us, self._owner.id, OWN_MAX)).fetchall()
        self._answer(self._read(picked), OWN_MAX)

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _pick(self, some: list[Queue], limit: int) -> list[Any]:
        """The next due rows of one priority, from all queues whose way is free."""
        picked: list[Any] = []
        for queue in some:
            room = self._groups.room(queue.group)
            if queue.more and room != 0:
                picked += queue.page(self._us, limit if room is None else min(room, limit))
        if len(some) > 1:
            picked.sort(key=lambda row: (row["due_at"], row["key"]))
        return picked

    def _read(self, picked: list[Any]) -> list[Any]:
        """What must be known about these rows, in their order.

        Where others write at the same time the rows are ours by now, and so must their jobs be. Only then is anything
        read, in a statement of its own, so that it shows what the last owner of a job has committed.
        """
        if self._db.shared:
            jobs = sorted({row["job_id"] for row in picked})
            lock = f"SELECT id FROM job WHERE {self._db.among('id')} ORDER BY id{self._db.if_free}"
            ours = {row["id"] for row in self._db.execute(lock, (self._db.listed(jobs),)).fetchall()}
            picked = [row for row in picked if row["job_id"] in ours]
            self.contended = self.contended or len(ours) < len(jobs)
        keys = self._db.listed([row["key"] for row in picked])
        found = self._db.execute(f"{ROWS} AND {self._db.among('o.key')}", (self._us, keys)).fetchall()
        by_key = {row["key"]: row for row in found}
        return [by_key[row["key"]] for row in picked if row["key"] in by_key]

    def _rivals(self, row: Any) -> list[Any]:
        """All open slots of the row's job that are due or wait for a retry, itself among them; none if not all are ours."""
        args, ours = (row["job_id"], self._us), set[str]()
        if self._db.shared:
            lock = f"SELECT key FROM occurrence WHERE {SLOTS}{self._db.if_free}"
            ours = {key for (key,) in self._db.execute(lock, args).fetchall()}
        rows = self._db.execute(RIVALS, args).fetchall()
        if self._db.shared and not ours.issuperset(each["key"] for each in rows):
            return []
        self._answered.update(each["key"] for each in rows)
        return rows

    # ── deciding ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _answer(self, rows: list[Any], limit: int) -> None:
        """Decide about each row, up to the limit."""
        writes = self._writes
        writes.expect(len(rows))
        for row in rows:
            if writes.done >= limit:
                break
            if row["key"] in self._answered:
                continue
            some = [row]
            try:
                found = self._find_out(row, some, limit)
            except DAMAGE as error:  # nothing of these rows has been written yet
                for each in some:
                    writes.set_aside(each, error)
                continue
            if found is None:
                self.contended = True
            elif self._may_start or not found.answers.start:
                writes.carry_out(found)
        writes.finish()

    def _find_out(self, row: Any, some: list[Any], limit: int) -> Found | None:
        """What becomes of a row, and of `some` that belong to it. None when somebody else is at one of them."""
        ended = early(candidate(row))
        if ended is not None:
            return self._unrun(row, ended)
        job = from_definition(json.loads(row["definition"]))
        live, group = self._writes.live.get(row["job_id"]) or row["live"], row["concurrency_group"]
        full = self._groups.full(group)
        if group in self._groups.taken:
            return None
        if row["trigger"] == "manual":
            mine, wait = open_of(row), by_hand(job, full, live=live is not None)
            answers = Answers(start=(mine,)) if wait is None else Answers(stay=(mine,))
            return Found(row, answers, {mine.slot: row}, job, live is not None)
        if row["beside"]:
            rivals = self._rivals(row)
            if not rivals:
                return None
            some[:] = rivals
        plain = live is None and group is None and not job.exclude and job.catch_up != "skip"
        if plain and job.not_later_than_s is None and len(some) == 1 and _at_cursor(row) and _is_new(row):
            found = self._ordinary(row, job)
            if found is not None:
                return found
        return self._together(row, some, job, live, limit)

    def _ordinary(self, row: Any, job: Job) -> Found | None:
        """One slot that starts, without anything beside it. None when more have passed since."""
        slot, due = from_us(row["slot_at"]), from_us(row["due_at"])
        until = self.now - (due - slot)
        following = slots_of(row).next_after(slot)
        if following is not None and following <= until:
            return None
        answers = Answers(start=(Open(slot, due, missed=row["missed"]),))
        return Found(row, answers, {slot: row}, job, cursor=slot, after=max(slot, until), following=following)

    def _unrun(self, row: Any, ended: Ended) -> Found:
        """A row that ends by itself, with all that passed behind it when it is at its job's cursor."""
        mine = open_of(row)
        found = Found(row, Answers(), {mine.slot: row})
        opens: tuple[Open, ...] = (mine,)
        if not _at_cursor(row):
            maybe(
                row["cursor_at"]
            )  # raises for one that cannot be: a job whose cursor is nowhere would never plan again
        else:
            found, until = self._at_its_cursor(found, row, mine)
            slots = slots_of(row)
            if _is_new(row) and slots.next_after(mine.slot) != found.following:
                opens = all_of(mine, backlog(slots, mine.slot, until, self._spoken_for(row)))
        return found._replace(
            answers=Answers(settled=tuple(Settled(each, ended.outcome, ended.reason) for each in opens))
        )

    def _together(self, row: Any, some: list[Any], job: Job, live: str | None, limit: int) -> Found:
        """All open slots of a job, as its policies say."""
        why, opens = self._why_not(job, row["timezone"]), list[Open]()
        found = Found(row, Answers(), {from_us(each["slot_at"]): each for each in some}, job, live is not None)
        for each in some:
            mine = open_of(each)
            if _at_cursor(each):
                found, _ = self._at_its_cursor(found, each, mine)
                if _is_new(each):
                    opens += passed(job, slots_of(each), mine, self.now, self._spoken_for(each), why)
                    continue
            elif why is not None and each["exception"] is None and _is_new(each):
                mine = replace(mine, excluded=why(mine.slot))
            opens.append(mine)
        if found.cursor is None:
            maybe(row["cursor_at"])
        standing = self._standing(row, job, live, len(opens), limit)
        return found._replace(answers=decide(job, opens, standing, self.now))

    def _at_its_cursor(self, found: Found, row: Any, mine: Open) -> tuple[Found, datetime]:
        """With the slot to be planned next; and the last instant of which slots are due by now."""
        until = self.now - (mine.due - mine.slot)
        after = max(mine.slot, until) if _is_new(row) else mine.slot
        return found._replace(cursor=mine.slot, after=after, following=slots_of(row).next_after(after)), until

    def _why_not(self, job: Job, timezone: str) -> Callable[[datetime], str | None] | None:
        """Why a slot of the job is excluded, as a function of the slot; None when none can be."""
        if not job.exclude:
            return None
        return lambda slot: excluded(self._calendars, job.exclude, slot, timezone)

    def _spoken_for(self, row: Any) -> set[datetime]:
        """Slots behind the cursor that have rows of their own."""
        taken = self._db.execute(SPOKEN_FOR, (row["job_id"], row["slot_at"], self._us)).fetchall()
        return {from_us(value) for (value,) in taken}

    def _standing(self, row: Any, job: Job, live: str | None, count: int, limit: int) -> Standing:
        """What goes on around a job's open slots, of which there are so many."""
        job_id, group, left = row["job_id"], row["concurrency_group"], None
        room, full = self._groups.room(group), self._groups.words(group)
        most = limit - self._writes.done
        if job.overlap == "allow" and most < count and (room is None or most < room):
            room, full = most, NO_ROOM
        runs = [] if live is None else self._writes.live_runs(job_id)
        if row["repeat_max"] is not None and count > 1:
            (promised,) = self._db.execute(PROMISED, (job_id, self._us)).fetchone()
            left = max(0, row["repeat_max"] - row["counted"] - promised)
        scheduled = [run for run in runs if run["trigger"] == "schedule"]
        asked = not any(map(can_be_asked, scheduled))
        return Standing(bool(scheduled), len(runs) > len(scheduled), asked, room, full, left)


def _at_cursor(row: Any) -> bool:
    """Whether it is at its job's cursor, the one slot that was planned in order."""
    return row["trigger"] == "schedule" and row["exception"] is None and row["slot_at"] == row["cursor_at"]


def _is_new(row: Any) -> bool:
    """Whether nothing has been decided about it: it is neither held nor was it run."""
    return row["reason"] is None and row["ended"] is None
