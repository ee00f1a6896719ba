"""What people look at of agents: what they did and used, what waits for a word, notepads, models. Imports next to nothing.

Half of `queries.Reader`. Budgets are sums over what runs count for; see `equipping.py` for when that is what.
"""

from __future__ import annotations

import json

from horae.errors import Ambiguous, NotFound
from horae.store.rows import zulu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.store.database import Looks

    Json = dict[str, Any]

ACTIVITY = "SELECT number, at, kind, detail FROM activity WHERE run_id = ? ORDER BY number"
ASKS = """
SELECT a.*, j.slug, j.name FROM ask a LEFT JOIN job j ON j.id = a.job_id LEFT JOIN occurrence o ON o.key = a.key
WHERE {where} ORDER BY a.asked_at DESC, a.id LIMIT ?
"""
OPEN = (  # a call's is over when its slot is, or goes on
    "a.decided_at IS NULL AND (a.kind <> 'call' OR (o.state = 'planned' AND EXISTS"
    " (SELECT 1 FROM resume m WHERE m.key = a.key AND m.ask_id = a.id)))"
)
SPENT = """
SELECT s.job_id, coalesce(sum(CASE WHEN s.known = 1 THEN s.reserved_tokens END), 0) AS tokens,
  coalesce(sum(CASE WHEN s.known = 1 THEN s.reserved_usd END), 0) AS usd,
  coalesce(sum(CASE WHEN s.known = 0 THEN s.reserved_tokens END), 0) AS reserved_tokens,
  coalesce(sum(CASE WHEN s.known = 0 THEN s.reserved_usd END), 0) AS reserved_usd
FROM (
  SELECT job_id, reserved_tokens, reserved_usd, 0 AS known FROM run
  WHERE equipped_at IS NOT NULL AND finished_at IS NULL
  UNION ALL
  SELECT job_id, reserved_tokens, reserved_usd, CASE WHEN state = 'unknown' OR resolved_at IS NOT NULL THEN 0 ELSE 1 END
  FROM run WHERE equipped_at IS NOT NULL AND finished_at >= ?
) s GROUP BY s.job_id
"""
AMOUNTS = ("tokens", "usd", "reserved_tokens", "reserved_usd")
NOTES = "SELECT key, value, run_id, changed_at FROM notepad WHERE job_id = ? ORDER BY key"
MODELS = "SELECT id, slug, name, model, definition FROM job WHERE removed_at IS NULL AND definition <> '' ORDER BY slug"
# An agent's job says nothing of `agent`, or its name; a quote within a text is escaped, so this stands for the key alone.
# Texts are compared, and none is read: one that is damaged harms nobody here, and of 100,000 none has to be kept in mind.
AGENTS = "FROM job WHERE removed_at IS NULL AND definition <> '' AND definition NOT LIKE '%\"agent\": false%'"
UNFROZEN = f'SELECT id {AGENTS} AND model IS NULL AND definition NOT LIKE \'%"model": "%\' ORDER BY id'
BLOCKED = """
SELECT j.id, j.slug FROM job j WHERE j.id IN (
  SELECT i.job_id FROM incident i WHERE i.kind = 'blocked' AND i.ended_at IS NULL) ORDER BY j.slug
"""
IDS = "SELECT id, decided_at FROM ask WHERE id >= ? AND id < ? ORDER BY decided_at IS NOT NULL LIMIT 20"
LAST = "\U0010ffff"


