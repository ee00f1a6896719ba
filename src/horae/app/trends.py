"""`trends`: how runs went over days, in sums. Nothing here writes.

Days are those of the home's zone. At most so many runs are read, the newest first, which covers most homes' year; where
there are more, what is told begins later, and says so, and nothing is compared with a period that is not whole.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from horae.app.jobs import find
from horae.app.upcoming import local
from horae.core.instants import from_us, to_us
from horae.core.trend import BAD, Fact, Sum, changed, summed
from horae.errors import Invalid
from horae.ports import Home, Reader, Record
from horae.timing.clockchange import instants_of
from horae.timing.zones import zone

Json = dict[str, Any]
DAYS_MAX = 366
ROWS_MAX = 100_000  # runs, and as many slots without one
JOBS_MAX = 100  # rows of the table of jobs: those with the most trouble, then the busiest
LIVE = {"claimed": "running"}


def trends(home: Home, *, days: int = 30, job: str | None = None) -> Json:
    """The shape of `trends`: the last `days` days, today being the last of them, against as many before."""
    if not 1 <= days <= DAYS_MAX:
        raise Invalid(f"`days` must be from 1 to {DAYS_MAX}, not {days}", None, field="days", value=days)
    one = None if job is None else find(home, job).row
    name, now = home.settings.timezone, home.clock.now()
    today = now.astimezone(zone(name)).date()
    dates = [today + timedelta(days=number) for number in range(1 - 2 * days, 2)]
    edges = [to_us(instants_of(datetime.combine(day, datetime.min.time()), name, "after", "last")[0]) for day in dates]
    begin = edges[days]
    reader = home.read()
    try:
        runs, since = _read(reader, edges[0], edges[-1], None if one is None else one["id"])
        facts = [fact for fact in runs if fact.at >= begin]
        before = [fact for fact in runs if fact.at < begin]
        by_job: dict[str, Sum] = defaultdict(Sum)
        by_day = [Sum() for _ in dates[days:-1]]
        for fact in facts:
            by_job[fact.job].add(fact)
            by_day[max(0, bisect_right(edges, fact.at) - 1 - days)].add(fact)
        names = reader.names(list(by_job))
    finally:
        reader.close()
    total, old = summed(facts).told(), summed(before).told()
    whole = since is None or since <= edges[0]
    table: list[Json] = [
        {"job": names[key]["slug"], "job_id": key, "name": names[key]["name"], "there": names[key]["removed_at"] is None,
         **made.told()}
        for key, made in by_job.items()
        if key in names
    ]  # fmt: skip
    table.sort(key=_worst_first)
    left_out: list[str] = []
    if since is not None and since > begin:
        told = local(from_us(since), name)
        left_out.append(f"what was before {told}: more than {ROWS_MAX:,} runs or slots; ask for fewer days or one job")
    if len(table) > JOBS_MAX:
        left_out.append(f"{len(table) - JOBS_MAX} of {len(table)} jobs in the table: ask for one job")
    return {
        "days": days,
        "from": dates[days].isoformat(),
        "to": today.isoformat(),
        "timezone": name,
        "job": None if one is None else one["slug"],
        "by_day": [{"day": day.isoformat(), **made.told()} for day, made in zip(dates[days:-1], by_day, strict=True)],
        "total": total,
        "before": old if whole and before else None,
        "change": changed(total, old) if whole and before else None,
        "jobs": table[:JOBS_MAX],
        "left_out": left_out,
    }


def _worst_first(row: Json) -> tuple[int, int, str]:
    return -sum(row["outcomes"][word] for word in BAD), -row["count"], row["job"]


def _read(reader: Reader, start: int, end: int, job_id: str | None) -> tuple[list[Fact], int | None]:
    """The facts of a stretch, and since when they are whole, where that is not the whole of it."""
    runs = list(reader.ran(start, end, job_id=job_id, limit=ROWS_MAX + 1))
    idle = list(reader.not_run(start, end, job_id=job_id, limit=ROWS_MAX + 1))
    cut = [
        *([runs[1]["claimed_at"]] if len(runs) > ROWS_MAX else []),
        *([min(row["due_at"] for row in idle)] if len(idle) > ROWS_MAX else []),
    ]
    since = max(cut) if cut else None
    return [fact for fact in _facts(runs, idle) if since is None or fact.at >= since], since


def _facts(runs: list[Record], idle: list[Record]) -> Iterator[Fact]:
    for row in runs:
        started, finished = row["started_at"], row["finished_at"]
        took = None if started is None or finished is None else max(0.0, (finished - started) / 1e6)  # as runs say it
        timely = row["trigger"] == "schedule" and row["attempt"] == 1 and started is not None
        late = max(0.0, (started - row["due_at"]) / 1000) if timely else None
        word = str(LIVE.get(row["state"], row["state"]))
        yield Fact(row["job_id"], row["claimed_at"], word, took, late, row["cost_usd"], row["tokens"])
    for row in idle:
        yield Fact(row["job_id"], row["due_at"], row["outcome"], slots=row["slots"])
