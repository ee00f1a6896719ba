"""What the forms of `calendar` on a terminal have in common: signs, colours, words for days, and the list of what is special.

Every sign has a meaning without colours; colours only help to tell jobs apart. The signs of what will not run are those
of the gateway's log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, tzinfo
from itertools import cycle
from typing import Any, NamedTuple

from horae.app.upcoming import NAMED_MAX, some_of
from horae.cli.output import Output
from horae.timing.vocabulary import MONTHS, WEEKDAYS
from horae.timing.zones import zone

Json = dict[str, Any]
JOB_COLOURS = ("blue", "green", "magenta", "cyan", None)  # yellow and red are for what is special
SIGNS = {
    "skipped": ("›", "yellow", "skipped"),
    "excluded": ("×", "yellow", "excluded by a calendar: will not run"),
    "moved": ("→", "yellow", "moved"),
    "clock": ("±", "yellow", "touched by a clock change"),
    "paused": ("‖", "grey", "paused: will not run"),
    "quarantined": ("■", "red", "its file is broken: will not run"),
    "together": ("=", "red", "at the same time as another"),
}
UNRUN = frozenset(("skipped", "excluded"))
SPECIAL_MAX = 12  # lines of what is special; `--json` has all of it


class Known(NamedTuple):
    """Jobs' names by slug, which jobs are due together at an instant, and the zone of the view."""

    names: dict[str, str]
    company: dict[datetime, list[str]]
    place: tzinfo


class Part(NamedTuple):
    """A piece of a line and its colour."""

    text: str
    colour: str | None = None


def painted(parts: Iterable[Part], output: Output) -> str:
    """The pieces in their colours."""
    return "".join(output.paint(part.text, part.colour) for part in parts)


def paint_jobs(jobs: Iterable[Json]) -> dict[str, str | None]:
    """A colour for each job, in turn, so that neighbours differ; those that do not run are grey."""
    turn = cycle(JOB_COLOURS)
    return {job["job"]: next(turn) if job["state"] == "active" else "grey" for job in jobs}


def sign_of(run: Json) -> Part:
    """The sign before a run's time: what a person decided about it first, then the clock, then why it will not run."""
    for word in (*run["marks"], run["state"]):
        if word in SIGNS and word != "together":
            return Part(SIGNS[word][0], SIGNS[word][1])
    return Part(" ")


def meets(run: Json) -> Part:
    """The sign of a run that is due together with another, or a blank."""
    return Part(*SIGNS["together"][:2]) if "together" in run["marks"] else Part(" ")


def total_of(day: Json) -> int:
    """How many runs a day will have."""
    listed = sum(run["state"] == "active" and not UNRUN.intersection(run["marks"]) for run in day["runs"])
    return listed + sum(item["count"] for item in day["summaries"] if item["state"] == "active")


def meanings(answer: Json) -> list[str]:
    """When the jobs run that are only counted."""
    counted = {item["job"]: item for day in answer["days"] for item in day["summaries"]}
    return [f"{item['name']}: {item['meaning']}" for item in counted.values()]


def legend(answer: Json) -> list[list[Part]]:
    """The signs that were used, each with its meaning."""
    runs = [run for day in answer["days"] for run in day["runs"]]
    used = {word for run in runs for word in (*run["marks"], run["state"])}
    used |= {summary["state"] for day in answer["days"] for summary in day["summaries"]}
    return [
        [Part(sign, colour), Part(f" {meaning}", "grey")]
        for word, (sign, colour, meaning) in SIGNS.items()
        if word in used
    ]


def span_words(first: str, last: str) -> str:
    """Such as "22 March to 4 April 2027"."""
    one, other = date.fromisoformat(first), date.fromisoformat(last)
    if one == other:
        return day_words(one)
    year = f" {one.year}" if one.year != other.year else ""
    month = f" {MONTHS[one.month - 1]}" if year or one.month != other.month else ""
    return f"{one.day}{month}{year} to {other.day} {MONTHS[other.month - 1]} {other.year}"


def day_words(day: date) -> str:
    """Such as "Monday 22 March 2027"."""
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"


def short_day(day: date) -> str:
    """Such as "Mon 22 Mar"."""
    return f"{WEEKDAYS[day.weekday()][:3]} {day.day} {MONTHS[day.month - 1][:3]}"


def special(answer: Json) -> Iterator[tuple[str, str]]:
    """(when, what) of everything that is not as it usually is, in order; jobs that meet again and again are told once."""
    found: list[tuple[datetime, str]] = []
    known = known_of(answer)
    for day in answer["days"]:
        if day["clock_change"]:
            found.append((datetime.fromisoformat(day["clock_change"]["at"]), day["clock_change"]["text"]))
        for run in day["runs"]:
            words = _about(run, known.place)
            if words:
                found.append((datetime.fromisoformat(run["due"]), f"{run['name']}: {words}"))
    for note in answer["notes"]:
        found.append((datetime.fromisoformat(note["at"]), f"{note['name']}: {note['text']}"))
    found += _meetings(answer, known.names)
    for at, text in sorted(found, key=lambda item: item[0]):
        shown = at.astimezone(known.place)
        yield f"{short_day(shown.date()):<10} {shown:%H:%M}", text


def known_of(answer: Json) -> Known:
    """What the remarks about single runs need."""
    names = {job["job"]: job["name"] for job in answer["jobs"]}
    company = {datetime.fromisoformat(item["at"]): item["jobs"] for item in answer["collisions"]}
    return Known(names, company, zone(answer["timezone"]))


def remark_of(run: Json, known: Known) -> str:
    """What is to be known about a run: what was decided, what the clock did, whether it will run, and with which others."""
    idle = "" if run["state"] == "active" else SIGNS[run["state"]][2]
    beside = ""
    if "together" in run["marks"]:
        others = list(known.company[datetime.fromisoformat(run["due"])])
        others.remove(run["job"])
        named = [known.names[job] if job != run["job"] else "another of its own" for job in others[:NAMED_MAX]]
        beside = f"at the same time as {some_of(named, len(others))}"
    return "; ".join(part for part in (_about(run, known.place), idle, beside) if part)


def _about(run: Json, place: tzinfo) -> str | None:
    if "skipped" in run["marks"]:
        return "skipped"
    if "moved" in run["marks"]:
        was = datetime.fromisoformat(run["slot"]).astimezone(place)
        return f"moved from {short_day(was.date())} {was:%H:%M}"
    return str(run["note"]).split("; ", maxsplit=1)[0] if {"clock", "excluded"}.intersection(run["marks"]) else None


def _meetings(answer: Json, names: Mapping[str, str]) -> Iterator[tuple[datetime, str]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for collision in answer["collisions"]:
        groups.setdefault(tuple(collision["jobs"]), []).append(collision["at"])
    for jobs, instants in groups.items():
        shown = [names[job] for job in dict.fromkeys(jobs)]
        who = some_of(shown[:NAMED_MAX], len(shown)) if len(shown) > 1 else f"{shown[0]}, twice"
        again = f" (and {len(instants) - 1} more times)" if len(instants) > 2 else ""
        again = " (and once more)" if len(instants) == 2 else again
        yield datetime.fromisoformat(instants[0]), f"{who} at the same time{again}"