class AgentViews:
    """The questions."""

    _db: Looks

    def activity(self, run_id: str) -> list[Json]:
        """What an agent did in a run, in order: each event as it told it, without long texts."""
        return [
            {**json.loads(row["detail"]), "number": row["number"], "at": zulu(row["at"]), "kind": row["kind"]}
            for row in self._db.execute(ACTIVITY, (run_id,)).fetchall()
        ]

    def prompt(self, run_id: str) -> str | None:
        """What its agent was sent first; None when that is not known (any more)."""
        row = self._db.execute("SELECT text FROM agent_prompt WHERE run_id = ?", (run_id,)).fetchone()
        return None if row is None else str(row["text"])

    def asks(self, *, open: bool = True, limit: int = 100) -> list[Json]:
        """What waits for a person's word; with `open` false what has waited too. The newest first."""
        rows = self._db.execute(ASKS.format(where=OPEN if open else "1 = 1"), (limit,)).fetchall()
        return [_ask(row) for row in rows]

    def find_ask(self, text: str) -> Json:
        """One of them, by its id or the beginning of it. Raises NotFound, Ambiguous."""
        rows = self._db.execute(IDS, (text, text + LAST)).fetchall() if text else []
        names = [row["id"] for row in rows]
        likely = [text] if text in names else [row["id"] for row in rows if row["decided_at"] is None] or names
        if not likely:
            raise NotFound(f"nothing with the id {text!r} waits for approval", "`horae status` lists what does")
        if len(likely) > 1:
            raise Ambiguous(f"several questions begin with {text!r}", "give more of the id", candidates=likely)
        return _ask(self._db.execute(ASKS.format(where="a.id = ?"), (likely[0], 1)).fetchone())

    def budget(self, since_us: int) -> Json:
        """What was used since then, and what is reserved or may have been used: of the home, and by job."""
        rows = self._db.execute(SPENT, (since_us,)).fetchall()
        jobs = {row["job_id"]: {name: _number(row[name]) for name in AMOUNTS} for row in rows}
        home = {name: sum(job[name] for job in jobs.values()) for name in AMOUNTS}
        return {**home, "jobs": jobs}

    def notes(self, job_id: str) -> list[Json]:
        """The notepad of a job."""
        return [
            {"key": row["key"], "value": row["value"], "run": row["run_id"], "changed_at": zulu(row["changed_at"])}
            for row in self._db.execute(NOTES, (job_id,)).fetchall()
        ]

    def watched(self, job_id: str) -> Json | None:
        """What the source of a job said when it was looked at last."""
        row = self._db.execute("SELECT * FROM watched WHERE job_id = ?", (job_id,)).fetchone()
        if row is None:
            return None
        return {**{name: row[name] for name in ("sha256", "text")}, "run": row["run_id"], "at": zulu(row["changed_at"])}

    def models_of_jobs(self) -> list[Json]:
        """Which model each agent's job uses: its pin, and what it is frozen at."""
        found: list[Json] = []
        for row in self._db.execute(MODELS).fetchall():
            try:
                definition = json.loads(row["definition"])
            except ValueError:  # whoever reads its file again mends it
                continue
            if definition.get("agent", True) is not False:
                told = {name: row[name] for name in ("id", "slug", "name")}
                found.append({**told, "pin": definition.get("model"), "frozen": row["model"]})
        return found

    def has_agents(self) -> bool:
        """Whether any job is an agent's."""
        return self._db.execute(f"SELECT 1 {AGENTS} LIMIT 1").fetchone() is not None

    def unfrozen(self) -> list[str]:
        """Ids of agents' jobs that have neither a pin nor been frozen at a model."""
        return [row["id"] for row in self._db.execute(UNFROZEN).fetchall()]

    def blocked(self) -> list[Json]:
        """Jobs with an open incident of kind `blocked`."""
        return [{"id": row["id"], "slug": row["slug"]} for row in self._db.execute(BLOCKED).fetchall()]


def _number(value: Any) -> Any:
    """A sum as JSON has it: PostgreSQL's of whole numbers is of a kind of its own."""
    return value if isinstance(value, float) else int(value)


def _ask(row: Any) -> Json:
    """A question. A draft that no run has made is of no job: it goes by the name that it would have."""
    body = json.loads(row["body"])
    return {
        "id": row["id"],
        "kind": row["kind"],
        "job_id": row["job_id"],
        "job": row["name"] if row["run_id"] is not None else str(body.get("name") or "a new job"),
        "slug": row["slug"],
        "run": row["run_id"],
        "body": body,
        "asked_by": row["asked_by"],
        "asked_at": zulu(row["asked_at"]),
        "expires_at": zulu(row["expires_at"]),
        "decision": row["decision"],
        "decided_at": zulu(row["decided_at"]),
        "decided_by": row["decided_by"],
        "reason": row["reason"],
    }
