"""Pause and resume: one job, or all of them. Nothing of the files is touched: paused is the machine's half, not the author's.

What is done to many is done in short transactions, and is one thing to undo.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from horae.app.completed import refuse_completed
from horae.app.jobs import find
from horae.errors import Refused
from horae.ports import Home, Record, Tx

Json = dict[str, Any]
SWITCHED_AT_ONCE = 1000  # jobs that are paused or resumed in one transaction


def pause_jobs(home: Home, *, job: str | None, reason: str | None) -> Json:
    """Stop one job's slots, or all jobs'; the files are not touched."""
    rows = [find(home, job).row] if job is not None else _rows(home, "active")
    if job is not None:
        refuse_completed(rows[0], "paused", home.clock.now())
    done: list[Json] = []
    for some in _batches(rows):
        done += home.store.transact(
            lambda tx, some=some: [
                _switch(row, tx.jobs.pause(row["id"], actor=home.actor, reason=reason)) for row in some
            ]
        )
    home.wake()
    entry = None if job is not None else _together(home, done, "paused_all", "resume_many")
    return _switched(done, "paused", "was paused already", "horae resume", entry)


def resume_jobs(home: Home, *, job: str | None) -> Json:
    """Let slots run again, from the next one on."""
    rows = [find(home, job).row] if job is not None else _rows(home, "paused")
    if job is not None:
        refuse_completed(rows[0], "resumed", home.clock.now())
    if job is not None and not rows[0]["enabled"] and rows[0]["paused_at"] is None:
        raise Refused(
            f"{rows[0]['slug']} is off because its file says `enabled: false`", f"horae edit {rows[0]['slug']} --enable"
        )
    done: list[Json] = []
    for some in _batches(rows):
        done += home.store.transact(
            lambda tx, some=some: [_switch(row, tx.jobs.resume(row["id"], actor=home.actor)) for row in some]
        )
    home.wake()
    entry = None if job is not None else _together(home, done, "resumed_all", "pause_many")
    return _switched(done, "resumed", "was not paused", "horae pause", entry)


def _rows(home: Home, state: str) -> list[Json]:
    reader = home.read()
    try:
        rows: list[Json] = []
        cursor: str | None = None
        while True:
            page = reader.list_jobs(all=False, state=state, limit=1000, cursor=cursor)
            rows += page["jobs"]
            cursor = page["cursor"]
            if cursor is None:
                return rows
    finally:
        reader.close()


def _batches(rows: Sequence[Record]) -> list[Sequence[Record]]:
    """So many that a transaction stays short."""
    return [rows[start : start + SWITCHED_AT_ONCE] for start in range(0, len(rows), SWITCHED_AT_ONCE)]


def _switch(row: Record, entry: int | None) -> Json:
    return {"id": row["id"], "slug": row["slug"], "changed": entry is not None, "entry": entry}


def _together(home: Home, done: list[Json], what: str, back: str) -> int | None:
    """What was done to many at once is one thing to undo: exactly those, and nobody else."""
    changed = [item for item in done if item["changed"]]
    if not changed:
        return None

    def work(tx: Tx) -> int:
        for item in changed:
            tx.journal.append("undone", actor=home.actor, job_id=item["id"], entry=item["entry"])
        undo = {"verb": back, "ids": [item["id"] for item in changed]}
        return tx.journal.append(what, actor=home.actor, undo=undo)

    return home.store.transact(work)


def _switched(done: list[Json], word: str, already: str, back: str, entry: int | None) -> Json:
    changed = [item["slug"] for item in done if item["changed"]]
    if entry is not None:
        did, undo = f"{word} {len(changed)} job{'s' if len(changed) > 1 else ''}", f"horae undo {entry}"
    elif len(done) == 1:
        slug = done[0]["slug"]
        did, undo = (f"{slug} {already}", None) if not changed else (f"{word} {slug}", f"{back} {slug}")
    else:
        did, undo = f"no job was {word}", None
    return {"jobs": done, "did": did, "undo": undo}
