"""Propose a job: a draft that waits for a person's word, from whoever may not make one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from horae.errors import Invalid
from horae.ports import Home
from horae.timing.schedule import parse_schedule

Json = dict[str, Any]
ALLOWED = ("name", "timezone", "prompt")  # tools, secrets, programs and targets are a person's to grant
GOOD_FOR = timedelta(days=30)


def propose_job(home: Home, *, schedule: str, fields: Mapping[str, Any], reason: str | None = None) -> Json:
    """Put a job before people. `fields` are keys of a job file, of those that a draft may have."""
    for key in fields:
        if key not in ALLOWED:
            hint = f"a draft may have {', '.join(ALLOWED)}; a person adds the rest when it is a job"
            raise Invalid(f"a draft may not have {key}", hint, field=key)
    if not fields.get("prompt"):
        raise Invalid("it is not said what to do", "write a prompt", field="prompt")
    now = home.clock.now()
    timezone = str(fields.get("timezone") or home.settings.timezone)
    parsed = parse_schedule(schedule, timezone, anchor=now)
    body = {**fields, "schedule": parsed.written, "timezone": timezone, "reason": reason}
    made_id = home.entropy(6).hex()
    entry = home.store.transact(
        lambda tx: tx.doors.drafts.propose(body, id=made_id, actor=home.actor, expires=now + GOOD_FOR)
    )
    home.wake()
    return {
        "ask": {"id": made_id, "kind": "job", "body": body},
        "meaning": parsed.meaning,
        "warnings": list(parsed.warnings),
        "entry": entry,
        "did": f"proposed it: a person decides (`horae approve {made_id}`, or in the dashboard)",
        "undo": None,
    }
