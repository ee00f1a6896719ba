"""Jobs: what is known of each definition, and what people decided about jobs and single slots.

Whatever changes when a job runs changes its plan (`plan.py`) in the same transaction. A skip is an *exception* on a planned
row, not an outcome: it becomes one when the slot comes due, so it can be undone until then.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from horae.core.cadence import DAMAGE, anchor_of, columns_of, slots_of
from horae.core.definition import cadence_digest, definition, digest, from_definition
from horae.core.identity import manual_key, provisional_id, slot_key
from horae.core.instants import from_us, readable, to_us
from horae.core.model import Job
from horae.errors import Refused
from horae.store.database import Db
from horae.store.expectations import Expectations
from horae.store.journal import Journal
from horae.store.plan import Plan, spread_of
from horae.store.rows import local
from horae.timing.zones import offset_s

SHOWN, SHOWN_WITHIN = 3, timedelta(days=366 * 10)  # slots that the journal keeps of a new schedule


class Cause(NamedTuple):
    """What brought a run about that was ordered, if it was not just a person's wish."""

    words: str | None = None
    run_id: str | None = None
    """The run after whose success it is."""
    replay_of: str | None = None
    model: str | None = None
    """Of a replay: with which model, if not the job's."""


BY_A_PERSON = Cause()


