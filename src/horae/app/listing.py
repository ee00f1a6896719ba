"""`list`: jobs, one page, by state, and by what stands in their names and schedules."""

from __future__ import annotations

from typing import Any

from horae.errors import Invalid
from horae.ports import Home

Json = dict[str, Any]
STATES = ("active", "paused", "completed", "quarantined")
LIMIT_MAX = 1000
STRIP_MAX = 100


def list_jobs(
    home: Home,
    *,
    all: bool = False,
    state: str | None = None,
    search: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    strip: int = 0,
) -> Json:
    """The shape of `list`. Without `all` completed jobs are left out, unless that is the state asked for.

    With `strip` each job has so many of its latest occurrences, and `counts` says how many jobs are in each state.
    """
    if state is not None and state not in STATES:
        raise Invalid(f"{state!r} is no state of a job", f"states are {', '.join(STATES)}", field="state")
    if not 1 <= limit <= LIMIT_MAX:
        raise Invalid(f"limit must be from 1 to {LIMIT_MAX}, not {limit}", None, field="limit")
    reader = home.read()
    try:
        page = reader.list_jobs(all=all, state=state, limit=limit, cursor=cursor, search=search)
        if strip:
            strips = reader.strips([job["id"] for job in page["jobs"]], min(strip, STRIP_MAX))
            jobs = [{**job, "strip": strips[job["id"]]} for job in page["jobs"]]
            page = {**page, "jobs": jobs, "counts": reader.counts()}
        return page
    finally:
        reader.close()
