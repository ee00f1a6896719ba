"""`calendar`: some days, with what will run on each of them. Nothing here writes.

The view is a preview: it begins now, and what has passed is `runs`' and `why`'s to tell. Days are those of one zone, the
home's; each job keeps its own zone, and clock changes of both are told.

A job with a few slots on a day is listed slot by slot, one with more is one summary with its count, so the work grows
with the days and never with the slots. What a person decided about a slot is always shown by itself. Summarised slots
are not looked at for collisions: what runs every minute meets everything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from horae.app.dayslots import LISTED_MAX, day_of, slots_by_day, used_up
from horae.app.jobs import find
from horae.app.preview import JOBS_MAX, PLANNED_MAX, beginning, live_rows
from horae.app.upcoming import (
    NAMED_MAX,
    NO_CALENDARS,
    Calendars,
    Decided,
    blocked_words,
    by_repeat,
    clock_words,
    decided_of,
    excluded_words,
    left_out,
    local,
    noted,
    others_of,
    slot_json,
    slots_of,
    some_of,
    together,
)
from horae.core.cadence import DAMAGE
from horae.core.identity import slot_key
from horae.core.instants import to_us
from horae.core.spread import spread_offset_s
from horae.errors import Invalid
from horae.ports import Home, Reader, Record
from horae.timing.clockchange import EPOCH, SECOND, instants_of
from horae.timing.notes import ClockNotes, change_words, changes_between, shift_words
from horae.timing.recurrence import RecurrenceSet
from horae.timing.vocabulary import listed
from horae.timing.zones import version, zone

Json = dict[str, Any]
DAYS_MAX = 366
YEAR_MIN = 1970
RUNS_MAX = 50_000  # listed in all: nobody reads more, and the answer must stay small enough to print
WORDS = {"today": 0, "tomorrow": 1}
SHOWN = ("active", "paused", "quarantined")
OFFSET = slice(len("2027-03-28T03:00:00"), None)  # what stands behind that
MARKS = {"skip": "skipped", "move": "moved"}


@dataclass
class View:
    """What is being gathered. `edges` are the instants at which days begin, and the last one ends."""

    zone: str
    now: datetime
    edges: list[datetime]
    days: list[Json]
    calendars: Calendars = field(default_factory=lambda: NO_CALENDARS)
    notes: list[Json] = field(default_factory=list[Json])
    warnings: list[str] = field(default_factory=list[str])
    dues: list[tuple[datetime, str, Json]] = field(default_factory=list[tuple[datetime, str, Json]])
    """Listed runs that will happen: (due, slug, run)."""
    unread: list[str] = field(default_factory=list[str])
    """Jobs of which nothing is known but their name."""
    count: int = 0
    """Of listed runs."""
    listed: int = LISTED_MAX
    """Of one job on one day."""

    @property
    def after(self) -> datetime:
        """Slots after this instant are shown ..."""
        return max(self.now.replace(microsecond=0), self.edges[0] - SECOND)

    @property
    def until(self) -> datetime:
        """... up to this one."""
        return self.edges[-1] - SECOND

    def day_of(self, instant: datetime) -> int:
        """The place of the day that holds an instant of the view."""
        return day_of(self.edges, instant)

    def time(self, instant: datetime) -> str:
        """The time of day in the view's zone."""
        shown = instant.astimezone(zone(self.zone))
        return f"{shown:%H:%M:%S}" if shown.second else f"{shown:%H:%M}"


