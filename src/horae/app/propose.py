"""Propose a job: a draft that waits for a person's word, from whoever may not make one.

What is proposed could be made and would run at that moment, by the same checks as a job that is made; so a person is asked
of nothing that would be refused anyway. The same is checked once more when it is accepted: much may change in a month.
Nobody can bury what waits for people: so many drafts of one proposer are open at a time, and each for so long.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from horae.app.jobs import composed, oddities
from horae.core.text import one_line
from horae.errors import Invalid
from horae.ports import Home

Json = dict[str, Any]
ALLOWED = ("name", "timezone", "prompt")  # tools, secrets, programs and targets are a person's to grant
GOOD_FOR = timedelta(days=30)
OPEN_MAX = 20  # of one proposer: more than that nobody reads
REASON_CHARS_MAX = 400


def propose_job(home: Home, *, schedule: str, fields: Mapping[str, Any], reason: str | None = None) -> Json:
    """Put a job before people. `fields` are keys of a job file, of those that a draft may have."""
    for key, value in fields.items():
        if key not in ALLOWED:
            hint = f"a draft may have {', '.join(ALLOWED)}; a person adds the rest when it is a job"
            raise Invalid(f"a draft may not have {key}", hint, field=key)
        if value is not None and not isinstance(value, str):
            raise Invalid(f"{key} is no text", "write it as text", field=key)
    if not str(fields.get("prompt") or "").strip():
        raise Invalid("it is not said what to do", "write a prompt", field="prompt")
    made = composed(home, schedule=schedule, fields=fields)
    body = {
        "name": made.job.name,
        "schedule": made.job.schedule,
        "timezone": made.job.timezone,
        "prompt": fields["prompt"],
        "reason": one_line(reason, REASON_CHARS_MAX) if reason else None,
    }
    made_id = home.entropy(6).hex()
    expires = home.clock.now() + GOOD_FOR
    entry = home.store.transact(
        lambda tx: tx.doors.drafts.propose(body, id=made_id, actor=home.actor, expires=expires, most=OPEN_MAX)
    )
    home.wake()
    return {
        "ask": {"id": made_id, "kind": "job", "body": body, "expires_at": f"{expires:%Y-%m-%dT%H:%M:%SZ}"},
        "meaning": made.planned.meaning,
        "warnings": [*made.planned.warnings, *oddities(home, made.job, made.planned)],
        "entry": entry,
        "did": f"proposed it: a person decides (`horae approve {made_id}`, or in the dashboard)",
        "undo": None,
    }
