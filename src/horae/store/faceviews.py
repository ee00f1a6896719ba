"""What faces that serve others ask: who comes in, and what was journaled since. Imports next to nothing.

A part of `queries.Reader`.
"""

from __future__ import annotations

from horae.errors import Ambiguous, NotFound
from horae.store.rows import zulu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.ports import Record
    from horae.store.database import Looks

    Json = dict[str, Any]

FOUND = (
    " AND (lower(j.slug) LIKE :like ESCAPE '!' OR lower(j.name) LIKE :like ESCAPE '!'"
    " OR lower(j.schedule) LIKE :like ESCAPE '!' OR lower(j.meaning) LIKE :like ESCAPE '!')"
)
ENTRIES = """
SELECT e.seq, e.at, e.actor, e.what, e.job_id, e.key, e.run_id, j.slug FROM journal e LEFT JOIN job j ON j.id = e.job_id
WHERE e.seq > ? ORDER BY e.seq LIMIT ?
"""
SHOWN = "SELECT * FROM credential WHERE kind <> 'link' {where} ORDER BY kind DESC, name, made_at LIMIT 1000"


def like(text: str) -> str:
    """A pattern that finds a text anywhere, whatever stands in it."""
    for char in "!%_":
        text = text.replace(char, f"!{char}")
    return f"%{text}%"


class FaceViews:
    """The questions."""

    _db: Looks

    def credential(self, sha256: str) -> Record | None:
        """Whose secret has this digest, if it is good: not ended. Whoever asks compares the time."""
        return self._db.execute(
            "SELECT * FROM credential WHERE sha256 = ? AND kind <> 'link' AND ended_at IS NULL", (sha256,)
        ).fetchone()

    def credentials(self, *, all: bool) -> list[Json]:
        """Tokens and sessions; with `all` also those that have ended."""
        where = "" if all else "AND ended_at IS NULL"
        return [_shown(row) for row in self._db.execute(SHOWN.format(where=where)).fetchall()]

    def find_credential(self, text: str) -> Json:
        """One that is good, by its id, or a token by its name. Raises NotFound, Ambiguous."""
        where = "AND ended_at IS NULL AND (id = :text OR (kind = 'token' AND name = :text))"
        found = [_shown(row) for row in self._db.execute(SHOWN.format(where=where), {"text": text}).fetchall()]
        if len(found) > 1:
            raise Ambiguous(
                f"several tokens are called {text!r}", "use the id", candidates=[one["id"] for one in found]
            )
        if not found:
            raise NotFound(f"there is no token or session {text!r}", "`horae tokens list --all` lists them")
        return found[0]

    def entries(self, after: int, limit: int) -> list[Json]:
        """What was journaled behind a number, in order."""
        return [
            {
                "id": row["seq"],
                "at": zulu(row["at"]),
                "job": row["slug"],
                **{name: row[name] for name in ("actor", "what", "job_id", "key", "run_id")},
            }
            for row in self._db.execute(ENTRIES, (after, limit)).fetchall()
        ]

    def newest_entry(self) -> int:
        """The number of the newest entry; 0 of an empty journal."""
        row = self._db.execute("SELECT max(seq) FROM journal").fetchone()
        return int(row[0] or 0)


def _shown(row: Any) -> Json:
    return {
        **{name: row[name] for name in ("id", "kind", "name", "role", "made_by")},
        **{name: zulu(row[name]) for name in ("made_at", "expires_at", "used_at", "ended_at")},
    }