def calendar(
    home: Home,
    *,
    job: str | None = None,
    start: str | None = None,
    days: int = 14,
    timezone: str | None = None,
    listed: int = LISTED_MAX,
) -> Json:
    """The shape of `calendar`: `days` days from `start` (default today) in the zone of the home, or another.

    Of each job at most `listed` slots a day are listed one by one.
    """
    if not 1 <= days <= DAYS_MAX:
        raise Invalid(f"--days must be from 1 to {DAYS_MAX}, not {days}")
    now = home.clock.now()
    view = _opened(home.settings.timezone if timezone is None else timezone, start, days, now)
    view.calendars, view.listed = home.settings.calendars, listed
    shown: list[Json] = []
    one = None if job is None else find(home, job).row
    reader = home.read()
    try:
        for row in live_rows(reader, SHOWN) if one is None else [one]:
            if view.count >= RUNS_MAX:
                view.warnings.append(f"jobs from {row['slug']} on are not shown: ask for fewer days, or for one job")
                break
            shown.append(_job(row))
            _gather(view, reader, row)
        _tell_hidden(view, 0 if one is not None else sum(reader.counts().get(state, 0) for state in SHOWN))
    finally:
        reader.close()
    collisions = _collided(view)
    for day in view.days:
        day["runs"].sort(key=_order("due"))
        day["summaries"].sort(key=_order("first"))
    named = None if one is None else {key: one[key] for key in ("id", "slug", "name", "state")}
    return {
        "job": named,
        "from": local(view.edges[0], view.zone),
        "to": local(view.edges[-1], view.zone),
        "today": now.astimezone(zone(view.zone)).date().isoformat(),
        "timezone": view.zone,
        "tzdata": version(),
        "days": view.days,
        "collisions": collisions,
        "notes": sorted(view.notes, key=_order("at")),
        "jobs": shown,
        "warnings": view.warnings,
    }


def _order(key: str) -> Callable[[Json], tuple[datetime, str]]:
    return lambda item: (datetime.fromisoformat(item[key]), item["job"])


def _opened(name: str, start: str | None, days: int, now: datetime) -> View:
    """The days, empty, with the clock changes of the view's zone."""
    place = zone(name)
    ahead = WORDS.get("today" if start is None else start.strip().lower())
    begin = beginning(start, name, now) if start is not None and ahead is None else now
    first = begin.astimezone(place).date() + timedelta(days=ahead or 0)
    if first.year < YEAR_MIN:
        raise Invalid(f"--from {start!r} is too far back", f"the first year is {YEAR_MIN}")
    dates = [first + timedelta(days=number) for number in range(days + 1)]
    # A day that begins in a gap begins behind it; where midnight comes twice, nearly all of the day is behind the second
    edges = [instants_of(datetime.combine(day, datetime.min.time()), name, "after", "last")[0] for day in dates]
    shown: list[Json] = [
        {"date": day.isoformat(), "clock_change": None, "runs": [], "summaries": []} for day in dates[:-1]
    ]
    view = View(name, now, edges, shown)
    for change in changes_between(name, edges[0] - SECOND, edges[-1] - SECOND):
        at = EPOCH + timedelta(seconds=change.at)
        shown[view.day_of(at)]["clock_change"] = {
            "at": local(at, name),
            "before": local(at - SECOND, name)[OFFSET],
            "after": local(at, name)[OFFSET],
            "shift": shift_words(change),
            "text": change_words(change),
        }
    if edges[0] < now.astimezone(place).replace(hour=0, minute=0, second=0, microsecond=0):
        view.warnings.append("what has passed is not shown: `horae runs` lists it, and `horae why JOB` explains it")
    return view


def _job(row: Record) -> Json:
    return {
        "job": row["slug"],
        "job_id": row["id"],
        "name": row["name"],
        "state": row["state"],
        "meaning": row["meaning"] or None,
    }


def _tell_hidden(view: View, known: int) -> None:
    if view.unread:
        who = some_of(view.unread[:NAMED_MAX], len(view.unread))
        view.warnings.append(f"not shown, since a file that has never been valid says nothing: {who}")
    if known > JOBS_MAX:
        view.warnings.append(f"{JOBS_MAX} of {known} jobs are shown: `horae calendar JOB` shows one")


def _gather(view: View, reader: Reader, row: Record) -> None:
    """Everything about one job into the days. One damaged record harms only itself."""
    if row["completed_at"] is not None:
        view.warnings.append(f"{row['slug']} is completed ({row['completed_reason']}): it has no slots ahead")
        return
    if not row["definition"]:
        view.unread.append(row["slug"])
        return
    if view.until <= view.after:
        return
    try:
        found = list(_runs_of(view, row, decided_of(reader.ahead(row["id"], to_us(view.now), PLANNED_MAX))))
        names = [name for name in json.loads(row["definition"]).get("exclude", ()) if name in view.calendars]
        blocked = blocked_words(row, view.calendars)
    except DAMAGE as error:
        view.warnings.append(f"{row['slug']} is not shown, what is stored of it is damaged: {error}")
        return
    runs = row["state"] == "active"
    if blocked is not None and found:
        view.warnings.append(blocked)
    for at, due, shown in found:
        view.count += 1
        if due is None:
            view.days[at]["summaries"].append(shown)
            continue
        view.days[at]["runs"].append(shown)
        if runs and not {"skipped", "excluded"}.intersection(shown["marks"]):
            view.dues.append((due, row["slug"], shown))
    if names and any(due is None for _, due, _ in found):
        view.warnings.append(f"the counts of {row['slug']} include slots that {listed(names)} may exclude")