class Catalogue:
    """The verbs on jobs, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._journal = journal
        self.plan = Plan(db, now, journal)
        self._expectations = Expectations(db, now)

    # ── definitions ─────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, job_id: str) -> dict[str, Any] | None:
        """One job's row, removed ones included."""
        return self._one("SELECT * FROM job WHERE id = ?", job_id)

    def by_slug(self, slug: str) -> dict[str, Any] | None:
        """The job that a file name stands for."""
        return self._one("SELECT * FROM job WHERE slug = ? AND removed_at IS NULL", slug)

    def signatures(self) -> dict[str, str]:
        """slug → signature of the file as it was last read, of all jobs."""
        return dict(self._db.execute("SELECT slug, signature FROM job WHERE removed_at IS NULL"))

    def upsert(self, job: Job, *, signature: str, meaning: str, actor: str, frozen: str | None = None) -> str:
        """Take in a valid definition and plan its next slot; returns created, changed, revived or unchanged.

        All of it or, when the schedule cannot be reckoned with after all, nothing: then it raises whatever that did.
        An agent's job without a pin, and without a model so far, uses `frozen` from now on, whatever the settings say later.
        """
        self._db.execute("SAVEPOINT one_definition")
        try:
            what = self._take_in(job, signature, meaning, actor)
            if frozen is not None and job.agent is not False and job.model is None:
                self._freeze(job.id, frozen, actor)
            return what
        except DAMAGE:
            self._db.execute("ROLLBACK TO one_definition")
            raise
        finally:
            self._db.execute("RELEASE one_definition")

    def _take_in(self, job: Job, signature: str, meaning: str, actor: str) -> str:
        other = self.by_slug(job.slug)
        if other is not None and other["id"] != job.id:
            if other["definition"]:  # its own file may have been renamed: `parked` tells who was not found again
                self._db.execute(
                    "UPDATE job SET slug = slug || '~' || id, signature = 'parked' WHERE id = ?", (other["id"],)
                )
            else:  # what stood for the file while it had never been valid
                self._db.execute("DELETE FROM job WHERE id = ?", (other["id"],))
        row = self.get(job.id)
        if row is None:
            self._write(job, signature, meaning, None)
            self._journal.append("created", actor=actor, job_id=job.id, name=job.name, **self._reading(job, meaning))
            self._expectations.expect(job.id, job)
            self.plan.replan(job, None)
            return "created"
        stored = _stored(job)
        amiss = self._mend(row) or {name: row[name] for name in stored} != stored
        same_cadence = row["cadence"] == cadence_digest(job)
        if (
            row["digest"] == digest(job)
            and row["problem"] is None
            and row["removed_at"] is None
            and row["slug"] == job.slug
            and not amiss
        ):
            self._db.execute("UPDATE job SET signature = ? WHERE id = ?", (signature, job.id))
            return "unchanged"
        self._write(job, signature, meaning, row)
        revived = row["completed_at"] is not None and not same_cadence
        what = "revived" if revived else "changed"
        if row["removed_at"] is not None:
            what = "restored"
        self._journal.append(
            what, actor=actor, job_id=job.id, cadence_changed=not same_cadence, **self._reading(job, meaning)
        )
        self._expectations.expect(job.id, job, None if what != "changed" else _before(row))
        self.plan.look_again(job.id)
        if row["priority"] != job.priority:
            self._db.execute(
                "UPDATE occurrence SET priority = ? WHERE job_id = ? AND state = 'planned'", (job.priority, job.id)
            )
        if not same_cadence or row["removed_at"] is not None:
            self.plan.replan(job, row)
        elif row["cursor_at"] is None and row["ending"] is None and row["completed_at"] is None:
            if row["aside_at"] is not None:
                self.plan.plan_on(row)
            else:  # held back by a `repeat` that is not used up
                self.plan.plan_next(job.id)
        return what

    def _freeze(self, job_id: str, model: str, actor: str) -> None:
        met = self._db.execute("UPDATE job SET model = ? WHERE id = ? AND model IS NULL", (model, job_id))
        if met.rowcount == 1:
            self._journal.append("frozen", actor=actor, job_id=job_id, model=model)

    def _mend(self, row: dict[str, Any]) -> bool:
        """Replace instants of a job that no calendar holds, in its row and in `row`; says whether there were any."""
        lost = [
            name
            for name in ("anchor_at", "cadence_at", "paused_at", "cursor_at", "aside_at")
            if row[name] is not None and not readable(row[name])
        ]
        for name in lost:
            row[name] = self._us
            if name == "cursor_at":
                (row[name],) = self._db.execute(
                    "SELECT min(slot_at) FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND state = 'planned'"
                    " AND exception IS NULL AND reason IS NULL AND attempts = 0",
                    (row["id"],),
                ).fetchone()
            self._db.execute(f"UPDATE job SET {name} = ? WHERE id = ?", (row[name], row["id"]))
        return bool(lost)

    def parked(self) -> list[str]:
        """Ids of jobs whose file says another id now, and that no other file has claimed since."""
        rows = self._db.execute("SELECT id FROM job WHERE signature = 'parked' AND removed_at IS NULL")
        return [job_id for (job_id,) in rows]

    def _reading(self, job: Job, meaning: str) -> dict[str, Any]:
        """How the schedule was understood: its meaning and its next three slots. Nobody should have to ask."""
        row = self.get(job.id)
        assert row is not None, "it has just been written"
        ahead = islice(slots_of(row).between(self.now, self.now + SHOWN_WITHIN), SHOWN)
        shown = [local(to_us(slot), offset_s(slot, job.timezone)) for slot in ahead]
        return {"schedule": job.schedule, "meaning": meaning, "next": shown}

    def _write(self, job: Job, signature: str, meaning: str, row: dict[str, Any] | None) -> None:
        cadence = cadence_digest(job)
        fresh = row is None or row["cadence"] != cadence
        values: dict[str, Any] = {
            "id": job.id,
            "slug": job.slug,
            "name": job.name,
            **_stored(job),
            "meaning": meaning,
            "cadence": cadence,
            "digest": digest(job),
            "signature": signature,
            "enabled": int(job.enabled),
            "repeat_max": job.repeat,
            "problem": None,
            "aside_at": None,
            "removed_at": None,
            "changed_at": self._us,
        }
        if fresh:  # a new cadence starts afresh: its counter, its completion, and with a new text its anchor
            values |= {
                "anchor_at": to_us(anchor_of(job, row, self.now)),
                "cadence_at": self._us,
                "counted": 0,
                "ending": None,
                "completed_at": None,
                "completed_reason": None,
            }
        if row is None:
            values["created_at"] = self._us
            self._db.execute(
                f"INSERT INTO job ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", tuple(values.values())
            )
            return
        assign = ", ".join(f"{name} = ?" for name in values)
        self._db.execute(f"UPDATE job SET {assign} WHERE id = ?", (*values.values(), job.id))

    def quarantine(self, slug: str, problem: dict[str, Any], *, signature: str, actor: str) -> None:
        """A file that is not valid now. Its job, if it was one, keeps its last good definition but does not run."""
        text = json.dumps(problem, ensure_ascii=False)
        row = self.by_slug(slug)
        if row is None:
            self._db.execute(
                "INSERT INTO job (id, slug, name, schedule, timezone, meaning, definition, cadence, digest, signature,"
                " anchor_at, problem, created_at, changed_at) VALUES (?, ?, ?, '', '', '', '', '', '', ?, ?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET slug = excluded.slug, problem = excluded.problem,"
                " signature = excluded.signature, removed_at = NULL",
                (provisional_id(slug), slug, slug, signature, self._us, text, self._us, self._us),
            )
            job_id = provisional_id(slug)
        else:
            job_id = row["id"]
            self._db.execute("UPDATE job SET problem = ?, signature = ? WHERE id = ?", (text, signature, job_id))
            if row["problem"] == text:
                return
        self.plan.look_again(job_id)
        self._journal.append("quarantined", actor=actor, job_id=job_id, problem=problem["message"])

    def remove(self, job_id: str, *, actor: str, reason: str, undo: dict[str, Any] | None = None) -> int:
        """The job is no more; what it did stays on record. Slots that came due are void, later ones never were."""
        row = self.get(job_id)
        if row is not None:
            self.plan.drop(row, "the job was removed", keep=None)
            self.plan.drop_orders(job_id, "the job was removed")
        self._db.execute("UPDATE job SET removed_at = ?, cursor_at = NULL WHERE id = ?", (self._us, job_id))
        self._db.execute(
            "UPDATE incident SET ended_at = ?, ended_by = 'the job was removed', remind_at = NULL"
            " WHERE job_id = ? AND ended_at IS NULL",
            (self._us, job_id),
        )
        return self._journal.append("removed", actor=actor, job_id=job_id, reason=reason, undo=undo)

    def complete(self, job_id: str, *, actor: str, reason: str) -> None:
        """A job is completed again, whose revival was undone: what was planned since is dropped."""
        row = self.get(job_id)
        if row is None or row["removed_at"] is not None or row["completed_at"] is not None:
            return
        self.plan.drop(row, "its revival was undone", keep=None)
        self._db.execute(
            "UPDATE job SET completed_at = ?, completed_reason = ?, cursor_at = NULL WHERE id = ?",
            (self._us, reason, job_id),
        )
        self._journal.append("completed_job", actor=actor, job_id=job_id, reason=reason)

    # ── pausing, running by hand, exceptions ────────────────────────────────────────────────────────────────────────

    def pause(self, job_id: str, *, actor: str, reason: str | None) -> int | None:
        """Stop slots from running; the file is not touched. None when it was paused already."""
        done = self._db.execute(
            "UPDATE job SET paused_at = ?, paused_by = ?, paused_reason = ? WHERE id = ? AND paused_at IS NULL"
            " AND removed_at IS NULL",
            (self._us, actor, reason, job_id),
        )
        if done.rowcount != 1:
            return None
        self.plan.look_again(job_id)
        return self._journal.append("paused", actor=actor, job_id=job_id, reason=reason, undo={"verb": "resume"})

    def resume(self, job_id: str, *, actor: str) -> int | None:
        """Let slots run again, from the next one on. None when it was not paused."""
        row = self.get(job_id)
        if row is not None and row["paused_at"] is not None and row["removed_at"] is None:
            self._mend(row)
            self.plan.skip_passed(row)
        done = self._db.execute(
            "UPDATE job SET paused_at = NULL, paused_by = NULL, paused_reason = NULL, failing = 0, silent = 0"
            " WHERE id = ? AND paused_at IS NOT NULL AND removed_at IS NULL",
            (job_id,),
        )
        if done.rowcount != 1:
            return None
        job = None if row is None else _before(row)
        if job is not None:
            self._expectations.expect(job_id, job)
        return self._journal.append("resumed", actor=actor, job_id=job_id, undo={"verb": "pause"})

    def order_run(
        self, job_id: str, *, run_id: str, actor: str, input: str | None, cause: Cause = BY_A_PERSON
    ) -> dict[str, Any]:
        """An occurrence of its own, due now: it uses up no slot and postpones none."""
        slot = self.now.replace(microsecond=0)
        row = self._one("SELECT slug, timezone, priority, removed_at FROM job WHERE id = ?", job_id)
        _refuse_removed(row)
        zone, priority = (row["timezone"], row["priority"]) if row else ("UTC", 0)
        key = manual_key(job_id, run_id)
        self._db.execute(
            "INSERT INTO occurrence (key, job_id, trigger, slot_at, due_at, offset_s, run_id, input, priority, planned_at,"
            " cause, caused_by, replay_of, model) VALUES (?, ?, 'manual', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (key, job_id, to_us(slot), self._us, offset_s(slot, zone), run_id, input, priority, self._us, *cause),
        )
        told = {} if cause.words is None else {"reason": cause.words}
        entry = self._journal.append("ordered", actor=actor, job_id=job_id, key=key, run_id=run_id, **told)
        return {"run_id": run_id, "key": key, "slot": slot, "entry": entry}

    def set_exception(self, job_id: str, slot: datetime, kind: str | None, *, due: datetime | None, actor: str) -> int:
        """Skip or move one slot that has not run, or (None) take that back. Raises Refused when that cannot be done."""
        row = self._one("SELECT * FROM job WHERE id = ?", job_id)
        assert row is not None, "the caller found the job"
        _refuse_removed(row)
        old = self._one("SELECT * FROM occurrence WHERE key = ?", slot_key(job_id, slot))
        if old is None and (kind is None or not slots_of(row).contains(slot)):
            old = self._followed(job_id, slot_key(job_id, slot))  # zone data changed since: the slot is another
            if old is None:
                says = "is not planned any more" if kind is None else f"is not a slot of {row['slug']}"
                raise Refused(f"{slot.isoformat()} {says}", "look at `horae next` for what is")
            slot = from_us(old["slot_at"])
        key, at = slot_key(job_id, slot), to_us(slot)
        if old is not None and old["state"] != "planned":
            how = old["outcome"] or "being run now"
            raise Refused(
                f"that slot is {how} already",
                "look at `horae why`; only slots that have not been settled or started can be changed",
            )
        if old is None and slot <= self.now:
            raise Refused(
                f"{slot.isoformat()} has passed",
                "look at `horae why`; only slots that have not come due can be changed",
            )
        if old is None:
            self.plan.plan_row(row, slot)
        self._db.execute(
            "UPDATE occurrence SET exception = ?, due_at = ?, reason = NULL, waits_for = NULL"
            " WHERE key = ? AND state = 'planned'",
            (kind, to_us(due or slot + spread_of(row)), key),
        )
        if kind is not None and row["cursor_at"] == at:
            self.plan.plan_next(job_id, after=slot)
        elif kind == "skip" and row["cursor_at"] is None and row["ending"] is None:
            self.plan.plan_next(job_id)  # `repeat` had kept the plan back for this run
        undo = {"verb": "exception", "slot_at": at, "kind": old["exception"] if old else None}
        if old is not None and old["exception"] == "move":
            undo["due_at"] = old["due_at"]
        what = {"skip": "skip_planned", "move": "moved", None: "exception_cleared"}[kind]
        moved = {"to": local(to_us(due), offset_s(due, row["timezone"]))} if due else {}
        return self._journal.append(what, actor=actor, job_id=job_id, key=key, undo=undo, **moved)

    def _followed(self, job_id: str, key: str) -> dict[str, Any] | None:
        """The row to which a slot went, with what was decided about it, when zone data changed."""
        seq, row = 0, None
        while row is None:
            found = self._db.execute(
                "SELECT seq, key FROM journal WHERE job_id = ? AND seq > ? AND was_key = ? ORDER BY seq LIMIT 1",
                (job_id, seq, key),
            ).fetchone()
            if found is None:
                return None
            seq, key = found
            row = self._one("SELECT * FROM occurrence WHERE key = ?", key)
        return row

    def _one(self, sql: str, *args: object) -> dict[str, Any] | None:
        row = self._db.execute(sql, args).fetchone()
        return None if row is None else dict(row)


def _refuse_removed(row: dict[str, Any] | None) -> None:
    """Whoever found the job before it was removed is told so: nothing that they wanted may stand in its plan."""
    if row is not None and row["removed_at"] is not None:
        raise Refused(f"{row['slug']} was removed", "`horae undo` brings back what was removed last")


def _before(row: dict[str, Any]) -> Job | None:
    """The definition as it was stored; None of one that was never valid or is damaged."""
    with suppress(*DAMAGE):
        return from_definition(json.loads(row["definition"]))
    return None


def _stored(job: Job) -> dict[str, object]:
    """What of a definition the engine reads again."""
    return {
        "definition": json.dumps(definition(job), ensure_ascii=False, sort_keys=True),
        "schedule": job.schedule,
        "timezone": job.timezone,
        "clock_gap": job.clock_change.gap,
        "clock_repeat": job.clock_change.repeat,
        "after_ref": job.after,
        **columns_of(job),
    }
