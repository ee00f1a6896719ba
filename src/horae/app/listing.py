"""`list`: jobs, one page, by state, and by what stands in their names and schedules."""

from __future__ import annotations

from typing import Any

from horae.errors import Invalid
from horae.ports import Home

Json = dict[str, Any]
STATES = ("active", "paused", "completed", "quarantined")
LIMIT_MAX = 1000


def list_jobs(
    home: Home,
    *,
    all: bool = False,
    state: str | None = None,
    search: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Json:
    """The shape of `list`. Without `all` completed jobs are left out, unless that is the state asked for."""
    if state is not None and state not in STATES:
        raise Invalid(f"{state!r} is no state of a job", f"states are {', '.join(STATES)}", field="state")
    if not 1 <= limit <= LIMIT_MAX:
        raise Invalid(f"limit must be from 1 to {LIMIT_MAX}, not {limit}", None, field="limit")
    reader = home.read()
    try:
        return reader.list_jobs(all=all, state=state, limit=limit, cursor=cursor, search=search)
    finally:
        reader.close()