def _runs_of(
    view: View, row: Record, decided: Mapping[datetime, Decided]
) -> Iterator[tuple[int, datetime | None, Json]]:
    """(day, due, run) of what is listed, and (day, None, summary) of what is not."""
    slots = slots_of(row)
    spread = timedelta(seconds=spread_offset_s(row["id"], row["spread_s"]))
    # Slots stand on the day on which they are due: what is looked for among them is earlier by the spread
    after, end, edges = view.after - spread, view.until - spread, [edge - spread for edge in view.edges]
    promised, others = by_repeat(row, slots, decided, view.now - spread, after)
    until = end if others is None else used_up(slots, decided, after, end, others)
    apart = {slot for slot, item in decided.items() if item.exception or until is None or slot > until}
    for slot, item in promised.items():
        if slot in apart and view.after < item.due <= view.until:
            special = _special(view, row, slots, slot, item)
            yield view.day_of(item.due), item.due, _run(view, row, slot, item.due, *special)
    for day, count, some in slots_by_day(slots, apart, edges, after, until or after, view.listed):
        if len(some) == count:
            for slot in some:
                special = _special(view, row, slots, slot, Decided(slot + spread, None))
                yield day, slot + spread, _run(view, row, slot, slot + spread, *special)
        else:
            yield day, None, _summary(view, row, count, some[0] + spread, some[-1] + spread)
    if row["state"] == "active":
        job = {"job": row["slug"], "job_id": row["id"], "name": row["name"]}
        last = until or max((view.after, *(item.due for item in promised.values() if item.exception is None)))
        view.notes += [{**job, **note} for note in left_out(ClockNotes(slots), view.after, last, slots.zone, view.zone)]


def _special(
    view: View, row: Record, slots: RecurrenceSet, slot: datetime, item: Decided
) -> tuple[str | None, str | None]:
    """What is special about a slot: the mark for it, and in words."""
    if item.exception:
        return MARKS[item.exception], MARKS[item.exception]
    words = clock_words(ClockNotes(slots), slot, slots.zone, view.zone)
    shut = excluded_words(row, slot, view.calendars)
    if shut is not None:
        return "excluded", noted(shut, words)
    return ("clock", words) if words else (None, None)


def _run(view: View, row: Record, slot: datetime, due: datetime, mark: str | None, words: str | None) -> Json:
    """One run that is listed. `mark` says what is special about it in one word, its note in a sentence."""
    state = row["state"]
    idle = None if state == "active" else f"{state}: will not run"
    return {
        "job": row["slug"],
        "job_id": row["id"],
        "name": row["name"],
        **slot_json(slot, row["timezone"], slot_key(row["id"], slot), noted(words, idle), due),
        "time": view.time(due),
        "state": state,
        "marks": [mark] if mark else [],
    }


def _summary(view: View, row: Record, count: int, first: datetime, last: datetime) -> Json:
    return {
        "job": row["slug"],
        "job_id": row["id"],
        "name": row["name"],
        "count": count,
        "first": local(first, row["timezone"]),
        "last": local(last, row["timezone"]),
        "meaning": row["meaning"],
        "time": view.time(first),
        "last_time": view.time(last),
        "state": row["state"],
    }


def _collided(view: View) -> list[Json]:
    """Mark the listed runs that are due at the same instant, and list these instants."""
    found: list[Json] = []
    for group in together(view.dues):
        for (_, _, run), words in zip(group, others_of(group), strict=True):
            run["marks"].append("together")
            run["note"] = noted(run["note"], words)
        found.append({"at": local(group[0][0], view.zone), "jobs": [slug for _, slug, _ in group]})
    return found
