"""`agenda`: what was and what will be between two instants, on one line of time. Nothing here writes.

The past is the store's: occurrences that have begun or ended, by the instant at which they were due. The future is
`calendar`'s, worked out from schedules with what people decided laid over it. At the seam stand occurrences that are due and
have not begun, and those that are tried again: they are planned, and no schedule tells them any more.

The future is looked at first. What begins between both looks is in both, and the past wins; the other way round it would
be in neither.

A day shows so many entries at most (core/dayfold.py): what is beyond is counted, not dropped. What cannot even be counted,
since a stretch holds more rows than are read at once, is told in `left_out`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from horae.app.calendar import calendar
from horae.app.jobs import find
from horae.app.upcoming import local
from horae.core.dayfold import Day, Fold, Mark, folded
from horae.core.instants import from_us, to_us
from horae.errors import Invalid
from horae.ports import Home, Record
from horae.timing.clockchange import EPOCH, SECOND, instants_of
from horae.timing.notes import change_words, changes_between, shift_words
from horae.timing.zones import zone

Json = dict[str, Any]
DAYS_MAX = 62
ROWS_MAX = 100_000  # of the past that are read at once
WAITING_MAX = 2000
LISTED_MAX = 4  # slots of one job on one day that are listed one by one, unless somebody asks for more
A_DAY_MAX = 2000
LIVE = ("claimed", "running")


@dataclass
class Stretch:
    """What is asked for. `edges` are the instants at which its days begin, in microseconds; the last one ends it."""

    start: int
    end: int
    zone: str
    now: int
    edges: list[int]
    dates: list[str]
    names: dict[str, tuple[str, str, bool]] = field(default_factory=dict[str, tuple[str, str, bool]])
    """By job: its slug, its name, whether it is there still."""
    left_out: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])

    def day_of(self, at: int) -> int:
        """The place of the day that holds an instant of the stretch."""
        return max(0, bisect_right(self.edges, at) - 1)


def agenda(
    home: Home,
    *,
    start: str,
    end: str,
    job: str | None = None,
    timezone: str | None = None,
    listed: int = LISTED_MAX,
    a_day: int = 200,
) -> Json:
    """The shape of `agenda`: from the day of `start` until before `end`, in the home's zone or another.

    Days are told whole, since a summary is one of a day: `start` and `end` of the answer say from when to when.
    Of each job at most `listed` slots a day are given one by one, and of each day at most `a_day` entries.
    """
    now = home.clock.now()
    stretch = _stretch(start, end, home.settings.timezone if timezone is None else timezone, now)
    if not (1 <= listed <= A_DAY_MAX and 2 <= a_day <= A_DAY_MAX):
        raise Invalid(f"a day holds from 2 to {A_DAY_MAX} entries, a job from 1", "ask for fewer days instead")
    one = None if job is None else find(home, job).row
    days: list[list[Mark]] = [[] for _ in stretch.dates]
    folds: list[list[Fold]] = [[] for _ in stretch.dates]
    changes, notes, spans = _shifts(stretch), list[Json](), list[Json]()
    ahead = _ahead(home, stretch, one, listed, folds, notes)
    seen: set[str] = set()
    for at, mark in _behind(home, stretch, one, spans):
        seen.add(mark.item["key"])
        days[at].append(mark)
    for at, mark, key in ahead:
        if key not in seen:
            days[at].append(mark)
    items: list[Json] = []
    summaries: list[Json] = spans
    for date, marks, others in zip(stretch.dates, days, folds, strict=True):
        day = folded(marks, listed, a_day, others)
        items += [_finished(stretch, mark) for mark in day.listed]
        summaries += _summaries(stretch, date, day)
    _entries(home, items)
    return {
        "start": local(from_us(stretch.start), stretch.zone),
        "end": local(from_us(stretch.end), stretch.zone),
        "now": local(now, stretch.zone),
        "timezone": stretch.zone,
        "job": None if one is None else one["slug"],
        "items": items,
        "summaries": summaries,
        "clock_changes": changes,
        "notes": notes,
        "warnings": stretch.warnings,
        "left_out": stretch.left_out,
    }


def _stretch(start: str, end: str, name: str, now: datetime) -> Stretch:
    zone(name)
    opens, closes = _instant("start", start, name), _instant("end", end, name)
    if closes <= opens:
        raise Invalid("`end` must be later than `start`", None, field="end", value=end)
    if closes - opens > timedelta(days=DAYS_MAX, hours=2):
        raise Invalid(f"at most {DAYS_MAX} days are told at once", "ask for a shorter stretch", field="end", value=end)
    first, last = opens.astimezone(zone(name)).date(), (closes - SECOND).astimezone(zone(name)).date()
    dates = [first + timedelta(days=number) for number in range((last - first).days + 2)]
    edges = [to_us(instants_of(datetime.combine(day, datetime.min.time()), name, "after", "last")[0]) for day in dates]
    return Stretch(edges[0], edges[-1], name, to_us(now), edges, [day.isoformat() for day in dates[:-1]])


def _instant(what: str, text: str, name: str) -> datetime:
    """An instant as ISO writes it; without an offset it is a wall time of the zone, a day alone its midnight."""
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        example = "for example 2026-12-24 or 2026-12-24T18:00:00+01:00"
        raise Invalid(f"`{what}` is no instant: {text[:60]!r}", example, field=what, value=text[:200]) from None
    if not 1970 <= at.year <= 2999:
        raise Invalid(f"`{what}` is too far away", "years from 1970 to 2999 are told", field=what, value=text[:200])
    return instants_of(at, name, "after", "last")[0] if at.tzinfo is None else at.astimezone(UTC)


def _shifts(stretch: Stretch) -> list[Json]:
    """The clock changes of the zone, with the day on which each one is."""
    found: list[Json] = []
    for change in changes_between(stretch.zone, from_us(stretch.start) - SECOND, from_us(stretch.end) - SECOND):
        at = EPOCH + change.at * SECOND
        day = stretch.dates[stretch.day_of(to_us(at))]
        found.append(
            {"at": local(at, stretch.zone), "day": day, "shift": shift_words(change), "text": change_words(change)}
        )
    return found


def _behind(home: Home, stretch: Stretch, one: Record | None, spans: list[Json]) -> Iterator[tuple[int, Mark]]:
    """What the store knows: the past, what goes on, and what is due or tried again. Spans of missed slots go to `spans`."""
    job_id = None if one is None else one["id"]
    reader = home.read()
    try:
        stretch.now = max(stretch.now, to_us(home.clock.now()))
        rows = list(reader.past(stretch.start, stretch.end, job_id=job_id, limit=ROWS_MAX + 1))
        waiting = reader.waiting_slots(
            stretch.start, stretch.end, job_id=job_id, now=stretch.now, limit=WAITING_MAX + 1
        )
        reaching = reader.reaching(stretch.start, job_id=job_id)
    finally:
        reader.close()
    if len(rows) > ROWS_MAX:
        rows = rows[-ROWS_MAX:]
        since = local(from_us(rows[0]["due_at"]), stretch.zone)
        stretch.left_out.append(
            f"what was due before {since}: there are more than {ROWS_MAX:,} occurrences; ask for fewer days or one job"
        )
    if len(waiting) > WAITING_MAX:
        stretch.left_out.append(f"more than {WAITING_MAX:,} occurrences wait for their turn; the first are shown")
    for row in (*reaching, *rows, *waiting[:WAITING_MAX]):
        stretch.names.setdefault(row["job_id"], (row["slug"], row["name"], row["removed_at"] is None))
        if row["span_to"] is not None and (row["span_count"] or 0) > 1:
            spans.append(_span(stretch, row))
        else:
            word = _word(row)
            yield (
                stretch.day_of(row["due_at"]),
                Mark(row["job_id"], row["due_at"], word, {"key": row["key"], "row": row}),
            )


def _word(row: Record) -> str:
    """What became of it, in the one word that people look for."""
    match row["state"], row["outcome"]:
        case "planned", _:
            return "skipped" if row["exception"] == "skip" else "waiting"
        case "claimed", _:
            return str(row["run_state"]) if row["run_state"] in LIVE else "claimed"
        case _, "ran":
            return str(row["run_state"] or "ran")
        case _, outcome:
            return str(outcome)


def _span(stretch: Stretch, row: Record) -> Json:
    """Many missed slots on one row: from the first to the last of them."""
    slug, name, there = stretch.names[row["job_id"]]
    first, last = row["slot_at"], row["span_to"]
    return {
        "job": slug,
        "job_id": row["job_id"],
        "name": name,
        "there": there,
        "day": stretch.dates[stretch.day_of(first)],
        "first": local(from_us(first), stretch.zone),
        "last": local(from_us(last), stretch.zone),
        "count": row["span_count"],
        "by": {str(row["outcome"]): row["span_count"]},
        "jobs": 1,
        "span": True,
        "key": row["key"],
        "reason": row["reason"],
    }


def _ahead(
    home: Home,
    stretch: Stretch,
    one: Record | None,
    listed: int,
    folds: list[list[Fold]],
    notes: list[Json],
) -> list[tuple[int, Mark, str]]:
    """What schedules say of the part of the stretch that is still to come."""
    begin = max(stretch.start, stretch.now)
    if begin >= stretch.end or (one is not None and one["removed_at"] is not None):
        return []
    place = zone(stretch.zone)
    first = from_us(begin).astimezone(place).date()
    last = (from_us(stretch.end) - SECOND).astimezone(place).date()
    found = calendar(
        home,
        job=None if one is None else one["id"],
        start=first.isoformat(),
        days=(last - first).days + 1,
        timezone=stretch.zone,
        listed=listed,
    )
    stretch.warnings += found["warnings"]
    notes += [note for note in found["notes"] if stretch.start <= _us(note["at"]) < stretch.end]
    made: list[tuple[int, Mark, str]] = []
    for day in found["days"]:
        for run in day["runs"]:
            due = _us(run["due"])
            if stretch.start <= due < stretch.end:
                stretch.names.setdefault(run["job_id"], (run["job"], run["name"], True))
                mark = Mark(run["job_id"], due, _planned_word(run), {"key": run["key"], "run": run})
                made.append((stretch.day_of(due), mark, run["key"]))
        for some in day["summaries"]:
            stretch.names.setdefault(some["job_id"], (some["job"], some["name"], True))
            opens = _us(some["first"])
            if opens < stretch.end:
                word = "planned" if some["state"] == "active" else some["state"]
                fold = Fold([some["job_id"]], opens, _us(some["last"]), {word: some["count"]})
                folds[stretch.day_of(max(opens, stretch.start))].append(fold)
    return made


def _planned_word(run: Mapping[str, Any]) -> str:
    marks = run["marks"]
    if run["state"] != "active":
        return str(run["state"])
    return next((word for word in ("skipped", "excluded", "moved") if word in marks), "planned")


def _us(text: str) -> int:
    return to_us(datetime.fromisoformat(text))


def _finished(stretch: Stretch, mark: Mark) -> Json:
    """One occurrence, as it is told."""
    slug, name, there = stretch.names[mark.job]
    item = mark.item
    row: Record | None = item.get("row")
    slot = row["slot_at"] if row is not None else _us(item["run"]["slot"])
    own: Json = {
        "key": item["key"],
        "job": slug,
        "job_id": mark.job,
        "name": name,
        "there": there,
        "slot": local(from_us(slot), stretch.zone),
        "slot_utc": _zulu(slot),
        "due": local(from_us(mark.at), stretch.zone),
        "due_utc": _zulu(mark.at),
        "word": mark.word,
    }
    return {**own, **(_of_row(row, stretch.now) if row is not None else _of_run(item["run"]))}


def _of_row(row: Record, now: int) -> Json:
    planned = row["state"] == "planned"
    note = "is tried again" if planned and row["attempts"] else None
    if planned and row["waits_for"]:
        held = "a run of its job" if row["waits_for"] == "run" else f"the {row['waits_for']}"
        note = f"waits for {held}"
    return {
        "kind": "planned" if planned else "live" if row["state"] == "claimed" else "past",
        "state": row["state"],
        "outcome": row["outcome"],
        "run": row["run_id"],
        "run_state": row["run_state"],
        "exception": row["exception"],
        "trigger": row["trigger"],
        "note": note or row["cause"],
        "reason": row["reason"],
        "missed": row["missed"],
        # A retry is not a slot any more, and what a person ordered has none
        "editable": planned and row["trigger"] == "schedule" and not row["attempts"] and row["due_at"] > now,
    }


def _of_run(run: Mapping[str, Any]) -> Json:
    marks = run["marks"]
    return {
        "kind": "planned",
        "state": "planned",
        "outcome": None,
        "run": None,
        "run_state": None,
        "exception": "skip" if "skipped" in marks else "move" if "moved" in marks else None,
        "trigger": "schedule",
        "note": run["note"],
        "reason": None,
        "missed": 0,
        "editable": True,
    }


def _zulu(value: int) -> str:
    return from_us(value).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def _summaries(stretch: Stretch, date: str, day: Day) -> Iterator[Json]:
    for fold in (*day.folds, *([day.rest] if day.rest else ())):
        several = fold is day.rest
        slug, name, there = (None, None, False) if several else stretch.names[fold.jobs[0]]
        yield {
            "job": slug,
            "job_id": None if several else fold.jobs[0],
            "name": name,
            "there": there,
            "day": date,
            "first": local(from_us(fold.first), stretch.zone),
            "last": local(from_us(fold.last), stretch.zone),
            "count": fold.count,
            "by": dict(sorted(fold.by.items(), key=lambda pair: (-pair[1], pair[0]))),
            "jobs": len(fold.jobs),
            "span": False,
            "key": None,
            "reason": None,
        }


def _entries(home: Home, items: Sequence[Json]) -> None:
    """By which entry of the journal each decision about a slot is taken back."""
    for item in items:
        item["entry"] = None
    decided = [item for item in items if item["kind"] == "planned" and item["exception"]]
    if not decided:
        return
    reader = home.read()
    try:
        turns = reader.turns([item["key"] for item in decided])
        for item in decided:
            entry = turns.get(item["key"])
            item["entry"] = None if entry is None or reader.was_undone(entry) else entry
    finally:
        reader.close()
