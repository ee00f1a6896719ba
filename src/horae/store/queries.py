"""What people look at: rows as the JSON that every face prints (shapes in docs/reference/cli.md).

Read-only, on a connection of its own, beside whatever the writer does; the same SQL on every store. Imports next to
nothing: `horae list` is this module, the command line's parser and a table.
"""

from __future__ import annotations

import json
import os
import sqlite3

from horae.errors import Ambiguous, NotFound, Trouble
from horae.store.agentviews import AgentViews
from horae.store.attention import waiting
from horae.store.faceviews import FOUND, FaceViews, like
from horae.store.gateways import LIVE_RUNS, due_by_labels, gateways, jobs_by_labels
from horae.store.gauges import Gauges
from horae.store.hookviews import HookViews
from horae.store.journalviews import JournalViews
from horae.store.migrate import newer, steps, version
from horae.store.pastviews import PastViews
from horae.store.posted import closed_targets, find_incident, incidents, on_the_way
from horae.store.rows import local, zulu
from horae.store.runviews import RunViews
from horae.store.shapes import ambiguous, job_json
from horae.store.stripviews import StripViews

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.ports import Record
    from horae.store.database import Looks

    Json = dict[str, Any]

LAST = "\U0010ffff"  # sorts behind whatever may follow the beginning of an id
NEXT = """(SELECT min(due_at) FROM occurrence n WHERE n.job_id = j.id AND n.state = 'planned' AND n.trigger = 'schedule'
           AND n.exception IS DISTINCT FROM 'skip')"""
LIST = f"""
SELECT j.id, j.slug, j.name, j.state, j.schedule, j.meaning, j.timezone, j.problem, j.completed_reason, j.enabled,
       j.paused_at, j.paused_by, j.paused_reason, {NEXT} AS next_at,
       (SELECT offset_s FROM occurrence n WHERE n.job_id = j.id AND n.state = 'planned' AND n.due_at = {NEXT}) AS next_offset,
       l.outcome AS last_outcome, coalesce(l.span_to, l.slot_at) AS last_at, l.offset_s AS last_offset,
       (SELECT r.state FROM run r WHERE r.job_id = j.id ORDER BY r.claimed_at DESC, r.attempt DESC LIMIT 1) AS last_run_state
FROM job j LEFT JOIN occurrence l ON l.key = (
  SELECT key FROM occurrence x WHERE x.job_id = j.id AND x.state = 'settled' ORDER BY x.slot_at DESC LIMIT 1)
WHERE j.removed_at IS NULL AND j.slug > :cursor {{where}}
ORDER BY j.slug LIMIT :limit
"""
SLUG_OR_NAME = (  # each has an index of its own, which an OR would not use
    "id IN (SELECT id FROM job WHERE slug = :text AND removed_at {gone}"
    " UNION SELECT id FROM job WHERE name = :text AND removed_at {gone})"
)
TIERS = ("id = :text", SLUG_OR_NAME, "id >= :text AND id < :beyond AND :text <> ''")
AHEAD = """
SELECT * FROM occurrence o WHERE o.job_id = ? AND (o.state = 'planned' OR (o.trigger = 'schedule' AND o.slot_at > ?)
  OR (o.state = 'claimed' AND o.trigger = 'schedule' AND NOT EXISTS (
    SELECT 1 FROM run r JOIN job j ON j.id = r.job_id WHERE r.key = o.key AND r.claimed_at <= j.cadence_at)))
ORDER BY o.due_at LIMIT ?
"""


def open_reader(path: str) -> Reader | None:
    """A reader of the store; None when there is no database or it must be migrated first."""
    if not os.path.exists(path):
        return None
    try:
        db = sqlite3.connect(path, timeout=5.0, isolation_level=None, check_same_thread=False, factory=File)
        db.row_factory = sqlite3.Row
        found, newest = version(db), steps()[-1][0]
        if found > newest:
            db.close()
            raise newer(path, found, newest)
        if found < newest:
            db.close()
            return None
        db.execute("PRAGMA query_only = ON")
    except sqlite3.Error as error:
        hint = "check that the file can be read; if it is damaged, restore a backup: the job files are not affected"
        raise Trouble(f"{path} cannot be read ({error})", hint, file=path) from error
    return Reader(db)


