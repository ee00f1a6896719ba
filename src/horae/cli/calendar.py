"""`calendar`: the coming days as weeks on a wide terminal, as a list of days on a narrow one, as lines with tabs in a pipe."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli import calendaragenda, calendargrid
from horae.cli.calendarmarks import paint_jobs, span_words
from horae.cli.output import Output, screen_width
from horae.core.text import one_line
from horae.wiring import open_house

GRID_COLUMNS_MIN = 100
TEXT_CHARS_MAX = 120
OUTSIDE = ("job", "name", "meaning")  # what people wrote: it must not draw on the terminal


def options_calendar(parser: ArgumentParser) -> None:
    """What `calendar` takes."""
    parser.add_argument("job", metavar="JOB", nargs="?", help="only this job; without one, the whole home")
    parser.add_argument("--days", type=int, default=14, metavar="N", help="how many days, from 1 to 366 (default 14)")
    parser.add_argument("--from", dest="start", metavar="DATE", help="the first day (default: today)")
    parser.add_argument("--timezone", metavar="TZ", help="whose days they are (default: the home's)")


def do_calendar(args: Namespace, output: Output) -> int:
    """Show what will run when."""
    answer = open_house(args.home).view(
        "app.calendar", "calendar", job=args.job, start=args.start, days=args.days, timezone=args.timezone
    )
    output.emit(answer, lambda: render(answer, output))
    return 0


def render(answer: dict[str, Any], output: Output) -> None:
    """For a person, or for a program that reads lines."""
    for items in (
        answer["jobs"],
        answer["notes"],
        *(day[key] for day in answer["days"] for key in ("runs", "summaries")),
    ):
        for item in items:
            item |= {key: one_line(item[key], TEXT_CHARS_MAX) for key in OUTSIDE if item.get(key)}
    if not output.terminal:
        calendaragenda.lines(answer, output)
    else:
        output.text(output.paint(_title(answer), "bold"))
        if not any(day["runs"] or day["summaries"] for day in answer["days"]):
            days = "these days" if len(answer["days"]) > 1 else "this day"
            hint = "" if answer["jobs"] else ": `horae add` makes a job"
            output.text(f"nothing is planned on {days}{hint}")
        colours = paint_jobs(answer["jobs"])
        if screen_width() >= GRID_COLUMNS_MIN:
            calendargrid.show(answer, output, colours, screen_width())
        else:
            calendaragenda.show(answer, output, colours, screen_width())
    for warning in answer["warnings"]:
        output.note(f"note: {warning}")


def _title(answer: dict[str, Any]) -> str:
    days = [day["date"] for day in answer["days"]]
    begins = ", from now on" if answer["today"] in days else ""
    title = f"{span_words(days[0], days[-1])} in {answer['timezone']}{begins}"
    return title if answer["job"] is None else f"{one_line(answer['job']['name'], TEXT_CHARS_MAX)}: {title}"
