"""Waiting: what a due row waits for, and which rows a look reads at all.

A due row that may not start yet is *marked* with what keeps it: a live run of its own job (`run`), or its job's full group
(`group gpu`). A look reads what is not marked, and of what is marked only that whose way is free by now: rows of jobs of
which nothing is live, and as many of a group as the group has room for. So a thousand rows that wait for one place cost a
look nothing, and nobody has to be woken for them: a mark is never trusted further than the moment at which it is looked at.

How much room a group has is counted from what is claimed. Where others claim at the same time, a group that has some is
reserved first and counted again, so that two gateways never fill one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from horae.store.database import Db

MARK_RUN, FOR_GROUP = "run", "group "
BUSY = "EXISTS (SELECT 1 FROM occurrence c WHERE c.job_id = occurrence.job_id AND c.state = 'claimed')"
UNMARKED, MARKED = "waits_for IS NULL", "waits_for = ?"
MARKS = """
WITH RECURSIVE found (waits_for) AS (
  SELECT min(waits_for) FROM occurrence WHERE state = 'planned' AND waits_for IS NOT NULL
  UNION ALL
  SELECT (SELECT min(o.waits_for) FROM occurrence o WHERE o.state = 'planned' AND o.waits_for > found.waits_for)
  FROM found WHERE waits_for IS NOT NULL)
SELECT waits_for FROM found WHERE waits_for IS NOT NULL
"""  # each one is a look into the index, however many rows have it
PRIORITIES = """
WITH RECURSIVE found (priority) AS (
  SELECT max(priority) FROM occurrence WHERE state = 'planned' AND {marked}
  UNION ALL
  SELECT (SELECT max(priority) FROM occurrence WHERE state = 'planned' AND {marked} AND priority < found.priority)
  FROM found WHERE priority IS NOT NULL)
SELECT priority FROM found WHERE priority IS NOT NULL
"""
DUE = """
SELECT key, job_id, due_at FROM occurrence
WHERE state = 'planned' AND {marked} AND priority = ? AND due_at <= ? AND (due_at, key) > (?, ?) {placed}
ORDER BY due_at, key LIMIT ?{if_free}
"""
OWN = """
SELECT key, job_id, due_at FROM occurrence
WHERE state = 'planned' AND waits_for IS NULL AND trigger = 'schedule' AND due_at <= ?
  AND job_id IN (SELECT r.job_id FROM run r WHERE r.gateway_id = ? AND r.state IN ('claimed', 'running'))
ORDER BY due_at, key LIMIT ?
"""
LABELS = """
WITH RECURSIVE asked (runs_on) AS (
  SELECT min(runs_on) FROM job WHERE runs_on IS NOT NULL
  UNION ALL
  SELECT (SELECT min(j.runs_on) FROM job j WHERE j.runs_on > asked.runs_on) FROM asked WHERE asked.runs_on IS NOT NULL)
SELECT runs_on FROM asked WHERE runs_on IS NOT NULL
"""
ELSEWHERE = "AND NOT EXISTS (SELECT 1 FROM job WHERE job.id = occurrence.job_id AND {among})"
IN_GROUPS = (  # what is claimed is little, however many jobs there are
    "SELECT j.concurrency_group, count(*) FROM occurrence o CROSS JOIN job j"
    " WHERE j.id = o.job_id AND o.state = 'claimed' AND j.concurrency_group IS NOT NULL GROUP BY j.concurrency_group"
)
SOMEBODY = """
SELECT 1 FROM occurrence o WHERE o.state = 'planned' AND o.waits_for = 'run' AND {of_jobs}
UNION ALL
SELECT 1 FROM occurrence o WHERE o.state = 'planned' AND o.waits_for IN (
  SELECT 'group ' || j.concurrency_group FROM job j WHERE {jobs} AND j.concurrency_group IS NOT NULL)
