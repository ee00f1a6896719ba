"""What the journal's page asks: entries, the newest first, by what they are about, and the words that filters offer.

Read-only; a part of `queries.Reader`. Imports next to nothing. A page walks the journal backwards from a number. What is
about one slot (`key`), or said by anybody but the gateway, is found by an index of its own. All else that is asked for (a
job, a run, a kind of entry) is looked for among so many entries and no more: such a page may end early, or be empty, with a
cursor that leads on, so that no question costs more because the journal is long.
"""

from __future__ import annotations

import json

from horae.store.rows import zulu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.store.database import Looks

    Json = dict[str, Any]

SHOWN = """
SELECT e.seq, e.at, e.actor, e.what, e.job_id, e.key, e.run_id, e.detail, e.undoable, j.slug, j.name,
  EXISTS (SELECT 1 FROM journal u WHERE u.undoes = e.seq AND u.redo = 0) AS undone
FROM journal e LEFT JOIN job j ON j.id = e.job_id WHERE e.seq < :before {where} ORDER BY e.seq DESC LIMIT :limit
"""
WALKED = 10_000  # entries that one question looks through where no index helps
FLOOR = "SELECT e.seq FROM journal e WHERE e.seq < :before{where} ORDER BY e.seq DESC LIMIT 1 OFFSET :walked"
GATEWAY = "gateway"
PEOPLE = " AND e.actor <> 'gateway'"  # the words of the partial index, which an actor that is bound could not use
RECENT = (
    "SELECT DISTINCT {column} AS word FROM (SELECT {column} FROM journal ORDER BY seq DESC LIMIT 5000) n ORDER BY 1"
)


class JournalViews:
    """The questions."""

    _db: Looks

    def journal(
        self,
        *,
        job_id: str | None,
        key: str | None,
        run_id: str | None,
        actor: str | None,
        what: str | None,
        before: int,
        limit: int,
    ) -> Json:
        """One page of entries before a number, the newest first; `cursor` is the number for the next page."""
        named = {"job_id": job_id, "key": key, "run_id": run_id, "actor": actor, "what": what}
        asked: Json = {name: value for name, value in named.items() if value is not None}
        where = "".join(f" AND e.{name} = :{name}" for name in asked)
        args = {**asked, "before": before, "limit": limit + 1, "walked": WALKED}
        people = PEOPLE if actor not in (None, GATEWAY) else ""
        where += people
        floor = None
        if asked and key is None:
            floor = self._db.execute(FLOOR.format(where=people), args).fetchone()
        if floor is not None:
            where += " AND e.seq >= :floor"
            args["floor"] = floor["seq"]
        rows = self._db.execute(SHOWN.format(where=where), args).fetchall()
        last = rows[limit - 1] if len(rows) > limit else floor
        return {"entries": [_entry(row) for row in rows[:limit]], "cursor": None if last is None else last["seq"]}

    def journal_words(self) -> Json:
        """Which kinds of entries there are, and who wrote them, among the latest."""
        return {
            column: [str(row["word"]) for row in self._db.execute(RECENT.format(column=column)).fetchall()]
            for column in ("what", "actor")
        }


def _entry(row: Any) -> Json:
    return {
        "id": row["seq"],
        "at": zulu(row["at"]),
        **{name: row[name] for name in ("actor", "what", "job_id", "slug", "key", "run_id")},
        "job": row["name"],
        "undoable": bool(row["undoable"]) and not row["undone"],
        "undone": bool(row["undone"]),
        "detail": json.loads(row["detail"]),
    }
