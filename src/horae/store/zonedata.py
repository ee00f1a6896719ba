"""Zone data that changed: planned slots follow their wall times (decided in `core/zonechange.py`), job by job.

Each job is read, decided and written in one transaction; the version is written last. So a crash in between leaves some
jobs done and none half done, and the next start goes over all of them again, which changes nothing where it was done.
A slot that moves is another slot, with a key of its own: its old row goes, and the journal's entry, under the new key,
names both. Rows that came due, are claimed or settled are not touched.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from horae.core.cadence import DAMAGE, slots_of
from horae.core.identity import slot_key
from horae.core.instants import from_us, to_us
from horae.core.zonechange import FARTHEST, Ahead, Course, Passed, Standing, first_free, follow
from horae.store.database import Db
from horae.store.journal import Journal
from horae.store.plan import Plan, spread_of
from horae.store.rows import local
from horae.timing.recurrence import RecurrenceSet
from horae.timing.zones import offset_s, version

JOBS = """
SELECT * FROM job WHERE id > ? AND removed_at IS NULL AND completed_at IS NULL AND definition <> '' ORDER BY id LIMIT ?
"""
SCHEDULED = "SELECT * FROM occurrence WHERE job_id = :job AND trigger = 'schedule' "
AHEAD = "state = 'planned' AND attempts = 0 AND slot_at > :now AND due_at > :now"
OPEN = SCHEDULED + f"AND {AHEAD} ORDER BY slot_at"
CURSOR = SCHEDULED + "AND slot_at = :cursor AND state = 'planned' AND exception IS NULL"
BEFORE = "(SELECT max(slot_at) FROM occurrence WHERE job_id = :job AND trigger = 'schedule' AND slot_at <= :since)"
PASSED = SCHEDULED + f"AND slot_at >= coalesce({BEFORE}, :since) AND NOT ({AHEAD})"  # a span's first slot is its row's
PLAN = (
    "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, exception, reason, priority, planned_at)"
    " VALUES (?, ?, 'schedule', ?, ?, ?, ?, ?, ?, ?)"
)


class Followed(NamedTuple):
    """One step: the last job that was looked at, None after the last one; how many of them have other slots now."""

    last: str | None
    changed: int


class ZoneData:
    """The verbs on zone data, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal, plan: Plan) -> None:
        self._db = db
        self._us = to_us(now)
        self._journal = journal
        self._plan = plan

    def planned_with(self) -> str | None:
        """The version that planned the slots; None when that was never looked at."""
        found = self._db.execute("SELECT version FROM zone_data").fetchone()
        return None if found is None else str(found[0])

    def follow(self, after: str, limit: int) -> Followed:
        """Let the planned slots of the next `limit` jobs, by id, follow their wall times."""
        jobs = self._rows(JOBS, (after, limit))
        changed = sum(self._follow(job) for job in jobs)
        return Followed(jobs[-1]["id"] if len(jobs) == limit else None, changed)

    def record(self, changed: int) -> None:
        """All jobs were looked at with this process's version, and so many of them changed."""
        was, now = self.planned_with(), version()
        if was == now:
            return
        self._db.execute(
            "INSERT INTO zone_data (id, version) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET version = excluded.version",
            (now,),
        )
        if was is not None or changed:
            self._journal.append("zone_data", actor="gateway", was=was, now=now, jobs=changed)

    def _follow(self, job: dict[str, Any]) -> bool:
        """One job; says whether anything is at another instant. What is damaged is set aside, and the others go on."""
        self._db.execute("SAVEPOINT one_job")
        try:
            return self._apply(job)
        except (*DAMAGE, self._db.clash) as error:
            self._db.execute("ROLLBACK TO one_job")
            if job["problem"] is None:
                self._plan.set_aside(job["id"], error)
            return False
        finally:
            self._db.execute("RELEASE one_job")

    def _apply(self, job: dict[str, Any]) -> bool:
        slots = slots_of(job)
        rows = {row["key"]: row for row in self._rows(OPEN, {"job": job["id"], "now": self._us})}
        standing = self._standing(job, rows)
        course = follow(slots, standing, lambda slot: self._taken(job["id"], slot, rows))
        moved = [(row, slot) for row, slot in course.places if slot != row.slot]
        for row, slot in course.places:
            if slot == row.slot and row.key not in course.kept and slots.contains(row.slot):
                self._refresh(job, row)
        for row, _ in moved:  # all of them first: one may go where another was
            self._db.execute("DELETE FROM occurrence WHERE key = ?", (row.key,))
        for row, slot in moved:
            if slot is not None:
                due = rows[row.key]["due_at"] if row.exception == "move" else None
                self._insert(job, slot, due, row.exception, rows[row.key]["reason"])
            if row is standing.cursor:
                self._db.execute(
                    "UPDATE job SET cursor_at = ? WHERE id = ?", (None if slot is None else to_us(slot), job["id"])
                )
        for passed, slot in course.closed:
            self._insert(job, slot, None, "skip", _turn(passed))
        self._tell(job, moved, course)
        if course.outrun:
            self._go_on(job, slots, course.after)
        elif (standing.cursor, None) in moved:
            self._plan.plan_next(job["id"], after=course.after)  # there is none: it says why
        if moved:
            self._plan.complete_if_done(job["id"])
        return bool(moved or course.closed or course.outrun)

    def _go_on(self, job: dict[str, Any], slots: RecurrenceSet, after: datetime) -> None:
        """Plan the slot after a cursor that is due, and let that one be an ordinary row.

        One that has passed is due as well, and gets one run together with it, so `repeat` does not hold it back.
        """
        slot = first_free(slots, after, lambda slot: not self._taken(job["id"], slot, {}))
        if slot is None or to_us(slot) > self._us:
            self._plan.plan_next(job["id"], after=after)
            (held,) = self._rows("SELECT * FROM job WHERE id = ?", (job["id"],))
            if held["cursor_at"] is None:  # by `repeat`: whenever it goes on, what had its turn must be closed
                self._apply(held)
            return
        self._plan.plan_row(job, slot)
        self._db.execute("UPDATE job SET cursor_at = ? WHERE id = ?", (to_us(slot), job["id"]))

    def _standing(self, job: dict[str, Any], rows: dict[str, dict[str, Any]]) -> Standing:
        """What is on record of one job; `rows` are those ahead."""
        ahead = [Ahead(key, from_us(row["slot_at"]), row["offset_s"], row["exception"]) for key, row in rows.items()]
        begun, cursor = self._us, None
        if job["cursor_at"] is not None:
            begun = job["cursor_at"]
            for row in self._rows(CURSOR, {"job": job["id"], "cursor": begun}):
                cursor = next((each for each in ahead if each.key == row["key"]), None) or _passed(row)
                begun = row["planned_at"] if isinstance(cursor, Ahead) else begun
        since = to_us(from_us(begun) - FARTHEST)
        done = cursor is None and job["ending"] is not None  # nothing more will be planned
        passed = [] if done else self._rows(PASSED, {"job": job["id"], "now": self._us, "since": since})
        return Standing(
            zone=job["timezone"],
            cursor=cursor,
            begun=from_us(begun),
            others=tuple(row for row in ahead if row is not cursor),
            passed=tuple(_passed(row) for row in passed),
        )

    def _taken(self, job_id: str, slot: datetime, rows: dict[str, dict[str, Any]]) -> bool:
        found = self._db.execute(
            "SELECT key FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND slot_at = ?",
            (job_id, to_us(slot)),
        )
        return any(key not in rows for (key,) in found)

    def _refresh(self, job: dict[str, Any], row: Ahead) -> None:
        """The instant is right; what a clock shows then may not be."""
        offset = offset_s(row.slot, job["timezone"])
        if offset != row.offset_s:
            self._db.execute("UPDATE occurrence SET offset_s = ? WHERE key = ?", (offset, row.key))

    def _insert(
        self, job: dict[str, Any], slot: datetime, due: int | None, exception: str | None, reason: str | None
    ) -> None:
        """A row for a slot; without another `due` it is due when its job's slots are."""
        key, offset = slot_key(job["id"], slot), offset_s(slot, job["timezone"])
        due = to_us(slot + spread_of(job)) if due is None else due
        self._db.execute(PLAN, (key, job["id"], to_us(slot), due, offset, exception, reason, job["priority"], self._us))

    def _tell(self, job: dict[str, Any], moved: list[tuple[Ahead, datetime | None]], course: Course) -> None:
        """An entry for each slot, under the key that it has now."""
        zone, data = job["timezone"], version()
        for row, slot in moved:
            if slot is None:
                reason = f"by tzdata {data} there is no such slot"
                self._journal.append(
                    "unplanned", actor="gateway", job_id=job["id"], key=row.key, reason=reason, exception=row.exception
                )
                continue
            self._journal.append(
                "zone_data",
                actor="gateway",
                job_id=job["id"],
                key=slot_key(job["id"], slot),
                was=local(to_us(row.slot), row.offset_s),
                now=local(to_us(slot), offset_s(slot, zone)),
                was_key=row.key,
                tzdata=data,
            )
        for passed, slot in course.closed:
            self._journal.append(
                "zone_data", actor="gateway", job_id=job["id"], key=slot_key(job["id"], slot), reason=_turn(passed)
            )

    def _rows(self, sql: str, args: Any) -> list[dict[str, Any]]:
        return [dict(row) for row in self._db.execute(sql, args).fetchall()]


def _passed(row: dict[str, Any]) -> Passed:
    return Passed(from_us(row["slot_at"] if row["span_to"] is None else row["span_to"]), row["offset_s"])


def _turn(passed: Passed) -> str:
    """Why the slot is closed that its wall time would have again."""
    shown = local(to_us(passed.slot), passed.offset_s)
    return f"this wall time had its turn as the slot of {shown}, before tzdata {version()}"