LIMIT 1
"""


def tell_waiting(db: Db, job_ids: Sequence[str]) -> None:
    """Runs of these jobs have ended: gateways elsewhere learn of it, if a row waits for that."""
    if not db.shared or not job_ids:
        return
    jobs = db.listed(sorted(set(job_ids)))
    sql = SOMEBODY.format(of_jobs=db.among("o.job_id"), jobs=db.among("j.id"))
    if db.execute(sql, (jobs, jobs)).fetchone() is not None:
        db.notify()


class Groups:
    """How many more runs each group has room for, in one pass of claiming."""

    def __init__(self, db: Db, limits: Mapping[str, int]) -> None:
        self._db = db
        self._limits = limits
        self._live: dict[str, int] | None = None
        self._room: dict[str, int] = {}
        self.taken: set[str] = set()
        """Groups that another transaction is at: nothing can be said about them."""

    def room(self, group: str | None) -> int | None:
        """None without a group."""
        if group is None:
            return None
        if group not in self._room:
            self._room[group] = self._count(group)
        return self._room[group]

    def take(self, group: str | None) -> None:
        """One place is used up."""
        if group is not None:
            self._room[group] = (self.room(group) or 0) - 1

    def full(self, group: str | None) -> str | None:
        """That nothing of the group may start, in words; None when something may."""
        room = self.room(group)
        return None if room is None or room > 0 else self.words(group)

    def words(self, group: str | None) -> str:
        """That it is full."""
        return f"waits for its group: {group} is full ({self._limit(group or '')} at a time)"

    def _count(self, group: str) -> int:
        """What is full stays so until somebody ends a run; only what has room can be filled by another meanwhile."""
        if self._live is None:
            self._live = self._count_all()
        room = self._limit(group) - self._live.get(group, 0)
        if room > 0 and self._db.shared:
            if not self._db.reserve(f"{FOR_GROUP}{group}"):
                self.taken.add(group)
                return 0
            room = self._limit(group) - self._count_all().get(group, 0)
        return max(0, room)

    def _count_all(self) -> dict[str, int]:
        return dict(self._db.execute(IN_GROUPS).fetchall())

    def _limit(self, group: str) -> int:
        return self._limits.get(group, 1)


class Queue:
    """Due rows that a look reads, page by page: those with one mark, or with none."""

    def __init__(self, db: Db, mark: str | None, elsewhere: Sequence[str]) -> None:
        self._db = db
        self.group = _group(mark)
        self._marked: tuple[object, ...] = () if mark is None else (mark,)
        marked = UNMARKED if mark is None else MARKED
        sql = PRIORITIES.format(marked=marked)
        self.priorities = [priority for (priority,) in db.execute(sql, self._marked * 2).fetchall()]
        placed = ELSEWHERE.format(among=db.among("job.runs_on")) if elsewhere else ""
        free = f" AND NOT {BUSY}" if mark == MARK_RUN else ""
        self._due = DUE.format(marked=marked + free, placed=placed, if_free=db.if_free)
        self._placed = [db.listed(elsewhere)] if elsewhere else []
        self._priority = 0
        self._position: tuple[int, str] = (-1, "")
        self.more = False

    def enter(self, priority: int) -> None:
        """From the first row of that priority."""
        self._priority, self._position = priority, (-1, "")
        self.more = priority in self.priorities

    def page(self, now_us: int, limit: int) -> list[Any]:
        """The next rows of it; no `more` when there are fewer than asked for."""
        args = (*self._marked, self._priority, now_us, *self._position, *self._placed, limit)
        found = self._db.execute(self._due, args).fetchall()
        self.more = len(found) == limit
        if found:
            self._position = (found[-1]["due_at"], found[-1]["key"])
        return found


def _group(mark: str | None) -> str | None:
    return mark.removeprefix(FOR_GROUP) if mark is not None and mark.startswith(FOR_GROUP) else None


def queues(db: Db, labels: frozenset[str], groups: Groups) -> list[Queue]:
    """All that have anything in them that may begin."""
    marks = [mark for (mark,) in db.execute(MARKS).fetchall()]
    marks = [mark for mark in marks if groups.room(_group(mark)) != 0]
    asked = [words for (words,) in db.execute(LABELS).fetchall()]  # what jobs ask for; usually nothing
    elsewhere = [words for words in asked if not labels.issuperset(words.split())]
    return [queue for mark in (None, *marks) if (queue := Queue(db, mark, elsewhere)).priorities]
