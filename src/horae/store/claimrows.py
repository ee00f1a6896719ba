"""What a pass of claiming reads of its rows and of their jobs, and what the core is told of it.

A row is one open occurrence with its job. A slot is *held* when its row is planned and says what it waits for: `reason`
is set, and not because of a skip. It waits for its retry when its last attempt failed (`ended` is how), and goes on later
when it was begun and given back for that (`later` says what it waits for; so does `ended` then).
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from horae.core.admission import Answers, Candidate
from horae.core.catchup import Backlog, Open
from horae.core.delivery import LOCAL
from horae.core.instants import from_us
from horae.core.model import Job, Retries
from horae.store.plan import paused_words

COLUMNS = """
SELECT o.key, o.job_id, o.trigger, o.slot_at, o.due_at, o.offset_s, o.exception, o.reason, o.attempts, o.missed,
       o.run_id, o.input, o.waits_for, o.later, o.replay_of, o.cause, o.model AS wanted_model, j.model AS frozen_model,
       j.schedule, j.timezone, j.anchor_at, j.clock_gap, j.clock_repeat, j.starts_at, j.ends_at, j.cursor_at,
       j.problem, j.paused_at, j.paused_by, j.paused_reason, j.enabled,
       j.removed_at, j.definition, j.repeat_max, j.counted, j.concurrency_group, j.priority,
       (SELECT max(c.trigger) FROM occurrence c WHERE c.job_id = o.job_id AND c.state = 'claimed') AS live,
       EXISTS (SELECT 1 FROM occurrence a WHERE a.job_id = o.job_id AND a.slot_at > o.slot_at AND a.run_id IS NULL) AS ahead,
       EXISTS (SELECT 1 FROM occurrence b WHERE b.job_id = o.job_id AND b.state = 'planned' AND b.key <> o.key) AS beside,
       CASE WHEN o.attempts > 0 THEN (
         SELECT count(*) FROM run f WHERE f.key = o.key AND f.state = 'failed') ELSE 0 END AS failures,
       CASE WHEN o.attempts > 0 THEN coalesce(o.later, (
         SELECT f.reason FROM run f WHERE f.key = o.key AND f.state = 'failed' ORDER BY f.attempt DESC LIMIT 1)) END AS ended
FROM occurrence o JOIN job j ON j.id = o.job_id
WHERE o.state = 'planned'
"""
ROWS = COLUMNS + "AND o.due_at <= ? "
SLOTS = "job_id = ? AND trigger = 'schedule' AND state = 'planned' AND (due_at <= ? OR attempts > 0)"
RIVALS = COLUMNS + (
    "AND o.job_id = ? AND o.trigger = 'schedule' AND (o.due_at <= ? OR o.attempts > 0)"
    " AND o.exception IS DISTINCT FROM 'skip' ORDER BY o.slot_at"
)
LIVE = (
    "SELECT o.trigger, r.id, r.key, r.state, r.cancel_reason"
    " FROM occurrence o LEFT JOIN run r ON r.key = o.key AND r.attempt = o.attempts"
    " WHERE o.job_id = ? AND o.state = 'claimed'"
)
PROMISED = (  # what counts for `repeat` besides the open slots: what is being run, and what is still to come
    "SELECT count(*) FROM occurrence o JOIN job j ON j.id = o.job_id WHERE o.job_id = ? AND o.trigger = 'schedule'"
    " AND (o.state = 'claimed' OR (o.state = 'planned' AND o.due_at > ? AND o.attempts = 0"
    " AND o.exception IS DISTINCT FROM 'skip'))"
    " AND NOT EXISTS (SELECT 1 FROM run r WHERE r.key = o.key AND r.claimed_at <= j.cadence_at)"
)
AFTERWARDS = """
SELECT o.trigger, o.exception, o.reason, j.removed_at, j.problem, j.paused_at, j.paused_by, j.paused_reason, j.enabled,
       j.repeat_max, j.counted, ? AS ended,
       (SELECT min(n.due_at) FROM occurrence n WHERE n.job_id = o.job_id AND n.trigger = 'schedule' AND n.state = 'planned'
        AND n.attempts = 0 AND n.exception IS DISTINCT FROM 'skip') AS next_due
FROM occurrence o JOIN job j ON j.id = o.job_id WHERE o.key = ?
"""  # of an attempt that has ended so: what its job is like now, and which slot of it is next
SPOKEN_FOR = "SELECT slot_at FROM occurrence WHERE job_id = ? AND trigger = 'schedule' AND slot_at > ? AND slot_at <= ?"


class Found(NamedTuple):
    """What was found out about a row and those beside it, and decided, before anything is written."""

    row: Any
    """The one that was read first; the others are of its job."""
    answers: Answers
    rows: dict[datetime, Any]
    """Slot → its row, of those that have one."""
    job: Job | None = None
    busy: bool = False
    """Whether something of the job was live."""
    cursor: datetime | None = None
    """The slot at its job's cursor, if it is among them."""
    after: datetime | None = None
    """Then the next slot to be planned is the first one after this instant, ..."""
    following: datetime | None = None
    """... which is this one, if there is any."""


def candidate(row: Any) -> Candidate:
    """The row as rules see it that look at nothing else."""
    return Candidate(
        trigger=row["trigger"],
        exception=row["exception"],
        removed=row["removed_at"] is not None,
        problem=json.loads(row["problem"])["message"] if row["problem"] else None,
        paused=paused_words(row["paused_at"], row["paused_by"], row["paused_reason"], row["enabled"]),
        closed=row["reason"],
        spent=row["counted"] if row["repeat_max"] is not None and row["counted"] >= row["repeat_max"] else None,
        ended=row["ended"],
    )


def open_of(row: Any) -> Open:
    """The row as one open slot."""
    held = row["reason"] is not None and row["exception"] != "skip"
    slot, due = from_us(row["slot_at"]), from_us(row["due_at"])
    return Open(slot, due, missed=row["missed"], held=held, ended=row["ended"], later=row["later"] is not None)


def outfitted(job: Job, row: Any) -> Job:
    """The job as a run of this row has it: with its model, and a replay that reaches nobody and is not tried again."""
    if job.agent is False:
        return job
    job = replace(job, model=row["wanted_model"] or job.model or row["frozen_model"])
    if row["replay_of"] is None:
        return job
    here = (LOCAL,)
    return replace(job, deliver=here, alerts=here, retries=Retries())


def all_of(mine: Open, back: Backlog) -> tuple[Open, ...]:
    """A slot at its cursor and what passed behind it, of which none runs: many are one."""
    if len(back.passed) == 1 and back.passed[0].count > 1:
        return (Open(back.latest, mine.due, mine.slot, back.passed[0].count + 1),)
    return (*(Open(span.last, mine.due, span.first, span.count) for span in back.passed), Open(back.latest, mine.due))
