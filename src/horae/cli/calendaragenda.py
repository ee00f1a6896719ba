"""The calendar as a list of days: for a terminal too narrow for weeks, and as lines with tabs for a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from horae.cli.calendarmarks import Part, day_words, known_of, meanings, meets, painted, remark_of, sign_of
from horae.cli.output import Output, folded
from horae.core.text import clip, display_width, pad
from horae.timing.zones import zone

Json = dict[str, Any]
TIME = 5  # cells of "06:30"
NAME_MIN, NAME_MAX = 10, 32
REMARK_MIN = 24  # a narrower place for remarks is not worth having: they go below
INDENT = 4


def show(answer: Json, output: Output, colours: dict[str, str | None], screen: int) -> None:
    """Days that have something, each with its runs in order; then when those run that are only counted."""
    known = known_of(answer)
    most = max(NAME_MIN, min(NAME_MAX, screen // 3))
    width = min(most, max((display_width(name) for name in known.names.values()), default=0))
    for day, notes in zip(answer["days"], _notes_of_days(answer), strict=True):
        if not (day["runs"] or day["summaries"] or day["clock_change"] or notes):
            continue
        output.text("")
        output.text(_head(day, answer["today"], output))
        if day["clock_change"]:
            _fold(day["clock_change"]["text"], output, screen)
        for run in day["runs"]:
            start = [sign_of(run), meets(run), Part(f" {run['time']:<{TIME}}  ")]
            _line(start, Part(run["name"], colours[run["job"]]), width, remark_of(run, known), output, screen)
        for item in day["summaries"]:
            count = f"{item['count']}×".rjust(TIME)
            start = [sign_of({**item, "marks": []}), Part(f"  {count}  ")]
            remark = f"{item['time']} to {item['last_time']}"
            _line(start, Part(item["name"], colours[item["job"]]), width, remark, output, screen)
        for note in notes:
            _fold(f"{note['name']}: {note['text']}", output, screen)
    counted = meanings(answer)
    if counted:
        output.text("")
    for text in counted:
        for line in folded(text, screen):
            output.text(line)


def lines(answer: Json, output: Output) -> None:
    """For programs: day, time, job, and a remark, with tabs between them. A summary's time is a range."""
    known = known_of(answer)._replace(names={job["job"]: job["job"] for job in answer["jobs"]})
    for day, notes in zip(answer["days"], _notes_of_days(answer), strict=True):
        rows: list[tuple[str, str, str]] = []
        if day["clock_change"]:
            at = datetime.fromisoformat(day["clock_change"]["at"])
            rows.append((f"{at:%H:%M}", "", day["clock_change"]["text"]))
        rows += [(run["time"], run["job"], remark_of(run, known)) for run in day["runs"]]
        for item in day["summaries"]:
            rows.append(
                (f"{item['time']}-{item['last_time']}", item["job"], f"{item['count']} runs: {item['meaning']}")
            )
        rows += [(note["time"], note["job"], note["text"]) for note in notes]
        for row in rows:
            output.text("\t".join((day["date"], *row)))


def _notes_of_days(answer: Json) -> list[list[Json]]:
    """The notes of each day, with their time of day."""
    place = zone(answer["timezone"])
    found: dict[str, list[Json]] = {}
    for note in answer["notes"]:
        at = datetime.fromisoformat(note["at"]).astimezone(place)
        found.setdefault(at.date().isoformat(), []).append({**note, "time": f"{at:%H:%M}"})
    return [found.get(day["date"], []) for day in answer["days"]]


def _head(day: Json, today: str, output: Output) -> str:
    shown = output.paint(day_words(date.fromisoformat(day["date"])), "bold")
    return shown + (output.paint("  today", "green") if day["date"] == today else "")


def _line(start: Sequence[Part], name: Part, width: int, remark: str, output: Output, screen: int) -> None:
    """One run; its remark stands behind it, below itself when it is long, or below the run where there is no room."""
    used = sum(display_width(part.text) for part in start) + width
    room = screen - used - 2
    short = clip(name.text, width)
    if not remark or room < REMARK_MIN:
        output.text(painted([*start, Part(short, name.colour)], output))
        for line in folded(remark, max(REMARK_MIN, screen - INDENT)) if remark else ():
            output.text(" " * INDENT + output.paint(line, "grey"))
        return
    before = painted([*start, Part(pad(short, width), name.colour)], output)
    for line in folded(remark, room):
        output.text(f"{before}  {output.paint(line, 'grey')}")
        before = " " * used


def _fold(text: str, output: Output, screen: int) -> None:
    for line in folded(text, max(REMARK_MIN, screen - INDENT)):
        output.text(" " * INDENT + output.paint(line, "yellow"))
