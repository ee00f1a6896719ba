"""Calendar: what was and what will be, by month, week, day, or as a list; future slots are moved and skipped here.

The browser's calendar is handed wall times of the home's zone and knows no zone itself: what a clock change does to a slot
was worked out where zones are known. The way back is the same: a slot is dropped on a wall time, and which instant that is
(of two, where the clock goes back; behind the gap, where it goes forward) is decided here.

A month shows less of a day than the day itself does; what is beyond is summed up, and opens the day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from fastapi.responses import HTMLResponse
from starlette.requests import Request

from horae.app.upcoming import local
from horae.errors import Invalid
from horae.timing.clockchange import instants_of
from horae.timing.zones import version
from horae.web.caller import Caller, GateOf
from horae.web.pages.render import may, render
from horae.web.pages.words import symbol

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
VIEWS: Mapping[str, tuple[int, int]] = {  # slots of a job on a day that are shown, and entries of a day
    "month": (4, 8),
    "week": (8, 60),
    "day": (100, 400),
    "agenda": (8, 60),
    "list": (1500, 1500),
}
GROUPS: Mapping[str, frozenset[str]] = {
    "trouble": frozenset({"failed", "blocked", "unknown", "missed"}),
    "completed": frozenset({"completed", "ran"}),
    "running": frozenset({"running", "claimed", "waiting"}),
    "left": frozenset({"skipped", "excluded", "cancelled", "void", "released"}),
    "planned": frozenset({"planned", "moved", "paused", "quarantined"}),
}
WORDS = {
    "trouble": "Trouble",
    "completed": "Completed",
    "running": "Running now",
    "left": "Left out",
    "planned": "Planned",
}
SHOWN = timedelta(minutes=30)  # how long an occurrence is drawn, whatever it takes
JOBS_MAX = 500
LONG_AGO = ("1970-01-02", "1970-01-03")
KEPT = ("key", "job", "name", "there", "slot", "slot_utc", "due", "word", "kind", "run", "note", "reason", "exception",
        "trigger", "missed", "editable", "entry")  # fmt: skip


@router.get("/calendar")
def calendar(request: Request, who: Caller, gate: GateOf) -> HTMLResponse:
    """The page. What it shows is asked for by its script."""
    jobs = gate.do(who, "jobs", all=True, limit=JOBS_MAX)["jobs"]
    now = gate.do(who, "agenda", start=LONG_AGO[0], end=LONG_AGO[1])[
        "now"
    ]  # nothing happened then: only the clock is asked
    names = [{"slug": job["slug"], "name": job["name"]} for job in jobs]
    return render(request, "calendar.html", jobs=names, words=WORDS, now=now, tzdata=version())


@router.get("/calendar/events")
def events(
    who: Caller,
    gate: GateOf,
    start: Annotated[date, Query()],
    end: Annotated[date, Query()],
    view: Annotated[str, Query(max_length=40)] = "month",
    job: Annotated[str, Query(max_length=200)] = "",
    outcome: Annotated[str, Query(max_length=40)] = "",
) -> Json:
    """What is to be drawn between two days, the second not included."""
    if view not in VIEWS:
        raise Invalid(f"there is no view {view[:40]!r}", f"there are {', '.join(VIEWS)}", field="view")
    wanted = GROUPS.get(outcome)
    if outcome and wanted is None:
        raise Invalid(f"there is no outcome {outcome[:40]!r}", f"there are {', '.join(GROUPS)}", field="outcome")
    listed, a_day = VIEWS[view]
    said = {"start": start.isoformat(), "end": end.isoformat(), "job": job or None}
    found = gate.do(who, "agenda", **said, listed=listed, a_day=a_day)
    drawn = [
        *_slots(found["items"], wanted, editable=may(who)("move")),
        *_sums(found["summaries"], wanted, apart=view in ("week", "day")),
    ]
    return {
        "events": [*drawn, *_clocks(found)],
        "count": len(drawn),
        "now": found["now"],
        "told": [*found["warnings"], *(f"Not shown: {words}" for words in found["left_out"])],
    }


@router.post("/calendar/move")
def move(
    request: Request,
    who: Caller,
    gate: GateOf,
    job: Annotated[str, Body()],
    slot: Annotated[str, Body()],
    at: Annotated[str, Body()],
) -> Json:
    """Move a slot to a wall time of the home's zone."""
    try:
        wall = datetime.fromisoformat(at).replace(second=0, microsecond=0)
    except ValueError:
        raise Invalid(f"{at[:40]!r} is no time", "give a date and a time of day", field="at") from None
    if wall.tzinfo is not None or not 1970 <= wall.year <= 2999:
        raise Invalid(f"{at[:40]!r} is no time of the home's zone", "give a date and a time of day", field="at")
    zone = request.app.state.given.timezone
    to = local(instants_of(wall, zone, "after", "first")[0], zone)
    return gate.do(who, "move", job=job, slot=slot, to=to)


def _slots(items: list[Json], wanted: frozenset[str] | None, *, editable: bool) -> Iterator[Json]:
    for item in items:
        if wanted is not None and item["word"] not in wanted:
            continue
        start = datetime.fromisoformat(item["due"]).replace(tzinfo=None)
        end = min(start + SHOWN, start.replace(hour=23, minute=59, second=59, microsecond=0))
        kept = {name: item[name] for name in KEPT if item[name] not in (None, 0, False)}
        yield {
            "id": item["key"],
            "start": start.isoformat(timespec="seconds"),
            "end": max(start, end).isoformat(timespec="seconds"),
            "startEditable": editable and item["editable"],
            "extendedProps": {**kept, "sign": symbol(item["word"])},
        }


def _sums(summaries: list[Json], wanted: frozenset[str] | None, *, apart: bool) -> Iterator[Json]:
    """Summaries: beside the hours where there are hours, behind the slots of the day where there are none."""
    for some in summaries:
        by = {word: count for word, count in some["by"].items() if wanted is None or word in wanted}
        if not by:
            continue
        word = next((word for word in by if word in GROUPS["trouble"]), next(iter(by)))
        whole = apart or some["span"]
        last = some["last"][:10] if some["span"] else some["day"]
        yield {
            "id": f"{some['day']}/{some['job_id'] or '*'}/{some['key'] or ''}",
            "start": some["first"][:10] if whole else f"{some['day']}T23:59:00",
            "end": _after(last) if whole else f"{some['day']}T23:59:59",
            "allDay": whole,
            "startEditable": False,
            "extendedProps": {
                **{
                    name: some[name]
                    for name in ("job", "name", "there", "first", "last", "jobs", "span", "reason", "day")
                },
                "kind": "sum",
                "word": word,
                "sign": symbol(word),
                "count": sum(by.values()),
                "by": [{"word": each, "sign": symbol(each), "count": count} for each, count in by.items()],
            },
        }


def _clocks(found: Mapping[str, Any]) -> Iterator[Json]:
    """Clock changes, and what they leave out."""
    for change in found["clock_changes"]:
        yield _marked(change["day"], f"{change['shift']} {change['text']}", f"clock/{change['at']}")
    for note in found["notes"]:
        yield _marked(note["at"][:10], f"{note['name']}: {note['text']}", f"note/{note['at']}/{note['job_id']}")


def _marked(day: str, text: str, mark: str) -> Json:
    said = {"kind": "clock", "word": "clock", "sign": symbol("clock"), "name": text, "day": day}
    return {"id": mark, "start": day, "end": _after(day), "allDay": True, "startEditable": False, "extendedProps": said}


def _after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
