"""The calendar as weeks, Monday first, one block for each month.

A cell holds the day's number, how many runs it has, a clock change, then the first runs with the sign before the time
and the job's name behind it. What does not fit is counted; what is special is listed below the weeks in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Any

from horae.cli.calendarmarks import (
    SPECIAL_MAX,
    UNRUN,
    Part,
    legend,
    meanings,
    meets,
    painted,
    sign_of,
    special,
    total_of,
)
from horae.cli.output import Output, folded
from horae.core.text import clip, display_width, pad
from horae.timing.vocabulary import MONTHS, WEEKDAYS

Json = dict[str, Any]
Line = list[Part]
CELL_MAX = 30  # a wider screen is left empty at its right
LINES_MAX = 8  # of a cell
TIME = 5  # cells of "06:30"
WHEN = 18  # cells of "Mon 22 Mar 06:30", and a gap


def show(answer: Json, output: Output, colours: dict[str, str | None], screen: int) -> None:
    """The months, the signs, and what is special."""
    width = min(CELL_MAX, (screen - 6) // 7)
    days = {day["date"]: day for day in answer["days"]}
    dates = [date.fromisoformat(day) for day in days]
    for (year, month), group in groupby(dates, key=lambda day: (day.year, day.month)):
        inside = list(group)
        output.text("")
        output.text(output.paint(f"{MONTHS[month - 1]} {year}", "bold"))
        output.text(_joined([Part(pad(f" {name[:3]}", width), "grey") for name in WEEKDAYS], " ", output))
        rules = ("┬", "┼")
        for at, week in enumerate(_weeks(inside)):
            output.text(output.paint(rules[at > 0].join(["─" * width] * 7), "grey"))
            cells = [_cell(days[day.isoformat()], answer["today"], colours, width) if day else [] for day in week]
            for row in range(max(2, *(len(cell) for cell in cells))):
                output.text(_row([cell[row] if row < len(cell) else [] for cell in cells], width, output))
        output.text(output.paint("┴".join(["─" * width] * 7), "grey"))
    _below(answer, output, screen)


def _weeks(days: Sequence[date]) -> Iterator[list[date | None]]:
    """Weeks from Monday on, with None for days that are not among these."""
    monday = days[0] - timedelta(days=days[0].weekday())
    known = set(days)
    while monday <= days[-1]:
        week = [monday + timedelta(days=number) for number in range(7)]
        yield [day if day in known else None for day in week]
        monday += timedelta(days=7)


def _cell(day: Json, today: str, colours: dict[str, str | None], width: int) -> list[Line]:
    """The lines of one day, the last of which counts what found no place."""
    lines = [_head(day, today, width)]
    if day["clock_change"]:
        lines.append([Part(clip(f" clock {day['clock_change']['shift']}", width), "yellow")])
    items = [_run_line(run, colours, width) for run in day["runs"]]
    items += [_summary_line(item, colours, width) for item in day["summaries"]]
    room = LINES_MAX - len(lines)
    if len(items) > room:
        left = len(items) - room + 1
        items = [*items[: room - 1], [Part(clip(f" {f'+{left}':>{TIME}} more", width), "grey")]]
    return lines + items


def _head(day: Json, today: str, width: int) -> Line:
    """The day's number, in brackets today, and how many runs are to come."""
    number, total = f"{date.fromisoformat(day['date']).day:>2}", total_of(day)
    first = f"[{number.strip()}]" if day["date"] == today else f" {number}"
    colour = "green" if day["date"] == today else "bold" if total else "grey"
    room = width - len(first)
    words = (f" {total} run{'s' if total != 1 else ''} ", f" {total}× ", f" {total}")
    counted = next((text for text in words if len(text) <= room), "") if total else ""
    return [Part(first, colour), Part(counted.rjust(room), "grey")]


def _run_line(run: Json, colours: dict[str, str | None], width: int) -> Line:
    time = f"{run['time']:<{TIME}}"
    dim = "grey" if UNRUN.intersection(run["marks"]) or run["state"] != "active" else None
    name = clip(run["name"], width - 2 - len(time))
    return [sign_of(run), Part(time, dim), meets(run), Part(name, dim or colours[run["job"]])]


def _summary_line(item: Json, colours: dict[str, str | None], width: int) -> Line:
    count = f"{item['count']}×".rjust(TIME)
    dim = "grey" if item["state"] != "active" else None
    return [
        sign_of({**item, "marks": []}),
        Part(count, dim),
        Part(" "),
        Part(clip(item["name"], width - 2 - len(count)), dim or colours[item["job"]]),
    ]


def _row(cells: Sequence[Line], width: int, output: Output) -> str:
    """One line through a week."""
    shown: list[str] = []
    for cell in cells:
        used = sum(display_width(part.text) for part in cell)
        shown.append(painted(cell, output) + " " * (width - used))
    return output.paint("│", "grey").join(shown).rstrip()


def _joined(parts: Sequence[Part], between: str, output: Output) -> str:
    return between.join(output.paint(part.text, part.colour) for part in parts).rstrip()


def _below(answer: Json, output: Output, screen: int) -> None:
    """Signs, jobs that are only counted, and what is special."""
    signs = legend(answer)
    if signs:
        output.text("")
        line: Line = []
        for sign in signs:
            length = sum(display_width(part.text) for part in (*line, *sign))
            if line and length > screen:
                output.text(painted(line, output).rstrip())
                line = []
            line += [*sign, Part("   ")]
        output.text(painted(line, output).rstrip())
    counted = meanings(answer)
    if counted:
        output.text("")
    for text in counted:
        output.text(clip(text, screen))
    found = list(special(answer))
    if found:
        output.text("")
    for when, what in found[:SPECIAL_MAX]:
        start = pad(when, WHEN)
        for text in folded(what, screen - WHEN):
            output.text(output.paint(start, "grey") + text)
            start = " " * WHEN
    if len(found) > SPECIAL_MAX:
        output.text(output.paint(f"and {len(found) - SPECIAL_MAX} more: `horae calendar --json` lists all", "grey"))
