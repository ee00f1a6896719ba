"""What the runs of agents leave, in the transaction that ends them: so of a stale owner nothing stays.

- Of every run: the model, what it used, what it was sent and did. Its reservation becomes what it used, as far as that is
  known; where an answer was still out, its bound counts. Of a run whose end nobody saw the whole reservation stays.
- Of every run whose end is known, replays excepted: its notes, and its drafts as questions to a person. One that goes on
  later has not ended: the run that does tells them again.
- Of one that completed: what the source that it watches said. A replay changes nothing of that either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha1
from itertools import count
from typing import Any

from horae.core.activity import Work
from horae.core.instants import to_us
from horae.core.model import Claim, End, Ending
from horae.store.database import Db

SPENT = (
    "UPDATE run SET model = coalesce(?, model), prompt_sha256 = ?, turns = ?, tokens = ?, tokens_in = ?, tokens_out = ?,"
    " cost_usd = ?, reserved_tokens = coalesce(?, reserved_tokens), reserved_usd = coalesce(?, reserved_usd, ?)"
    " WHERE id = ? AND token = ?"
)
DID = "INSERT INTO activity (run_id, number, at, kind, detail) VALUES (?, ?, ?, ?, ?)"
SENT = "INSERT INTO agent_prompt (run_id, text) VALUES (?, ?)"
NOTE = (
    "INSERT INTO notepad (job_id, key, value, run_id, changed_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (job_id, key)"
    " DO UPDATE SET value = excluded.value, run_id = excluded.run_id, changed_at = excluded.changed_at"
)
FORGET = "DELETE FROM notepad WHERE job_id = ? AND key = ?"
WATCHED = (
    "INSERT INTO watched (job_id, sha256, text, run_id, changed_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (job_id)"
    " DO UPDATE SET sha256 = excluded.sha256, text = excluded.text, run_id = excluded.run_id,"
    " changed_at = excluded.changed_at"
)
ASK = (
    "INSERT INTO ask (id, kind, job_id, run_id, key, body, asked_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO NOTHING"
)
NO_END = ("lose", "park")  # that anybody knows
DRAFTS = ("job", "message")
ASK_ID_CHARS = 8
AT_MAX_S = 1e11  # an instant beyond the year 5000 is none


class AgentEnds:
    """The verbs on what agents leave, in one transaction."""

    def __init__(self, db: Db, now: datetime) -> None:
        self._db = db
        self._us = to_us(now)

    def leave(self, ends: Sequence[End]) -> None:
        """Write down what these runs, which have just ended, used and left."""
        ends = [end for end in ends if end.claim.job.agent is not False]
        if not ends:
            return
        self._db.executemany(SPENT, [_spent(end.claim, end.ending) for end in ends])
        for end in ends:
            work = work_in(end.ending)
            if work is not None:
                self._on_record(end.claim, work)
                if end.ending.event not in NO_END and end.claim.replay is None:
                    self._left(end, work)

    def ask(self, claim: Claim, kind: str, body: Mapping[str, Any], expires_us: int | None = None) -> str:
        """Put a question to a person; its id, short enough to be typed."""
        text = json.dumps(body, sort_keys=True)
        for number in count():
            name = sha1(f"{claim.run_id}/{kind}/{number}".encode(), usedforsecurity=False).hexdigest()[:ASK_ID_CHARS]
            row = (name, kind, claim.job_id, claim.run_id, claim.key, text, self._us, expires_us)
            if self._db.execute(ASK, row).rowcount == 1:
                return name
        raise AssertionError("numbers do not end")

    def _on_record(self, claim: Claim, work: Work) -> None:
        rows = [(claim.run_id, number, *self._event(event)) for number, event in enumerate(work.trace)]
        self._db.executemany(DID, rows)
        if work.prompt is not None:
            self._db.execute(SENT, (claim.run_id, _text(work.prompt)))

    def _event(self, event: Mapping[str, Any]) -> tuple[int, str, str]:
        """When, what, and the rest of it."""
        at = event.get("at")
        at_us = round(at * 1e6) if isinstance(at, int | float) and 0 <= at < AT_MAX_S else self._us
        rest = {key: value for key, value in event.items() if key not in ("at", "kind")}
        return (at_us, _text(str(event["kind"])), json.dumps(rest))

    def _left(self, end: End, work: Work) -> None:
        claim = end.claim
        for key, value in work.notes:
            if value is None:
                self._db.execute(FORGET, (claim.job_id, _text(key)))
            elif key:
                self._db.execute(NOTE, (claim.job_id, _text(key), _text(value), claim.run_id, self._us))
        for draft in work.drafts:
            if draft.get("what") in DRAFTS and isinstance(draft.get("body"), Mapping):
                self.ask(claim, draft["what"], draft["body"])
        if end.ending.event == "complete" and work.watched is not None:
            self._db.execute(WATCHED, (claim.job_id, *map(_text, work.watched), claim.run_id, self._us))


def work_in(ending: Ending) -> Work | None:
    """What an agent did, if it got so far and that is known."""
    return None if ending.result is None else ending.result.work


def _spent(claim: Claim, ending: Ending) -> tuple[object, ...]:
    """The values of `SPENT`."""
    work = work_in(ending)
    tokens, usd, least = _charge(ending, work)
    how: tuple[object, ...] = (None,) * 7
    if work is not None:
        seen = work.tokens + work.open_bound
        model, sent = _maybe(work.model), _maybe(work.prompt_sha256)
        how = (model, sent, work.turns, seen, work.input, work.output, work.usd)
    return (*how, tokens, usd, least, claim.run_id, claim.token)


def _charge(ending: Ending, work: Work | None) -> tuple[int | None, float | None, float | None]:
    """What the run counts for from now on: tokens and dollars, None for all that it reserved, and then at least these."""
    if ending.event == "lose":
        return None, None, None
    if work is None:
        begun = ending.event != "block" and (ending.result is None or ending.result.refused is None)
        return (None, None, None) if begun else (0, 0.0, None)
    usd = work.usd if work.open_bound == 0 else None
    return work.tokens + work.open_bound, usd, work.usd


def _maybe(text: str | None) -> str | None:
    return None if text is None else _text(text)


def _text(text: str) -> str:
    """Without halves of characters, which no database takes."""
    return text.encode("utf-8", "replace").decode()
