"""Take back what a person did: the newest thing, or a numbered entry of the journal.

Each undoable entry carries what is needed to go back. Nothing is guessed: when the world moved on (the file was edited
again, the slot has run), the undo is refused and says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from horae.app.reload import absorb, checked
from horae.app.upcoming import NAMED_MAX, some_of
from horae.core.instants import from_us
from horae.core.jobfile import compose, from_definition
from horae.errors import Conflict, Invalid, NotFound, Refused
from horae.ports import Home, Record, Tx

Json = dict[str, Any]
OF_A_JOB = ("resume", "pause", "exception", "freeze")  # what is done to a job that is there
LASTING = {  # what a person does and cannot take back, and what there is instead
    "resolved": "a resolution is a person's word on what is over, and stands; `horae run JOB` has the work done again",
    "approved": "what a person let be done is done, or being done",
    "denied": "the run goes on without it; `horae run JOB` begins anew",
    "ordered": "an ordered run is no change of the job; `horae cancel RUN` ends it once it runs",
}


def undo(home: Home, *, entry: int | None = None) -> Json:
    """Undo one journal entry, by default the newest that can be undone and has not been."""
    reader = home.read()
    try:
        row = reader.journal_entry(entry)
        if row is None:
            what = "there is nothing to undo" if entry is None else f"the journal has no entry {entry}"
            raise NotFound(what, "changes that can be undone print their number")
        done = reader.was_undone(row["seq"])
    finally:
        reader.close()
    detail = json.loads(row["detail"])
    how = detail.get("undo")
    if not how:
        hint = LASTING.get(row["what"], "only changes made by people can")
        raise Refused(f"entry {row['seq']} ({row['what']}) cannot be undone", hint)
    if done:
        raise Refused(f"entry {row['seq']} has been undone already", "an undo is undone by doing the thing again")
    did, made = _apply(home, row, how)

    def mark(tx: Any) -> None:
        tx.journal.append("undone", actor=home.actor, job_id=row["job_id"], key=row["key"], entry=row["seq"])
        for (
            seq
        ) in made:  # what the undo itself wrote is undone by its number only: the next bare undo goes further back
            tx.journal.append("undone", actor=home.actor, job_id=row["job_id"], key=row["key"], entry=seq, redo=True)

    home.store.transact(mark)
    home.wake()
    again = f"horae undo {made[-1]}" if made else None
    return {"did": did, "undone": row["seq"], "what": row["what"], "undo": again}


def _apply(home: Home, row: Record, how: Json) -> tuple[str, list[int]]:
    """What was done, and the entries that it wrote and that could be undone themselves."""
    job_id, actor = row["job_id"], home.actor
    job = home.store.transact(lambda tx: tx.jobs.get(job_id))
    slug = job["slug"] if job else "the job"
    if how["verb"] in OF_A_JOB and (job is None or job["removed_at"] is not None):
        says = f"{slug} was removed, so what was done to it cannot be undone"
        raise Refused(says, "undo its removal first: `horae undo`, or by the number that `remove` printed")
    match how["verb"]:
        case "resume":
            resumed = home.store.transact(lambda tx: tx.jobs.resume(job_id, actor=actor))
            return f"resumed {slug}", _only(resumed)
        case "pause":
            paused = home.store.transact(lambda tx: tx.jobs.pause(job_id, actor=actor, reason="undo"))
            return f"paused {slug}", _only(paused)
        case "resume_many":
            count = _many(home, lambda tx, one: tx.jobs.resume(one, actor=actor), how["ids"])
            return f"resumed {count} jobs", []
        case "pause_many":
            count = _many(home, lambda tx, one: tx.jobs.pause(one, actor=actor, reason="undo"), how["ids"])
            return f"paused {count} jobs", []
        case "exception":
            due = from_us(how["due_at"]) if "due_at" in how else None
            slot = from_us(how["slot_at"])
            if how["kind"] is None and slot <= home.clock.now():
                again = f"`horae move {slug} SLOT --to …` gives it another time"
                raise Refused(f"the slot's own time has passed: taken back, {slug} would run at once", again)
            back = home.store.transact(
                lambda tx: tx.jobs.set_exception(job_id, slot, how["kind"], due=due, actor=actor)
            )
            return f"put the slot of {slug} back as it was", [back]
        case "freeze":
            assert job is not None, "that was looked at above"
            now = json.loads(row["detail"])["model"]
            if job["model"] != now:
                raise Conflict(
                    f"{slug} uses {job['model']} by now, not {now}", f"`horae model use NAME {slug}` moves it"
                )
            home.store.transact(lambda tx: tx.agents.freeze([job_id], how["model"], actor=actor))
            return f"{slug} uses {how['model']} again", []
        case "text":
            return _text(home, how, row["seq"])
        case "restore":
            text = compose(from_definition(how["definition"]))
            _could_be(home, how["slug"], text)
            home.folder.write(how["slug"], text, expect=None)
            absorb(home, how["slug"], actor)
            return f"wrote jobs/{how['slug']}.md from its last good definition; comments in it are lost", []
        case verb:
            raise Refused(f"this version cannot undo {verb!r}", "it was written by a later one")


def _many(home: Home, switch: Callable[[Tx, str], int | None], ids: list[str]) -> int:
    """Switch exactly those back; what that writes is no change of its own."""

    def work(tx: Tx) -> int:
        entries = [(one, switch(tx, one)) for one in ids]
        for one, entry in entries:
            if entry is not None:
                tx.journal.append("undone", actor=home.actor, job_id=one, entry=entry)
        return sum(1 for _, entry in entries if entry is not None)

    return home.store.transact(work)


def _only(entry: int | None) -> list[int]:
    return [] if entry is None else [entry]


def _text(home: Home, how: Json, seq: int) -> tuple[str, list[int]]:
    slug, before, after = how["slug"], how["before"], how["after"]
    try:
        now = home.folder.read(slug)
    except NotFound:
        now = None
    if now != after:
        hint = f"edit the file, or take back an earlier change by its number; this one was entry {seq}"
        raise Conflict(f"jobs/{slug}.md was changed after the change that would be undone", hint)
    if before is None:
        home.folder.remove(slug, expect=now or "")
        back = {"verb": "text", "slug": slug, "before": now, "after": None}
        gone = home.store.transact(lambda tx: _forgotten(tx, slug, home.actor, back))
        return f"removed {slug}: that undid its making (jobs/{slug}.md is gone)", _only(gone)
    _could_be(home, slug, before)
    home.folder.write(slug, before, expect=now)
    job, _ = absorb(home, slug, home.actor)
    slots = how.get("slots", [])
    back = {"verb": "text", "slug": slug, "before": now, "after": home.folder.read(slug)}

    def work(tx: Tx) -> tuple[list[int], list[str]]:
        if how.get("completed") is not None:  # what was undone had revived it
            tx.jobs.complete(job.id, actor=home.actor, reason=how["completed"])
        made, lost = _decided_again(tx, job.id, slots, home.actor)
        return [*made, tx.journal.append("edited", actor=home.actor, job_id=job.id, undo=back)], lost

    made, lost = home.store.transact(work)
    but = f"; not put back: {some_of(lost[:NAMED_MAX], len(lost))}" if lost else ""
    return f"put jobs/{slug}.md back as it was{but}", made


def _could_be(home: Home, slug: str, text: str) -> None:
    """Refuse before anything is written: a file that works now is not exchanged for one that does not."""
    try:
        checked(home, slug, text)
    except Invalid as error:
        raise Refused(f"what was before cannot be any more: {error.message}", error.hint) from error


def _decided_again(tx: Tx, job_id: str, slots: list[Json], actor: str) -> tuple[list[int], list[str]]:
    """Skips and moves of slots that are still to come; and why those cannot be that are no slots of the schedule now.

    That happens when it counts from the moment at which its file is taken in.
    """
    made: list[int] = []
    lost: list[str] = []
    for item in slots:
        slot, due = from_us(item["slot_at"]), from_us(item["due_at"])
        if min(slot, due) > tx.now:
            moved = due if item["kind"] == "move" else None
            try:
                made.append(tx.jobs.set_exception(job_id, slot, item["kind"], due=moved, actor=actor))
            except Refused as error:
                lost.append(error.message)
    return made, lost


def _forgotten(tx: Tx, slug: str, actor: str, back: Json) -> int | None:
    row = tx.jobs.by_slug(slug)
    return None if row is None else tx.jobs.remove(row["id"], actor=actor, reason="its making was undone", undo=back)
