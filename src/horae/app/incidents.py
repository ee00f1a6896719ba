"""What goes wrong again and again: look at it, acknowledge it, put it off."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from horae.app.jobs import find
from horae.errors import Invalid
from horae.ports import Home
from horae.timing.durations import duration_words

Json = dict[str, Any]
SHOWN = 200
SNOOZE_MAX_S = 366 * 86400


def list_incidents(home: Home, *, job: str | None = None, all: bool = False, limit: int = SHOWN) -> Json:
    """Open incidents; with `all` those too that are over."""
    job_id = find(home, job, removed=True).row["id"] if job is not None else None
    reader = home.read()
    try:
        return {"incidents": reader.incidents(all=all, job_id=job_id, limit=limit)}
    finally:
        reader.close()


def acknowledge(home: Home, *, incident: str, snooze_s: int | None = None) -> Json:
    """Be reminded no more of an incident, or not for so long. It ends by itself when its job works again."""
    if snooze_s is not None and not 1 <= snooze_s <= SNOOZE_MAX_S:
        raise Invalid("a snooze is from a second to a year", "write it as 4h", field="snooze", value=snooze_s)
    reader = home.read()
    try:
        found = reader.find_incident(incident)
    finally:
        reader.close()
    until = None if snooze_s is None else home.clock.now() + timedelta(seconds=snooze_s)
    home.store.transact(lambda tx: tx.incidents.acknowledge(found, actor=home.actor, until=until))
    home.wake()
    reader = home.read()
    try:
        shown = next(each for each in reader.incidents(all=True, job_id=None, limit=10**6) if each["id"] == found)
    finally:
        reader.close()
    what = "acknowledged" if snooze_s is None else f"snoozed for {duration_words(snooze_s)}"
    return {
        "incident": shown,
        "did": f"incident {found} of {shown['slug']} is {what}: {shown['says']}",
        "undo": None,
        "warnings": [],
    }
