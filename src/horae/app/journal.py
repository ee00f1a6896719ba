"""The journal as people look at it: entries, the newest first, each in words."""

from __future__ import annotations

from typing import Any

from horae.app.jobs import find
from horae.core.entrywords import entry_words
from horae.errors import Invalid
from horae.ports import Home

Json = dict[str, Any]
LIMIT_MAX = 500
NEWEST = 2**62


def journal(
    home: Home,
    *,
    job: str | None = None,
    key: str | None = None,
    run: str | None = None,
    actor: str | None = None,
    what: str | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Json:
    """One page of entries, newest first, with the words that filters offer. `says` tells an entry in a sentence.

    A page may be short of entries, or have none, and still have a cursor that leads on.
    """
    if not 1 <= limit <= LIMIT_MAX:
        raise Invalid(f"limit must be from 1 to {LIMIT_MAX}, not {limit}", None, field="limit")
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 19):
        raise Invalid(f"{cursor!r} is no cursor", "leave it out, or give the one that the page before ended with")
    job_id = None if job is None else find(home, job, removed=True).row["id"]
    before = NEWEST if cursor is None else int(cursor)
    reader = home.read()
    try:
        of = None if run is None else reader.find_run(run)
        run_id = None if of is None else of["id"]
        key = of["key"] if key is None and of is not None else key  # entries about a run name its slot: that is indexed
        page = reader.journal(job_id=job_id, key=key, run_id=run_id, actor=actor, what=what, before=before, limit=limit)
        words: Json = reader.journal_words() if cursor is None else {"what": [], "actor": []}
    finally:
        reader.close()
    entries = [{**entry, "says": entry_words(entry)} for entry in page["entries"]]
    return {"entries": entries, "cursor": None if page["cursor"] is None else str(page["cursor"]), "words": words}
