"""What the journal's page asks: entries, the newest first, by what they are about, and the words that filters offer.

Read-only; every question walks an index backwards from a number. A part of `queries.Reader`. Imports next to nothing.
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
        rows = self._db.execute(SHOWN.format(where=where), {**asked, "before": before, "limit": limit + 1}).fetchall()
        more = rows[limit - 1]["seq"] if len(rows) > limit else None
        return {"entries": [_entry(row) for row in rows[:limit]], "cursor": more}

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