class File(sqlite3.Connection):
    """A connection of a reader."""

    def trouble(self) -> str | None:
        """What SQLite's own check finds wrong with the file, or None."""
        (word,) = self.execute("PRAGMA quick_check(1)").fetchone()
        return None if word == "ok" else str(word)


class Reader(AgentViews, StripViews, HookViews, Gauges, FaceViews, JournalViews, PastViews, RunViews):
    """Questions to one home's store. Each answer is what was committed when it was asked."""

    def __init__(self, db: Looks) -> None:
        self._db = db

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def list_jobs(
        self, *, all: bool, state: str | None, limit: int, cursor: str | None, search: str | None = None
    ) -> Json:
        """Jobs by slug, one page: the `list` shape. `search` stands in the slug, the name or the schedule."""
        unless_all = "" if all else "AND j.state <> 'completed'"
        where = "AND j.state = :state" if state is not None else unless_all
        args: Json = {"cursor": cursor or "", "limit": limit + 1, "state": state}
        if search:
            where += FOUND
            args["like"] = like(search.lower())
        rows = self._db.execute(LIST.format(where=where), args).fetchall()
        more = rows[limit - 1]["slug"] if len(rows) > limit else None
        return {"jobs": [job_json(row) for row in rows[:limit]], "cursor": more}

    def job(self, job_id: str) -> Json:
        """One job in the shape of `list`."""
        row = self._db.execute(LIST.format(where="AND j.id = :id"), {"cursor": "", "limit": 1, "id": job_id}).fetchone()
        return job_json(row)

    def slug_of(self, job_id: str) -> str | None:
        """The name of a job's file, also of one that was removed."""
        row = self._db.execute("SELECT slug FROM job WHERE id = ?", (job_id,)).fetchone()
        return None if row is None else str(row["slug"])

    def find_job(self, text: str, *, removed: bool = False) -> Record:
        """The job that a person means: id, slug or name, unique prefix of an id. Live jobs win over completed ones.

        With `removed` those are found too that are no more, if no other is meant.
        """
        args = {"text": text, "beyond": text + LAST}
        for gone in ("IS NULL", "IS NOT NULL") if removed else ("IS NULL",):
            for tier in TIERS:
                rows = self._db.execute(
                    f"SELECT * FROM job WHERE removed_at {gone} AND ({tier.format(gone=gone)})"
                    " ORDER BY state = 'completed', slug LIMIT 20",
                    args,
                ).fetchall()
                alive = [row for row in rows if row["state"] != "completed"] or rows
                if len(alive) == 1:
                    return alive[0]
                if alive:
                    raise ambiguous(text, alive)
        names = [
            name
            for row in self._db.execute("SELECT slug, name FROM job WHERE removed_at IS NULL LIMIT 2000")
            for name in row
        ]
        hint = "`horae list --all` shows them all" if removed else self._hint(text)
        raise NotFound(f"no job has the id, slug or name {text!r}", hint, names=names)

    def _hint(self, text: str) -> str:
        """Where to look for a job that is not there: one that was removed is in no list."""
        try:
            row = self.find_job(text, removed=True)
        except NotFound:
            return "`horae list --all` shows them all"
        again = self._db.execute("SELECT 1 FROM job WHERE slug = ? AND removed_at IS NULL", (row["slug"],)).fetchone()
        name = row["id"] if again or text == row["id"] else row["slug"]
        return (
            f"{row['slug']} was removed at {zulu(row['removed_at'])}; `horae why {name}` and `horae runs {name}` still"
            " answer; `horae undo` or its file put back brings it back"
        )

    def find_run(self, text: str) -> Record:
        """A run by its id or a unique prefix of it."""
        rows = self._db.execute(
            "SELECT * FROM run WHERE id >= ? AND id < ? ORDER BY claimed_at DESC LIMIT 10", (text, text + LAST)
        ).fetchall()
        exact = [row for row in rows if row["id"] == text]
        if text and (len(rows) == 1 or exact):
            return (exact or rows)[0]
        if text and rows:
            raise Ambiguous(
                f"several runs begin with {text!r}", "give more of the id", candidates=[row["id"] for row in rows]
            )
        promised = self._db.execute(
            "SELECT 1 FROM occurrence WHERE run_id = ? AND state = 'planned'", (text,)
        ).fetchone()
        if promised:
            raise NotFound(
                f"run {text} was ordered and has not begun", "it begins as soon as a gateway runs: `horae up`"
            )
        raise NotFound(f"no run has the id {text!r}", "`horae runs` lists them")

    def planned(self, job_id: str, limit: int) -> list[Record]:
        """Open occurrences of a job by due instant: exceptions made in advance are among them."""
        return self._db.execute(
            "SELECT * FROM occurrence WHERE job_id = ? AND state = 'planned' ORDER BY due_at LIMIT ?", (job_id, limit)
        ).fetchall()

    def ahead(self, job_id: str, now_us: int, limit: int) -> list[Record]:
        """The open occurrences, and those of slots to come that have had their turn: a slot may run before its time.

        Among the open ones are those that are being run, if they count for the cadence that the job has now.
        """
        return self._db.execute(AHEAD, (job_id, now_us, limit)).fetchall()

    def occurrences(self, job_id: str, *, slot_at: int | None, limit: int) -> list[Json]:
        """Occurrences with the decisions about them, newest first; or the one whose slot or span covers an instant."""
        sql = "SELECT * FROM occurrence WHERE job_id = :job"
        if slot_at is not None:
            sql += " AND (slot_at = :slot OR due_at = :slot OR (span_to IS NOT NULL AND slot_at <= :slot AND span_to >= :slot))"
        rows = self._db.execute(
            sql + " ORDER BY slot_at DESC LIMIT :limit", {"job": job_id, "slot": slot_at, "limit": limit}
        )
        return [self.occurrence(row) for row in rows.fetchall()]

    def occurrence_by_key(self, key: str) -> Record | None:
        """One occurrence, by its key."""
        return self._db.execute("SELECT * FROM occurrence WHERE key = ?", (key,)).fetchone()

    def occurrence(self, row: Record) -> Json:
        """One occurrence with every decision on record about it, oldest first."""
        offset = row["offset_s"]
        entries = self._db.execute("SELECT * FROM journal WHERE key = ? ORDER BY seq", (row["key"],)).fetchall()
        return {
            "key": row["key"],
            "slot": local(row["slot_at"], offset),
            "slot_utc": zulu(row["slot_at"]),
            "due": local(row["due_at"], offset),
            "trigger": row["trigger"],
            "state": row["state"],
            "outcome": row["outcome"],
            "reason": row["reason"],
            "exception": row["exception"],
            "missed": row["missed"],
            "span": None
            if row["span_to"] is None
            else {
                "from": local(row["slot_at"], offset),
                "to": local(row["span_to"], offset),
                "count": row["span_count"],
            },
            "decisions": [
                {
                    "entry": entry["seq"],
                    "at": local(entry["at"], offset),
                    "actor": entry["actor"],
                    "what": entry["what"],
                    "detail": json.loads(entry["detail"]),
                    "run_id": entry["run_id"],
                }
                for entry in entries
            ],
        }

    def journal_entry(self, seq: int | None) -> Record | None:
        """One entry by number, or the newest that can be undone and has not been."""
        if seq is not None:
            return self._db.execute("SELECT * FROM journal WHERE seq = ?", (seq,)).fetchone()
        return self._db.execute(
            "SELECT * FROM journal j WHERE actor <> 'gateway' AND undoable = 1 AND NOT EXISTS"
            " (SELECT 1 FROM journal u WHERE u.undoes = j.seq)"
            " ORDER BY seq DESC LIMIT 1"
        ).fetchone()

    def was_undone(self, seq: int) -> bool:
        """Whether an entry has been taken back already."""
        found = self._db.execute(
            "SELECT 1 FROM journal WHERE undoes = ? AND redo = 0 LIMIT 1",
            (seq,),
        )
        return found.fetchone() is not None

    def lateness_ms(self, last: int) -> list[float]:
        """Due to started of the last scheduled runs, in milliseconds. Caught-up and moved ones count as they were due."""
        rows = self._db.execute(
            "SELECT r.started_at - coalesce(r.due_at, o.due_at) FROM run r JOIN occurrence o ON o.key = r.key"
            " WHERE r.started_at IS NOT NULL AND r.attempt = 1 AND o.trigger = 'schedule' ORDER BY r.claimed_at DESC LIMIT ?",
            (last,),
        )
        return [max(0, value) / 1000 for (value,) in rows]

    def next_due(self) -> str | None:
        """When the engine has to do something next, in UTC."""
        row = self._db.execute(
            "SELECT min(due_at) FROM occurrence WHERE state = 'planned' AND waits_for IS NULL"
        ).fetchone()
        return zulu(row[0])

    def agenda(self, limit: int) -> list[Record]:
        """Planned occurrences of active jobs, soonest first."""
        return self._db.execute(
            "SELECT o.*, j.slug, j.timezone FROM occurrence o JOIN job j ON j.id = o.job_id"
            " WHERE o.state = 'planned' AND j.state = 'active' ORDER BY o.due_at LIMIT ?",
            (limit,),
        ).fetchall()

    def trouble(self) -> str | None:
        """What the database's own check finds wrong, or None."""
        return self._db.trouble()

    def waiting(self, limit: int, now_us: int | None = None) -> list[Json]:
        """What waits for a person (see `attention.py`)."""
        return waiting(self._db, limit, now_us)

    def incidents(self, *, all: bool, job_id: str | None, limit: int) -> list[Json]:
        """Incidents (see `posted.py`)."""
        return incidents(self._db, all=all, job_id=job_id, limit=limit)

    def find_incident(self, text: str) -> str:
        """An incident's id, by itself or a unique beginning of it."""
        found = find_incident(self._db, text) if text else []
        if len(found) == 1 or text in found:
            return text if text in found else found[0]
        if found:
            raise Ambiguous(f"several incidents begin with {text!r}", "give more of the id", candidates=found)
        raise NotFound(f"there is no incident {text!r}", "`horae incidents --all` lists them")

    def closed_targets(self) -> list[Json]:
        """Addresses that said that they take nothing any more."""
        return closed_targets(self._db)

    def on_the_way(self) -> Json:
        """Messages that are still to be sent."""
        return on_the_way(self._db)

    def gateways(self, now_us: int, *, shared: bool) -> list[Json]:
        """Who runs gateways on this store (see `gateways.py`)."""
        return gateways(self._db, now_us, shared=shared)

    def live_runs(self) -> list[Json]:
        """What is running, by whom."""
        rows = self._db.execute(LIVE_RUNS).fetchall()
        return [{"run": row["id"], "job": row["slug"], "gateway": row["gateway_id"]} for row in rows]

    def due_by_labels(self, now_us: int) -> list[Json]:
        """How many slots are due of jobs that ask for labels."""
        return due_by_labels(self._db, now_us)

    def jobs_by_labels(self) -> list[Json]:
        """Which labels active jobs ask for."""
        return jobs_by_labels(self._db)

    def zone_data(self) -> str | None:
        """The version of the zone data that planned the slots; None when that was never looked at."""
        row = self._db.execute("SELECT version FROM zone_data").fetchone()
        return None if row is None else str(row["version"])

    def signatures(self) -> dict[str, str]:
        """slug → signature of the file as it was last read."""
        return dict(self._db.execute("SELECT slug, signature FROM job WHERE removed_at IS NULL").fetchall())

    def counts(self) -> dict[str, int]:
        """How many jobs are in each state."""
        return dict(
            self._db.execute("SELECT state, count(*) FROM job WHERE removed_at IS NULL GROUP BY state").fetchall()
        )
